'use strict';

// Prepared statements that the server has dropped, or that a changed table has made stale, are
// made anew without a word, unless that would run something twice. On clients and on pools.

const assert = require('node:assert/strict');
const { endAll, newClient, newPool, resetSchema } = require('../support/connect');
const { EXECUTIONS } = require('../support/like-pg');
const { errorOf } = require('../support/outcomes');

describe('Client', () => {
  before(resetSchema);
  afterEach(endAll);

  describe('replaces a prepared statement', () => {
    /** Every kind of access once, until the statement is used in binary. */
    async function warmUp(one, text, values) {
      for (let execution = 1; execution <= EXECUTIONS; ++execution) await one.query(text, values);
    }

    for (const kind of ['client', 'pool']) {
      const make = () => (kind === 'pool' ? newPool({ max: 1 }) : newClient());

      it(`whose table has been altered by another connection, on a ${kind}`, async () => {
        const one = await make();
        const other = await newClient();
        await other.query('drop table if exists altered');
        await other.query('create table altered (a int)');
        await other.query('insert into altered values (1)');
        const text = 'select * from altered';
        await warmUp(one, text);
        const steps = [
          ['alter table altered add column b int', { a: 1, b: null }],
          ['alter table altered alter column a type text', { a: '1', b: null }],
          [
            'alter table altered alter column b type point using point(1, 2)',
            { a: '1', b: { x: 1, y: 2 } },
          ],
          ['alter table altered drop column b', { a: '1' }],
          ['alter table altered alter column a type int8 using 5', { a: '5' }],
          ['alter table altered rename column a to "__proto__"', null],
        ];
        for (const [ddl, row] of steps) {
          await other.query(ddl);
          for (let execution = 1; execution <= EXECUTIONS; ++execution) {
            const { rows, fields } = await one.query(text);
            if (row === null) {
              assert.deepEqual(Object.entries(rows[0]), [['__proto__', '5']]);
              continue;
            }
            assert.deepEqual(rows, [row]);
            assert.deepEqual(
              fields.map(({ name }) => name),
              Object.keys(row),
            );
          }
        }
        await other.query('drop table altered');
      });

      it(`that was dropped by DISCARD ALL or DEALLOCATE, on a ${kind}`, async () => {
        const pool = kind === 'pool' ? newPool({ max: 1 }) : undefined;
        const one = pool ?? (await newClient());
        const session = pool === undefined ? one : undefined;
        for (const text of ['discard all', 'deallocate all', 'DEALLOCATE PREPARE ALL']) {
          await warmUp(one, 'select $1::int as n', [1]);
          if (session !== undefined) {
            await session.query(text);
          } else {
            const borrowed = await pool.connect();
            await borrowed.query(text);
            borrowed.release();
          }
          for (let execution = 1; execution <= EXECUTIONS; ++execution) {
            assert.deepEqual((await one.query('select $1::int as n', [execution])).rows, [
              { n: execution },
            ]);
          }
        }
      });
    }

    it('that a function has deallocated', async () => {
      const client = await newClient();
      await warmUp(client, 'select $1::int as n', [1]);
      await client.query("do $$ begin execute 'deallocate all'; end $$");
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        assert.deepEqual((await client.query('select $1::int as n', [execution])).rows, [
          { n: execution },
        ]);
      }
    });

    it('in a pipeline with DISCARD ALL', async () => {
      const client = await newClient();
      await warmUp(client, 'select $1::int as n', [1]);
      const outcomes = await Promise.all([
        client.query('select $1::int as n', [1]),
        client.query('discard all'),
        client.query('select $1::int as n', [2]),
        client.query('select $1::int as n', [3]),
      ]);
      assert.deepEqual(
        outcomes.map(({ rows }) => rows[0]?.n),
        [1, undefined, 2, 3],
      );
    });

    it('for each of many queries in flight on a pool', async () => {
      const pool = newPool({ max: 1 });
      const other = await newClient();
      await other.query('create table busy (a int)');
      await other.query('insert into busy values (7)');
      await warmUp(pool, 'select * from busy');
      for (const type of ['text', 'float8', 'numeric', 'int']) {
        await other.query(`alter table busy alter column a type ${type} using a::${type}`);
        const answers = await Promise.all([
          ...Array.from({ length: 50 }, () => pool.query('select * from busy')),
          ...Array.from({ length: 50 }, (_, n) => pool.query('select $1::int as n', [n])),
        ]);
        const value = type === 'text' || type === 'numeric' ? '7' : 7;
        for (const { rows } of answers.slice(0, 50)) assert.deepEqual(rows, [{ a: value }]);
        for (const [n, { rows }] of answers.slice(50).entries()) assert.deepEqual(rows, [{ n }]);
      }
      assert.equal(pool.totalCount, 1);
    });

    it('for each of several queries in flight when their pool was ended', async () => {
      const pool = newPool({ max: 1 });
      const other = await newClient();
      await other.query('create table left_behind (a int)');
      await warmUp(pool, 'select * from left_behind');
      await other.query('alter table left_behind add column b int');
      const answers = Array.from({ length: 3 }, () => pool.query('select * from left_behind'));
      await pool.end();
      for (const { fields } of await Promise.all(answers)) assert.equal(fields.length, 2);
    });

    it('but not in a transaction, which gets the error, and the next transaction works', async () => {
      const client = await newClient();
      const other = await newClient();
      await other.query('create table in_transaction (a int)');
      await warmUp(client, 'select a from in_transaction');
      await other.query('alter table in_transaction alter column a type text');
      await client.query('begin');
      assert.equal((await errorOf(client.query('select a from in_transaction'))).code, '0A000');
      assert.equal((await errorOf(client.query('select 1'))).code, '25P02');
      await client.query('rollback');
      assert.deepEqual((await client.query('select a from in_transaction')).rows, []);
    });

    it('without running anything twice', async () => {
      const pool = newPool({ max: 1 });
      const other = await newClient();
      await other.query('create table once_only (a int)');
      const insert = 'insert into once_only values (1) returning *';
      await warmUp(pool, insert);
      await other.query('truncate once_only');
      await other.query('alter table once_only add column b int');
      await Promise.all(Array.from({ length: 20 }, () => pool.query(insert)));
      const { rows } = await other.query('select count(*)::int as n from once_only');
      assert.deepEqual(rows, [{ n: 20 }]);
    });
  });

  it('but never runs a procedure again that fails inside with the error of a missing statement', async () => {
    const pool = newPool({ max: 1 });
    await pool.query('create table committed_inside (id int)');
    await pool.query(`create procedure fails_late() language plpgsql as $$
      begin
        insert into committed_inside values (1);
        commit;
        execute 'execute no_such_statement';
      end $$`);
    await pool.query(`create function fails_so() returns int language plpgsql as $$
      begin execute 'execute no_such_statement'; return 1; end $$`);
    for (let use = 1; use <= 4; ++use) {
      await assert.rejects(pool.query('call fails_late()'), { code: '26000', outcome: 'unknown' });
      const { rows } = await pool.query('select count(*)::int as n from committed_inside');
      assert.deepEqual(rows, [{ n: use }]);
      await assert.rejects(pool.query('select fails_so()'), { code: '26000', outcome: 'not-run' });
    }
  });
});
