'use strict';

// Properties of random values, by fast-check, that fail with the seed to repeat them.

const fc = require('fast-check');

/** FAST_CHECK_SEED sets it. */
const SEED = Number(process.env.FAST_CHECK_SEED || Date.now() % 0x7fffffff);
/** FAST_CHECK_RUNS multiplies how often properties are tried. */
const TIMES = Number(process.env.FAST_CHECK_RUNS || 1);

/** What is slow by nature, as CI runs it: `npm run test:long`. `npm test` has a short form of each. */
const IS_LONG = process.env.PG_CONDUIT_TESTS === 'long';
/** Tests of faults in their longest form: `npm run test:faults`. */
const IS_FULL = process.env.PG_CONDUIT_FAULTS === 'full';

/** Runs a property; a failure prints FAST_CHECK_SEED, which repeats it. */
async function holds(property, runs = 500) {
  try {
    await fc.assert(property, { seed: SEED, numRuns: Math.ceil(runs * TIMES) });
  } catch (error) {
    error.message = `FAST_CHECK_SEED=${SEED}\n${error.message}`;
    throw error;
  }
}

/**
 * Numbers in [0, 1) that a seed repeats.
 * @param {number} [seed]
 */
function randomFrom(seed = SEED) {
  let state = seed >>> 0;
  return () => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * The cases of a list that are tried: all in the long form, every second one, say, in the short form.
 * @template T
 * @param {T[]} cases
 * @param {number} [every]
 */
function someOf(cases, every = 2) {
  return IS_LONG ? cases : cases.filter((_, index) => index % every === 0);
}

/**
 * A test that is slow by nature, of which nothing shorter is worth running: in the long form only.
 * @param {string} title
 * @param {Mocha.AsyncFunc | Mocha.Func} body
 */
function itInLong(title, body) {
  if (IS_LONG) it(title, body);
}

module.exports = { IS_FULL, IS_LONG, SEED, TIMES, holds, itInLong, randomFrom, someOf };
