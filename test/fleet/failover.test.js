'use strict';

// The primary is stopped under load, and its standby promoted: what each promise told is compared with
// the rows that are there. It prints the figures of docs/scaling.md.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const { tracingChannel } = require('node:diagnostics_channel');
const { setTimeout: delay } = require('node:timers/promises');
const { Pool } = require('../..');
const { startDatabase } = require('../../scripts/database');
const { until } = require('../support/outside');
const { ask, startStandby } = require('../support/standby');
const { COUNTS, printLines, seconds, TABLE, Writers } = require('../support/writers');

const WORKERS = 12;
const WARM_MILLIS = 700;
/** From the end of the primary to the promotion, as of somebody who looks now and then. */
const PROMOTE_AFTER_MILLIS = 1500;
const AFTERWARDS_MILLIS = 1000;

/** What a caller waits for an answer where a server may stand still. */
const QUERY_MILLIS = 1000;

describe('failover under load', function () {
  this.timeout(120_000);

  it('after the primary stood still everybody was told the truth, and goes on', async () => {
    const { primary, standby } = await startBoth();
    try {
      await runFrozen({ primary, standby });
    } finally {
      signalAll(primary.pid, 'SIGCONT');
      await standby.stop();
      await primary.stop();
    }
  });

  for (const [how, signal] of /** @type {const} */ ([
    ['a fast shutdown', 'SIGINT'],
    ['an immediate shutdown', 'SIGQUIT'],
  ])) {
    it(`after ${how} of the primary everybody was told the truth, and goes on`, async () => {
      const { primary, standby } = await startBoth();
      const attempts = countAttempts();
      try {
        await run({ primary, standby, how, signal, attempts });
      } finally {
        attempts.stop();
        await standby.stop();
        await primary.stop();
      }
    });
  }
});

async function startBoth() {
  const primary = await startDatabase({
    own: true,
    listen: true,
    settings: { synchronous_commit: 'on', log_min_messages: 'fatal' },
  });
  await ask(primary.config, TABLE);
  const standby = await startStandby(primary, 'next');
  // What is told as done must be on both.
  await ask(primary.config, "alter system set synchronous_standby_names = 'next'");
  await ask(primary.config, 'select pg_reload_conf()');
  return { primary, standby };
}

/** @param {number} postmaster @param {NodeJS.Signals} signal for it and its backends */
function signalAll(postmaster, signal) {
  const children = execFileSync('pgrep', ['-P', String(postmaster)], { encoding: 'utf8' });
  for (const pid of [postmaster, ...children.trim().split('\n').map(Number)]) {
    try {
      process.kill(pid, signal);
    } catch {
      // A backend that has just ended.
    }
  }
}

/** The options of a pool for both servers. */
function optionsOf({ primary, standby }) {
  const servers = [primary, standby].map(({ config }) => config);
  return {
    host: servers.map(({ host }) => host).join(','),
    port: servers.map(({ port }) => port).join(','),
    user: primary.config.user,
    database: primary.config.database,
    target_session_attrs: 'read-write',
    max: 4,
  };
}

async function runFrozen({ primary, standby }) {
  const pool = new Pool({
    ...optionsOf({ primary, standby }),
    connect_timeout: 2,
    query_timeout: QUERY_MILLIS,
  });
  const writers = new Writers({ fails: pool }, WORKERS);
  await delay(WARM_MILLIS);
  signalAll(primary.pid, 'SIGSTOP');
  const frozenAt = performance.now();
  await delay(PROMOTE_AFTER_MILLIS);
  await standby.promote();
  const promotedAt = performance.now();
  await until('the pool writes again', () =>
    Number.isFinite(writers.firstDone('fails', frozenAt, promotedAt)),
  );
  await delay(AFTERWARDS_MILLIS);
  await writers.stop();
  await pool.end();
  writers.assertTruth(await standby.ask(COUNTS));
  const first = writers.firstDone('fails', frozenAt, promotedAt);
  printLines([
    `the primary frozen: promoted ${seconds(promotedAt - frozenAt)} after it`,
    `writes again ${seconds(first - promotedAt)} after the promotion`,
    writers.describe(),
  ]);
}

/** Attempts to connect of this process, by the second of their start. */
function countAttempts() {
  /** @type {number[]} */
  const times = [];
  const subscriber = { start: () => times.push(performance.now()) };
  tracingChannel('pg-conduit:connect').subscribe(subscriber);
  return {
    /** @param {number} from @param {number} to @returns {number} the most in a second of that time */
    most(from, to) {
      const inside = times.filter((at) => at >= from && at < to);
      return Math.max(
        0,
        ...inside.map((at) => inside.filter((t) => t >= at && t < at + 1000).length),
      );
    },
    stop: () => tracingChannel('pg-conduit:connect').unsubscribe(subscriber),
  };
}

async function run({ primary, standby, how, signal, attempts }) {
  const where = optionsOf({ primary, standby });
  /** The one tells its callers of the outage, the other one lets them wait. */
  const pools = {
    fails: new Pool(where),
    waits: new Pool({ ...where, waitForServer: true, connectionTimeoutMillis: 60_000 }),
  };
  const writers = new Writers(pools, WORKERS);
  await delay(WARM_MILLIS);
  const downAt = performance.now();
  process.kill(primary.pid, signal);
  await delay(PROMOTE_AFTER_MILLIS);
  const promotedFrom = performance.now();
  await standby.promote();
  const promotedAt = performance.now();
  // Both write again.
  await until('both pools write again', () =>
    Object.keys(pools).every((kind) => Number.isFinite(writers.firstDone(kind, 0, promotedAt))),
  );
  await delay(AFTERWARDS_MILLIS);
  await writers.stop();
  const endedAt = performance.now();
  await Promise.all(Object.values(pools).map((pool) => pool.end()));
  writers.assertTruth(await standby.ask(COUNTS));

  const lines = [
    `${how}: promoted ${seconds(promotedAt - downAt)} after it (pg_promote took ${seconds(promotedAt - promotedFrom)})`,
  ];
  for (const kind of Object.keys(pools)) {
    const first = writers.firstDone(kind, downAt, promotedFrom);
    lines.push(`${kind}: writes again ${seconds(first - promotedAt)} after the promotion`);
  }
  lines.push(
    `attempts to connect: at most ${attempts.most(downAt, promotedAt)} a second while down, ` +
      `${attempts.most(promotedAt, endedAt)} afterwards, of 2 pools with 4 connections`,
  );
  lines.push(writers.describe());
  printLines(lines);

  // A pool that waits tells only those that were on their way.
  const onTheWay = writers.failed.filter(
    ({ kind, begunAt }) => kind === 'waits' && begunAt > downAt + 500,
  );
  assert.deepEqual(
    onTheWay.map(({ error }) => String(error)),
    [],
  );
  // A herd would be each of the callers, again and again.
  assert.ok(attempts.most(downAt, promotedAt) <= 40, 'attempts back off');
}
