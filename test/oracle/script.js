'use strict';

// Random scripts: what a borrower of a client does, from a seed. Used by oracle.js; where the names in its texts
// lead is decided when it runs (`render`), so that a script is the same at every place.

const { Random } = require('../stress/random');
const { IDIOMS } = require('./idioms');
const { KINDS, READS, WRITES } = require('./statements');
const { SHARED } = require('./world');

/**
 * One thing that the borrower does. Steps of one unit belong together when a script is made smaller.
 * @typedef {object} Step
 * @property {string} [text]
 * @property {any[]} [values] `{ last, plus }` stands for a column of the last row, and a number to add
 * @property {string} [name] of a prepared statement
 * @property {boolean} [isStrict] only where NULL and '' of a custom parameter are told apart
 * @property {'callback' | 'array' | 'object'} [form] how query() is called
 * @property {number} [rows] read by a cursor in portions of so many
 * @property {boolean} [isSecret] its rows cannot be alike; they are only for the next step
 * @property {boolean} [pid] asks for `processID`
 * @property {boolean} [release] gives the client back; the next step borrows another one
 * @property {boolean} [destroy]
 * @property {number} [pauseMillis] before the next step, for something else; 0 is a turn of the event loop
 * @property {boolean} [isAwaited] else the next step begins in the same tick
 * @property {number} [unit]
 *
 * @typedef {object} Script
 * @property {number} seed
 * @property {boolean} isPath whether names are found by search_path
 * @property {'nothing' | 'notice' | 'everything'} hears
 * @property {Step[]} steps
 *
 * @typedef {object} Place
 * @property {string} home
 * @property {boolean} isPath
 * @property {boolean} isStrict
 * @property {number} lock
 */

const LEAST_STEPS = 3;
const MOST_STEPS = 30;
const SEARCH_PATH = 'set search_path to {extra}, {home}, oracle_shared';
const SINGLES = KINDS.map(([list, weight]) => /** @type {const} */ ([list, weight]));

/** @param {Random} random */
function single(random) {
  return random.weighted(random.weighted(SINGLES))(random);
}

/** @param {string | Step} part @returns {Step} */
const toStep = (part) => (typeof part === 'string' ? { text: part } : { ...part });

/** @param {Random} random @returns {Step[]} */
function newUnit(random) {
  if (random.chance(0.4)) return [toStep(single(random))];
  const { parts, isWhole = false } = random.weighted(IDIOMS)(random);
  const steps = parts.map(toStep);
  if (isWhole) return steps.map((step) => ({ ...step, isAwaited: true, isWhole }));
  // What tools do, and something that does not belong there.
  if (random.chance(0.2)) steps.splice(random.int(0, steps.length), 0, toStep(single(random)));
  if (random.chance(0.1)) steps.splice(random.int(0, steps.length - 1), 1);
  return steps;
}

/** Reads and writes, most of which float. @param {Random} random */
function newRun(random) {
  return Array.from({ length: random.int(1, 4) }, () =>
    toStep(random.weighted(random.chance(0.4) ? WRITES : READS)(random)),
  );
}

/** DDL, also in texts of several statements and in code; and what keeps writes that advance sequences from floating. */
const IS_NOT_CALM =
  /\b(?:create|alter|drop|comment|refresh|reindex|vacuum|analyze|truncate)\b(?! (?:or replace )?(?:temp|temporary)\b)|lastval|currval/i;
const HEARS = /** @type {const} */ ([
  ['nothing', 6],
  ['notice', 3],
  ['everything', 1],
]);
const DROPS_STATEMENTS = /\b(?:discard|deallocate)\s+all\b/i;

/**
 * @param {number} seed
 * @param {{ isStrict?: boolean, isCalm?: boolean }} [options] `isCalm`: for the most part what floats. There is no DDL,
 *   which makes the pool forget what it knows of the database, and nobody gives back a client whose statements are not
 *   done: their order with those of the next client is not told by anything
 * @returns {Script}
 */
function newScript(seed, { isStrict = false, isCalm = false } = {}) {
  const random = new Random(seed, 7);
  const isPath = random.chance(0.5);
  const hears = isCalm ? 'nothing' : random.weighted(HEARS);
  const most = random.int(LEAST_STEPS, MOST_STEPS);
  // Whoever awaits nothing, and whoever awaits each.
  const hurry = random.pick([0, 0.1, 0.3, 0.6]);
  /** @type {Step[]} */
  const steps = [];
  let unit = 0;
  const add = (/** @type {any[]} */ some) => {
    for (const { isWhole, ...step } of some) {
      if (step.isStrict && !isStrict) continue;
      if (isCalm && IS_NOT_CALM.test(step.text ?? '')) continue;
      const isPlain = step.text !== undefined && step.rows === undefined;
      // What takes several calls is not mixed with others.
      const isAwaited = step.isAwaited ?? (!isPlain || !random.chance(hurry));
      const form = isPlain && !isWhole && random.chance(0.2) ? newForm(random) : undefined;
      const pauseMillis = isAwaited && random.chance(0.1) ? random.small(0, 5) : undefined;
      steps.push({
        ...step,
        isAwaited,
        unit,
        ...(form && { form }),
        ...(pauseMillis !== undefined && { pauseMillis }),
      });
    }
    unit += 1;
  };
  if (isPath) add([{ text: SEARCH_PATH }]);
  while (steps.length < most) {
    if (steps.length > 1 && random.chance(isCalm ? 0.3 : 0.06)) {
      const destroy = random.chance(0.25);
      // The client is given back while it still has something to do.
      add([{ release: true, destroy, isAwaited: destroy || isCalm || !random.chance(0.2) }]);
      if (isPath) add([{ text: SEARCH_PATH }]);
    }
    add(isCalm && random.chance(0.8) ? newRun(random) : newUnit(random));
  }
  // `pg` executes a named statement that is gone, and fails; it is prepared anew here.
  if (steps.some(({ text = '' }) => DROPS_STATEMENTS.test(text))) {
    for (const step of steps) delete step.name;
  }
  return { seed, isPath, hears, steps: steps.slice(0, Math.max(most, LEAST_STEPS)) };
}

/** @param {Random} random */
const newForm = (random) => random.pick(/** @type {const} */ (['callback', 'array', 'object']));

/** The text as it is sent at a place. @param {string} text @param {Place} place */
function render(text, { home, isPath, isStrict, lock }) {
  return text.replaceAll(/\{(\w+)(?::(\w+))?\}/g, (all, word, name) => {
    switch (word) {
      case 'h':
        return isPath ? '' : `${home}.`;
      case 'x':
        return isPath ? '' : `${home}x.`;
      case 's':
        return isPath ? '' : `${SHARED}.`;
      case 'home':
      case 'op':
        return home;
      case 'extra':
        return `${home}x`;
      case 'channel':
        return `${home}_c`;
      case 'lock':
        return String(lock);
      case 'app': {
        const read = `current_setting('app.${name}', true)`;
        return isStrict ? read : `coalesce(${read}, '')`;
      }
      default:
        return all;
    }
  });
}

/** One line for each step. @param {Script} script */
function describeScript({ isPath, hears, steps }) {
  const lines = steps.map((step, index) => {
    const { text, values, release, destroy, pid, isAwaited, name, form, rows, pauseMillis } = step;
    const what = release ? `release(${destroy ? 'true' : ''})` : pid ? 'processID' : text;
    const more = [
      values && values.length > 0 && JSON.stringify(values),
      name && `as ${name}`,
      form,
      rows && `by a cursor, ${rows} rows each`,
      !isAwaited && 'not awaited',
      pauseMillis !== undefined && `then a pause of ${pauseMillis} ms`,
    ].filter(Boolean);
    return `  ${index}. ${what}${more.length > 0 ? `  -- ${more.join(', ')}` : ''}`;
  });
  return [`  names ${isPath ? 'by search_path' : 'qualified'}, hears ${hears}`, ...lines].join(
    '\n',
  );
}

module.exports = { describeScript, newScript, render };
