'use strict';

// Three servers under Patroni, while callers write: the leader hands over, is killed, or stands still. What each
// promise told is compared with the rows that are there. It prints the figures of docs/scaling.md.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const { Pool } = require('../..');
const { cannotRun } = require('../support/cannot-run');
const { until } = require('../support/outside');
const { Patroni, lackOfPatroni } = require('../support/patroni');
const { ask } = require('../support/standby');
const { COUNTS, printLines, seconds, TABLE, Writers } = require('../support/writers');

const WORKERS = 12;
const WARM_MILLIS = 1000;
const AFTERWARDS_MILLIS = 1000;
/** Of a server that says nothing nobody else tells. */
const QUERY_MILLIS = 4000;
const WAIT_MILLIS = 60_000;
const KINDS = ['fails', 'waits'];

describe('three servers under Patroni', function () {
  this.timeout(240_000);

  /** @type {Patroni | undefined} */
  let cluster;

  before(function () {
    const lack = lackOfPatroni();
    if (lack !== undefined) cannotRun(this, lack);
  });
  beforeEach(async () => {
    cluster = await Patroni.start();
    await ask((await cluster.leader()).config, TABLE);
  });
  afterEach(async () => {
    await cluster?.stop();
    cluster = undefined;
  });

  for (const [how, strike, heal] of /** @type {const} */ ([
    [
      'a switchover',
      async (/** @type {Patroni} */ { members }, /** @type {any} */ leader) => {
        const candidate = await nextOf(leader);
        const { status, body } = await members[0].api('/switchover', {
          leader: leader.name,
          candidate,
        });
        assert.equal(status, 200, String(body));
      },
      undefined,
    ],
    [
      'the leader killed',
      async (/** @type {Patroni} */ _, /** @type {any} */ leader) => leader.signalAll('SIGKILL'),
      undefined,
    ],
    [
      'the leader frozen, and awake again later',
      async (/** @type {Patroni} */ _, /** @type {any} */ leader) => leader.signalAll('SIGSTOP'),
      async (/** @type {any} */ leader) => leader.signalAll('SIGCONT'),
    ],
  ])) {
    it(`${how}: everybody is told the truth, and goes on`, async () => {
      assert.ok(cluster);
      await run(cluster, { how, strike, heal });
    });
  }
});

/** @param {any} leader @returns {Promise<string>} the standby that has all that the leader has told as committed */
async function nextOf(leader) {
  const { body } = await leader.api('/cluster');
  return body.members.find((/** @type {any} */ { role }) => role === 'sync_standby').name;
}

/** @param {Patroni} cluster @param {{ how: string, strike: Function, heal?: Function }} what */
async function run(cluster, { how, strike, heal }) {
  const where = {
    ...cluster.where(),
    target_session_attrs: 'read-write',
    connect_timeout: 2,
    max: 4,
  };
  /** The one tells its callers of the outage, the other one lets them wait. */
  const pools = {
    fails: new Pool({
      ...where,
      connectionTimeoutMillis: QUERY_MILLIS,
      query_timeout: QUERY_MILLIS,
    }),
    waits: new Pool({
      ...where,
      waitForServer: true,
      connectionTimeoutMillis: WAIT_MILLIS,
      // It counts the wait for a connection too.
      query_timeout: WAIT_MILLIS / 4,
    }),
  };
  for (const pool of Object.values(pools)) pool.on('error', () => {});
  const leader = await cluster.leader();
  const writers = new Writers(pools, WORKERS);
  try {
    const lines = await fail(cluster, writers, leader, { how, strike, heal });
    await writers.stop();
    printLines([...lines, writers.describe()]);
    writers.assertTruth(await ask((await cluster.leader()).config, COUNTS));
  } finally {
    // Also of a test that has failed.
    leader.signalAll('SIGCONT');
    await writers.stop();
    await Promise.all(Object.values(pools).map((pool) => pool.end()));
  }
}

/**
 * @param {Patroni} cluster
 * @param {Writers} writers
 * @param {any} leader
 * @param {{ how: string, strike: Function, heal?: Function }} what
 * @returns {Promise<string[]>} the figures
 */
async function fail(cluster, writers, leader, { how, strike, heal }) {
  await delay(WARM_MILLIS);
  const struckAt = performance.now();
  // The answer to a switchover comes when it is over.
  const struck = strike(cluster, leader);
  await cluster.leader([leader]);
  const leadsAt = performance.now();
  await struck;
  await until(
    'both pools write again',
    () => KINDS.every((kind) => Number.isFinite(writers.firstDone(kind, struckAt, leadsAt))),
    WAIT_MILLIS,
  );
  const lines = [`${how}: a new leader after ${seconds(leadsAt - struckAt)}`];
  for (const kind of KINDS) {
    const first = writers.firstDone(kind, struckAt, leadsAt);
    lines.push(`${kind}: writes again ${seconds(first - leadsAt)} after that`);
  }
  if (heal !== undefined) {
    await heal(leader);
    // It follows, and is written to no more.
    await cluster.synchronous();
  }
  await delay(AFTERWARDS_MILLIS);
  return lines;
}
