'use strict';

// What the tests of Sync groups share: texts that are made known, so that they are sent in groups,
// and counts of what was sent.

const { binding } = require('../../lib/native');
const { until } = require('./outside');

/** More than one group holds. */
const MANY = 40;

/**
 * @template T
 * @param {any} pool
 * @param {() => Promise<T>} run
 * @returns {Promise<{ value: T, queries: number, syncs: number }>} what was sent meanwhile
 */
async function counted(pool, run) {
  const before = pool.stats();
  const value = await run();
  const after = pool.stats();
  return {
    value,
    queries: after.queries - before.queries,
    syncs: after.syncs - before.syncs,
  };
}

/**
 * Runs it until its queries share Syncs: on a machine that is busy with other things, a statement may
 * cost too much for a while.
 * @template T
 * @param {any} pool
 * @param {() => Promise<T>} run
 */
function untilShared(pool, run) {
  return until('they share Syncs', async () => {
    const sent = await counted(pool, run);
    return sent.syncs < sent.queries / 2 ? sent : undefined;
  });
}

/**
 * All in one tick.
 * @template T
 * @param {number} count
 * @param {(index: number) => Promise<T>} make
 */
function atOnce(count, make) {
  return Promise.all(Array.from({ length: count }, (_, index) => make(index)));
}

/** @param {number} count @param {(index: number) => Promise<any>} make */
function settledAtOnce(count, make) {
  return Promise.allSettled(Array.from({ length: count }, (_, index) => make(index)));
}

/**
 * Uses texts until they are known to be cheap, so that what is sent in a tick shares Syncs.
 * @param {any} pool
 * @param {(string | [text: string, values: unknown[]] | Record<string, any> | (() => Promise<any>))[]}
 *   queries
 */
async function makeKnown(pool, ...queries) {
  const run = (query) => {
    if (typeof query === 'function') return query();
    return Array.isArray(query) ? pool.query(...query) : pool.query(query);
  };
  for (const query of queries) {
    await run(query);
    await run(query);
  }
  await untilShared(pool, () =>
    Promise.all(queries.flatMap((query) => Array.from({ length: 2 * MANY }, () => run(query)))),
  );
  await untilNothingIsAsked(() => run(queries[0]));
}

/** Stands in a describe block: no connection asks which process it leads to, so that other questions can be counted. */
function withoutOtherQuestions() {
  const { omitsDescribe } = binding;
  before(() => (binding.omitsDescribe = false));
  after(() => (binding.omitsDescribe = omitsDescribe));
}

/**
 * Behind so many executions of prepared statements a connection has asked which process it leads to.
 * @param {() => Promise<any>} run executes one
 */
async function untilNothingIsAsked(run) {
  await atOnce(300, run);
  await run();
}

module.exports = {
  MANY,
  atOnce,
  counted,
  makeKnown,
  settledAtOnce,
  untilShared,
  withoutOtherQuestions,
};
