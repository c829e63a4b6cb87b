'use strict';

// Runs random scripts many at a time on clients that a pool lends, and each again on clients of `pg` that nobody has
// used before; both must see the same, and leave the same. Used by run.js and the tests.

const { Pool } = require('../..');
const { findDifference } = require('./comparison');
const { CleanSessions, borrowing } = require('./lenders');
const { Places } = require('./places');
const { runScript } = require('./runner');
const { describeScript, newScript } = require('./script');
const { shrink } = require('./shrink');

/** Longer than the time limits that scripts set. */
const HANG_MILLIS = 30_000;
/** A difference may need others beside it. */
const COPIES = 8;
const MOST_DIFFERENCES = 5;

/** A script does not come to its end: nothing that follows on its pool would say anything. */
class Stuck extends Error {}

/** @param {Promise<any>} promise @param {string} what */
async function inTime(promise, what) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Stuck(`${what} hangs`)), HANG_MILLIS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * @typedef {object} OracleOptions
 * @property {string} connectionString
 * @property {Record<string, any>} [pool] options of the pool; `max: 3` unless they say otherwise
 * @property {(config: any) => any} [makePool] a pool in the place of ours
 * @property {boolean} [isStrict] NULL and '' of a custom parameter are told apart
 * @property {boolean} [isCalm] scripts that float for the most part
 * @property {'fresh' | 'cleaned' | 'used'} [sessions] of the pool: see lenders.js
 * @property {number} [atOnce] scripts at a time
 * @property {Places} [places] that are open, and stay so
 *
 * @typedef {object} Finding
 * @property {import('./script').Script} script
 * @property {import('./comparison').Difference} difference
 *
 * @typedef {object} Report
 * @property {number} scripts
 * @property {number} statements
 * @property {number} fulfilled
 * @property {Map<string, number>} errors how many statements failed with which code, on both sides
 * @property {Map<string, { count: number, text: string }>} refusals by message
 * @property {Finding[]} findings
 */

class Oracle {
  #pool;
  #ours;
  #theirs;
  #isStrict;
  #isCalm;
  #atOnce;
  #ownsPlaces;
  #runs = 0;
  #isStuck = false;

  /** @param {OracleOptions} options */
  constructor({
    connectionString,
    pool = {},
    makePool,
    isStrict = false,
    isCalm = false,
    sessions = 'cleaned',
    atOnce = 20,
    places,
  }) {
    const config = { connectionString, application_name: 'oracle' };
    this.#pool = makePool?.(config) ?? new Pool({ ...config, max: 3, ...pool });
    this.#pool.on('error', () => {});
    this.#ours = borrowing(this.#pool, sessions);
    this.#theirs = new CleanSessions(config);
    this.#isStrict = isStrict;
    this.#isCalm = isCalm;
    this.#atOnce = atOnce;
    this.#ownsPlaces = places === undefined;
    this.places = places ?? new Places({ connectionString }, isStrict, isCalm);
  }

  /** @param {OracleOptions} options */
  static async open(options) {
    const oracle = new Oracle(options);
    if (oracle.#ownsPlaces) await oracle.places.open(oracle.#atOnce);
    // Before a connection is open, clients are exclusive; the next borrower has the names of its prepared statements.
    await (await oracle.#pool.connect()).release();
    return oracle;
  }

  async close() {
    const ends = [this.#pool.end(), this.#theirs.close()];
    if (this.#ownsPlaces) ends.push(this.places.close());
    const closed = Promise.allSettled(ends);
    // They would wait for what hangs; the server's end is theirs.
    if (!this.#isStuck) await closed;
  }

  /**
   * @param {number} seed of the first script; those behind it have the next numbers
   * @param {number} count
   * @param {{ onScript?: (report: Report) => void, most?: number }} [options] `most` differences end it
   * @returns {Promise<Report>}
   */
  async run(seed, count, { onScript, most = MOST_DIFFERENCES } = {}) {
    /** @type {Report} */
    const report = {
      scripts: 0,
      statements: 0,
      fulfilled: 0,
      errors: new Map(),
      refusals: new Map(),
      findings: [],
    };
    let next = seed;
    const work = async () => {
      while (next < seed + count && report.findings.length < most && !this.#isStuck) {
        const script = newScript(next++, { isStrict: this.#isStrict, isCalm: this.#isCalm });
        const difference = await this.compare(script, report);
        report.scripts += 1;
        if (difference !== undefined) report.findings.push({ script, difference });
        onScript?.(report);
      }
    };
    await Promise.all(Array.from({ length: this.#atOnce }, work));
    return report;
  }

  /**
   * Runs a script on both sides, at the same place one after the other.
   * @param {import('./script').Script} script
   * @param {Report} [report] where its statements are counted
   * @returns {Promise<import('./comparison').Difference | undefined>}
   */
  async compare(script, report) {
    const home = await this.places.take();
    try {
      const ours = await this.#runOn(this.#ours, script, home, 'on the pool');
      const { refused } = ours.recording;
      // What was refused before it was sent has done nothing: `pg` is not asked for it either.
      const theirs = await this.#runOn(this.#theirs, script, home, 'on pg', refused);
      if (report !== undefined) countStatements(report, script, ours.recording);
      return findDifference(script, ours, theirs);
    } catch (error) {
      if (!(error instanceof Stuck)) throw error;
      this.#isStuck = true;
      return { what: error.message, ours: error.cause ?? 'nothing comes', theirs: undefined };
    } finally {
      this.places.giveBack(home);
    }
  }

  /**
   * @param {import('./runner').Lender} lender
   * @param {import('./script').Script} script
   * @param {string} home
   * @param {string} where
   * @param {Set<number>} [left]
   */
  async #runOn(lender, script, home, where, left) {
    const place = { home, isStrict: this.#isStrict, lock: this.#runs++ };
    const what = `script ${script.seed} ${where}`;
    const recording = await inTime(runScript(lender, script, place, left), what).catch((cause) => {
      throw cause instanceof Stuck ? cause : new Stuck(`${what} cannot go on`, { cause });
    });
    const contents = await inTime(this.places.read(home), `reading what ${what} has left`);
    await inTime(this.places.restore(home, contents), `undoing what ${what} has left`);
    return { recording, contents };
  }

  /** A smaller script that still differs, if the difference comes again. @param {Finding} finding */
  async shrink({ script }) {
    const differs = async (/** @type {import('./script').Script} */ candidate) => {
      const copies = Array.from({ length: Math.min(COPIES, this.#atOnce) }, () =>
        this.compare(candidate),
      );
      const found = await Promise.all(copies);
      return found.find((difference) => difference !== undefined);
    };
    return shrink(script, differs);
  }

  /** What was found, for the one who must mend it. @param {Finding} finding @param {{ isShrunk?: boolean }} [options] */
  async describe(finding, { isShrunk = true } = {}) {
    const isTried = isShrunk && !this.#isStuck;
    const smaller = isTried ? await this.shrink(finding) : undefined;
    const { script, difference } = smaller ?? finding;
    const note = isTried && smaller === undefined ? ' (not again, when tried alone)' : '';
    return [
      `Seed ${finding.script.seed}${note}: ${difference.what}`,
      describeScript(script),
      `  ours:   ${difference.ours}`,
      `  of pg:  ${difference.theirs}`,
    ].join('\n');
  }
}

/** @param {Report} report @param {import('./script').Script} script @param {import('./runner').Recording} recording */
function countStatements(report, { steps }, { outcomes, refused }) {
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome === undefined) continue;
    report.statements += 1;
    const { error } = JSON.parse(outcome);
    if (error === undefined) {
      report.fulfilled += 1;
    } else if (refused.has(index)) {
      const before = report.refusals.get(error.message);
      const text = before?.text ?? steps[index].text ?? 'processID';
      report.refusals.set(error.message, { count: (before?.count ?? 0) + 1, text });
    } else {
      report.errors.set(error.code, (report.errors.get(error.code) ?? 0) + 1);
    }
  }
}

module.exports = { Oracle };
