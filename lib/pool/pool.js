'use strict';

// The public API of a pool, in the shape of `pg`'s Pool: it reads the arguments, gives out promises and streams, and
// emits the events. admission.js decides how a query is to run, dispatcher.js on which connection; checkouts.js lends
// clients.

const { apart, callApart, ParameterError, PoolError } = require('../base');
const {
  answer,
  callBack,
  callBackEnd,
  callbackError,
  Client,
  isSubmittable,
  NamedStatements,
  readBatch,
  readQuery,
  SENDER,
  Streamable,
} = require('../client');
const { Catalog } = require('../connection');
const { readOptions, refuseOneStream } = require('../options');
const { readSubscribe, refuseReplication, Subscriptions } = require('../replication');
const { ownTypes } = require('../rows');
const { StatementRegistry } = require('../statements');
const { Admission } = require('./admission');
const { makeChangeable } = require('./changeable-options');
const { Checkouts } = require('./checkouts');
const { useClientClass } = require('./client-class');
const { Dispatcher } = require('./dispatcher');
const { IdleWatch, watchEnd } = require('./leak-warning');
const { Leases } = require('./leases');
const { checkChannel, checkPayload } = require('./listen-arguments');
const { Listener } = require('./listener');
const { definePoolProperties, describeOptions } = require('./pg-properties');
const { defineReadPool, replicaOptions } = require('./read-pool');
const { runSubmittable } = require('./submitted');

/**
 * @typedef {import('./member').Member} Member
 * @typedef {import('../client').Callback} Callback
 * @typedef {import('../query').Limits} Limits
 * @typedef {import('./loan').LentClient} LentClient
 * @typedef {import('./loan').Release} Release
 */

const NO_TEXT = 'Passing a function as the first parameter to pool.query is not supported';

/** @type {(pool: Pool) => import('./pg-properties').Inside} */
let insideOf;

class Pool extends Streamable {
  #settings;
  #options;
  #Client;
  #hasEnded = false;
  #dispatcher;
  /** @type {Admission} */
  #admission;
  /** @type {Leases} */
  #leases;
  #checkouts;
  #listener;
  #subscriptions;
  #isEnding = false;
  #names = new NamedStatements();
  /** @type {Pool | undefined} for the option `replicas` */
  #read = undefined;
  /** @type {IdleWatch | undefined} */
  #idleWatch = undefined;
  /** @type {Promise<void> | undefined} */
  #ended = undefined;

  static {
    insideOf = (pool) => ({
      dispatcher: pool.#dispatcher,
      settings: pool.#settings,
      options: pool.#options,
      Client: pool.#Client,
      hasEnded: pool.#hasEnded,
    });
  }

  /**
   * @param {string | Record<string, any>} [config] connection string or
   *   options; what is wrong with them rejects queries and connect()
   * @param {new (config: any) => Client} [ClientClass] the option `Client`, as pg-pool takes it too
   */
  constructor(config, ClientClass) {
    super();
    const { settings, refusal } = readOptions(config);
    this.#settings = settings;
    settings.multiplex ??= 'reads';
    this.#options = makeChangeable(describeOptions(config, settings), settings, () =>
      this.#dispatcher.onOptionsChanged(),
    );
    this.#Client = settings.Client ?? ClientClass ?? Client;
    const registry = new StatementRegistry(new Catalog(settings));
    const invalid =
      refusal ??
      refuseReplication(settings) ??
      refuseOneStream(settings) ??
      useClientClass(this.#Client, this.#options, settings, registry);
    const log = (settings.log = apart(settings.log));
    this.#dispatcher = new Dispatcher(settings, registry, {
      refuse: () => this.#admission.refuse(),
      hasSetUp: () =>
        this.listenerCount('connect') > 0 ||
        settings.onConnect !== undefined ||
        settings.verify !== undefined,
      hasFloating: () => this.#leases.counts.floating > 0,
      onShared: (work) => this.#leases.watch(work),
      onOpened: (client) => {
        log?.('new client connected');
        this.#idleWatch?.start();
        callApart(() => this.emit('connect', client));
      },
      onOpenFailed: (error) => log?.('client failed to connect', error),
      onLost: (error, client) => this.#emitError(error, client),
      onClosed: (client) => {
        log?.('remove client');
        process.nextTick(() => this.emit('remove', client));
      },
    });
    this.#admission = new Admission(settings, registry, this.#dispatcher, invalid);
    this.#leases = new Leases(settings, registry, this.#dispatcher, this.#admission);
    this.#checkouts = new Checkouts(settings, this.#dispatcher, this.#leases, {
      onAcquired: (client) => callApart(() => this.emit('acquire', client)),
      onReleased: (client, error) => callApart(() => this.emit('release', error, client)),
    });
    this.#listener = new Listener(settings, registry, (error, client) =>
      this.#emitError(error, client),
    );
    this.#subscriptions = new Subscriptions({
      settings,
      registry,
      onError: (error, client) => this.#emitError(error, client),
    });
    if (settings.leakWarningMillis > 0 && !settings.allowExitOnIdle) {
      this.#idleWatch = new IdleWatch(settings.leakWarningMillis, () => this.#look());
    }
    if (settings.replicas !== undefined) {
      this.#read = new ReadPool(replicaOptions(config, settings), this);
    }
  }

  /**
   * The pool of the option `replicas`, for what only reads; without that option this one.
   * @returns {Pool}
   */
  get read() {
    return this.#read ?? this;
  }

  /** The position of the last write, for the option `after` of a read. @returns {Promise<string>} */
  async walPosition() {
    // Of a standby, to which a pool without a primary may be connected, it is the position that it has replayed.
    const { rows } = await this.query({
      text:
        'select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() ' +
        'else pg_current_wal_insert_lsn() end::text as position',
      types: ownTypes,
      rowKeys: false,
    });
    return rows[0].position;
  }

  /** Connections, those that are being opened included. */
  get totalCount() {
    return this.#dispatcher.activity.totalCount;
  }

  /** Connections with nothing in flight that are not lent. */
  get idleCount() {
    return this.#dispatcher.activity.idleCount;
  }

  /** Queries and borrowers that wait for a connection. */
  get waitingCount() {
    return this.#dispatcher.activity.waitingCount;
  }

  get ending() {
    return this.#isEnding;
  }

  /** Counts since the pool was made, and the state of each connection. */
  stats() {
    return { ...this.#dispatcher.activity.stats(), leases: this.#leases.counts };
  }

  /** @param {Error} error @param {Client} client */
  #emitError(error, client) {
    if (this.listenerCount('error') === 0) return;
    Object.defineProperty(error, 'client', { value: client, configurable: true, writable: true });
    process.nextTick(() => this.emit('error', error, client));
  }

  // --- Queries on shared connections ------------------------------------------

  /**
   * @param {string | Record<string, any>} text or { text, values, name, rowMode, types, prepare }
   * @param {readonly unknown[] | Callback} [values]
   * @param {Callback | Limits | null} [third] a callback, or when to give up
   * @returns {Promise<any> | undefined} nothing with a callback
   */
  query(text, values, third) {
    if (isSubmittable(text)) {
      return this.#serve(text, typeof values === 'function' ? values : third);
    }
    const isMistaken = typeof text === 'function';
    if (isMistaken) [text, values] = ['', /** @type {Callback} */ (/** @type {unknown} */ (text))];
    this.#names.note(text);
    const query = readQuery(this.#names.fillIn(text), values, third, this.#settings);
    if (isMistaken) query.refusal = new ParameterError(NO_TEXT);
    this.#admission.submit(query);
    this.#admission.complete(query);
    return answer(query, this.#settings.Promise);
  }

  /**
   * @param {any} submittable
   * @param {unknown} given a callback, or anything else
   */
  #serve(submittable, given) {
    const callback = typeof given === 'function' ? /** @type {Callback} */ (given) : undefined;
    const promise = runSubmittable(submittable, this.#checkouts.connect());
    return answer({ callback, promise }, this.#settings.Promise);
  }

  /**
   * Statements behind one Sync, on a shared connection: one transaction, and one
   * round trip. All are committed and their results given out, or none.
   * @param {readonly (string | Record<string, any>)[]} queries texts, or
   *   { text, values, name, rowMode, types, prepare }
   * @param {Limits | null} [options]
   * @returns {Promise<import('../rows').Result[]>} in their order
   */
  batch(queries, options) {
    const batch = readBatch(queries, this.#settings, options);
    this.#admission.submit(batch);
    this.#admission.complete(batch);
    return batch.promise;
  }

  /** @override */
  [SENDER]() {
    const admission = this.#admission;
    return {
      defaults: this.#settings,
      submit: admission.submitAlone.bind(admission),
      ask: admission.submit.bind(admission),
      abort: admission.stop,
      isOrdered: false,
    };
  }

  // --- Clients, lent to one borrower --------------------------------------------

  /**
   * Borrows a client, which nobody else uses until its release().
   * @param {(error: any, client?: LentClient, release?: Release) => void} [callback]
   * @returns {Promise<LentClient> | undefined} nothing with a callback
   */
  connect(callback) {
    if (callback !== undefined && typeof callback !== 'function') {
      return this.#own(Promise.reject(callbackError('connect()')));
    }
    const borrowed = this.#checkouts.connect();
    if (callback === undefined) return this.#own(borrowed);
    callBack(borrowed, (error, client) =>
      error ? callback(error, undefined, () => {}) : callback(undefined, client, client.release),
    );
    return undefined;
  }

  /**
   * @template T
   * @param {Promise<T>} promise
   */
  #own(promise) {
    const Own = this.#settings.Promise;
    return Own === undefined ? promise : Own.resolve(promise);
  }

  /**
   * BEGIN travels with the first statement, COMMIT follows when the function is
   * done, ROLLBACK when it throws.
   * @template T
   * @param {import('../transaction').Body<T>} fn gets the transaction, which takes its statements
   * @param {Record<string, any>} [options] isolationLevel, readOnly, deferrable, retry
   * @returns {Promise<T>} what the function returns
   */
  transaction(fn, options) {
    return this.#checkouts.transaction(fn, options);
  }

  /** A pool that listens is not idle: it waits for notifications. */
  #look() {
    const activity = this.#dispatcher.activity.look();
    const isWaiting = this.#listener.isListening || this.#subscriptions.count > 0;
    const isIdle = activity.isIdle && this.#leases.count === 0 && !isWaiting;
    return { ...activity, isIdle };
  }

  // --- Notifications ------------------------------------------------------------

  /**
   * Calls the handler for each notification, on a connection beside the others.
   * @param {string} channel
   * @param {import('./listener').Handler} handler
   * @param {{ onGap?: import('./listener').OnGap }} [options]
   */
  async listen(channel, handler, options) {
    const refusal = this.#admission.refuse();
    if (refusal !== undefined) throw refusal;
    return this.#listener.listen(channel, handler, options);
  }

  /**
   * @param {string} channel
   * @param {string} [payload]
   * @returns {Promise<void>} when it is committed
   */
  async notify(channel, payload = '') {
    checkChannel(channel);
    checkPayload(payload);
    // In one transaction with others, the server would merge notifications with the same payload.
    await this.query({
      text: 'select pg_notify($1, $2)',
      values: [channel, payload],
      syncGroup: 'off',
    });
  }

  /**
   * Calls the handler for each change of the tables of a publication, on a connection beside the others.
   * @param {string | readonly string[]} publication
   * @param {import('../replication').OnChange} onChange
   * @param {Record<string, any>} [options] slot, from, onGap, streaming, maxStreamedBytes, messages, boundaries
   */
  async subscribe(publication, onChange, options) {
    const refusal = this.#admission.refuse();
    if (refusal !== undefined) throw refusal;
    return this.#subscriptions.open(readSubscribe(publication, onChange, options));
  }

  // --- The end ----------------------------------------------------------------

  /**
   * Takes nothing more, finishes what is in flight and what waits, then closes
   * all connections. Clients that are lent are waited for.
   * @param {(error?: any) => void} [callback] anything else is ignored: an event may call this with its own values
   * @returns {Promise<void> | undefined} nothing with a callback
   */
  end(callback) {
    const ended = this.#end();
    this.#ended ??= ended;
    if (typeof callback !== 'function') return this.#own(ended);
    callBackEnd(ended, callback);
    return undefined;
  }

  /** Ends it, or waits for its end. */
  async [Symbol.asyncDispose]() {
    await (this.#ended ?? this.end());
  }

  async #end() {
    if (this.ending) {
      throw new PoolError('Called end on pool more than once', 'ERR_PG_CONDUIT_POOL_ENDED');
    }
    this.#isEnding = true;
    this.#settings.log?.('ending');
    this.#idleWatch?.stop();
    const { leakWarningMillis } = this.#settings;
    const stopWatching = watchEnd(leakWarningMillis, () => {
      const { borrowed, ...others } = this.#dispatcher.activity.unfinished;
      return { ...others, borrowed: borrowed + this.#leases.counts.floating };
    });
    try {
      // Their handlers may still query the pool.
      if (this.#subscriptions.count > 0) await this.#subscriptions.end();
      await Promise.all([this.#dispatcher.end(), this.#listener.end(), this.#read?.end()]);
    } finally {
      stopWatching();
    }
    this.#hasEnded = true;
  }
}

definePoolProperties(Pool.prototype, insideOf);

const ReadPool = defineReadPool(Pool, (pool) => insideOf(pool).settings);

module.exports = { Pool };
