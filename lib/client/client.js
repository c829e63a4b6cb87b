'use strict';

// One connection as users see it, in the shape of `pg`'s Client. Users make it, or get it from
// pool.connect(); Pool makes one for each of its connections.

const { callApart, copyError, escapeIdentifier, escapeLiteral } = require('../base');
const { Catalog, Connection } = require('../connection');
const { defineClientProperties, PgConnection, showQuery, showReplication } = require('../pg');
const { Batch, beginTraced, Cursor, traceTransaction, watch } = require('../query');
const { TypeOverrides } = require('../rows');
const { StatementRegistry } = require('../statements');
const { TransactionGate } = require('../transaction');
const { beginEarly, beginsEarly } = require('./early-begin');
const { ClientEvents } = require('./events');
const { findHanded } = require('./handed-query');
const { connectOrJoin } = require('./joining-clients');
const { Lifetime } = require('./lifetime');
const { NamedStatements } = require('./named-statements');
const {
  answer,
  callBack,
  callBackEnd,
  callbackError,
  readQuery,
  readStreamed,
} = require('./query-arguments');
const { readBatch } = require('./read-batch');
const { SENDER, Streamable } = require('./streamable');
const { isSubmittable, serveSubmittable } = require('./submittable');

/**
 * @typedef {import('../options').Settings} Settings
 * @typedef {import('../query').Query} Query
 * @typedef {import('../rows').TypeSource} TypeSource
 * @typedef {import('./query-arguments').Callback} Callback
 * @typedef {import('../query').Limits} Limits
 * @typedef {import('./events').PoolSide} PoolSide
 */

const POOL = Symbol('pool');

/** @type {(client: Client) => Connection} */
let connectionOf;
/** @type {(client: Client) => TransactionGate} */
let transactionsOf;
/** @type {(client: Client) => Settings} */
let settingsOf;
/** @type {(client: Client) => ClientEvents} */
let eventsOf;
/** @type {(client: Client) => import('../rows').TypeSource} the parsers of its results */
let typesOf;
/** @type {import('./events').Asked} */
let asked;

class Client extends Streamable {
  /** @type {Connection} or what a pool has made in its place */
  #connection;
  #events;
  /**
   * The client's settings, until it has parsers of its own.
   * @type {import('../query').QueryDefaults}
   */
  #defaults;
  #settings;
  #lifetime;
  #names = new NamedStatements();
  /** @type {InstanceType<typeof PgConnection> | undefined} made when it is first read */
  #pgConnection = undefined;
  #transactions;

  static {
    connectionOf = (client) => client.#connection;
    transactionsOf = (client) => client.#transactions;
    settingsOf = (client) => client.#settings;
    eventsOf = (client) => client.#events;
    typesOf = (client) => client.#defaults.types;
    asked = {
      isIdle: (client) => client.#connection.inFlight === 0 && !client.#lifetime.hasEnded,
      shownBy: (face) => face.#pgConnection,
    };
  }

  /**
   * @param {string | Record<PropertyKey, any>} [config] connection string or
   *   options; what is wrong with them rejects connect()
   */
  constructor(config) {
    super();
    /** @type {PoolSide | undefined} */
    const pool = typeof config === 'object' && config !== null ? config[POOL] : undefined;
    this.#lifetime = new Lifetime(config, pool);
    this.#settings = this.#lifetime.settings;
    this.#defaults = this.#settings;
    const registry = pool?.registry ?? new StatementRegistry(new Catalog(this.#settings));
    const events = new ClientEvents(this, pool, asked);
    this.#events = events;
    const leased = pool?.makeConnection?.(events);
    if (leased !== undefined) this.#lifetime.skipConnect();
    this.#connection = leased ?? new Connection(this.#settings, registry, events);
    this.#transactions = new TransactionGate(this, this.#connection, registry, isWrapped);
  }

  /** Process id of the server's backend, 0 before connect(). */
  get processID() {
    return this.#connection.processID;
  }

  /**
   * @param {(error: any, client?: Client) => void} [callback]
   * @returns {Promise<this> | undefined} nothing with a callback
   */
  connect(callback) {
    if (callback !== undefined && typeof callback !== 'function') {
      return this.#own(Promise.reject(callbackError('connect()')));
    }
    const connected = this.#connect();
    const result = this.#own(connected);
    this.#lifetime.keep(result);
    if (callback === undefined) return result;
    callBack(connected, callback, null);
    return undefined;
  }

  /** @template T @param {Promise<T>} promise */
  #own(promise) {
    const Own = this.#settings.Promise;
    return Own === undefined ? promise : Own.resolve(promise);
  }

  /** As in `pg`: reports what concerns the connection as a whole, and shows its socket. */
  get connection() {
    if (this.#pgConnection === undefined) {
      this.#pgConnection = new PgConnection(() => this.#connection);
      showReplication(this.#pgConnection, this.#connection);
    }
    return this.#pgConnection;
  }

  async #connect() {
    this.#lifetime.begin(this);
    await this.#open();
    await this.#fetchTypes();
    this.#pgConnection?.tellConnected((name) => this.#connection.parameterStatus(name));
    // The client is connected, whatever a listener throws.
    callApart(() => this.emit('connect'));
    return this;
  }

  async #open() {
    // Those of a pool are what others share.
    if (this.#lifetime.isOfPool) {
      await this.#connection.connect();
      return;
    }
    await connectOrJoin(this.#connection, this.#settings, this.#events, {
      onJoined: (/** @type {any} */ place) => {
        this.#connection = place;
        this.#transactions.connection = place;
        this.#transactions.registry = place.registry;
      },
      onLeft: (left) => {
        this.#lifetime.left = left;
      },
    });
  }

  /**
   * @param {string | Record<string, any>} text or { text, values, name, rowMode, types, prepare }
   * @param {readonly unknown[] | Callback} [values]
   * @param {Callback | Limits | null} [third] a callback, or { signal, timeoutMillis }
   * @returns {Promise<any> | undefined} nothing with a callback
   */
  query(text, values, third) {
    const hasWrapper = isWrapped(this);
    if (isSubmittable(text)) {
      if (hasWrapper) showQuery(this, text);
      return this.#serve(text, values, third);
    }
    const handed = hasWrapper ? findHanded(text, this) : undefined;
    if (handed !== undefined) return handed.take(text, values, third);
    const query = readQuery(this.#names.fillIn(text), values, third, this.#defaults);
    if (hasWrapper) showQuery(this, query);
    const isEarly = beginsEarly(query, this.#connection);
    this.#begin(query, this.#refuse(query));
    if (isEarly && !query.isSettled) {
      const promise = beginEarly(query, this.#connection);
      return answer({ callback: query.callback, promise }, this.#settings.Promise, null);
    }
    this.#complete(query);
    return answer(query, this.#settings.Promise, null);
  }

  async #fetchTypes() {
    try {
      await this.#settings.fetchedTypes?.fetchOnce((text) => this.#ask(text));
    } catch (error) {
      this.#connection.destroy();
      throw error;
    }
  }

  /** For the driver's own queries: not subject to the transaction gate. @param {string} text */
  #ask(text) {
    return this.#connection.ask(text);
  }

  /** @param {Query | Batch} work */
  #complete(work) {
    const { fetchedTypes } = this.#settings;
    if (fetchedTypes === undefined) return;
    work.promise = fetchedTypes.complete(work, (text) => this.#ask(text));
  }

  /** @param {[submittable: any, values: any, third?: any]} given to query() */
  #serve(...given) {
    return serveSubmittable(given, {
      defaults: this.#defaults,
      begin: (query) => this.#begin(query, this.#refuse(query)),
      abort: (query, reason) => this.#abort(query, reason),
      end: () => this.end(),
      statements: this.connection.parsedStatements,
    });
  }

  /**
   * Statements behind one Sync: one transaction, and one round trip. All are committed and their
   * results returned, or none.
   * @param {readonly (string | Record<string, any>)[]} queries texts, or
   *   { text, values, name, rowMode, types, prepare }
   * @param {Limits | null} [options]
   * @returns {Promise<import('../rows').Result[]>} in their order
   */
  batch(queries, options) {
    const batch = readBatch(queries, this.#defaults, options);
    const refusal =
      this.#transactions.admit(batch) ??
      batch.refusal ??
      batch.members.map((query) => this.#refuse(query)).find((error) => error !== undefined);
    this.#begin(batch, refusal);
    this.#complete(batch);
    return batch.promise;
  }

  /** @param {Query | Batch} work @param {Error | undefined} refusal */
  #begin(work, refusal) {
    // An empty batch.
    if (work.isSettled) return;
    const { query_timeout: millis } = this.#settings;
    const late = refusal ?? watch(work, millis, (error) => this.#connection.abort(work, error));
    beginTraced(work, () => {
      if (late !== undefined) work.reject(late);
      else if (work instanceof Batch) this.#connection.submitBatch(work);
      else this.#connection.submit(work);
    });
  }

  /** @param {Query} query */
  #refuse(query) {
    const { refusal } = this.#lifetime;
    if (refusal !== undefined) return copyError(refusal);
    return this.#transactions.admit(query) ?? query.refusal ?? this.#names.claim(query);
  }

  /**
   * BEGIN travels with the first statement, COMMIT follows when the function is
   * done, ROLLBACK when it throws.
   * @template T
   * @param {import('../transaction').Body<T>} fn receives the transaction, which takes its
   *   statements
   * @param {Record<string, any>} [options] isolationLevel, readOnly, deferrable, retry
   * @returns {Promise<T>} what the function returns
   */
  async transaction(fn, options) {
    const { refusal } = this.#lifetime;
    if (refusal !== undefined) throw copyError(refusal);
    return traceTransaction(options, () => this.#transactions.run(fn, options));
  }

  /**
   * The rows, read a given number at a time.
   * @param {string | Record<string, any>} text or { text, values, name, rowMode, types }
   * @param {readonly unknown[]} [values]
   * @param {{ signal?: AbortSignal | null } | null} [options]
   */
  cursor(text, values, options) {
    const query = readStreamed(text, values, options, this.#defaults);
    const cursor = new Cursor(query, (one, reason) => this.#abort(one, reason));
    this.#submit(query);
    return cursor;
  }

  /** @override */
  [SENDER]() {
    const submit = this.#submit.bind(this);
    const abort = this.#abort.bind(this);
    return { defaults: this.#defaults, submit, ask: submit, abort, isOrdered: true };
  }

  /** @param {Query} query */
  #submit(query) {
    const refusal = this.#refuse(query);
    beginTraced(query, () => {
      if (refusal !== undefined) query.reject(refusal);
      else this.#connection.submit(query);
    });
  }

  /** @param {Query} query @param {import('../base').QueryAbortedError} reason */
  #abort(query, reason) {
    if (!query.isSettled) this.#connection.abort(query, reason);
  }

  /**
   * Asks the server to cancel what it runs for this client. Whatever that is, its promise rejects
   * (code 57014), unless it completes first.
   * @returns {Promise<void>} resolves when the cancel can no longer hit anything
   */
  async cancel() {
    try {
      await this.#connection.cancel();
    } catch (error) {
      // Other callers may have requested the same cancel.
      throw copyError(/** @type {Error} */ (error));
    }
  }

  /**
   * Closes the connection. What is in flight is rejected, as in `pg`, unless the option `pipeline` is on.
   * @param {(error?: any) => void} [callback]
   * @returns {Promise<void> | undefined} nothing with a callback
   */
  end(callback) {
    const ended = this.#end(this.#settings.pipeline);
    if (typeof callback !== 'function') return this.#own(ended);
    callBackEnd(ended, callback);
    return undefined;
  }

  /** @param {boolean} isPatient whether what is in flight is finished */
  #end(isPatient) {
    return this.#lifetime.end(() =>
      isPatient ? this.#connection.end() : this.#connection.terminate(),
    );
  }

  /** Finishes what is in flight, then closes the connection. */
  async [Symbol.asyncDispose]() {
    await this.#end(true);
  }

  /**
   * A parser for this client alone.
   * @param {number} oid
   * @param {any} format 'text', or the parser
   * @param {any} [parser]
   */
  setTypeParser(oid, format, parser) {
    if (this.#defaults === this.#settings) {
      this.#defaults = { ...this.#settings, types: new TypeOverrides(this.#settings.types) };
    }
    /** @type {TypeOverrides} */ (this.#defaults.types).setTypeParser(oid, format, parser);
  }

  /** @param {number} oid @param {'text' | 'binary'} [format] */
  getTypeParser(oid, format) {
    return this.#defaults.types.getTypeParser(oid, format);
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

/** The driver's own method: any other in its place is a wrapper. */
const plainQuery = Client.prototype.query;

/** @param {Client} client */
function isWrapped(client) {
  return client.query !== plainQuery;
}

defineClientProperties(Client.prototype, connectionOf, settingsOf);

module.exports = {
  Client,
  POOL,
  connectionOf,
  eventsOf,
  plainQuery,
  settingsOf,
  transactionsOf,
  typesOf,
};
