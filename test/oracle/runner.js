'use strict';

// Runs a script on clients of some driver, and records all that its borrower could see: results, errors,
// the state of the transaction, notices and notifications. Used by oracle.js for both sides.

const { once } = require('node:events');
const { setImmediate: nextTurn, setTimeout: delay } = require('node:timers/promises');
const Cursor = require('pg-cursor');
const { outcomeOf } = require('../support/outcomes');
const { describeNews, describeOutcome } = require('./comparison');
const { render } = require('./script');

/**
 * What lends clients, whoever made them.
 * @typedef {object} Lender
 * @property {boolean} [isFresh] it closes what is given back, and so what is in flight there
 * @property {() => Promise<any>} connect
 * @property {(client: any, destroy: boolean) => void | Promise<void>} release
 *
 * @typedef {object} Recording
 * @property {(any | undefined)[]} outcomes of each step, in the shape of comparison.js
 * @property {(string | null)[]} statuses behind each step that was awaited
 * @property {any[]} heard
 * @property {Set<number>} refused steps that were refused before anything was sent
 */

/** What a checkout may use up of the numbers of locks: the backend before may still hold its own. */
const CHECKOUTS = 32;

/** @param {any} error */
const isRefusal = (error) =>
  error?.outcome === 'not-run' &&
  /^ERR_PG_CONDUIT_/.test(String(error.code)) &&
  // `pg` refuses that in the same words.
  !error.message.startsWith('Prepared statements must be unique');

/** @param {any} client */
async function askPid(client) {
  const before = client.processID;
  const { rows } = await client.query('select pg_backend_pid() as pid');
  // 0: it holds no connection, and none was free.
  const isItsOwn = before === 0 || rows[0].pid === before;
  return { value: { rows: [{ isItsOwn }], fields: [] } };
}

/** @param {any} client @param {string} text @param {any[]} values @param {number} rows */
async function readByCursor(client, text, values, rows) {
  const cursor = client.query(new Cursor(text, values));
  const portions = [];
  try {
    for (;;) {
      const portion = await cursor.read(rows);
      portions.push(portion);
      if (portion.length < rows || portions.length > 3) break;
    }
    await cursor.close();
  } catch (error) {
    // pg-cursor rejects before the server has told the transaction's status.
    if (client.readyForQuery === false) await once(client, 'drain');
    throw error;
  }
  return { value: { rows: portions, fields: [] } };
}

/** @param {any} client @param {string} text @param {any[] | undefined} values @param {import('./script').Step} step */
function ask(client, text, values, { form, name }) {
  if (name !== undefined) return client.query({ text, name, values });
  switch (form) {
    case 'callback':
      return new Promise((resolve, reject) => {
        const settle = (/** @type {any} */ error, /** @type {any} */ result) =>
          error ? reject(error) : resolve(result);
        if (values === undefined) client.query(text, settle);
        else client.query(text, values, settle);
      });
    case 'array':
      return client.query({ text, values, rowMode: 'array' });
    case 'object':
      return client.query({ text, values });
    default:
      return values === undefined ? client.query(text) : client.query(text, values);
  }
}

class Borrower {
  /** @type {Recording} */
  recording = { outcomes: [], statuses: [], heard: [], refused: new Set() };
  /** @type {any} */
  #client;
  /** @type {Promise<any>[]} */
  #pending = [];
  /** The last row of the latest step that has settled; callbacks settle in another turn. @type {any} */
  #last = {};
  #lastIndex = -1;
  #checkouts = 0;
  #lender;
  #script;
  #place;
  #onNotice = (/** @type {any} */ notice) => this.recording.heard.push(describeNews(notice));

  /**
   * @param {Lender} lender
   * @param {import('./script').Script} script
   * @param {{ home: string, isStrict: boolean, lock: number }} place
   */
  constructor(lender, script, place) {
    this.#lender = lender;
    this.#script = script;
    this.#place = { ...place, isPath: script.isPath };
  }

  /** @param {Set<number>} [left] steps that are left out */
  async run(left = new Set()) {
    try {
      for (const [index, step] of this.#script.steps.entries()) {
        if (left.has(index)) continue;
        if (step.release) await this.#giveBack(step.destroy, step.isAwaited);
        else await this.#do(step, index);
      }
    } finally {
      await this.#giveBack(false, true);
    }
    await Promise.all(this.#pending);
    return this.recording;
  }

  async #borrow() {
    this.#client = await this.#lender.connect();
    this.#checkouts += 1;
    const { hears } = this.#script;
    if (hears !== 'nothing') this.#client.on('notice', this.#onNotice);
    if (hears === 'everything') this.#client.on('notification', this.#onNotice);
  }

  /** @param {boolean} [destroy] @param {boolean} [waits] until nothing is in flight */
  async #giveBack(destroy = false, waits = true) {
    const client = this.#client;
    if (client === undefined) return;
    if (waits || this.#lender.isFresh || this.#script.hears !== 'nothing') {
      await Promise.all(this.#pending);
    }
    client.off('notice', this.#onNotice);
    client.off('notification', this.#onNotice);
    this.#client = undefined;
    await this.#lender.release(client, destroy);
  }

  /** @param {import('./script').Step} step @param {number} index */
  async #do(step, index) {
    if (this.#client === undefined) await this.#borrow();
    const client = this.#client;
    const { recording } = this;
    if (step.pid || step.rows !== undefined) await Promise.all(this.#pending);
    const place = { ...this.#place, lock: this.#place.lock * CHECKOUTS + this.#checkouts };
    const text = render(step.text ?? '', place);
    const values = step.values?.map((value) =>
      value?.last === undefined ? value : this.#take(value),
    );
    const answer = step.pid
      ? askPid(client)
      : step.rows !== undefined
        ? readByCursor(client, text, values ?? [], step.rows)
        : ask(client, text, values, step).then((/** @type {any} */ value) => ({ value }));
    const settled = outcomeOf(answer).then(({ value, error }) => {
      if (isRefusal(error)) recording.refused.add(index);
      const outcome = error || step.isSecret ? { error } : value;
      recording.outcomes[index] =
        outcome.error || outcome.value ? describeOutcome(outcome, text) : '{}';
      if (index < this.#lastIndex) return;
      this.#lastIndex = index;
      this.#last = value?.value?.rows?.at(-1) ?? {};
    });
    this.#pending.push(settled);
    if (!step.isAwaited) return;
    await Promise.all(this.#pending);
    this.#pending = [];
    recording.statuses[index] = client.getTransactionStatus?.() ?? null;
    if (step.pauseMillis === 0) await nextTurn();
    else if (step.pauseMillis !== undefined) await delay(step.pauseMillis);
  }

  /** @param {{ last: string, plus: number }} value */
  #take({ last, plus }) {
    const value = this.#last[last];
    if (value === undefined) return null;
    return typeof value === 'number' ? value + plus : value;
  }
}

/**
 * @param {Lender} lender
 * @param {import('./script').Script} script
 * @param {{ home: string, isStrict: boolean, lock: number }} place
 * @param {Set<number>} [left] steps that are left out
 */
function runScript(lender, script, place, left) {
  return new Borrower(lender, script, place).run(left);
}

module.exports = { runScript };
