'use strict';

// The face of a pool, in the shape of `pg`'s Pool: queries on connections that
// others share, and clients, lent to one borrower at a time. dispatcher.js says
// who gets which connection.

const { EventEmitter } = require('node:events');

const { Batch, beginTraced, openStream, OWN_DEFAULTS, Query, watch } = require('../query');
const { Catalog } = require('../connection');
const {
  answer,
  callBack,
  callBackEnd,
  callbackError,
  Client,
  POOL,
  readBatch,
  readOptions,
  readQuery,
  readStreamed,
  settingsOf,
  transactionsOf,
} = require('../client');
const { Dispatcher } = require('./dispatcher');
const {
  apart,
  callApart,
  copyError,
  OptionError,
  ParameterError,
  PoolError,
  StatementRefusedError,
} = require('../base');
const { CopyFrom, copyRows, CopyTo, readCopy } = require('../copy');
const { IdleWatch, watchEnd, watchLoan } = require('./leak-warning');
const { Listener, checkChannel, checkPayload } = require('./listener');
const { definePoolProperties, describeOptions } = require('./pg-properties');
const { defineReadPool, replicaOptions } = require('./read-pool');
const { StatementRegistry } = require('../statements');
const { readTransaction } = require('../transaction');
const { ownTypes } = require('../rows');

/**
 * @typedef {import('./member').Member} Member
 * @typedef {import('../client').Callback} Callback
 * @typedef {import('../query').Limits} Limits
 * @typedef {(error?: Error | boolean) => void} Release
 * @typedef {Client & Disposable & { release: Release }} LentClient
 */

function firstParameterError() {
  return new ParameterError(
    'Passing a function as the first parameter to pool.query is not supported',
  );
}

/** @type {(pool: Pool) => import('./pg-properties').Inside} */
let insideOf;

class Pool extends EventEmitter {
  #settings;
  #options;
  #Client;
  #hasEnded = false;
  /** @type {import('../base').OptionError | undefined} why it cannot connect */
  #refusal;
  #registry = new StatementRegistry(new Catalog());
  #dispatcher;
  #listener;
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
    this.#options = describeOptions(config, settings);
    this.#Client = settings.Client ?? ClientClass ?? Client;
    this.#refusal = refusal ?? this.#useClient();
    const log = (settings.log = apart(settings.log));
    this.#dispatcher = new Dispatcher(settings, this.#registry, {
      refuse: () => this.#refuse(),
      hasSetUp: () =>
        this.listenerCount('connect') > 0 ||
        settings.onConnect !== undefined ||
        settings.verify !== undefined,
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
    this.#listener = new Listener(settings, this.#registry, (error, client) =>
      this.#emitError(error, client),
    );
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

  /** How far it was written until now, for the `after` of a read. @returns {Promise<string>} */
  async walPosition() {
    // On a standby, which a pool without a primary may be connected to, it is what it has replayed.
    const { rows } = await this.query({
      text:
        'select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() ' +
        'else pg_current_wal_insert_lsn() end::text as position',
      types: ownTypes,
    });
    return rows[0].position;
  }

  /** @returns {OptionError | undefined} why its class of clients cannot be had */
  #useClient() {
    const Given = this.#Client;
    if (Given === Client) return undefined;
    if (!(Given.prototype instanceof Client)) {
      return new OptionError(
        'option "Client" must be a class that extends the Client of pg-conduit',
      );
    }
    const options = Object.getOwnPropertyDescriptors(this.#options);
    const settings = this.#settings;
    settings.makeClient = (side) => new Given(Object.defineProperties({ ...side }, options));
    const silent = () => {};
    const probe = settings.makeClient({
      [POOL]: {
        settings,
        registry: this.#registry,
        onUnsent: () => false,
        onSettled: silent,
        onLost: silent,
        onClosed: silent,
      },
    });
    const isOurs = settingsOf(probe) === settings;
    probe.end();
    if (isOurs) return undefined;
    return new OptionError(
      'option "Client": the constructor of the class must pass on to super() what it is given',
    );
  }

  /** Connections, those that are being opened included. */
  get totalCount() {
    return this.#dispatcher.totalCount;
  }

  /** Connections with nothing in flight that are not lent. */
  get idleCount() {
    return this.#dispatcher.idleCount;
  }

  /** Queries and borrowers that have no connection yet. */
  get waitingCount() {
    return this.#dispatcher.waitingCount;
  }

  get ending() {
    return this.#dispatcher.isEnding;
  }

  /** Counts since the pool was made, and the state of each connection. */
  stats() {
    return this.#dispatcher.stats();
  }

  /** @returns {Error | undefined} why nothing is taken any more */
  #refuse() {
    if (this.#refusal !== undefined) return copyError(this.#refusal);
    if (!this.ending) return undefined;
    return new PoolError(
      'Cannot use a pool after calling end on the pool',
      'ERR_PG_CONDUIT_POOL_ENDED',
    );
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
    const isMistaken = typeof text === 'function';
    if (isMistaken) [text, values] = ['', /** @type {Callback} */ (/** @type {unknown} */ (text))];
    const query = readQuery(text, values, third, this.#settings);
    if (isMistaken) query.refusal = firstParameterError();
    this.#begin(query);
    this.#complete(query);
    return answer(query, this.#settings.Promise);
  }

  /** @param {Query | Batch} work */
  #begin(work) {
    // A batch of nothing.
    if (work.isSettled) return;
    const { query_timeout: millis } = this.#settings;
    const late =
      this.#refuse() ??
      work.refusal ??
      watch(work, millis, (error) => this.#dispatcher.giveUp(work, error));
    beginTraced(work, () => {
      if (late !== undefined) work.reject(late);
      else if (work instanceof Batch) this.#dispatchBatch(work);
      else this.#dispatch(work);
    });
  }

  /** @param {Query | Batch} work */
  #complete(work) {
    const { fetchedTypes } = this.#settings;
    if (fetchedTypes === undefined) return;
    work.promise = fetchedTypes.complete(work, (text) => {
      const query = new Query(text, [], {}, OWN_DEFAULTS);
      this.#begin(query);
      return query.promise;
    });
  }

  /** @param {Query} query */
  #submitShared(query) {
    this.#begin(query);
  }

  /** @param {Query} query */
  #dispatch(query) {
    const info = query.identify(this.#registry);
    if (info.isSeveral && query.parameters.length === 0 && !query.isExtended) {
      query.endsTransaction = true;
      this.#dispatcher.runAlone(query);
      return;
    }
    switch (info.class.kind) {
      case 'plain':
        // What is to be cancelled must be alone on its connection.
        if (query.runsSolo) this.#dispatcher.runAlone(query);
        else this.#dispatcher.runShared(query);
        return;
      case 'alone':
        this.#dispatcher.runAlone(query);
        return;
      default:
        query.reject(new StatementRefusedError(String(info.class.refusal)));
    }
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
    this.#begin(batch);
    this.#complete(batch);
    return batch.promise;
  }

  /** @param {Batch} batch */
  #dispatchBatch(batch) {
    if (!batch.admit(this.#registry, true)) return;
    if (batch.runsAlone) this.#dispatcher.runAlone(batch);
    else this.#dispatcher.runShared(batch);
  }

  /**
   * The rows as they come, on a connection of their own, with the server stopped
   * while nobody reads them.
   * @param {string | Record<string, any>} text or { text, values, name, rowMode, types, signal }
   * @param {readonly unknown[]} [values]
   * @param {import('../query').StreamOptions | null} [options]
   */
  stream(text, values, options) {
    const query = readStreamed(text, values, options, this.#settings);
    return openStream(query, options, this.#stop, () => this.#submitAlone(query));
  }

  /**
   * @param {string} text COPY … FROM STDIN
   * @returns {CopyFrom} finishes when the server has taken it all
   */
  copyFrom(text) {
    const query = readCopy('in', text, this.#settings);
    return this.#openCopyFrom(query);
  }

  /** @param {import('../copy').CopyQuery} query */
  #openCopyFrom(query) {
    return new CopyFrom(query, this.#stop, () => this.#submitAlone(query));
  }

  /**
   * Rows into a table, by COPY.
   * @param {string | readonly string[]} table its name, 'schema.name', or [schema, name]
   * @param {readonly string[]} columns
   * @param {Iterable<readonly unknown[]> | AsyncIterable<readonly unknown[]>} rows
   * @param {unknown[]} more nothing
   * @returns {Promise<{ rowCount: number }>} when all are committed; none, if it rejects
   */
  copyRows(table, columns, rows, ...more) {
    const face = {
      submit: this.#submitShared.bind(this),
      open: this.#openCopyFrom.bind(this),
      isOrdered: false,
    };
    return copyRows(face, table, columns, rows, ...more);
  }

  /**
   * @param {string} text COPY … TO STDOUT
   * @returns {CopyTo}
   */
  copyTo(text) {
    const query = readCopy('out', text, this.#settings);
    return new CopyTo(query, this.#stop, () => this.#submitAlone(query));
  }

  /** @param {Query} query that has a connection to itself though it needs no session */
  #submitAlone(query) {
    query.info = this.#registry.find(query.text);
    const { kind, refusal } = query.info.class;
    const isFine = kind === 'plain' || kind === 'alone' || query.isCopy;
    const reason =
      this.#refuse() ??
      query.refusal ??
      (isFine ? undefined : new StatementRefusedError(String(refusal)));
    beginTraced(query, () => {
      if (reason !== undefined) query.reject(reason);
      else this.#dispatcher.runAlone(query);
    });
  }

  #stop = (
    /** @type {Query} */ query,
    /** @type {import('../base').QueryAbortedError} */ reason,
  ) => {
    if (!query.isSettled) this.#dispatcher.giveUp(query, reason);
  };

  // --- Clients, lent to one borrower --------------------------------------------

  /**
   * A client of one's own, until its release().
   * @param {(error: any, client?: LentClient, release?: Release) => void} [callback]
   * @returns {Promise<LentClient> | undefined} nothing with a callback
   */
  connect(callback) {
    if (callback !== undefined && typeof callback !== 'function') {
      return this.#own(Promise.reject(callbackError('connect()')));
    }
    const loan = this.#watchLoan();
    const borrowed = this.#dispatcher.borrow().then((member) => this.#lend(member, loan));
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
  async transaction(fn, options) {
    readTransaction(fn, options);
    const loan = this.#watchLoan();
    const member = await this.#dispatcher.borrow();
    loan?.start();
    transactionsOf(member.client).open();
    try {
      return await member.client.transaction(fn, options);
    } finally {
      loan?.stop();
      this.#dispatcher.takeBack(member);
    }
  }

  #watchLoan() {
    const { leakWarningMillis } = this.#settings;
    return leakWarningMillis > 0 ? watchLoan(leakWarningMillis) : undefined;
  }

  /** Whoever listens waits for what others say. */
  #look() {
    const { activity } = this.#dispatcher;
    return { ...activity, isIdle: activity.isIdle && !this.#listener.isListening };
  }

  /** @param {Member} member @param {ReturnType<typeof watchLoan>} [loan] */
  #lend(member, loan) {
    const { client } = member;
    let isLent = true;
    loan?.start();
    transactionsOf(client).open();
    const lent = /** @type {LentClient} */ (client);
    lent.release = (error) => {
      if (!isLent) {
        throw new PoolError(
          'Release called on client which has already been released to the pool.',
          'ERR_PG_CONDUIT_RELEASED',
        );
      }
      isLent = false;
      loan?.stop();
      const counted = /** @type {{ _poolUseCount?: number }} */ (lent);
      counted._poolUseCount = (counted._poolUseCount ?? 0) + 1;
      callApart(() => this.emit('release', error, client));
      this.#dispatcher.takeBack(member, Boolean(error));
    };
    // Made anew for each borrower, so that nobody disposes of what another one has.
    lent[Symbol.dispose] = () => {
      if (isLent) lent.release();
    };
    lent[Symbol.asyncDispose] = async () => {
      if (isLent) lent.release();
    };
    callApart(() => this.emit('acquire', client));
    return lent;
  }

  // --- Notifications ------------------------------------------------------------

  /**
   * Calls the handler for each notification, on a connection beside the others.
   * @param {string} channel
   * @param {import('./listener').Handler} handler
   * @param {{ onGap?: import('./listener').OnGap }} [options]
   */
  async listen(channel, handler, options) {
    const refusal = this.#refuse();
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
    // In a transaction with others the server would merge it with those that say the same.
    await this.query({
      text: 'select pg_notify($1, $2)',
      values: [channel, payload],
      syncGroup: 'off',
    });
  }

  // --- The end ----------------------------------------------------------------

  /**
   * Takes nothing more, finishes what is in flight and what waits, then closes
   * all connections. Clients that are lent are waited for.
   * @param {(error?: any) => void} [callback] nothing else is one: an event may call this with values of its own
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
    this.#settings.log?.('ending');
    this.#idleWatch?.stop();
    const { leakWarningMillis } = this.#settings;
    const stopWatching = watchEnd(leakWarningMillis, () => this.#dispatcher.unfinished);
    try {
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
