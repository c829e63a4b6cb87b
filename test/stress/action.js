'use strict';

// One action of a random client: its choices, its history, and how it tells the ledger what a promise
// has told. The kinds of actions are in actions/.

const { setTimeout: delay } = require('node:timers/promises');
const { driverError } = require('../support/driver-error');
const { outcomeOf } = require('../support/outcomes');
const { addRows } = require('./ledger');
const { newStatement } = require('./statements');
const { describe, nameOutcome, objection, toldByError } = require('./verdicts');

const DETAIL_LENGTH = 400;
/** After this long whatever an action waits for hangs. */
const PATIENCE_MILLIS = 12_000;
const LATE = Symbol('late');

class Action {
  /**
   * @param {import('./round').Round} round
   * @param {import('./random').Random} random
   * @param {import('./journal').Entry} entry its history
   */
  constructor(round, random, entry) {
    this.round = round;
    this.random = random;
    this.ledger = round.ledger;
    this.entry = entry;
  }

  get name() {
    return this.entry.name;
  }

  /** A part of it with choices of its own, whatever runs beside it. @param {import('./random').Random} random */
  part(random) {
    return new Action(this.round, random, this.entry);
  }

  /** @param {string} text */
  log(text) {
    this.entry.log(text);
  }

  /** @param {string} message */
  fault(message) {
    this.entry.fault(message);
  }

  /** @param {keyof import('./statements')['MAKERS']} [which] */
  newStatement(which) {
    return newStatement(this.random, this.ledger, which);
  }

  /** @param {readonly (readonly [number, number])[]} [rows] */
  openUnit(rows = []) {
    const unit = this.ledger.open(`${this.name} ${this.entry.kind}`, this.entry);
    addRows(unit, rows);
    return unit;
  }

  /** Nothing, a turn of the event loop, or some milliseconds. */
  async pause() {
    const how = this.random.fraction();
    if (how < 0.4) return;
    if (how < 0.7) await new Promise(setImmediate);
    else await delay(this.random.small(0, 30));
  }

  /**
   * Waits for it, but not for ever.
   * @template T
   * @param {string} what
   * @param {PromiseLike<T>} promise
   * @param {number} [millis]
   * @returns {Promise<T | undefined>} undefined when it is pending after that time
   */
  async inTime(what, promise, millis = PATIENCE_MILLIS) {
    const controller = new AbortController();
    const late = delay(millis, LATE, { signal: controller.signal });
    late.catch(() => {});
    try {
      const value = await Promise.race([promise, late]);
      if (value !== LATE) return /** @type {T} */ (value);
      this.fault(`${what} is pending after ${millis} ms`);
      return undefined;
    } finally {
      controller.abort();
    }
  }

  /**
   * What a promise has come to: it is logged, counted, judged, and told to the ledger.
   * @param {string} what
   * @param {import('./places').Place} place
   * @param {any} error undefined: fulfilled
   * @param {import('./verdicts').Allowance & { unit?: import('./ledger').Unit }} [given]
   */
  settle(what, place, error, { unit, ...allowance } = {}) {
    this.round.journal.count(what, nameOutcome(error));
    this.log(`${what} on ${place.name}: ${error === undefined ? 'fulfilled' : describe(error)}`);
    if (unit !== undefined) unit.told = error === undefined ? 'committed' : toldByError(error);
    if (error === undefined) return;
    const wrong = objection(error, place, allowance);
    if (wrong !== undefined) this.fault(`${what} on ${place.name}: ${wrong}`);
  }

  /**
   * @param {string} what
   * @param {() => void} check throws
   */
  check(what, check) {
    try {
      check();
    } catch (error) {
      this.fault(`${what}: ${String(error?.message ?? error).slice(0, DETAIL_LENGTH)}`);
    }
  }

  /**
   * What a statement has come to.
   * @param {import('./statements').Statement} statement
   * @param {import('./places').Place} place
   * @param {any} error
   * @param {any} result
   * @param {import('./verdicts').Allowance & { unit?: import('./ledger').Unit }} [given]
   */
  judge(statement, place, error, result, given = {}) {
    const { kind, code, codes = [], isRefused, isUnreadable } = statement;
    if (error === undefined) {
      if (code !== undefined || isRefused) this.fault(`${kind} should have failed`);
      this.check(`${kind} on ${place.name}`, () => statement.check(result, place));
    }
    if (isUnreadable && driverError(error)?.code === 'ERR_PG_CONDUIT_RESULT') {
      this.round.journal.count(kind, 'unreadable');
      if (given.unit !== undefined) given.unit.told = 'committed';
      return;
    }
    this.settle(kind, place, error, {
      ...given,
      codes: [...codes, ...(code === undefined ? [] : [code]), ...(given.codes ?? [])],
      refused: isRefused || given.refused,
    });
  }

  /**
   * Runs a statement in one of the forms that query() has, and sees what comes of it.
   * @param {import('./places').Place} place
   * @param {import('./statements').Statement} statement
   * @param {import('./verdicts').Allowance & { more?: Record<string, any> }} [given] `more` for query()
   */
  async run(place, statement, { more, ...allowance } = {}) {
    const unit = this.openUnit(statement.rows);
    const { value: result, error } = await outcomeOf(
      this.#call(place.on, { ...statement.query, ...more }),
    );
    this.judge(statement, place, error, result, { ...allowance, unit });
    if (error === undefined && statement.rows.length > 0 && this.random.chance(0.03)) {
      await this.#seeFromOutside(statement);
    }
    return error;
  }

  /** @param {any} on @param {Record<string, any>} query */
  #call(on, query) {
    const isPlain = Object.keys(query).every((key) => key === 'text' || key === 'values');
    const form = this.random.int(0, 3);
    if (form === 0 && isPlain) return on.query(query.text, query.values);
    if (form !== 1) return on.query(query);
    return new Promise((resolve, reject) => {
      let calls = 0;
      on.query(query, (error, result) => {
        if (++calls > 1) this.fault('a callback was called twice');
        if (error) reject(error);
        else resolve(result);
      });
    });
  }

  /** What is told as done is there for everybody, at once. @param {import('./statements').Statement} statement */
  async #seeFromOutside({ kind, rows }) {
    const expected = rows.reduce((sum, [, count]) => sum + count, 0);
    const count = await this.round.outside.countRows(rows.map(([id]) => id));
    if (count !== expected) {
      this.fault(`${kind} was told as done, but ${count} of ${expected} rows are there`);
    }
  }
}

module.exports = { Action };
