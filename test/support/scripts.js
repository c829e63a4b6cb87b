'use strict';

// What the tests with a scripted server share: a server for each of them, a deadline for every
// promise, how an outcome is written in a table, and the proof that a pool is well again.
// useScript() stands first in a describe block.

const assert = require('node:assert/strict');
const { Client, ConduitError, Pool } = require('../..');
const { driverError } = require('./driver-error');
const { until } = require('./outside');
const { ECHO, ScriptedServer } = require('./scripted-server');

/** Generous: what takes longer hangs. */
const DEADLINE_MILLIS = 10000;

/**
 * @template T
 * @param {string} what
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
async function inTime(what, promise) {
  let timer;
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: never settled`)), DEADLINE_MILLIS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** @param {Promise<any>[]} promises */
function allInTime(promises) {
  return Promise.all(
    promises.map(async (promise, index) => {
      const [outcome] = await Promise.allSettled([inTime(`promise ${index}`, promise)]);
      return outcome;
    }),
  );
}

/** A query that a sane server answers with its own number. */
const echo = (one, i) => one.query(ECHO, [i, `v${i}`]);

/** @param {any} result @param {number} i */
function assertOwn(result, i) {
  assert.deepEqual(result.rows, [{ i, t: `v${i}` }]);
  assert.equal(result.command, 'SELECT');
  assert.equal(result.rowCount, 1);
}

/**
 * Its own answer, or an error of ours, in one word.
 * @param {PromiseSettledResult<any>} outcome of echo()
 * @param {number} i
 */
function describeEcho(outcome, i) {
  if (outcome.status === 'fulfilled') {
    assertOwn(outcome.value, i);
    return 'own';
  }
  const error = driverError(outcome.reason);
  assert.ok(error instanceof ConduitError, String(error?.stack));
  assert.ok(error.message.length > 0 && error.message === error.message.trim(), error.message);
  if (error.code === 'ERR_PG_CONDUIT_RESULT') {
    assert.equal(error.outcome, 'unknown');
    return 'unreadable';
  }
  return `${error.code === 'ECONNRESET' ? 'lost' : error.code} ${error.outcome}`;
}

function useScript() {
  /** @type {any[]} */
  let opened = [];
  const script = {
    /** @type {ScriptedServer} */
    // @ts-expect-error not before a test runs
    server: undefined,

    /** The server is known to be one: it need not say so. @param {Record<string, any>} [given] */
    newPool(given) {
      const pool = new Pool(script.server.options({ max: 1, distributed: false, ...given }));
      opened.push(pool);
      return pool;
    },

    /** Not connected. @param {Record<string, any>} [given] */
    newClient(given) {
      const client = new Client(script.server.options({ distributed: false, ...given }));
      opened.push(client);
      return client;
    },

    /** @param {Record<string, any>} [given] */
    async connect(given) {
      const client = script.newClient(given);
      await inTime('connect', client.connect());
      return client;
    },

    /** The server is sane again: so is the pool, on a connection that holds nothing of before. */
    async recovers(pool) {
      script.server.recover();
      await until('the pool is well again', () => echo(pool, 70).then(Boolean, () => false));
      const again = await allInTime([71, 72, 73, 74, 75].map((i) => echo(pool, i)));
      again.forEach((outcome, index) => assert.equal(describeEcho(outcome, 71 + index), 'own'));
    },

    /** Says in words what becomes of queries that are sent together. */
    async echoes(one, numbers) {
      const outcomes = await allInTime(numbers.map((i) => echo(one, i)));
      return outcomes.map((outcome, index) => describeEcho(outcome, numbers[index]));
    },
  };

  beforeEach(async () => {
    script.server = await ScriptedServer.open();
  });

  afterEach(async () => {
    const all = opened;
    opened = [];
    const ends = all.map((one) => one.end().catch(() => {}));
    // Nothing is answered any more.
    await script.server.close();
    await inTime('the end of clients and pools', Promise.all(ends));
  });

  return script;
}

/** @param {Buffer} bytes */
const typeOf = (bytes) => String.fromCharCode(bytes[0]);

/**
 * What `edit` makes of a message of this type; once.
 * @param {string} type
 * @param {(message: Buffer) => Buffer | Buffer[]} edit
 */
const at = (type, edit) => (sane) => {
  const index = sane.findIndex((message) => typeOf(message) === type);
  assert.notEqual(index, -1, `a sane server says no ${type} here`);
  return [sane.slice(0, index), edit(sane[index]), sane.slice(index + 1)].flat(2);
};

const before = (type, added) => at(type, (message) => [added, message].flat());
const behind = (type, added) => at(type, (message) => [message, added].flat());
const instead = (type, other) => at(type, () => other);
const without = (type) => at(type, () => []);

/**
 * A reply that is changed once, at the first turn with a statement.
 * @param {(sane: Buffer[]) => Buffer | Buffer[]} change
 */
function once(change) {
  let isDone = false;
  return (sane, { texts }) => {
    if (isDone || texts.length === 0) return sane;
    isDone = true;
    return change(sane);
  };
}

module.exports = {
  allInTime,
  assertOwn,
  at,
  before,
  behind,
  describeEcho,
  echo,
  inTime,
  instead,
  once,
  typeOf,
  useScript,
  without,
};
