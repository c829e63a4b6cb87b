'use strict';

// Pools that lend clients wrongly, each in a way of its own: the oracle must find them all. They are made of `pg`: a
// client has a session that nobody else has, and a fault sends some of its statements elsewhere, or not at all.
// Used by run.js and the tests.

const { EventEmitter } = require('node:events');
const pg = require('pg');
const { Reference } = require('./lenders');

/**
 * @typedef {'own' | 'elsewhere' | 'overtaking' | 'nowhere' | 'twice'} Route
 *
 * @typedef {object} State of a client, as a fault may see it
 * @property {boolean} isInTransaction by the texts that were sent
 * @property {Set<string>} seen texts
 * @property {boolean} hasChained
 *
 * @typedef {object} Fault
 * @property {(text: string, state: State) => Route} [route]
 * @property {boolean} [isShared] a session is lent again, after DISCARD ALL
 * @property {boolean} [isLeft] a session is lent again as it was left
 * @property {boolean} [isDeaf] notices are lost
 * @property {boolean} [isVague] errors lose what is not their code and message
 * @property {boolean} [isStrict] only where NULL and '' of a custom parameter are told apart
 */

/** @param {RegExp} pattern @param {Route} [route] @returns {Fault} */
const where = (pattern, route = 'elsewhere') => ({
  route: (text) => (pattern.test(text) ? route : 'own'),
});
/** @param {RegExp} pattern @param {Route} [route] @returns {Fault} */
const whereOutside = (pattern, route = 'elsewhere') => ({
  route: (text, { isInTransaction }) => (!isInTransaction && pattern.test(text) ? route : 'own'),
});

const READ = /^(?:select|show|values|table|with recursive)\b(?!.*for update)/i;

/** @type {Record<string, Fault>} */
const FAULTS = {
  'every statement goes anywhere': { route: () => 'elsewhere' },
  'reads go anywhere': where(READ),
  'what is outside of transactions goes anywhere': whereOutside(/(?:)/),
  'reads outside of transactions go anywhere': whereOutside(READ),
  'SET is forgotten': where(/^set (?!search_path|local|role)/i, 'nowhere'),
  'SET LOCAL is forgotten': where(/^set local (?!role)/i, 'nowhere'),
  'RESET is forgotten': where(/^reset/i, 'nowhere'),
  'lastval is asked elsewhere': where(/lastval|currval/),
  'nextval goes anywhere': whereOutside(/^select nextval/),
  'a view is taken for what it is called': whereOutside(/from \S*(?:touching|deep|growing)\b/),
  'a function is taken for what it is called': whereOutside(
    /^select \S*(?:touch|touch_int|grow|next_one)\(/,
  ),
  'an operator is taken for a plain one': whereOutside(/operator\(/),
  'a cast is taken for a plain one': whereOutside(/mood::int|::\S*positive/),
  'a trigger is taken for harmless': whereOutside(/^(?:insert into|update) \S*triggered/),
  'a default is taken for harmless': whereOutside(/^insert into \S*defaulted/),
  'a check is taken for harmless': whereOutside(/^insert into \S*checked/),
  'a policy is taken for harmless': whereOutside(/from \S*guarded\b/),
  'a partition is taken for harmless': whereOutside(/^insert into \S*parted\b/),
  'a foreign key is taken for harmless': whereOutside(/^delete from \S*parent\b/),
  'a view is written to as to a table': whereOutside(/^insert into \S*(?:through|instead)\b/),
  'set_config() is not recognized': whereOutside(/u&"set|"set_config"|query_to_xml/),
  'what asks the session goes anywhere': whereOutside(
    /pg_cursors|pg_locks|pg_listening|pg_prepared|pg_settings/,
  ),
  'a temporary table is looked for elsewhere': whereOutside(/^select .*from (?:tmp1|made)\b/),
  'a proof outlives a change of the schema': {
    route: (text, { seen, isInTransaction }) =>
      !isInTransaction && /\bv1$|\bf1\(\)$/.test(text) && READ.test(text) && seen.has(text)
        ? 'elsewhere'
        : 'own',
  },
  'a read overtakes what was sent before': whereOutside(
    /^select .*from \S*(?:plain|counters|calm)\b(?!.*for update)/,
    'overtaking',
  ),
  'COMMIT AND CHAIN ends the transaction': {
    route: (text, { hasChained }) => (hasChained && READ.test(text) ? 'elsewhere' : 'own'),
  },
  'ROLLBACK TO is forgotten': where(/^rollback to/i, 'nowhere'),
  'a write is sent twice': whereOutside(/^update \S*counters|^insert into \S*logged/, 'twice'),
  'a block is sent twice': where(/^(?:do|call)\b/, 'twice'),
  'session locks are taken elsewhere': whereOutside(/pg_(?:try_)?advisory_lock/),
  'EXECUTE goes anywhere': whereOutside(/^execute/),
  'FETCH goes anywhere': whereOutside(/^fetch/),
  'a session is lent again as it was left': { isLeft: true },
  'a session is lent again after DISCARD ALL alone': { isShared: true, isStrict: true },
  'notices are lost': { isDeaf: true },
  'errors lose their details': { isVague: true },
};

class FaultyClient extends EventEmitter {
  /** @type {State} */
  #state = { isInTransaction: false, seen: new Set(), hasChained: false };
  /** @type {Promise<any>} */
  #last = Promise.resolve();
  #searchPath = '';
  #fault;
  #own;
  #others;

  /** @param {Fault} fault @param {any} own @param {any} others pool */
  constructor(fault, own, others) {
    super();
    this.#fault = fault;
    this.#own = own;
    this.#others = others;
    for (const event of ['notice', 'notification']) {
      own.removeAllListeners(event);
      if (!fault.isDeaf) own.on(event, (/** @type {any} */ news) => this.emit(event, news));
    }
  }

  get processID() {
    return this.#own.processID;
  }

  getTransactionStatus() {
    return this.#own.getTransactionStatus();
  }

  /** @param {any[]} args @returns {any} */
  query(...args) {
    const [first] = args;
    if (typeof first.submit === 'function') return this.#own.query(first);
    const callback = typeof args.at(-1) === 'function' ? args.pop() : undefined;
    const text = first.text ?? first;
    const route = this.#fault.route?.(text, this.#state) ?? 'own';
    this.#note(text);
    const begun = route === 'overtaking' ? Promise.resolve() : this.#last;
    const result = begun.then(() => this.#go(route, args)).catch((error) => this.#rethrow(error));
    const all = Promise.allSettled([this.#last, result]);
    this.#last = all;
    if (callback === undefined) return result;
    result.then(
      (value) => callback(null, value),
      (error) => callback(error),
    );
    return undefined;
  }

  /** @param {string} text */
  #note(text) {
    const state = this.#state;
    if (/^set search_path/i.test(text)) this.#searchPath = text;
    if (/^(?:begin|start)/i.test(text)) state.isInTransaction = true;
    if (/^(?:commit|rollback|end)\b(?!.* to )/i.test(text)) {
      state.hasChained = /chain/.test(text);
      state.isInTransaction = state.hasChained;
    }
    if (/^create or replace/.test(text)) return;
    state.seen.add(text);
  }

  /** @param {any} error @returns {never} */
  #rethrow(error) {
    if (!this.#fault.isVague) throw error;
    const vague = new Error(error.message);
    throw Object.assign(vague, { code: error.code, severity: error.severity });
  }

  /** @param {Route} route @param {any[]} args */
  async #go(route, args) {
    if (route === 'nowhere') return { command: 'SET', rowCount: null, rows: [], fields: [] };
    if (route === 'own') return this.#own.query(...args);
    if (route === 'twice') await this.#own.query(...args);
    if (route === 'twice') return this.#own.query(...args);
    const other = await this.#others.connect();
    try {
      // Wrong enough without that; a fault in a driver would know it, too.
      if (this.#searchPath !== '') await other.query(this.#searchPath);
      return await other.query(...args);
    } finally {
      if (other.getTransactionStatus() !== 'I') await other.query('rollback');
      await other.query('discard all');
      other.connection.parsedStatements = {};
      other.release();
    }
  }

  /** @param {boolean} [destroy] */
  async release(destroy = false) {
    await this.#last;
    const { isLeft = false, isShared = false } = this.#fault;
    const own = this.#own;
    if (destroy || (!isLeft && !isShared)) {
      own.release(true);
      return;
    }
    if (own.getTransactionStatus() !== 'I') await own.query('rollback');
    if (isShared) {
      await own.query('discard all');
      own.connection.parsedStatements = {};
    }
    own.release();
  }
}

/** In the shape of a pool of ours, as far as the oracle needs it. */
class FaultyPool extends EventEmitter {
  #fault;
  #own;
  #others;

  /** @param {Fault} fault @param {any} config */
  constructor(fault, config) {
    super();
    this.#fault = fault;
    /** @type {any} */
    const options = { ...config, max: 3, Client: Reference };
    this.#own = new pg.Pool(options);
    this.#others = new pg.Pool(options);
    for (const pool of [this.#own, this.#others]) pool.on('error', () => {});
  }

  async connect() {
    return new FaultyClient(this.#fault, await this.#own.connect(), this.#others);
  }

  async end() {
    await Promise.all([this.#own.end(), this.#others.end()]);
  }
}

module.exports = { FAULTS, FaultyPool };
