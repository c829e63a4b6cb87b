'use strict';

// `pg-native` by its own pipeline() (3.9 and later): what has been collected is sent as one list, a Sync
// after each query, and the next list goes when all of it is answered, as `pg.native` does it too.
// Loaded by child.js.

const { leastBusy } = require('./least-busy');
const { packageVersion } = require('./package-version');
const { StatementNames } = require('./statement-names');

/**
 * 3.9.0 was seen to hang in lists of 512, perhaps because libpq reads answers while it flushes, which
 * the socket then does not announce. `pg.native` with `pipeline: true`, which has no such bound, hung too.
 */
const MAX_LIST = 256;

/**
 * @typedef {{ err: Error | null, rows: any[] }} Answer
 * @typedef {object} Entry
 * @property {string} text
 * @property {string} name
 * @property {string[]} values
 * @property {boolean} _alreadyPrepared
 * @property {(rows: any[]) => void} resolve
 * @property {(error: Error) => void} reject
 */

/** @type {any} */
let Native;

/** @type {import('.').Driver} */
module.exports = {
  name: 'pg-native-pipeline',
  settings:
    `its own pipeline(), prepared statements, lists of what came while the last one ran, ${MAX_LIST} at ` +
    'most since longer ones hang; the pool is ours, least busy connection first',

  load() {
    Native = require('pg-native');
    return packageVersion('pg-native');
  },

  async connect({ max, connectionString }) {
    const sessions = await Promise.all(
      Array.from({ length: max }, () => connectOne(connectionString)),
    );
    return max > 1 ? leastBusy(sessions) : sessions[0];
  },
};

/**
 * @param {string} connectionString
 * @returns {Promise<import('.').Session>}
 */
async function connectOne(connectionString) {
  const native = new Native();
  await new Promise((resolve, reject) => {
    native.connect(connectionString, (/** @type {Error?} */ error) =>
      error ? reject(error) : resolve(undefined),
    );
  });
  const names = new StatementNames();
  const prepared = new Set();
  /** @type {Entry[]} */
  let collected = [];
  let running = false;
  let scheduled = false;

  const send = () => {
    scheduled = false;
    if (running || collected.length === 0) return;
    const entries = collected.slice(0, MAX_LIST);
    collected = collected.slice(MAX_LIST);
    running = true;
    native.pipeline(entries, (/** @type {Error?} */ error, /** @type {Answer[]} */ answers) => {
      running = false;
      entries.forEach(({ resolve, reject }, i) => {
        const failure = error || answers[i].err;
        if (failure) reject(failure);
        else resolve(answers[i].rows);
      });
      schedule();
    });
  };
  // After the promise jobs: the callers that were just answered join the next list.
  const schedule = () => {
    if (scheduled || running) return;
    scheduled = true;
    setImmediate(send);
  };

  return {
    query: (text, values) =>
      new Promise((resolve, reject) => {
        const name = names.get(text);
        const _alreadyPrepared = prepared.has(name);
        prepared.add(name);
        const strings = values.map(String);
        collected.push({ text, name, values: strings, _alreadyPrepared, resolve, reject });
        schedule();
      }),
    end: () =>
      new Promise((resolve) => {
        native.end(resolve);
      }),
  };
}
