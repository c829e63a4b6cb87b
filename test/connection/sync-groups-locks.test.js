'use strict';

// Sync groups during migrations of other sessions: no member waits for a lock while others of its
// group hold what it would not hold by itself, so that nobody becomes a deadlock victim who would
// not be with a Sync for each query.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const { Observer, until } = require('../support/outside');
const { newPool, usePools, warm } = require('../support/pools');
const { MANY, atOnce, makeKnown, untilShared } = require('../support/sync-groups');

const ROUNDS = 30;
const A = 'select id from side_a where id = $1';
const B = 'select id from side_b where id = $1';
const PARTED = 'select id from parted where id = $1';

describe('Sync groups during migrations', function () {
  this.timeout(60000);

  const observer = usePools();

  before(() =>
    observer.ask(`
      set search_path to conduit_test;
      create table side_a as select i as id from generate_series(1, 10) i;
      create table side_b as select i as id from generate_series(1, 10) i;
      create table parted (id int) partition by list (id);
      create table parted_1 partition of parted for values in (1);
      create table parted_2 partition of parted for values in (2);
      insert into parted values (1), (2);
      create view of_parted as select id from parted;
      create sequence s1;
      create sequence s2;`),
  );

  /**
   * Takes both locks, again and again, first one of them and then the other, beside queries that
   * come in bursts.
   * @param {string[]} locks
   * @param {any} pool
   * @param {(index: number) => Promise<any>} query
   * @returns {Promise<string[]>} codes of what went wrong
   */
  async function migrateBeside(locks, pool, query) {
    const migration = await Observer.open();
    const codes = [];
    let isDone = false;
    const traffic = (async () => {
      while (!isDone) {
        const outcomes = await Promise.allSettled(Array.from({ length: MANY }, (_, i) => query(i)));
        for (const { reason } of outcomes) if (reason) codes.push(reason.code);
      }
    })();
    try {
      // It is the one that finds the deadlock, and falls victim to it.
      await migration.ask("set deadlock_timeout = '5ms'");
      for (let round = 0; round < ROUNDS; ++round) {
        const [first, second] = round % 2 === 0 ? locks : [...locks].reverse();
        await migration.ask('begin');
        try {
          await migration.ask(first);
          await delay(5);
          await migration.ask(second);
          await migration.ask('commit');
        } catch (error) {
          codes.push(error.code);
          await migration.ask('rollback');
        }
        await delay(5);
      }
    } finally {
      isDone = true;
      await traffic;
      await migration.close();
    }
    return codes;
  }

  const TABLES = [
    'lock table conduit_test.side_a in access exclusive mode',
    'lock table conduit_test.side_b in access exclusive mode',
  ];

  for (const given of [
    { syncGroup: 'reads', max: 1 },
    { syncGroup: 'reads', max: 3 },
    { syncGroup: 'all', max: 1 },
    { syncGroup: 'reads', max: 1, prepare: false },
    { syncGroup: 'off', max: 1 },
  ]) {
    it(`of two tables make no query fail, ${JSON.stringify(given)}`, async () => {
      const pool = newPool(given);
      await warm(pool, given.max);
      if (given.syncGroup !== 'off') await makeKnown(pool, [A, [1]], [B, [1]]);
      const ask = (i) => pool.query(i % 2 === 0 ? A : B, [1 + (i % 10)]);
      assert.deepEqual(await migrateBeside(TABLES, pool, ask), []);
    });
  }

  for (const text of [PARTED, 'select id from of_parted where id = $1']) {
    it(`of two partitions make no query of one of them fail: ${text}`, async () => {
      // Planned for each value, a query locks only its own partition.
      const options = '-c plan_cache_mode=force_custom_plan -c search_path=conduit_test';
      const pool = newPool({ max: 1, options });
      await warm(pool, 1);
      await makeKnown(pool, [A, [1]]);
      for (const id of [1, 2, 1, 2]) await pool.query(text, [id]);
      const locks = [1, 2].map(
        (n) => `lock table conduit_test.parted_${n} in access exclusive mode`,
      );
      const codes = await migrateBeside(locks, pool, (i) => pool.query(text, [1 + (i % 2)]));
      assert.deepEqual(codes, []);
    });
  }

  it('of two sequences make no nextval() of one of them fail', async () => {
    const pool = newPool({ max: 1 });
    await warm(pool, 1);
    await makeKnown(pool, [A, [1]]);
    const text = 'select nextval($1) as n';
    for (const s of ['s1', 's2', 's1', 's2']) await pool.query(text, [s]);
    const locks = ['s1', 's2'].map((s) => `alter sequence conduit_test.${s} cache 1`);
    const codes = await migrateBeside(locks, pool, (i) => pool.query(text, [`s${1 + (i % 2)}`]));
    assert.deepEqual(codes, []);
  });

  it('have members of one text, whatever the order of the texts', async () => {
    const pool = newPool({ max: 1 });
    await warm(pool, 1);
    await makeKnown(pool, [A, [1]], [B, [1]]);
    // So many are in flight that what follows is put aside by text.
    const { value } = await untilShared(pool, () =>
      atOnce(240, (i) => pool.query(i % 2 === 0 ? A : B, [1 + (i % 10)])),
    );
    for (const [i, { rows }] of value.entries()) assert.deepEqual(rows, [{ id: 1 + (i % 10) }]);
  });

  it('never lock one table while they wait for another', async () => {
    const pool = newPool({ max: 1 });
    await warm(pool, 1);
    await makeKnown(pool, [A, [1]], [B, [1]]);
    const [{ pid }] = (await pool.query('select pg_backend_pid() as pid')).rows;
    for (const table of ['side_a', 'side_b']) {
      await observer.ask('begin');
      await observer.ask(`lock table conduit_test.${table} in access exclusive mode`);
      const reads = atOnce(200, (i) => pool.query((i + (i >> 3)) % 2 === 0 ? A : B, [1]));
      await until('one of them waits', async () => {
        const waiting = await observer.ask('select from pg_locks where pid = $1 and not granted', [
          pid,
        ]);
        return waiting.length > 0;
      });
      const held = await observer.ask(
        `select relation::regclass::text as name from pg_locks
           where pid = $1 and granted and relation::regclass::text like '%side%'`,
        [pid],
      );
      await observer.ask('commit');
      await reads;
      assert.deepEqual(held, []);
    }
  });
});
