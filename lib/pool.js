'use strict';

// Chooses connections, and keeps the lines of what waits for one. Queries share connections: each goes to one that is idle, else, if it
// would stand behind something slow, waits for one that is opened, else joins
// the pipeline that is expected to be done first (README, "How it works"). Clients
// are lent to one borrower at a time.

const { EventEmitter } = require('node:events');

const { readBatch } = require('./batch');
const { readOptions, transactionsOf } = require('./client');
const { isTransient } = require('./connection-errors');
const { afterDelivery } = require('./delivery');
const { watch } = require('./deadline');
const { traceQuery } = require('./diagnostics');
const { PoolError, StatementRefusedError, copyError } = require('./errors');
const { CopyFrom, CopyTo, readCopy } = require('./copy');
const { copyRows } = require('./copy-rows');
const { watchLoan } = require('./leak-warning');
const { Listener, checkChannel, checkPayload } = require('./listener');
const { PoolConnections } = require('./pool-connections');
const { answer, callBack, readQuery } = require('./query-arguments');
const { openStream } = require('./row-stream');
const { StatementRegistry } = require('./statement-registry');
const { StreamedQuery } = require('./streamed-query');
const { readTransaction } = require('./transaction-options');
const { WaitingLine } = require('./waiting-line');

/**
 * @typedef {import('./batch').Batch} Batch
 * @typedef {import('./client').Client} Client
 * @typedef {import('./pool-member').Member} Member
 * @typedef {import('./query').Query} Query
 * @typedef {import('./query-arguments').Callback} Callback
 * @typedef {{ resolve: (member: Member) => void, reject: (error: Error) => void }} Borrower
 * @typedef {(error?: Error | boolean) => void} Release
 * @typedef {Client & Disposable & { release: Release }} LentClient
 */

/** Opening a connection takes about so long: a longer queue is worth another one. */
const GROWTH_MILLIS = 5;

class Pool extends EventEmitter {
  #settings;
  /** @type {import('./errors').OptionError | undefined} why it cannot connect */
  #refusal;
  #registry = new StatementRegistry();
  #connections;
  /** @type {WaitingLine<Query | Batch>} */
  #queries;
  /** @type {WaitingLine<Borrower>} */
  #borrowers;
  #listener;
  /** What waits for a connection without neighbours. @type {WeakMap<Query | Batch, Borrower>} */
  #waitingAlone = new WeakMap();
  #pumpPending = false;
  /** @type {(() => void) | undefined} set by end() */
  #whenEnded = undefined;
  /** @type {Promise<void> | undefined} */
  #ended = undefined;

  /**
   * @param {string | Record<string, any>} [config] connection string or
   *   options; what is wrong with them rejects queries and connect()
   */
  constructor(config) {
    super();
    const { settings, refusal } = readOptions(config);
    this.#settings = settings;
    this.#refusal = refusal;
    this.#connections = new PoolConnections(settings, this.#registry, {
      onOpened: (member) => this.#onOpened(member),
      onOpenFailed: (error) => this.#onOpenFailed(error),
      onLost: (member, error) => this.#onLost(member, error),
      onClosed: (member) => this.#onClosed(member),
      onUnsent: (work) => this.#onUnsent(work),
      onSettled: () => this.#onSettled(),
    });
    const { connectionTimeoutMillis } = settings;
    this.#queries = new WaitingLine(connectionTimeoutMillis, (query) =>
      query.reject(this.#timeoutError()),
    );
    this.#borrowers = new WaitingLine(connectionTimeoutMillis, ({ reject }) =>
      reject(this.#timeoutError()),
    );
    this.#listener = new Listener(settings, this.#registry, (error, client) =>
      this.#emitError(error, client),
    );
  }

  /** Connections, those that are being opened included. */
  get totalCount() {
    return this.#connections.members.size;
  }

  /** Connections with nothing in flight that are not lent. */
  get idleCount() {
    return this.#connections.shared.filter((member) => member.isIdle).length;
  }

  /** Queries and borrowers that have no connection yet. */
  get waitingCount() {
    return this.#queries.length + this.#borrowers.length;
  }

  get ending() {
    return this.#whenEnded !== undefined;
  }

  /** Counts since the pool was made, and the state of each connection. */
  stats() {
    return this.#connections.report({
      totalCount: this.totalCount,
      idleCount: this.idleCount,
      waitingCount: this.waitingCount,
    });
  }

  /**
   * What a listener throws is an uncaught exception, as ever, but it must not
   * keep the connection from being used.
   * @param {string} event
   * @param {...any} parameters
   */
  #emitNow(event, ...parameters) {
    try {
      this.emit(event, ...parameters);
    } catch (error) {
      process.nextTick(() => {
        throw error;
      });
    }
  }

  // --- Queries on shared connections ------------------------------------------

  /**
   * @param {string | Record<string, any>} text or { text, values, name, rowMode, types, prepare }
   * @param {readonly unknown[] | Callback} [values]
   * @param {Callback} [callback]
   * @returns {Promise<any> | undefined} nothing with a callback
   */
  query(text, values, callback) {
    const { types, int8 } = this.#settings;
    const query = readQuery(text, values, callback, types, int8);
    const refusal = this.#refuse() ?? query.refusal;
    const late =
      refusal ?? watch(query, this.#settings.query_timeout, (error) => this.#giveUp(query, error));
    traceQuery(query, () => {
      if (late !== undefined) query.reject(late);
      else this.#dispatch(query);
    });
    return answer(query);
  }

  /** @param {Query} query */
  #dispatch(query) {
    const info = this.#registry.find(query.text);
    query.info = info;
    if (info.isSeveral && query.parameters.length === 0) {
      query.endsTransaction = true;
      this.#runAlone(query);
      return;
    }
    switch (info.class.kind) {
      case 'plain':
        // What is to be cancelled must be alone on its connection.
        if (query.runsSolo) this.#runAlone(query);
        else this.#runShared(query);
        return;
      case 'alone':
        this.#runAlone(query);
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
   * @returns {Promise<import('./result').Result[]>} in their order
   */
  batch(queries) {
    const { types, int8 } = this.#settings;
    const batch = readBatch(queries, types, int8);
    const refusal = this.#refuse() ?? batch.refusal;
    if (refusal !== undefined) batch.reject(refusal);
    else if (batch.members.length > 0 && batch.admit(this.#registry, true)) {
      if (batch.runsAlone) this.#runAlone(batch);
      else this.#runShared(batch);
    }
    return batch.promise;
  }

  /**
   * The rows as they come, on a connection of their own, with the server stopped
   * while nobody reads them.
   * @param {string | Record<string, any>} text or { text, values, name, rowMode, types, signal }
   * @param {readonly unknown[]} [values]
   * @param {{ batchSize?: number }} [options]
   */
  stream(text, values, options) {
    const { types, int8 } = this.#settings;
    const query = readQuery(text, values, undefined, types, int8, StreamedQuery);
    return openStream(query, options, this.#stop, () => this.#submitAlone(query));
  }

  /**
   * @param {string} text COPY … FROM STDIN
   * @returns {CopyFrom} finishes when the server has taken it all
   */
  copyFrom(text) {
    const query = readCopy('in', text, this.#settings.types, this.#settings.int8);
    return new CopyFrom(query, this.#stop, () => this.#submitAlone(query));
  }

  /**
   * Rows into a table, by COPY.
   * @param {string | readonly [string, string]} table its name, or [schema, name]
   * @param {readonly string[]} columns
   * @param {Iterable<readonly unknown[]> | AsyncIterable<readonly unknown[]>} rows
   * @returns {Promise<{ rowCount: number }>} when all are committed; none, if it rejects
   */
  copyRows(table, columns, rows) {
    return copyRows((text) => this.copyFrom(text), table, columns, rows);
  }

  /**
   * @param {string} text COPY … TO STDOUT
   * @returns {CopyTo}
   */
  copyTo(text) {
    const query = readCopy('out', text, this.#settings.types, this.#settings.int8);
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
    if (reason !== undefined) query.reject(reason);
    else this.#runAlone(query);
  }

  #stop = (
    /** @type {Query} */ query,
    /** @type {import('./errors').QueryAbortedError} */ reason,
  ) => {
    if (!query.isSettled) this.#giveUp(query, reason);
  };

  /** @param {Query | Batch} work */
  #runShared(work) {
    const member = this.#queries.length === 0 ? this.#choose(this.waitingCount) : undefined;
    if (member !== undefined) member.submit(work);
    else this.#enqueue(this.#queries, work, (error) => work.reject(error));
  }

  /**
   * Without neighbours, who would wait for it or for its locks.
   * @param {Query | Batch} work
   */
  #runAlone(work) {
    this.#borrow(work).then(
      (member) => {
        if (work.isSettled) {
          this.#takeBack(member);
          return;
        }
        // Not by its promise: a handler there would hide a rejection that nobody else handles.
        work.onceSettled(() => this.#takeBack(member));
        member.submit(work);
      },
      (error) => work.reject(error),
    );
  }

  /**
   * Its caller waits no longer.
   * @param {Query} query
   * @param {import('./errors').QueryAbortedError} reason
   */
  #giveUp(query, reason) {
    if (query.connection !== undefined) {
      query.connection.giveUp(query, reason);
      return;
    }
    this.#queries.remove(query);
    const borrower = this.#waitingAlone.get(query);
    if (borrower !== undefined) this.#borrowers.remove(borrower);
    this.#waitingAlone.delete(query);
    query.reject(reason);
    this.#onSettled();
  }

  /**
   * @param {number} othersWaiting
   * @returns {Member | undefined} nothing: the query is to wait
   */
  #choose(othersWaiting) {
    const { maxInFlight } = this.#settings;
    const now = performance.now();
    /** @type {Member | undefined} */
    let best;
    let leastMillis = Infinity;
    for (const member of this.#connections.shared) {
      const { load } = member.connection;
      if (member.state !== 'shared' || member.isSpent) continue;
      if (load.inFlight === 0) return member;
      if (load.inFlight >= maxInFlight || load.expectedMillis >= leastMillis) continue;
      // Never behind something slow: whoever waits gets the first one that is free.
      if (load.isBlocked(now)) continue;
      best = member;
      leastMillis = load.expectedMillis;
    }
    if (best === undefined) return undefined;
    const { connectingCount, mayGrow } = this.#connections;
    // What was never seen may be slow: not behind it while a connection is being opened, or may be.
    const isDoubtful = best.connection.load.unknown > 0;
    if (isDoubtful && (connectingCount > othersWaiting || mayGrow)) return undefined;
    if (leastMillis > GROWTH_MILLIS && connectingCount === 0 && mayGrow) this.#connections.open();
    return best;
  }

  // --- Clients, lent to one borrower --------------------------------------------

  /**
   * A client of one's own, until its release().
   * @param {(error: any, client?: LentClient, release?: Release) => void} [callback]
   * @returns {Promise<LentClient> | undefined} nothing with a callback
   */
  connect(callback) {
    const loan = this.#watchLoan();
    const borrowed = this.#borrow().then((member) => this.#lend(member, loan));
    if (callback === undefined) return borrowed;
    callBack(borrowed, (error, client) =>
      error === null
        ? callback(null, client, client.release)
        : callback(error, undefined, () => {}),
    );
    return undefined;
  }

  /**
   * @param {Query | Batch} [work] that it is for
   * @returns {Promise<Member>} in the state exclusive
   */
  #borrow(work) {
    return new Promise((resolve, reject) => {
      const refusal = this.#refuse();
      if (refusal !== undefined) {
        reject(refusal);
        return;
      }
      const borrower = { resolve, reject };
      if (work !== undefined) this.#waitingAlone.set(work, borrower);
      this.#enqueue(this.#borrowers, borrower, reject);
    });
  }

  /**
   * BEGIN travels with the first statement, COMMIT follows when the function is
   * done, ROLLBACK when it throws.
   * @template T
   * @param {import('./transaction').Body<T>} fn gets the transaction, which takes its statements
   * @param {Record<string, any>} [options] isolationLevel, readOnly, deferrable, retry
   * @returns {Promise<T>} what the function returns
   */
  async transaction(fn, options) {
    readTransaction(fn, options);
    const loan = this.#watchLoan();
    const member = await this.#borrow();
    loan?.start();
    transactionsOf(member.client).open();
    try {
      return await member.client.transaction(fn, options);
    } finally {
      loan?.stop();
      this.#takeBack(member);
    }
  }

  #watchLoan() {
    const { leakWarningMillis } = this.#settings;
    return leakWarningMillis > 0 ? watchLoan(leakWarningMillis) : undefined;
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
      this.#emitNow('release', error, client);
      this.#takeBack(member, Boolean(error));
    };
    // Made anew for each borrower, so that nobody disposes of what another one has.
    lent[Symbol.dispose] = () => {
      if (isLent) lent.release();
    };
    lent[Symbol.asyncDispose] = async () => {
      if (isLent) lent.release();
    };
    this.#emitNow('acquire', client);
    return lent;
  }

  /**
   * @param {Member} member
   * @param {boolean} [isBroken] the borrower does not want it to be used again
   */
  async #takeBack(member, isBroken = false) {
    transactionsOf(member.client).close();
    if (!this.#connections.members.has(member)) return;
    if (isBroken) {
      member.become('leaving');
      member.connection.destroy();
      return;
    }
    await member.connection.whenCancelled();
    const isUsable = await member.reset(this.listenerCount('connect') > 0);
    if (!this.#connections.members.has(member)) return;
    if (isUsable && !member.isSpent) this.#connections.share(member);
    else this.#connections.retire(member);
    this.#pump();
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

  // --- The waiting lines --------------------------------------------------------

  /** @returns {Error | undefined} why nothing is taken any more */
  #refuse() {
    if (this.#refusal !== undefined) return copyError(this.#refusal);
    if (!this.ending) return undefined;
    return new PoolError(
      'Cannot use a pool after calling end on the pool',
      'ERR_PG_CONDUIT_POOL_ENDED',
    );
  }

  #timeoutError() {
    return new PoolError(
      'timeout exceeded when trying to connect: no connection was free within ' +
        `${this.#settings.connectionTimeoutMillis} ms (connectionTimeoutMillis)`,
      'ERR_PG_CONDUIT_POOL_TIMEOUT',
      { cause: this.#connections.lastError },
    );
  }

  /**
   * @template T
   * @param {WaitingLine<T>} line
   * @param {T} item
   * @param {(error: Error) => void} reject
   */
  #enqueue(line, item, reject) {
    const { maxWaiting } = this.#settings;
    line.push(item);
    this.#pump();
    if (this.waitingCount <= maxWaiting || !line.remove(item)) return;
    reject(
      new PoolError(
        `the pool is overloaded: ${maxWaiting} are waiting for a connection (maxWaiting); ` +
          'try again later, or raise max or maxInFlight',
        'ERR_PG_CONDUIT_POOL_FULL',
      ),
    );
  }

  /**
   * Its connection was lost before it was sent: another one does as well.
   * @param {Query | Batch} work
   */
  #onUnsent(work) {
    afterDelivery(() => {
      if (work.isSettled) return;
      work.connection = undefined;
      this.#runShared(work);
    });
    return true;
  }

  #onSettled() {
    if (this.#pumpPending) return;
    const { allowExitOnIdle, maxUses } = this.#settings;
    const isWorthIt =
      this.waitingCount > 0 || this.ending || allowExitOnIdle || maxUses !== Infinity;
    if (!isWorthIt) return;
    this.#pumpPending = true;
    afterDelivery(() => {
      this.#pumpPending = false;
      this.#pump();
    });
  }

  /** Gives out what is free, and opens what is missing. */
  #pump() {
    this.#connections.retireSpent();
    this.#serveQueries();
    this.#serveBorrowers();
    this.#connections.grow(this.waitingCount, () => this.#pump());
    if (this.#settings.allowExitOnIdle) {
      for (const member of this.#connections.shared) {
        if (member.isIdle) member.connection.setLoopRef(false);
      }
    }
    if (this.ending) this.#finish();
  }

  #serveQueries() {
    for (let query = this.#queries.peek(); query !== undefined; query = this.#queries.peek()) {
      const member = this.#choose(this.waitingCount - 1);
      if (member === undefined) return;
      this.#queries.shift();
      member.submit(query);
    }
  }

  #serveBorrowers() {
    for (let next = this.#borrowers.peek(); next !== undefined; next = this.#borrowers.peek()) {
      const member = this.#connections.shared.find(({ isIdle, isSpent }) => isIdle && !isSpent);
      if (member === undefined) break;
      this.#borrowers.shift();
      this.#connections.unshare(member);
      member.become('exclusive');
      next.resolve(member);
    }
    // Under a steady load no connection is ever idle by itself: some are kept
    // free of new queries, one for each borrower, unless queries wait for longer.
    let wanted = this.#connections.mayGrow ? 0 : this.#borrowers.length;
    if (this.#borrowers.oldestSince > this.#queries.oldestSince) wanted = 0;
    const byCost = [...this.#connections.shared].sort(
      (a, b) => a.connection.load.expectedMillis - b.connection.load.expectedMillis,
    );
    for (const member of byCost) member.become(wanted-- > 0 ? 'reserved' : 'shared');
  }

  // --- Connections that come and go ---------------------------------------------

  /** @param {Member} member */
  #onOpened(member) {
    // A listener may send what every connection is to begin with; it still has it alone.
    this.#emitNow('connect', member.client);
    member.connection.hasTouchedSession = false;
    this.#connections.share(member);
    this.#pump();
  }

  /** @param {Error} error */
  #onOpenFailed(error) {
    // Others that are connected will serve those who wait; a deadline says how
    // long a server that is down may take to come back.
    const { members, connectingCount } = this.#connections;
    const isHopeful =
      members.size > connectingCount ||
      (isTransient(error) && this.#settings.connectionTimeoutMillis > 0);
    if (!isHopeful && connectingCount === 0) {
      for (const query of this.#queries.clear()) query.reject(copyError(error));
      for (const { reject } of this.#borrowers.clear()) reject(copyError(error));
    }
    this.#pump();
  }

  /** @param {Member} member @param {Error} error */
  #onLost(member, error) {
    // Who has borrowed it hears it from the client.
    if (member.state !== 'exclusive') this.#emitError(error, member.client);
  }

  /** @param {Error} error @param {Client} client */
  #emitError(error, client) {
    if (this.listenerCount('error') > 0) process.nextTick(() => this.emit('error', error, client));
  }

  /** @param {Member} member */
  #onClosed(member) {
    process.nextTick(() => this.emit('remove', member.client));
    this.#pump();
  }

  // --- The end ----------------------------------------------------------------

  /**
   * Takes nothing more, finishes what is in flight and what waits, then closes
   * all connections. Clients that are lent are waited for.
   * @param {(error: any) => void} [callback]
   * @returns {Promise<void> | undefined} nothing with a callback
   */
  end(callback) {
    const ended = this.#end();
    this.#ended ??= ended;
    if (callback === undefined) return ended;
    callBack(ended, (error) => callback(error));
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
    const membersEnded = new Promise((resolve) => {
      this.#whenEnded = () => resolve(undefined);
      this.#pump();
    });
    await Promise.all([membersEnded, this.#listener.end()]);
    this.#connections.stopTimers();
  }

  #finish() {
    if (this.waitingCount > 0) return;
    this.#connections.close();
    if (this.#connections.members.size === 0) this.#whenEnded?.();
  }
}

module.exports = { Pool };
