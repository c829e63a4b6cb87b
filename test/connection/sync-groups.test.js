'use strict';

// lib/connection/sync-groups.js: which queries of a tick share a Sync, and that nobody notices but by the
// counts, whatever becomes of the others. Random scripts: sync-groups-random.test.js.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const { Pool, ParameterError, ResultError } = require('../..');
const { connectionOf } = require('../../lib/client/client');
const { newClient, options } = require('../support/connect');
const { driverError } = require('../support/driver-error');
const { errorOf } = require('../support/outcomes');
const { PATIENCE_MILLIS, applicationName, runFixture, until } = require('../support/outside');
const { PID, newPool, poolError, teach, usePools, warm } = require('../support/pools');
const { Proxy, errorMessage, message } = require('../support/proxy');
const {
  MANY,
  atOnce,
  counted,
  makeKnown,
  settledAtOnce,
  untilShared,
} = require('../support/sync-groups');

const READ = 'select $1::int as i';
const INSERT = 'insert into written values ($1)';
const VOLATILE = 'select remember($1::int) as id';
const QUOTIENT = 'select $1::int as i, 100 / $2::int as quotient';

describe('Sync groups', function () {
  this.timeout(30000);

  const observer = usePools();

  before(() =>
    observer.ask(`
      set search_path to conduit_test;
      create table written (id int);
      create table keyed (id int primary key);
      create table parent (id int primary key);
      create table child (id int, parent int references parent deferrable initially deferred);
      create table items (id int primary key, n int);
      insert into items values (1, 0), (2, 0), (3, 0);
      create function remember(int) returns int language plpgsql as
        'begin insert into written values ($1); return $1; end';
      create function forget_statements() returns int language plpgsql as
        $$ begin execute 'deallocate all'; return 1; end $$;
      create procedure nothing() language plpgsql as 'begin end';
    `),
  );
  beforeEach(() => observer.ask('truncate written, keyed, child'));

  /** @returns {Promise<number[]>} what is in the table, in order */
  async function written() {
    const rows = await observer.ask('select id from conduit_test.written order by id');
    return rows.map(({ id }) => id);
  }

  /** A pool of one connection, which is open. */
  async function openPool(given) {
    const pool = newPool({ max: 1, ...given });
    await warm(pool, 1);
    return pool;
  }

  describe('are made of', () => {
    it('reads of one tick, once their text has run before', async () => {
      const pool = await openPool();
      await makeKnown(pool, [READ, [0]]);
      const { value, queries, syncs } = await untilShared(pool, () =>
        atOnce(MANY, (i) => pool.query(READ, [i])),
      );
      for (const [i, { rows, command }] of value.entries()) {
        assert.deepEqual(rows, [{ i }]);
        assert.equal(command, 'SELECT');
      }
      assert.equal(queries, MANY);
      assert.ok(syncs >= 2, `${syncs} Syncs`);
    });

    it('no text that runs for the first time', async () => {
      const pool = await openPool();
      await makeKnown(pool, [READ, [0]]);
      const sent = await counted(pool, () =>
        atOnce(MANY, (i) => pool.query('select $1::int as unseen', [i])),
      );
      assert.deepEqual([sent.queries, sent.syncs], [MANY, MANY]);
    });

    it('nothing with syncGroup: off', async () => {
      const pool = await openPool({ syncGroup: 'off' });
      await teach(pool, READ, [0]);
      const sent = await counted(pool, () => atOnce(MANY, (i) => pool.query(READ, [i])));
      assert.deepEqual([sent.queries, sent.syncs], [MANY, MANY]);
    });

    it('queries that ask for it by syncGroup, whatever the option of the pool is', async () => {
      const off = await openPool({ syncGroup: 'off' });
      const wanted = (i) => ({ text: READ, values: [i], syncGroup: 'reads' });
      await makeKnown(off, wanted(0));
      await untilShared(off, () => atOnce(MANY, (i) => off.query(wanted(i))));

      const all = await openPool({ syncGroup: 'all' });
      await makeKnown(all, [READ, [0]], [INSERT, [0]]);
      const alone = await counted(all, () =>
        atOnce(MANY, (i) => all.query({ text: READ, values: [i], syncGroup: 'off' })),
      );
      assert.equal(alone.syncs, MANY);
      const writes = await counted(all, () =>
        atOnce(MANY, (i) => all.query({ text: INSERT, values: [i], syncGroup: 'reads' })),
      );
      assert.equal(writes.syncs, MANY);
    });

    it('writes, only with syncGroup: all', async () => {
      const texts = [
        INSERT,
        'update items set n = n + 1 where id = $1',
        'delete from written where id = 1000 + $1::int',
      ];
      for (const syncGroup of ['reads', 'all']) {
        const pool = await openPool({ syncGroup });
        for (const text of texts) {
          await teach(pool, text, [1]);
          const count = syncGroup === 'all' ? untilShared : counted;
          const sent = await count(pool, () => atOnce(MANY, () => pool.query(text, [1])));
          assert.equal(sent.queries, MANY);
          if (syncGroup === 'reads') assert.equal(sent.syncs, MANY, text);
        }
      }
    });

    it('no queries of a borrowed client', async () => {
      const pool = await openPool({ syncGroup: 'all' });
      await makeKnown(pool, [READ, [0]]);
      const client = await pool.connect();
      // Behind the first statement that it prepares the server is asked whether a pooler is between.
      for (let i = 0; i < 2; ++i) await client.query(READ, [0]);
      const lent = await counted(pool, () => atOnce(MANY, (i) => client.query(READ, [i])));
      assert.equal(lent.syncs, MANY);
      client.release();

      const single = await newClient({ syncGroup: 'all' });
      for (let i = 0; i < 20; ++i) await single.query(READ, [i]);
      const before = connectionOf(single).counters().syncs;
      await atOnce(MANY, (i) => single.query({ text: READ, values: [i], syncGroup: 'all' }));
      assert.equal(connectionOf(single).counters().syncs - before, MANY);
    });

    for (const text of [
      'select id from items where id = $1::int for update',
      'select id from items where id = $1::int for no key update',
      'SELECT id FROM items WHERE id = $1::int FOR SHARE',
      'select id from items where id = $1::int for key share',
      'with w as (insert into written values ($1::int) returning id) select id from w',
      'with w as (update items set n = $1::int returning id) select id from w',
      'with w as (delete from written where id = $1::int returning id) select id from w',
      'explain select $1::int',
      'select remember($1::int)',
      'select conduit_test.remember($1::int)',
      'select id from items where id = "remember"($1::int)',
      "select set_config('conduit.test', $1::text, true)",
      'insert into written values ($1::int)',
    ]) {
      it(`reads, with syncGroup: reads, and not ${text}`, async () => {
        const pool = await openPool();
        await teach(pool, text, [1]);
        const sent = await counted(pool, () => atOnce(MANY, () => pool.query(text, [1])));
        assert.deepEqual([sent.queries, sent.syncs], [MANY, MANY]);
      });
    }

    for (const text of ['call nothing()', 'do $$ begin end $$', 'show work_mem', 'notify nobody']) {
      it(`no ${text}`, async () => {
        const pool = await openPool({ syncGroup: 'all' });
        await teach(pool, text);
        const sent = await counted(pool, () => atOnce(MANY, () => pool.query(text)));
        assert.deepEqual([sent.queries, sent.syncs], [MANY, MANY]);
      });
    }

    it('reads, with syncGroup: reads, and not SELECT INTO, which makes a table', async () => {
      const pool = await openPool();
      const text = 'select 1 as one into made';
      for (let use = 0; use < 5; ++use) {
        await pool.query(text);
        await observer.ask('drop table conduit_test.made');
      }
      const sent = await counted(pool, () => settledAtOnce(2, () => pool.query(text)));
      assert.equal(sent.value[0].status, 'fulfilled');
      assert.equal(sent.value[1].reason.code, '42P07');
      assert.deepEqual([sent.queries, sent.syncs], [2, 2]);
    });

    it('no statement that is known to be slow, so that no other one waits for it', async () => {
      const pool = await openPool();
      await makeKnown(pool, [READ, [0]]);
      await teach(pool, 'select pg_sleep(0.02)');
      const answered = [];
      const sent = await counted(pool, () =>
        Promise.all([
          ...Array.from({ length: 10 }, (_, i) =>
            pool.query(READ, [i]).then(() => answered.push('read')),
          ),
          pool.query('select pg_sleep(0.02)').then(() => answered.push('slow')),
          pool.query('select pg_sleep(0.02)').then(() => answered.push('slow')),
        ]),
      );
      assert.deepEqual(answered, [...Array(10).fill('read'), 'slow', 'slow']);
      assert.ok(sent.syncs >= 3, `${sent.syncs} Syncs`);

      const { syncs } = await counted(pool, () =>
        atOnce(5, () => pool.query('select pg_sleep(0.02)')),
      );
      assert.equal(syncs, 5);
    });

    it('no query with large parameters, and a limited size of parameters together', async () => {
      const pool = await openPool();
      const text = 'select length($1::text) as length';
      await makeKnown(pool, [text, ['x']]);
      for (const [kibibytes, atLeast] of [
        [200, MANY],
        [20, (MANY * 20) / 256],
      ]) {
        const length = kibibytes << 10;
        const { value, syncs } = await counted(pool, () =>
          atOnce(MANY, () => pool.query(text, ['x'.repeat(length)])),
        );
        for (const { rows } of value) assert.deepEqual(rows, [{ length }]);
        assert.ok(syncs >= atLeast, `${syncs} Syncs of ${MANY} with ${kibibytes} KiB each`);
      }
    });

    it('at most 32 members, and several groups in a tick if needed', async () => {
      const pool = await openPool();
      await makeKnown(pool, [READ, [0]]);
      for (let burst = 0; burst < 20; ++burst) {
        const { value, syncs } = await untilShared(pool, () =>
          atOnce(320, (i) => pool.query(READ, [i])),
        );
        for (const [i, { rows }] of value.entries()) assert.deepEqual(rows, [{ i }]);
        assert.ok(syncs >= 10, `${syncs} Syncs`);
      }
    });

    it('statements that are prepared and evicted meanwhile, and unprepared ones', async () => {
      const texts = Array.from({ length: 8 }, (_, n) => `select ${n} as n, $1::int as i`);
      for (const given of [
        { statementCacheSize: 2 },
        { statementCacheSize: 2, prepareThreshold: 1 },
        { prepare: false },
        { prepareThreshold: 1 },
      ]) {
        const pool = await openPool(given);
        await makeKnown(pool, ...texts.map((text) => [text, [0]]));
        for (let burst = 0; burst < 10; ++burst) {
          const { value, queries } = await counted(pool, () =>
            atOnce(200, (i) => pool.query(texts[(i * 7 + (i >> 3)) % 8], [i])),
          );
          for (const [i, { rows }] of value.entries()) {
            assert.deepEqual(rows, [{ n: (i * 7 + (i >> 3)) % 8, i }]);
          }
          assert.equal(queries, 200);
        }
      }
    });

    it('queries of a text that a borrowed client has run first', async () => {
      const pool = await openPool();
      const client = await pool.connect();
      for (let i = 0; i < 20; ++i) await client.query(READ, [i]);
      client.release();
      await untilShared(pool, () => atOnce(MANY, (i) => pool.query(READ, [i])));
    });
  });

  it('are refused with any other value of syncGroup', async () => {
    const pool = new Pool({ ...options(), syncGroup: 'some' });
    await assert.rejects(pool.query('select 1'), { code: 'ERR_PG_CONDUIT_OPTION' });
    await pool.end();
    const other = newPool();
    const error = await errorOf(other.query({ text: 'select 1', syncGroup: 'some' }));
    assert.ok(error instanceof ParameterError, String(error));
    assert.match(error.message, /'off', 'reads' or 'all'/);
  });

  describe('when a member fails', () => {
    /**
     * Good ones and bad ones in one tick: each bad one must be rejected, nobody else.
     * @param {(i: number) => Promise<any>} good
     * @param {(i: number) => Promise<any>} bad
     * @param {(error: any, i: number) => void} check
     * @returns {Promise<any[]>} results, undefined for the bad ones
     */
    async function onlyBadOnesFail(good, bad, check) {
      const isBad = (i) => i % 17 === 9;
      const outcomes = await settledAtOnce(100, (i) => (isBad(i) ? bad(i) : good(i)));
      return outcomes.map(({ status, value, reason }, i) => {
        assert.equal(status, isBad(i) ? 'rejected' : 'fulfilled', `${i}: ${reason}`);
        if (isBad(i)) check(reason, i);
        return value;
      });
    }

    /** Runs such a tick until one of its 100 queries was undone with its group. */
    function untilRunAgain(pool, run) {
      return until('a group is run again', async () => {
        const sent = await counted(pool, run);
        return sent.queries > 100 ? sent.value : undefined;
      });
    }

    const hasCode = (code) => (error) => {
      assert.equal(error.code, code, String(error));
      assert.equal(error.outcome, 'not-run');
    };

    it('at run time, it alone is rejected, and the others get their rows', async () => {
      const pool = await openPool();
      await makeKnown(pool, [QUOTIENT, [1, 1]], [READ, [0]]);
      const results = await untilRunAgain(pool, () =>
        onlyBadOnesFail(
          (i) => (i % 2 === 0 ? pool.query(QUOTIENT, [i, 50]) : pool.query(READ, [i])),
          (i) => pool.query(QUOTIENT, [i, 0]),
          hasCode('22012'),
        ),
      );
      for (const [i, result] of results.entries()) {
        if (result === undefined) continue;
        assert.deepEqual(result.rows, [i % 2 === 0 ? { i, quotient: 2 } : { i }]);
      }
    });

    it('the writes of the others in its group are made once', async () => {
      const pool = await openPool({ syncGroup: 'all' });
      await makeKnown(pool, [QUOTIENT, [1, 1]], [VOLATILE, [-1]], [INSERT, [-1]]);
      await observer.ask('truncate written');
      const results = await onlyBadOnesFail(
        (i) => pool.query(i % 2 === 0 ? VOLATILE : INSERT, [i]),
        (i) => pool.query(QUOTIENT, [i, 0]),
        hasCode('22012'),
      );
      const expected = results.flatMap((result, i) => (result === undefined ? [] : i));
      assert.deepEqual(await written(), expected);
    });

    it('at a unique key, it alone is rejected', async () => {
      const pool = await openPool({ syncGroup: 'all' });
      const text = 'insert into keyed values ($1) returning id';
      let next = 0;
      await makeKnown(pool, () => pool.query(text, [--next]));
      const results = await onlyBadOnesFail(
        (i) => pool.query(text, [i]),
        () => pool.query(text, [-1]),
        hasCode('23505'),
      );
      const rows = await observer.ask(
        'select id from conduit_test.keyed where id >= 0 order by id',
      );
      assert.deepEqual(
        rows.map(({ id }) => id),
        results.flatMap((result) => (result === undefined ? [] : result.rows[0].id)),
      );
    });

    it('at the commit, for a deferred constraint, it alone is rejected', async () => {
      await observer.ask('insert into conduit_test.parent values (1) on conflict do nothing');
      const pool = await openPool({ syncGroup: 'all' });
      const text = 'insert into child values ($1, $2)';
      await makeKnown(pool, [text, [-1, 1]], [READ, [0]]);
      const results = await untilRunAgain(pool, async () => {
        await observer.ask('truncate child');
        return onlyBadOnesFail(
          (i) => (i % 2 === 0 ? pool.query(text, [i, 1]) : pool.query(READ, [i])),
          (i) => pool.query(text, [i, 42]),
          (error) => {
            hasCode('23503')(error);
            assert.equal(error.constraint, 'child_parent_fkey');
          },
        );
      });
      const rows = await observer.ask(
        'select id from conduit_test.child where id >= 0 order by id',
      );
      assert.deepEqual(
        rows.map(({ id }) => id),
        results.flatMap((result, i) => (result?.command === 'INSERT' ? i : [])),
      );
    });

    for (const prepare of [true, false]) {
      it(`because a table or a column was dropped, it alone is rejected, prepare: ${prepare}`, async () => {
        const pool = await openPool({ prepare });
        for (const [what, code] of [
          ['table doomed', '42P01'],
          ['column gone', '42703'],
        ]) {
          await observer.ask('create table conduit_test.doomed (id int, gone int)');
          const text = `select id, gone, '${what}' from doomed`;
          await makeKnown(pool, [text], [READ, [0]]);
          await observer.ask(
            what === 'table doomed'
              ? 'drop table conduit_test.doomed'
              : 'alter table conduit_test.doomed drop column gone',
          );
          for (let round = 0; round < 3; ++round) {
            const results = await onlyBadOnesFail(
              (i) => pool.query(READ, [i]),
              () => pool.query(text),
              hasCode(code),
            );
            for (const [i, result] of results.entries()) {
              if (result !== undefined) assert.deepEqual(result.rows, [{ i }]);
            }
          }
          await observer.ask('drop table if exists conduit_test.doomed');
        }
      });
    }

    for (const syncGroup of ['reads', 'all']) {
      it(`when it is prepared again, it alone is rejected, syncGroup: ${syncGroup}`, async () => {
        const pool = await openPool({ syncGroup });
        await observer.ask('create table conduit_test.doomed (id int)');
        const text = 'select id from doomed';
        await makeKnown(pool, [text], [READ, [0]], [VOLATILE, [-1]]);
        await observer.ask('drop table conduit_test.doomed; truncate written');
        // On a connection that has prepared nothing yet.
        (await pool.connect()).release(true);
        const results = await onlyBadOnesFail(
          (i) => pool.query(i % 2 === 0 ? READ : VOLATILE, [i]),
          () => pool.query(text),
          hasCode('42P01'),
        );
        const ids = [];
        for (const [i, result] of results.entries()) {
          if (result === undefined) continue;
          assert.deepEqual(result.rows, [i % 2 === 0 ? { i } : { id: i }]);
          if (i % 2 === 1) ids.push(i);
        }
        assert.deepEqual(await written(), ids);
      });
    }

    it('with a stale plan, no member is rejected', async () => {
      const pool = await openPool({ syncGroup: 'all' });
      await observer.ask(
        'create table conduit_test.altered (a int); insert into conduit_test.altered values (1)',
      );
      const text = 'select altered.*, $1::int as i, remember($1::int) from altered';
      await makeKnown(pool, [text, [-1]], [READ, [0]]);
      await observer.ask('truncate written');
      let from = 0;
      for (const [ddl, row] of [
        ['add column b int default 2', { a: 1, b: 2 }],
        ['alter column b type text', { a: 1, b: '2' }],
        ['drop column b', { a: 1 }],
      ]) {
        await observer.ask(`alter table conduit_test.altered ${ddl}`);
        const first = from;
        const results = await atOnce(MANY, (n) => {
          const i = first + n;
          return n % 3 === 0 ? pool.query(text, [i]) : pool.query(READ, [i]);
        });
        for (const [n, { rows }] of results.entries()) {
          const i = first + n;
          assert.deepEqual(rows, [n % 3 === 0 ? { ...row, i, remember: i } : { i }]);
        }
        from += 3 * MANY;
      }
      assert.equal(pool.totalCount, 1);
      const ids = await written();
      assert.equal(new Set(ids).size, ids.length, 'nothing was run twice');
      assert.equal(ids.length, 3 * Math.ceil(MANY / 3));
    });

    it('because a function has deallocated prepared statements, no member is rejected', async () => {
      const pool = await openPool({ syncGroup: 'all' });
      await makeKnown(pool, [READ, [0]], [VOLATILE, [-1]]);
      await teach(pool, 'select forget_statements()');
      await makeKnown(pool, [READ, [0]], [VOLATILE, [-1]]);
      await observer.ask('truncate written');
      for (let burst = 0; burst < 5; ++burst) {
        const results = await atOnce(60, (n) => {
          if (n % 20 === 10) return pool.query('select forget_statements()');
          return pool.query(n % 2 === 0 ? READ : VOLATILE, [60 * burst + n]);
        });
        for (const [n, { rows }] of results.entries()) {
          const i = 60 * burst + n;
          if (n % 20 !== 10) assert.deepEqual(rows, [n % 2 === 0 ? { i } : { id: i }]);
        }
      }
      assert.deepEqual(
        await written(),
        Array.from({ length: 150 }, (_, i) => 2 * i + 1),
      );
    });

    it('with a parameter that cannot be sent, no member runs again', async () => {
      const pool = await openPool({ syncGroup: 'all' });
      const text = 'select remember($1::int) as id, $2::text as t';
      await makeKnown(pool, [text, [-1, 'x']]);
      await observer.ask('truncate written');
      const sent = await counted(pool, () =>
        onlyBadOnesFail(
          (i) => pool.query(text, [i, 'fine']),
          (i) => pool.query(text, [i, 'a\0b']),
          (error) => {
            assert.ok(error instanceof ParameterError, String(error));
            assert.equal(error.outcome, 'not-run');
          },
        ),
      );
      const expected = sent.value.flatMap((result, i) => (result === undefined ? [] : i));
      assert.equal(sent.queries, expected.length);
      assert.deepEqual(await written(), expected);
    });

    it('because a parser throws, no member runs again: all are committed', async () => {
      const pool = await openPool({ syncGroup: 'all' });
      const throwing = {
        getTypeParser: () => () => {
          throw new Error('from the parser');
        },
      };
      await makeKnown(pool, [VOLATILE, [-1]]);
      await observer.ask('truncate written');
      const sent = await counted(pool, () =>
        onlyBadOnesFail(
          (i) => pool.query(VOLATILE, [i]),
          (i) => pool.query({ text: VOLATILE, values: [i], types: throwing }),
          (error) => {
            assert.ok(driverError(error) instanceof ResultError, String(error));
            assert.equal(error.outcome, 'unknown');
          },
        ),
      );
      assert.equal(sent.queries, 100);
      assert.deepEqual(
        await written(),
        Array.from({ length: 100 }, (_, i) => i),
      );
    });

    it('because an int8 is not a safe number, no member runs again', async () => {
      const pool = await openPool({ int8: 'number', syncGroup: 'all' });
      const text = 'select remember($1::int) as id, $2::int8 as big';
      await makeKnown(pool, [text, [-1, 1]]);
      await observer.ask('truncate written');
      const sent = await counted(pool, () =>
        onlyBadOnesFail(
          (i) => pool.query(text, [i, 5]),
          (i) => pool.query(text, [i, '9007199254740993']),
          (error) => assert.ok(error instanceof ResultError, String(error)),
        ),
      );
      assert.equal(sent.queries, 100);
      assert.equal((await written()).length, 100);
    });

    it('by a timeout of the server, it alone is rejected', async () => {
      const pool = await openPool({ statement_timeout: 200, syncGroup: 'all' });
      const text = 'select pg_sleep($1::float8), remember($2::int)';
      await makeKnown(pool, [text, [0, -1]], [READ, [0]]);
      await observer.ask('truncate written');
      const outcomes = await settledAtOnce(MANY, (i) =>
        i === 20
          ? pool.query(text, [5, i])
          : pool.query(i % 2 === 0 ? READ : text, i % 2 === 0 ? [i] : [0, i]),
      );
      for (const [i, { status, reason }] of outcomes.entries()) {
        assert.equal(status, i === 20 ? 'rejected' : 'fulfilled', `${i}: ${reason}`);
      }
      hasCode('57014')(outcomes[20].reason);
      assert.deepEqual(
        await written(),
        Array.from({ length: MANY / 2 }, (_, i) => 2 * i + 1),
      );
    });

    it('with a serialization failure, each member has the outcome that it reports', async () => {
      const pool = newPool({
        max: 2,
        syncGroup: 'all',
        options: '-c search_path=conduit_test,public -c default_transaction_isolation=serializable',
      });
      await warm(pool, 2);
      const text =
        'insert into written select $1::int from (select count(*) from written where id < 0) as n';
      await makeKnown(pool, [text, [-1]]);
      await observer.ask('truncate written');
      const told = [];
      for (let burst = 0; burst < 20; ++burst) {
        const outcomes = await settledAtOnce(60, (i) => pool.query(text, [60 * burst + i]));
        for (const [i, { status, reason }] of outcomes.entries()) {
          if (status === 'fulfilled') told.push(60 * burst + i);
          else hasCode('40001')(reason);
        }
      }
      assert.deepEqual(await written(), told);
      assert.ok(told.length > 600, `${told.length} of 1200`);
    });

    it('because groups of two connections deadlock, no member is rejected', async () => {
      const pools = [await openPool({ syncGroup: 'all' }), await openPool({ syncGroup: 'all' })];
      const text = 'update items set n = n + 1 where id = $1';
      for (const pool of pools) await makeKnown(pool, [text, [-1]]);
      await observer.ask('update items set n = 0');
      // Each gets its first row, and waits for the third.
      await observer.ask('begin');
      await observer.ask('select from items where id = 3 for update');
      const updates = pools.map((pool, p) => {
        const [first, second] = p === 0 ? [1, 2] : [2, 1];
        const ids = [-1, -1, first, first, first, 3, second, second, second];
        return atOnce(ids.length, (i) => pool.query(text, [ids[i]]));
      });
      await until('both wait', async () => {
        const waiting = await observer.ask(
          "select from pg_locks where not granted and locktype <> 'advisory'",
        );
        return waiting.length >= 2;
      });
      await observer.ask('commit');
      await Promise.all(updates);
      const rows = await observer.ask('select n from items order by id');
      assert.deepEqual(rows, [{ n: 6 }, { n: 6 }, { n: 2 }]);
    });

    it('its text joins no group for its next 64 uses, and joins groups again afterwards', async () => {
      const pool = await openPool();
      await makeKnown(pool, [QUOTIENT, [1, 1]], [READ, [0]]);
      const fine = (count) =>
        counted(pool, () => atOnce(count, (i) => pool.query(QUOTIENT, [i, 1])));
      await until('it has failed in a group', async () => {
        const { queries } = await counted(pool, () =>
          settledAtOnce(MANY, (i) => pool.query(QUOTIENT, [i, i === 20 ? 0 : 1])),
        );
        return queries > MANY;
      });
      assert.equal((await fine(64)).syncs, 64);
      await untilShared(pool, () => atOnce(MANY, (i) => pool.query(QUOTIENT, [i, 1])));
    });

    it('only because it is in a group, its text joins no group any more', async () => {
      const pool = await openPool();
      // As one that creates a temporary table ON COMMIT DROP, but cheap.
      await observer.ask(`
        create function conduit_test.wants_it_all(int) returns int language plpgsql as $$
        begin
          if txid_current_if_assigned() is not null then
            raise exception 'somebody has written before';
          end if;
          perform txid_current();
          return $1;
        end $$`);
      const text = 'select wants_it_all($1::int) as i';
      await makeKnown(pool, [READ, [0]]);
      await teach(pool, text, [0]);
      await teach(pool, text, [0]);
      let again = 0;
      for (let burst = 0; burst < 10; ++burst) {
        const { value, queries } = await counted(pool, () =>
          atOnce(20, (i) => pool.query(text, [i])),
        );
        for (const [i, { rows }] of value.entries()) assert.deepEqual(rows, [{ i }]);
        again += queries - 20;
      }
      assert.ok(again <= 3 * 32, `${again} of 200 were run twice`);
    });
  });

  describe('while their members wait to be sent together', () => {
    // It takes long enough for a few of them to keep the server busy.
    const LOCKED =
      'select n, (select count(*)::int from generate_series(1, 300)) as c from items where id = $1';
    /** They wait only where texts alternate: those of one text come one after the other as they are. */
    const TEXTS = [LOCKED, LOCKED.replace('as c', 'as d')];
    const alternating = (i) => TEXTS[(i >> 1) % 2];

    async function makeAlternatingKnown(pool) {
      for (const text of TEXTS) await makeKnown(pool, [text, [1]]);
      await atOnce(256, (i) => pool.query(alternating(i), [1]));
    }

    /**
     * More reads than are sent at once, on a connection where the first ones wait for a lock.
     * @param {(i: number) => Promise<any>} ask
     */
    async function behindLock(ask, act) {
      await observer.ask('begin; lock table conduit_test.items in access exclusive mode');
      const outcomes = settledAtOnce(30, ask);
      try {
        await until('the first one waits', async () => {
          const waiting = await observer.ask('select from pg_locks where not granted');
          return waiting.length > 0;
        });
        await act();
      } finally {
        await observer.ask('rollback');
      }
      return outcomes;
    }

    it('aborted ones have not run, and the others are answered', async () => {
      const pool = await openPool();
      const told = await until('some have waited', async () => {
        await makeAlternatingKnown(pool);
        const outcomes = await behindLock(
          (i) =>
            pool.query({
              text: alternating(i),
              values: [1],
              ...(i % 2 === 1 && { timeoutMillis: 50 }),
            }),
          () => delay(150),
        );
        const counts = { fulfilled: 0, 'not-run': 0, unknown: 0 };
        for (const [i, { status, reason }] of outcomes.entries()) {
          assert.equal(status, i % 2 === 1 ? 'rejected' : 'fulfilled', String(reason));
          ++counts[reason?.outcome ?? status];
        }
        return counts['not-run'] > 0 ? counts : undefined;
      });
      assert.ok(told.fulfilled === 15 && told.unknown > 0, JSON.stringify(told));
    });

    it('and the connection is lost, they are sent on another one', async () => {
      const name = applicationName();
      const pool = await openPool({ application_name: name });
      await until('some have waited', async () => {
        await makeAlternatingKnown(pool);
        let rejected = 0;
        const ask = (i) =>
          pool.query(alternating(i), [1]).catch((error) => {
            ++rejected;
            throw error;
          });
        const outcomes = await behindLock(ask, async () => {
          const [pid] = await observer.backends(name);
          await observer.terminate(pid);
          await until('it is lost', () => rejected > 0);
        });
        const lost = outcomes.filter(({ status }) => status === 'rejected');
        for (const { reason } of lost) assert.equal(reason.outcome, 'unknown');
        return lost.length > 0 && lost.length < 30;
      });
    });

    it('and the pool ends, all are answered', async () => {
      const pool = await openPool();
      await makeAlternatingKnown(pool);
      let ended;
      const outcomes = await behindLock(
        (i) => pool.query(alternating(i), [1]),
        async () => {
          ended = pool.end();
        },
      );
      await ended;
      for (const { status, reason } of outcomes) assert.equal(status, 'fulfilled', String(reason));
    });

    it('writes stay behind them', async () => {
      const pool = await openPool();
      await makeAlternatingKnown(pool);
      for (let round = 0; round < 10; ++round) {
        await observer.ask('update conduit_test.items set n = 0');
        const reads = atOnce(40, (i) => pool.query(alternating(i), [1]));
        const write = pool.query('update items set n = 1 where id = 1');
        for (const { rows } of await reads) assert.equal(rows[0].n, 0);
        await write;
        const [{ rows }] = await pool.batch([{ text: LOCKED, values: [1] }]);
        assert.equal(rows[0].n, 1);
      }
    });

    it('members may come from other callbacks of the same turn of the event loop', async () => {
      const pool = await openPool();
      await makeKnown(pool, [READ, [0]]);
      const eachInItsOwn = () =>
        Promise.all(
          Array.from(
            { length: 64 },
            (_, i) =>
              new Promise((resolve, reject) => {
                setImmediate(() => pool.query(READ, [i]).then(resolve, reject));
              }),
          ),
        );
      const { value } = await untilShared(pool, eachInItsOwn);
      for (const [i, { rows }] of value.entries()) assert.deepEqual(rows, [{ i }]);
    });

    it('and are more than maxInFlight, all are answered', async () => {
      const pool = await openPool();
      const text = 'select length($1::text) as length, $2::int as i';
      await makeKnown(pool, [text, ['x', 0]]);
      const large = 'x'.repeat(100 << 10);
      const results = await atOnce(300, (i) => pool.query(text, [large, i]));
      for (const [i, { rows }] of results.entries()) {
        assert.deepEqual(rows, [{ length: large.length, i }]);
      }
    });

    it('queries of many texts in any order get their own answers', async () => {
      const pool = newPool({ max: 2 });
      await warm(pool, 2);
      const texts = Array.from({ length: 20 }, (_, n) => `select ${n} as n, $1::int as i`);
      await makeKnown(pool, ...texts.map((text) => [text, [0]]));
      for (let burst = 0; burst < 10; ++burst) {
        const results = await atOnce(500, (i) => pool.query(texts[(i * 7 + (i >> 4)) % 20], [i]));
        for (const [i, { rows }] of results.entries()) {
          assert.deepEqual(rows, [{ n: (i * 7 + (i >> 4)) % 20, i }]);
        }
      }
    });
  });

  it('do not show a caller the settings of the transaction of another one', async () => {
    const pool = await openPool();
    const set = "select set_config('conduit.tenant', $1::text, true) as tenant";
    const see = "select current_setting('conduit.tenant', true) as tenant";
    await teach(pool, set, ['nobody']);
    await makeKnown(pool, [see]);
    const results = await atOnce(MANY, (i) =>
      i % 2 === 0 ? pool.query(set, [`tenant ${i}`]) : pool.query(see),
    );
    for (const [i, { rows }] of results.entries()) {
      assert.deepEqual(rows, [{ tenant: i % 2 === 0 ? `tenant ${i}` : '' }]);
    }
  });

  it('send equal notifications as often as they were requested', async () => {
    const pool = await openPool();
    const client = await newClient();
    let count = 0;
    const done = new Promise((resolve) => {
      client.on('notification', ({ payload }) => {
        if (payload === 'done') resolve();
        if (payload === 'same') ++count;
      });
    });
    await client.query('listen groups');
    const text = "select pg_notify('groups', $1)";
    await teach(pool, text, ['teach']);
    await atOnce(MANY, () => pool.query(text, ['same']));
    await pool.query(text, ['done']);
    await done;
    assert.equal(count, MANY);
  });

  /** A pool of one connection that goes through the proxy. */
  function newProxyPool(proxy, given) {
    return newPool({ connectionString: undefined, max: 1, ...proxy.options(), ...given });
  }

  /** After the connections of a pool were lost. */
  async function untilConnected(pool) {
    const isConnected = () => pool.query(READ, [0]).then(Boolean, () => false);
    await until('the pool is connected again', isConnected);
  }

  describe('when the connection is lost', () => {
    /**
     * Compares what was told with the table, where each id stands as often as it was written.
     * @param {PromiseSettledResult<any>[]} outcomes of queries that write their index
     */
    async function assertTruth(outcomes) {
      const counts = new Map();
      for (const id of await written()) counts.set(id, (counts.get(id) ?? 0) + 1);
      const told = { fulfilled: 0, 'not-run': 0, unknown: 0 };
      for (const [i, { status, reason }] of outcomes.entries()) {
        const count = counts.get(i) ?? 0;
        const outcome = status === 'fulfilled' ? status : reason.outcome;
        ++told[outcome];
        if (outcome === 'fulfilled') assert.equal(count, 1, `${i} is there ${count} times`);
        else if (outcome === 'not-run') assert.equal(count, 0, `${i} is there, ${reason}`);
        else assert.ok(count <= 1, `${i} is there ${count} times`);
      }
      return told;
    }

    it('by a member that ends its session, each reported outcome is correct', async () => {
      const pool = await openPool({ syncGroup: 'all' });
      const end =
        'select remember($2::int), case when $1 then pg_terminate_backend(pg_backend_pid()) end';
      await makeKnown(pool, [end, [false, -1]], [VOLATILE, [-1]], [INSERT, [-1]]);
      await observer.ask('truncate written');
      let lost = 0;
      const outcomes = [];
      for (let burst = 0; burst < 10; ++burst) {
        const first = outcomes.length;
        outcomes.push(
          ...(await settledAtOnce(60, (n) => {
            // With company of its own text, the rest of which does not begin.
            if (n % 10 === 5) return pool.query(end, [n === 35, first + n]);
            return pool.query(n % 2 === 0 ? VOLATILE : INSERT, [first + n]);
          })),
        );
        assert.equal(outcomes[first + 35].status, 'rejected');
        if (outcomes[first + 45].status === 'rejected') ++lost;
        await pool.query(READ, [1]);
      }
      const told = await assertTruth(outcomes);
      assert.ok(lost > 0 && told.fulfilled > 0, JSON.stringify(told));
    });

    it('because its backend is terminated, each reported outcome is correct', async () => {
      const name = applicationName();
      const pool = newPool({ max: 2, syncGroup: 'all', application_name: name });
      await warm(pool, 2);
      await makeKnown(pool, [VOLATILE, [-1]], [INSERT, [-1]]);
      await observer.ask('truncate written');
      const outcomes = [];
      for (let burst = 0; burst < 10; ++burst) {
        const first = outcomes.length;
        const settled = settledAtOnce(2000, (n) =>
          pool.query(n % 2 === 0 ? VOLATILE : INSERT, [first + n]),
        );
        if (burst % 2 === 0) await new Promise(setImmediate);
        await observer.ask(
          'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1',
          [name],
        );
        outcomes.push(...(await settled));
        await until('it is connected again', () =>
          pool.query(READ, [1]).then(Boolean, () => false),
        );
      }
      const told = await assertTruth(outcomes);
      assert.ok(told.fulfilled > 0 && told['not-run'] + told.unknown > 0, JSON.stringify(told));
    });

    for (const [when, isReplaced] of [
      ['behind the commit', (type) => type === 'Z'],
      ['in the place of all answers', () => true],
    ]) {
      it(`with a last error of a pooler ${when}, no committed query is reported as not-run`, async () => {
        const last = errorMessage({ S: 'FATAL', V: 'FATAL', C: '08P01', M: 'server conn crashed' });
        const proxy = await Proxy.open();
        try {
          const pool = newProxyPool(proxy, { syncGroup: 'all' });
          await makeKnown(pool, [INSERT, [-1]], [READ, [0]]);
          await observer.ask('truncate written');
          const outcomes = [];
          for (let burst = 0; burst < 10; ++burst) {
            const first = outcomes.length;
            let syncs = 0;
            proxy.change = (type, bytes, close) => {
              // Some are answered; all have been committed by then, or will be.
              if (syncs < 1 + (burst % 2) || !isReplaced(type)) {
                if (type === 'Z') ++syncs;
                return bytes;
              }
              close();
              return last;
            };
            outcomes.push(...(await settledAtOnce(MANY, (n) => pool.query(INSERT, [first + n]))));
            proxy.change = undefined;
            await untilConnected(pool);
          }
          const told = await assertTruth(outcomes);
          assert.ok(told.fulfilled > 0 && told.unknown > 0, JSON.stringify(told));
        } finally {
          await proxy.close();
        }
      });
    }
  });

  // Nothing keeps a listener from leaving a transaction open.
  describe('on a connection whose listener has begun a transaction', () => {
    const all = Array.from({ length: MANY }, (_, i) => i);

    it('are committed: the transaction is rolled back before', async () => {
      const pool = newPool({ max: 1, syncGroup: 'all' });
      await makeKnown(pool, [INSERT, [-1]]);
      await observer.ask('truncate written');
      pool.on('connect', (client) => {
        client.query('begin');
        client.query(INSERT, [-1]);
      });
      const client = await pool.connect();
      client.release(true);
      const outcomes = await settledAtOnce(MANY, (i) => pool.query(INSERT, [i]));
      for (const { status } of outcomes) assert.equal(status, 'fulfilled');
      assert.deepEqual(await written(), all);
    });

    it('are committed while the pool is being ended', async () => {
      await observer.ask('truncate written');
      const pool = newPool({ max: 1, syncGroup: 'all' });
      pool.on('connect', (client) => client.query('begin'));
      const outcomes = settledAtOnce(MANY, (i) => pool.query(INSERT, [i]));
      await pool.end();
      for (const { status } of await outcomes) assert.equal(status, 'fulfilled');
      assert.deepEqual(await written(), all);
    });
  });

  it('do not run again when the driver could not read an answer', async () => {
    const proxy = await Proxy.open();
    try {
      const pool = newProxyPool(proxy, { syncGroup: 'all' });
      await makeKnown(pool, [VOLATILE, [-1]]);
      await observer.ask('truncate written');
      let rows = 0;
      proxy.change = (type, bytes) =>
        // A row with no columns, which libpq refuses.
        type === 'D' && ++rows === 20 ? message('D', Buffer.alloc(2)) : bytes;
      const outcomes = await settledAtOnce(MANY, (i) => pool.query(VOLATILE, [i]));
      const rejected = outcomes.filter(({ status }) => status === 'rejected');
      assert.equal(rejected.length, 1);
      assert.deepEqual(
        await written(),
        Array.from({ length: MANY }, (_, i) => i),
      );
    } finally {
      await proxy.close();
    }
  });

  it('give each of 10,000 queries its own answer or error', async () => {
    const pool = newPool({ max: 3, syncGroup: 'all' });
    await warm(pool, 3);
    const texts = [
      'select $1::int as i',
      VOLATILE.replace('as id', 'as i'),
      'insert into written values ($1) returning id as i',
      "select $1::int as i, repeat('ü', $1::int % 40) as t",
    ];
    const failing = Array.from({ length: 20 }, (_, n) => `${QUOTIENT} -- ${n}`);
    await makeKnown(pool, ...texts.map((text) => [text, [-1]]));
    await Promise.all(failing.map((text) => teach(pool, text, [1, 1])));
    await observer.ask('truncate written');
    const count = 10000;
    const { value, syncs, queries } = await counted(pool, () =>
      settledAtOnce(count, (i) =>
        i % 97 === 0
          ? pool.query(failing[(i / 97) % 20], [i, 0])
          : pool.query(texts[i % texts.length], [i]),
      ),
    );
    const expected = [];
    for (const [i, { status, value: result, reason }] of value.entries()) {
      assert.equal(status, i % 97 === 0 ? 'rejected' : 'fulfilled', `${i}: ${reason}`);
      if (i % 97 === 0) {
        assert.equal(reason.code, '22012');
        assert.equal(reason.outcome, 'not-run');
        continue;
      }
      const kind = i % texts.length;
      assert.deepEqual(result.rows, [kind === 3 ? { i, t: 'ü'.repeat(i % 40) } : { i }]);
      if (kind === 1 || kind === 2) expected.push(i);
    }
    assert.deepEqual(await written(), expected);
    assert.ok(syncs < queries, `${syncs} Syncs of ${queries}`);
  });

  it('are finished before a pool ends, also when their members run again', async () => {
    const pool = newPool({ max: 2, syncGroup: 'all' });
    await warm(pool, 2);
    await makeKnown(pool, [QUOTIENT, [1, 1]], [VOLATILE, [-1]]);
    await observer.ask('truncate written');
    const settled = settledAtOnce(200, (i) =>
      i % 50 === 20 ? pool.query(QUOTIENT, [i, 0]) : pool.query(VOLATILE, [i]),
    );
    await pool.end();
    const outcomes = await settled;
    for (const [i, { status, reason }] of outcomes.entries()) {
      assert.equal(status, i % 50 === 20 ? 'rejected' : 'fulfilled', `${i}: ${reason}`);
    }
    assert.equal((await written()).length, 196);
    assert.equal(new Set(await written()).size, 196);
    assert.equal(pool.totalCount, 0);
    await assert.rejects(pool.query(READ, [1]), poolError('ERR_PG_CONDUIT_POOL_ENDED'));
  });

  for (const [scenario, when] of [
    ['unread groups', 'before they are read'],
    ['groups', 'amid their answers'],
  ]) {
    it(`in flight do not keep a worker thread from being terminated, ${when}`, async function () {
      // Under the sanitizers processes and threads take seconds to begin.
      this.timeout(3 * PATIENCE_MILLIS);
      const { code, signal, stdout, stderr } = await runFixture('workers.js', {
        args: [scenario, applicationName()],
      });
      assert.deepEqual([code, signal, stderr], [0, null, '']);
      assert.equal(JSON.parse(stdout), 150);
    });
  }

  it('do not keep results from being collected', async () => {
    const { code, stdout, stderr } = await runFixture('group-results.js', {
      nodeArgs: ['--expose-gc'],
    });
    assert.deepEqual([code, stderr], [0, '']);
    const alive = Number(stdout);
    assert.ok(alive <= 4, `${alive} of 30 results are still there`);
  });

  it('record the connection of their members', async () => {
    const pool = newPool({ max: 3 });
    await warm(pool, 3);
    await makeKnown(pool, [PID]);
    const results = await atOnce(200, () => pool.query(PID));
    const pids = new Set(results.map(({ rows }) => rows[0].pid));
    const known = pool.stats().connections.map(({ processID }) => processID);
    for (const pid of pids) assert.ok(known.includes(pid));
  });
});
