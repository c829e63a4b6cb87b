'use strict';

// Makes a script that shows a difference smaller, as long as it still shows one. Used by oracle.js.

/**
 * @typedef {import('./script').Script} Script
 * @typedef {import('./comparison').Difference} Difference
 */

/** Each is some runs of a script. */
const MOST_TRIES = 200;
/** A difference that depends on moments does not come each time. */
const FIRST_TRIES = 4;

/** @param {Script} script @param {(step: import('./script').Step) => boolean} keeps */
const only = (script, keeps) => ({ ...script, steps: script.steps.filter(keeps) });

/** Smaller ones, the smallest first. @param {Script} script @returns {Generator<Script>} */
function* smallerOnes(script) {
  const units = [...new Set(script.steps.map(({ unit }) => /** @type {number} */ (unit)))];
  for (
    let size = Math.ceil(units.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let at = units.length - size; at > -size; at -= size) {
      const gone = new Set(units.slice(Math.max(at, 0), at + size));
      yield only(script, ({ unit }) => !gone.has(/** @type {number} */ (unit)));
    }
  }
  for (const step of script.steps.toReversed()) yield only(script, (one) => one !== step);
  if (script.hears !== 'nothing') yield { ...script, hears: 'nothing' };
  const calm = { isAwaited: true, form: undefined, pauseMillis: undefined };
  if (script.steps.some((step) => Object.keys(calm).some((name) => step[name] !== calm[name]))) {
    yield { ...script, steps: script.steps.map((step) => ({ ...step, ...calm })) };
  }
}

/**
 * @param {Script} script
 * @param {(script: Script) => Promise<Difference | undefined>} differs
 * @returns {Promise<{ script: Script, difference: Difference } | undefined>} undefined if it does not differ again
 */
async function shrink(script, differs) {
  let difference;
  for (let tries = 0; tries < FIRST_TRIES && difference === undefined; ++tries) {
    difference = await differs(script);
  }
  if (difference === undefined) return undefined;
  let smallest = { script, difference };
  let left = MOST_TRIES;
  for (let again = true; again && left > 0;) {
    again = false;
    for (const candidate of smallerOnes(smallest.script)) {
      if (left-- <= 0) break;
      const found = await differs(candidate);
      if (found === undefined) continue;
      smallest = { script: candidate, difference: found };
      again = true;
      break;
    }
  }
  return smallest;
}

module.exports = { shrink };
