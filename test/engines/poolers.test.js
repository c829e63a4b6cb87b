'use strict';

// Real poolers between the driver and a server, in several settings each: everybody gets what was asked for, and what a
// pooler cannot do is found out without a loss.

const assert = require('node:assert/strict');
const pg = require('pg');
const { Pool } = require('../..');
const { cannotRun } = require('../support/cannot-run');
const { startPgpool, whyNoPgpool } = require('../support/pgpool');
const { KINDS, startPooler, startServerBehind } = require('../support/poolers');
const { warningsOf } = require('../support/process');
const { IS_LONG } = require('../support/property');

const QUERIES = IS_LONG ? 4000 : 1500;
const CALLERS = 64;

/** Of PgBouncer, and of the pool. */
const SETTINGS = {
  'session mode': [{ poolMode: 'session', poolSize: 12 }, {}],
  'transaction mode': [{ poolMode: 'transaction', poolSize: 20 }, {}],
  'transaction mode with fewer sessions than connections': [
    { poolMode: 'transaction', poolSize: 2 },
    {},
  ],
  'transaction mode, one query at a time': [
    { poolMode: 'transaction', poolSize: 4 },
    { maxInFlight: 1 },
  ],
  'transaction mode, sessions that are reset each time': [
    {
      poolMode: 'transaction',
      poolSize: 4,
      settings: { server_reset_query: 'discard all', server_reset_query_always: 1 },
    },
    {},
  ],
  // Of an old one, a connection may wait for ever that has more in flight.
  'statement mode, one query at a time': [
    { poolMode: 'statement', poolSize: 4 },
    { maxInFlight: 1 },
  ],
};

/** Of pgpool-II, and of the pool. */
const PGPOOL_SETTINGS = {
  'with sessions that are kept': [{}, {}],
  'with a session for each connection': [{ connection_cache: 'off' }, {}],
  'without balancing': [{ load_balance_mode: 'off' }, {}],
  'one query at a time': [{}, { maxInFlight: 1 }],
  'nothing prepared': [{}, { prepare: false }],
};

describe('behind a pooler', function () {
  this.timeout(60_000);

  /** @type {Awaited<ReturnType<typeof startServerBehind>>} */
  let server;
  /** @type {pg.Client} past the pooler */
  let outside;

  before(async function () {
    this.timeout(600_000);
    for (const { find } of Object.values(KINDS)) find();
    server = await startServerBehind();
    outside = new pg.Client(server.connectionString);
    await outside.connect();
    await outside.query('create schema conduit_test');
  });

  after(async () => {
    await outside?.end();
    await server?.stop();
  });

  /**
   * One thing that a caller does.
   * @param {Pool} pool
   * @param {number} i
   * @param {boolean} hasTransactions
   */
  async function act(pool, i, hasTransactions) {
    const insert = 'insert into done (i) values ($1) returning i';
    switch (i % 16) {
      case 3:
      case 7: {
        const { rows } = await pool.query(insert, [i]);
        assert.deepEqual(rows, [{ i }]);
        return;
      }
      case 5: {
        const batch = [
          { text: insert, values: [i] },
          { text: 'select $1::int as k', values: [i] },
        ];
        const [, { rows }] = await pool.batch(batch);
        assert.deepEqual(rows, [{ k: i }]);
        return;
      }
      case 9:
        if (i % 3 !== 0) break;
        assert.deepEqual(await pool.copyRows('done', ['i'], [[i]]), { rowCount: 1 });
        return;
      case 11:
      case 13: {
        if (!hasTransactions) break;
        await pool.transaction(async (tx) => {
          const text = `select $1::int as i, ${i % 5} as n`;
          assert.deepEqual((await tx.query(text, [i])).rows, [{ i, n: i % 5 }]);
          await tx.query(insert, [i]);
          assert.deepEqual((await tx.query(text, [-i])).rows, [{ i: -i, n: i % 5 }]);
        });
        return;
      }
      case 14: {
        if (!hasTransactions) break;
        const client = await pool.connect();
        try {
          assert.deepEqual((await client.query('select $1::int as c', [i])).rows, [{ c: i }]);
          await client.query('begin');
          await client.query(insert, [i]);
          await client.query('commit');
        } finally {
          client.release();
        }
        return;
      }
      default:
    }
    const text = `select $1::int as i, ${i % 20} as k`;
    assert.deepEqual((await pool.query(text, [i])).rows, [{ i, k: i % 20 }]);
  }

  /** @param {number} i */
  function writes(i, hasTransactions) {
    if ([3, 5, 7].includes(i % 16)) return true;
    if (i % 16 === 9) return i % 3 === 0;
    return hasTransactions && [11, 13, 14].includes(i % 16);
  }

  for (const kind of Object.values(KINDS)) {
    for (const [name, [options, given]] of Object.entries(SETTINGS)) {
      it(`${kind.name}, ${name}: nothing is lost`, () =>
        runBehind(
          () => startPooler(server, kind, options),
          given,
          options.poolMode !== 'statement',
        ));
    }
  }

  for (const [name, [settings, given]] of Object.entries(PGPOOL_SETTINGS)) {
    it(`pgpool-II, ${name}: nothing is lost`, function () {
      const reason = whyNoPgpool();
      if (reason !== undefined) return cannotRun(this, reason);
      return runBehind(() => startPgpool(server, settings), given, true);
    });
  }

  /**
   * @param {() => Promise<{ config: any, stop: () => Promise<void> }>} start
   * @param {Record<string, any>} given options of the pool
   * @param {boolean} hasTransactions
   */
  async function runBehind(start, given, hasTransactions) {
    await outside.query('drop table if exists done; create table done (i int)');
    const pooler = await start();
    const pool = new Pool({ ...pooler.config, max: 10, ...given });
    const lost = [];
    try {
      let next = 0;
      await warningsOf(() =>
        Promise.all(
          Array.from({ length: CALLERS }, async () => {
            while (next < QUERIES) {
              const i = next++;
              await act(pool, i, hasTransactions).catch((error) => lost.push({ i, error }));
            }
          }),
        ),
      );
    } finally {
      await pool.end();
      await pooler.stop();
    }
    const told = lost.map(({ i, error }) => `${i}: ${error.code} ${error.message}`);
    assert.deepEqual(told.slice(0, 5), [], `${lost.length} of ${QUERIES}`);
    const { rows } = await outside.query('select i, count(*)::int as n from done group by i');
    assert.ok(rows.every(({ n }) => n === 1));
    const expected = Array.from({ length: QUERIES }, (_, i) => i);
    assert.deepEqual(
      rows.map(({ i }) => i).sort((a, b) => a - b),
      expected.filter((i) => writes(i, hasTransactions)),
    );
  }
});
