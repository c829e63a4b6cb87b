'use strict';

// `client.connection` of `pg`, as far as tools use it: it emits what concerns the connection as a whole (not the messages
// of single queries), shows the socket, and closes it. The connection itself is libpq's. Made by client.js.

const { EventEmitter } = require('node:events');
const { ConnectionStream } = require('./connection-stream');

/**
 * Those that the server reports without being asked (PostgreSQL documentation,
 * "PQparameterStatus").
 */
const PARAMETERS = [
  ...['server_version', 'server_encoding', 'client_encoding', 'application_name', 'is_superuser'],
  ...['session_authorization', 'DateStyle', 'IntervalStyle', 'TimeZone', 'integer_datetimes'],
  ...['standard_conforming_strings', 'default_transaction_read_only', 'in_hot_standby'],
  ...['scram_iterations', 'search_path'],
];

const NEVER_CONNECTED = {
  state: 'new',
  isEncrypted: false,
  serverAddress: '',
  processID: 0,
  session: { transactionStatus: 0 },
  cut() {},
  setLoopRef() {},
};

/** By PQTransactionStatusType. @type {Record<number, string>} */
const READY_STATUS = { 0: 'I', 2: 'T', 3: 'E' };

class Connection extends EventEmitter {
  /**
   * The texts of statements that submittables have prepared, by name.
   * @type {Record<string, string>}
   */
  parsedStatements = Object.create(null);
  #carrier;
  #hasEnded = false;

  /** @param {import('./connection-stream').Carrier} [carrier] none if it was not made by a client */
  constructor(carrier = () => /** @type {any} */ (NEVER_CONNECTED)) {
    super();
    this.#carrier = carrier;
    this.stream = new ConnectionStream(carrier);
  }

  ref() {
    this.stream.ref();
  }

  unref() {
    this.stream.unref();
  }

  /** Closes it when nothing is in flight; for its client, which has not asked for that, it is lost. */
  end() {
    const carrier = this.#carrier();
    if (carrier.state === 'ready') carrier.whenQuiet().then(() => this.stream.end());
    else this.stream.end();
  }

  // --- What the client tells ----------------------------------------------------------

  /** @param {(name: string) => string | null} read the server's parameters */
  tellConnected(read) {
    const carrier = this.#carrier();
    this.stream.onConnected();
    this.emit('connect');
    if (carrier.isEncrypted) this.emit('sslconnect');
    for (const parameterName of PARAMETERS) {
      const parameterValue = read(parameterName);
      if (parameterValue !== null) this.#tell('parameterStatus', { parameterName, parameterValue });
    }
    // A client that shares connections gets one of its own with this.
    if (this.listenerCount('backendKeyData') > 0) {
      this.#tell('backendKeyData', { processID: carrier.processID });
    }
    if (this.isWatched) this.tellReady();
  }

  /** Whether anybody wants to know when something was answered. */
  get isWatched() {
    return this.listenerCount('readyForQuery') + this.listenerCount('message') > 0;
  }

  /** Something was answered. */
  tellReady() {
    const status = READY_STATUS[this.#carrier().session.transactionStatus] ?? 'T';
    this.#tell('readyForQuery', { status });
  }

  /**
   * @param {string} event of the client
   * @param {any} argument
   */
  tell(event, argument) {
    if (event === 'error') this.#tellLost(argument);
    else if (event === 'end') this.#tellEnd();
    else if (event === 'notice' || event === 'notification') this.#tell(event, argument);
  }

  /** @param {any} error of the client, or of an attempt to connect */
  #tellLost(error) {
    const isOfServer = typeof error?.severity === 'string';
    if (isOfServer) this.#tell('errorMessage', error);
    else if (this.stream.reason === undefined) this.#tellEnd();
    else this.#tellReason(error);
  }

  /** Without a listener the event would end the process. @param {Error} error */
  #tellReason(error) {
    for (const emitter of [this.stream, this]) {
      if (emitter.listenerCount('error') > 0) emitter.emit('error', error);
    }
  }

  #tellEnd() {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.stream.onClosed();
    this.emit('end');
  }

  /** @param {string} name @param {object} message */
  #tell(name, message) {
    if (this.listenerCount('message') > 0) this.emit('message', { name, ...message });
    this.emit(name, message);
  }
}

module.exports = Connection;
