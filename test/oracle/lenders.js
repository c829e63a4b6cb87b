'use strict';

// Who lends clients to scripts: a pool, or `pg`, whose sessions are as nobody had used them. Used by oracle.js.

const pg = require('pg');
const { NAMES } = require('./statements');

/** DISCARD ALL leaves these in a session: custom parameters, as '' instead of NULL. */
const IS_CLEAN = `select ${NAMES.map((name) => `current_setting('app.${name}', true) is null`).join(' and ')} as clean`;
/** It leaves this as well, and nothing shows it. */
const INDELIBLE = /setseed|\bload\b/i;

/** A client of `pg` that sends one query when the one before is answered, which is how `pg` wants it. */
class Reference extends pg.Client {
  isIndelible = false;
  /** @type {Promise<any>} */
  #last = Promise.resolve();
  /** @type {() => void} */
  #onReady = () => {};
  /** @type {Promise<void>} */
  #ready = Promise.resolve();

  /** @param {any} config */
  constructor(config) {
    super(config);
    this.on('error', () => {});
    const onReady = () => this.#onReady();
    for (const event of ['readyForQuery', 'end']) {
      /** @type {any} */ (this).connection.on(event, onReady);
    }
  }

  /** @param {any[]} args @returns {any} */
  query(...args) {
    const [first] = args;
    if (INDELIBLE.test(first.text ?? first)) this.isIndelible = true;
    // A cursor is asked by itself.
    if (typeof first.submit === 'function') return super.query(first);
    const callback = typeof args.at(-1) === 'function' ? args.pop() : undefined;
    const result = this.#last.then(() => this.#ask(args));
    this.#last = result.catch(() => {});
    if (callback === undefined) return result;
    result.then(
      (value) => callback(null, value),
      (error) => callback(error),
    );
    return undefined;
  }

  /** @returns {Promise<any>} when all that was asked for has been answered */
  whenDone() {
    return this.#last;
  }

  /** @param {any[]} args @returns {Promise<any>} */
  async #ask(args) {
    this.#ready = new Promise((resolve) => {
      this.#onReady = resolve;
    });
    try {
      return await super.query(.../** @type {[any]} */ (args));
    } catch (error) {
      // `pg` rejects before the server has said in which state the transaction is now.
      if (!(/** @type {any} */ (this).readyForQuery)) await this.#ready;
      throw error;
    }
  }
}

/** More would each have to learn all tables, which takes most of the time. */
const MOST_SESSIONS = 4;

/** Sessions of `pg` in which nothing is left. To begin a new one for each script would take long. */
class CleanSessions {
  /** @type {Reference[]} */
  #idle = [];
  #lent = 0;
  /** @type {(() => void)[]} */
  #waiting = [];
  #config;

  /** @param {any} config */
  constructor(config) {
    this.#config = config;
  }

  async connect() {
    this.#lent += 1;
    if (this.#lent > MOST_SESSIONS) {
      await new Promise((resolve) => {
        this.#waiting.push(() => resolve(undefined));
      });
    }
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    const client = new Reference(this.#config);
    await client.connect();
    return client;
  }

  /** @param {Reference} client @param {boolean} destroy */
  async release(client, destroy) {
    if (!destroy && !client.isIndelible && (await this.#isCleaned(client))) this.#idle.push(client);
    else {
      // What its borrower did not wait for would be asked of a client that has ended.
      await client.whenDone();
      await client.end();
    }
    this.#lent -= 1;
    this.#waiting.shift()?.();
  }

  /** @param {Reference} client */
  async #isCleaned(client) {
    // What its borrower did not wait for may still begin a transaction: its status says nothing yet.
    await client.query('rollback');
    await client.query('discard all');
    // It would believe that its statements are still there.
    /** @type {any} */ (client).connection.parsedStatements = {};
    const { rows } = await client.query(IS_CLEAN);
    return rows[0].clean;
  }

  async close() {
    await Promise.all(this.#idle.map((client) => client.end()));
  }
}

function ignore() {}

/**
 * @param {any} pool whatever has `connect()` in the manner of `pg`
 * @param {'fresh' | 'cleaned' | 'used'} sessions 'fresh': none is lent twice; 'cleaned': what a borrower has left in it
 *   is gone, also what functions did; 'used': as the pool lends them
 * @returns {import('./runner').Lender}
 */
function borrowing(pool, sessions) {
  const isFresh = sessions === 'fresh';
  return {
    isFresh,
    connect: () => pool.connect(),
    release: (client, destroy) => {
      if (sessions === 'cleaned' && !destroy) {
        for (const text of ['rollback', 'discard all']) client.query(text).catch(ignore);
      }
      client.release(destroy || isFresh);
    },
  };
}

module.exports = { CleanSessions, Reference, borrowing };
