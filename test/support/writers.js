'use strict';

// Callers that insert numbers through pools while servers come and go, and the comparison of what each promise told
// with the rows that are there at the end. Used by tests of failovers.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');

/** After an error, as of somebody who does not give up. */
const PAUSE_MILLIS = 10;
/** Generous: what takes longer hangs. */
const SETTLE_MILLIS = 60_000;

const TABLE = 'create table effects (id int not null)';
const COUNTS = 'select id, count(*)::int as n from effects group by id';

/**
 * @typedef {object} Call
 * @property {string} kind the name of its pool
 * @property {number} id
 * @property {number} begunAt of performance.now(), as is the other
 * @property {number} endedAt NaN while it is pending
 * @property {any} error
 */

class Writers {
  /** @type {Call[]} */
  calls = [];
  #isOver = false;
  #workers;

  /**
   * @param {Record<string, import('../../lib/index').Pool>} pools
   * @param {number} count of callers of each
   */
  constructor(pools, count) {
    this.#workers = Object.keys(pools).flatMap((kind) =>
      Array.from({ length: count }, (_, index) => this.#work(kind, pools[kind], index)),
    );
  }

  /** @param {string} kind @param {any} pool @param {number} index */
  async #work(kind, pool, index) {
    while (!this.#isOver) {
      const id = this.calls.length + 1;
      /** @type {Call} */
      const call = { kind, id, begunAt: performance.now(), endedAt: NaN, error: undefined };
      this.calls.push(call);
      const insert = ['insert into effects values ($1)', [id]];
      try {
        if (index % 4 === 3) await pool.transaction((/** @type {any} */ tx) => tx.query(...insert));
        else await pool.query(...insert);
      } catch (error) {
        call.error = error;
        await delay(PAUSE_MILLIS);
      }
      call.endedAt = performance.now();
    }
  }

  /** When the first write of this pool that began since then was done. @param {string} kind @param {number} since @param {number} [doneAfter] */
  firstDone(kind, since, doneAfter = since) {
    const done = this.calls.filter(
      (call) =>
        call.kind === kind && !call.error && call.begunAt >= since && call.endedAt > doneAfter,
    );
    return Math.min(...done.map(({ endedAt }) => endedAt));
  }

  get failed() {
    return this.calls.filter(({ error }) => error !== undefined);
  }

  /** None is pending then. */
  async stop() {
    this.#isOver = true;
    const controller = new AbortController();
    const late = delay(SETTLE_MILLIS, true, { signal: controller.signal }).catch(() => false);
    const all = Promise.all(this.#workers).then(() => false);
    const isLate = await Promise.race([all, late]);
    controller.abort();
    const pending = this.calls.filter(({ endedAt }) => Number.isNaN(endedAt));
    assert.equal(isLate, false, `${pending.length} calls are pending`);
  }

  /** @param {{ id: number, n: number }[]} rows of COUNTS, where all that was kept is */
  assertTruth(rows) {
    const counts = new Map(rows.map(({ id, n }) => [id, n]));
    for (const { id, kind, begunAt, endedAt, error } of this.calls) {
      const count = counts.get(id) ?? 0;
      const told = error === undefined ? 'done' : error.outcome;
      const isTrue =
        (told === 'done' && count === 1) ||
        (told === 'not-run' && count === 0) ||
        (told === 'unknown' && count <= 1);
      if (isTrue) continue;
      // The timeline tells on which server it was.
      const [begun, ended] = [begunAt, endedAt].map((at) => seconds(at - this.calls[0].begunAt));
      assert.fail(
        `${id} of "${kind}", ${begun} to ${ended} behind the first call, was told as ${told} ` +
          `(${error}), and is there ${count} times`,
      );
    }
  }

  /** How many were rejected, by pool, code and outcome. */
  describe() {
    /** @type {Record<string, number>} */
    const codes = {};
    for (const { kind, error } of this.failed) {
      const name = `${kind} ${error.code} ${error.outcome}`;
      codes[name] = (codes[name] ?? 0) + 1;
    }
    return `${this.calls.length} writes, rejected: ${JSON.stringify(codes)}`;
  }
}

/** @param {number} millis */
const seconds = (millis) => `${(millis / 1000).toFixed(2)} s`;

/** Figures beside the names of mocha's tests. @param {string[]} lines */
function printLines(lines) {
  console.log(lines.map((line) => `        ${line}`).join('\n'));
}

module.exports = { COUNTS, printLines, seconds, TABLE, Writers };
