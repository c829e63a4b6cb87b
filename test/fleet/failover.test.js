'use strict';

// The primary is stopped under load, and its standby promoted: what each promise told is compared with
// the rows that are there. It prints the figures of docs/scaling.md.

const assert = require('node:assert/strict');
const { tracingChannel } = require('node:diagnostics_channel');
const { setTimeout: delay } = require('node:timers/promises');
const { Pool } = require('../..');
const { startDatabase } = require('../../scripts/database');
const { until } = require('../support/outside');
const { ask, startStandby } = require('../support/standby');

const WORKERS = 12;
const WARM_MILLIS = 700;
/** From the end of the primary to the promotion, as of somebody who looks now and then. */
const PROMOTE_AFTER_MILLIS = 1500;
const AFTERWARDS_MILLIS = 1000;

describe('failover under load', function () {
  this.timeout(120_000);

  for (const [how, signal] of /** @type {const} */ ([
    ['a fast shutdown', 'SIGINT'],
    ['an immediate shutdown', 'SIGQUIT'],
  ])) {
    it(`after ${how} of the primary everybody was told the truth, and goes on`, async () => {
      const primary = await startDatabase({
        own: true,
        listen: true,
        settings: { synchronous_commit: 'on', log_min_messages: 'fatal' },
      });
      await ask(primary.config, 'create table effects (id int not null)');
      const standby = await startStandby(primary, 'next');
      const attempts = countAttempts();
      try {
        // What is told as done must be on both.
        await ask(primary.config, "alter system set synchronous_standby_names = 'next'");
        await ask(primary.config, 'select pg_reload_conf()');
        await run({ primary, standby, how, signal, attempts });
      } finally {
        attempts.stop();
        await standby.stop();
        await primary.stop();
      }
    });
  }
});

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
  const servers = [primary, standby].map(({ config }) => config);
  const where = {
    host: servers.map(({ host }) => host).join(','),
    port: servers.map(({ port }) => port).join(','),
    user: primary.config.user,
    database: primary.config.database,
    target_session_attrs: 'read-write',
    max: 4,
  };
  /** The one tells its callers of the outage, the other one lets them wait. */
  const pools = {
    fails: new Pool(where),
    waits: new Pool({ ...where, waitForServer: true, connectionTimeoutMillis: 60_000 }),
  };
  /** @type {{ kind: string, id: number, begunAt: number, endedAt: number, error: any }[]} */
  const calls = [];
  let nextId = 0;
  let isOver = false;

  async function work(kind, index) {
    const pool = pools[kind];
    while (!isOver) {
      const call = {
        kind,
        id: ++nextId,
        begunAt: performance.now(),
        endedAt: NaN,
        error: undefined,
      };
      calls.push(call);
      const insert = ['insert into effects values ($1)', [call.id]];
      try {
        if (index % 4 === 3) await pool.transaction((tx) => tx.query(...insert));
        else await pool.query(...insert);
      } catch (error) {
        call.error = error;
        await delay(10);
      }
      call.endedAt = performance.now();
    }
  }

  const workers = Object.keys(pools).flatMap((kind) =>
    Array.from({ length: WORKERS }, (_, index) => work(kind, index)),
  );
  await delay(WARM_MILLIS);
  const downAt = performance.now();
  process.kill(primary.pid, signal);
  await delay(PROMOTE_AFTER_MILLIS);
  const promotedFrom = performance.now();
  await standby.promote();
  const promotedAt = performance.now();
  // Both write again.
  await until('both pools write again', () =>
    Object.keys(pools).every((kind) =>
      calls.some((call) => call.kind === kind && !call.error && call.endedAt > promotedAt),
    ),
  );
  await delay(AFTERWARDS_MILLIS);
  isOver = true;
  await Promise.all(workers);
  const endedAt = performance.now();
  await Promise.all(Object.values(pools).map((pool) => pool.end()));

  assert.ok(
    calls.every((call) => !Number.isNaN(call.endedAt)),
    'none is pending',
  );
  const rows = await standby.ask('select id, count(*)::int as n from effects group by id');
  const counts = new Map(rows.map(({ id, n }) => [id, n]));
  for (const { id, error } of calls) {
    const count = counts.get(id) ?? 0;
    const told = error === undefined ? 'done' : error.outcome;
    if (told === 'done') assert.equal(count, 1, `${id} was told as done`);
    else if (told === 'not-run') assert.equal(count, 0, `${id} was told as not run: ${error}`);
    else assert.ok(told === 'unknown' && count <= 1, `${id}: ${told}, ${count} times`);
  }

  const failed = calls.filter(({ error }) => error !== undefined);
  const codes = {};
  for (const { kind, error } of failed) {
    const name = `${kind} ${error.code} ${error.outcome}`;
    codes[name] = (codes[name] ?? 0) + 1;
  }
  const seconds = (millis) => `${(millis / 1000).toFixed(2)} s`;
  const lines = [
    `${how}: promoted ${seconds(promotedAt - downAt)} after it (pg_promote took ${seconds(promotedAt - promotedFrom)})`,
  ];
  for (const kind of Object.keys(pools)) {
    const again = calls.filter(
      (call) => call.kind === kind && !call.error && call.begunAt > downAt,
    );
    const first = Math.min(...again.map((call) => call.endedAt).filter((at) => at > promotedFrom));
    lines.push(`${kind}: writes again ${seconds(first - promotedAt)} after the promotion`);
  }
  lines.push(
    `attempts to connect: at most ${attempts.most(downAt, promotedAt)} a second while down, ` +
      `${attempts.most(promotedAt, endedAt)} afterwards, of 2 pools with 4 connections`,
  );
  lines.push(`${calls.length} writes, rejected: ${JSON.stringify(codes)}`);
  console.log(lines.map((line) => `        ${line}`).join('\n'));

  // A pool that waits tells only those that were on their way.
  const onTheWay = failed.filter(({ kind, begunAt }) => kind === 'waits' && begunAt > downAt + 500);
  assert.deepEqual(
    onTheWay.map(({ error }) => String(error)),
    [],
  );
  // A herd would be each of the callers, again and again.
  assert.ok(attempts.most(downAt, promotedAt) <= 40, 'attempts back off');
}
