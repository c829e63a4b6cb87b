'use strict';

// The face of one connection, in the shape of `pg`'s Client. Users make it, or
// get it from pool.connect(); Pool makes one for each of its connections.

const { EventEmitter } = require('node:events');

const { Connection } = require('./connection');
const { ConnectionError, OptionError, ParameterError, copyError, nameFields } = require('./errors');
const { escapeIdentifier, escapeLiteral } = require('./escape');
const { parseOptions } = require('./options');
const { Query } = require('./query');
const { StatementRegistry } = require('./statement-registry');
const { TypeOverrides } = require('./types/type-overrides');

/**
 * @typedef {import('./options').Settings} Settings
 * @typedef {import('./row-builder').TypeSource} TypeSource
 * @typedef {(error: any, result?: any) => void} Callback
 *
 * What the clients of one pool have in common; under POOL in their config.
 * @typedef {object} PoolSide
 * @property {Settings} settings
 * @property {StatementRegistry} registry
 * @property {() => void} onSettled
 * @property {(error: Error) => void} onLost
 */

const POOL = Symbol('pool');

/** @type {readonly unknown[]} */
const NO_VALUES = Object.freeze([]);
const NO_OPTIONS = Object.freeze({});

/**
 * A client with a listener for notifications must not be collected, though
 * nobody else holds it.
 * @type {Set<Client>}
 */
const listening = new Set();

/** @type {(client: Client) => Connection} */
let connectionOf;

class Client extends EventEmitter {
  #connection;
  /** @type {TypeSource} */
  #types;
  #settings;
  /** @type {OptionError | undefined} why it cannot connect */
  #refusal;
  #hasConnected = false;
  #hasEnded = false;
  /** @type {Map<string, string>} texts of named statements */
  #names = new Map();
  #drainPending = false;

  static {
    connectionOf = (client) => client.#connection;
  }

  /**
   * @param {string | Record<PropertyKey, any>} [config] connection string or
   *   options; what is wrong with them rejects connect()
   */
  constructor(config) {
    super();
    /** @type {PoolSide | undefined} */
    const pool = typeof config === 'object' && config !== null ? config[POOL] : undefined;
    if (pool !== undefined) {
      this.#settings = pool.settings;
    } else {
      const { settings, refusal } = readOptions(config);
      this.#settings = settings;
      this.#refusal = refusal;
    }
    this.#types = this.#settings.types;
    this.#connection = new Connection(this.#settings, pool?.registry ?? new StatementRegistry(), {
      onSettled: () => {
        pool?.onSettled();
        this.#onSettled();
      },
      onLost: (error) => {
        pool?.onLost(error);
        // Without a listener the event would end the process; its queries know already.
        if (this.listenerCount('error') > 0) this.emit('error', error);
      },
      onClosed: () => {
        listening.delete(this);
        this.emit('end');
      },
      onNotice: (fields) =>
        this.emit('notice', { name: 'notice', message: fields.M, ...nameFields(fields) }),
      onNotification: (message) =>
        this.emit('notification', {
          name: 'notification',
          length: message.channel.length + message.payload.length,
          ...message,
        }),
    });
    this.on('newListener', (event) => {
      if (event === 'notification' && !this.#hasEnded) listening.add(this);
    });
    this.on('removeListener', () => {
      if (this.listenerCount('notification') === 0) listening.delete(this);
    });
  }

  /** Process id of the server's backend, 0 before connect(). */
  get processID() {
    return this.#connection.processID;
  }

  get user() {
    return this.#settings.conninfo.user;
  }

  get database() {
    return this.#settings.conninfo.dbname;
  }

  get host() {
    return this.#settings.conninfo.host ?? 'localhost';
  }

  get port() {
    return Number(this.#settings.conninfo.port ?? 5432);
  }

  /**
   * @param {(error: any, client?: Client) => void} [callback]
   * @returns {Promise<void> | undefined} nothing with a callback
   */
  connect(callback) {
    const connected = this.#connect();
    if (callback === undefined) return connected;
    settle(connected, (error) => (error === null ? callback(null, this) : callback(error)));
    return undefined;
  }

  async #connect() {
    if (this.#refusal !== undefined) throw copyError(this.#refusal);
    if (this.#hasConnected) {
      throw new ConnectionError(
        'Client has already been connected. You cannot reuse a client: make a new one',
      );
    }
    this.#hasConnected = true;
    await this.#connection.connect();
    this.emit('connect');
  }

  /**
   * @param {string | Record<string, any>} text or { text, values, name, rowMode, types, prepare }
   * @param {readonly unknown[] | Callback} [values]
   * @param {Callback} [callback]
   * @returns {Promise<any> | undefined} nothing with a callback
   */
  query(text, values, callback) {
    const request = readArguments(text, values, callback);
    return this.#run(request);
  }

  /** @param {Request} request */
  #run({ text, values, options, callback, refusal }) {
    const query = new Query(text, values, options, this.#types, this.#settings.int8);
    if (this.#refusal !== undefined) query.reject(copyError(this.#refusal));
    else if (refusal !== undefined) query.reject(refusal);
    else if (query.name !== undefined && !this.#claimName(query.name, text)) {
      query.reject(
        new ParameterError(
          `Prepared statements must be unique - '${query.name}' was used for a different statement`,
        ),
      );
    } else this.#connection.submit(query);
    if (callback === undefined) return query.promise;
    settle(query.promise, callback);
    return undefined;
  }

  /** @param {string} name @param {string} text */
  #claimName(name, text) {
    const known = this.#names.get(name);
    if (known === undefined) this.#names.set(name, text);
    return known === undefined || known === text;
  }

  #onSettled() {
    if (this.#drainPending || this.#connection.inFlight > 0) return;
    if (this.listenerCount('drain') === 0) return;
    this.#drainPending = true;
    setImmediate(() => {
      this.#drainPending = false;
      if (this.#connection.inFlight === 0) this.emit('drain');
    });
  }

  /**
   * Finishes what is in flight, then closes the connection.
   * @param {(error: any) => void} [callback]
   * @returns {Promise<void> | undefined} nothing with a callback
   */
  end(callback) {
    this.#hasEnded = true;
    const ended = this.#connection.end();
    if (callback === undefined) return ended;
    settle(ended, (error) => callback(error));
    return undefined;
  }

  /**
   * A parser of this client alone.
   * @param {number} oid
   * @param {any} format 'text', or the parser
   * @param {any} [parser]
   */
  setTypeParser(oid, format, parser) {
    if (!(this.#types instanceof TypeOverrides) || this.#types === this.#settings.types) {
      this.#types = new TypeOverrides(this.#types);
    }
    /** @type {TypeOverrides} */ (this.#types).setTypeParser(oid, format, parser);
  }

  /** @param {number} oid @param {'text' | 'binary'} [format] */
  getTypeParser(oid, format) {
    return this.#types.getTypeParser(oid, format);
  }

  /** @param {string} text */
  escapeIdentifier(text) {
    return escapeIdentifier(text);
  }

  /** @param {string} text */
  escapeLiteral(text) {
    return escapeLiteral(text);
  }

  /** Keeps the process alive while it is connected, which is the default. */
  ref() {
    this.#connection.setLoopRef(true);
  }

  unref() {
    this.#connection.setLoopRef(false);
  }
}

/**
 * @typedef {object} Request the arguments of query(), in order
 * @property {string} text
 * @property {readonly unknown[]} values
 * @property {Record<string, any>} options
 * @property {Callback | undefined} callback
 * @property {ParameterError | undefined} refusal why it cannot be sent
 */

/**
 * @param {any} text
 * @param {any} values
 * @param {any} callback
 * @returns {Request}
 */
function readArguments(text, values, callback) {
  if (typeof values === 'function') {
    callback = values;
    values = undefined;
  }
  /** @type {Request} */
  const request = {
    text,
    values: values ?? NO_VALUES,
    options: NO_OPTIONS,
    callback,
    refusal: undefined,
  };
  if (typeof text !== 'string') {
    if (typeof text !== 'object' || text === null) {
      request.refusal = new ParameterError(
        `query() needs an SQL text or { text, values }, not ${text === null ? 'null' : typeof text}`,
      );
      request.text = '';
      return request;
    }
    request.options = text;
    request.text = text.text;
    request.values = values ?? text.values ?? NO_VALUES;
    request.callback = callback ?? text.callback;
    checkOptions(request);
  }
  if (!Array.isArray(request.values)) {
    request.refusal = new ParameterError(
      `the values of a query must be an array, one for each of $1, $2, …, not ${typeof values}`,
    );
  }
  return request;
}

/** @param {Request} request */
function checkOptions(request) {
  const { options } = request;
  if (typeof request.text !== 'string') {
    request.refusal = new ParameterError(
      'the text of a query must be a string: { text: "select …" }',
    );
    request.text = '';
  } else if (
    options.rowMode !== undefined &&
    options.rowMode !== 'array' &&
    options.rowMode !== null
  ) {
    request.refusal = new ParameterError(
      `rowMode must be 'array' or nothing, not ${String(options.rowMode)}`,
    );
  } else if (options.types && typeof options.types.getTypeParser !== 'function') {
    request.refusal = new ParameterError('types must have a function getTypeParser(oid, format)');
  } else if (options.name && typeof options.name !== 'string') {
    request.refusal = new ParameterError('the name of a query must be a string');
  }
}

/**
 * @param {any} config
 * @returns {{ settings: Settings, refusal?: OptionError }}
 */
function readOptions(config) {
  try {
    return { settings: parseOptions(config) };
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    return { settings: parseOptions({}), refusal: error };
  }
}

/**
 * Calls back as Node does: outside of the promise, so that what the callback
 * throws is an uncaught exception and not a rejection.
 * @param {Promise<any>} promise
 * @param {Callback} callback
 */
function settle(promise, callback) {
  promise.then(
    (value) => process.nextTick(callback, null, value),
    (error) => process.nextTick(callback, error),
  );
}

module.exports = { Client, POOL, connectionOf, readArguments, readOptions, settle };
