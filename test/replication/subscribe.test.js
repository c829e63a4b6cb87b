'use strict';

// pool.subscribe(): what is told of changes, in which order, what is confirmed and when, and how it ends.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const { ParameterError, PoolError } = require('../..');
const { slotState, until, useNews } = require('../support/logical-server');

describe('subscribe()', function () {
  const news = useNews({ logical_decoding_work_mem: '64kB' });
  const { newPool } = news;
  /** @type {import('../..').Pool} */
  let pool;
  let changes = [];
  const collect = (change) => {
    changes.push(change);
  };

  beforeEach(() => {
    changes = [];
    ({ pool } = news);
  });

  const seen = (count) => until(() => changes.length >= count, `${count} changes`);

  describe('what it tells', () => {
    it('is each change in its order, with its table and its transaction', async () => {
      const before = Date.now();
      await pool.subscribe('news', collect);
      await pool.query("insert into notes values (1, 'one'), (2, null)");
      await pool.query("update notes set note = 'new' where id = 1");
      await pool.query('update notes set id = 3 where id = 2');
      await pool.query('delete from notes where id = 1');
      await seen(5);
      assert.deepEqual(
        changes.map(({ kind, schema, table, row, old, unchanged }) => ({
          ...{ kind, in: `${schema}.${table}`, row, old, unchanged },
        })),
        [
          { kind: 'insert', row: { id: 1, note: 'one' }, old: undefined, unchanged: undefined },
          { kind: 'insert', row: { id: 2, note: null }, old: undefined, unchanged: undefined },
          { kind: 'update', row: { id: 1, note: 'new' }, old: undefined, unchanged: [] },
          { kind: 'update', row: { id: 3, note: null }, old: { id: 2 }, unchanged: [] },
          { kind: 'delete', row: undefined, old: { id: 1 }, unchanged: undefined },
        ].map((change) => ({ ...change, in: 'public.notes' })),
      );
      const [first, second, third] = changes.map(({ transaction }) => transaction);
      assert.equal(first, second);
      assert.notEqual(first.xid, third.xid);
      assert.ok(first.commitTime >= before - 1000 && first.commitTime <= Date.now() + 1000);
      assert.match(first.lsn, /^[0-9A-F]+\/[0-9A-F]+$/);
      const { columns, replicaIdentity } = changes[0].relation;
      assert.equal(replicaIdentity, 'default');
      assert.deepEqual(columns, [
        { name: 'id', isKey: true, typeId: 23, modifier: -1 },
        { name: 'note', isKey: false, typeId: 25, modifier: -1 },
      ]);
    });

    it('is only what was committed, when it was committed', async () => {
      await pool.subscribe('news', collect);
      const [first, second] = [await pool.connect(), await pool.connect()];
      await first.query("begin; insert into notes values (1, 'first')");
      await second.query("begin; insert into notes values (2, 'second')");
      await second.query('savepoint s; insert into notes values (3); rollback to s; commit');
      await pool.query("begin; insert into notes values (4, 'gone'); rollback");
      await first.query('commit');
      await seen(2);
      assert.deepEqual(
        changes.map(({ row }) => row.id),
        [2, 1],
      );
      first.release();
      second.release();
    });

    it('has the values that a query of the pool gives', async () => {
      const types = { int8: 'bigint', date: 'string' };
      await pool.query("alter role current_user set datestyle to 'German, DMY'");
      const typed = newPool(types);
      await typed.query(`create type mood as enum ('ok'); create table kinds (
        id int primary key, a bigint, b numeric(10, 2), c float8, d date, e timestamp, f timestamptz, g json,
        h jsonb, i bytea, j int[], k text[], l bool, m mood, n interval, o point, p uuid, q bigint[], "__proto__" text)`);
      await typed.subscribe('news', collect);
      await typed.query(`insert into kinds values (1, 9007199254740993, 1.50, 0.1::float8 + 0.2, '2020-02-29',
        '2020-01-02 03:04:05.678', '2020-01-02 03:04:05.678+02', '{"a": [1]}', '{"b": null}', '\\x00ff', '{1,NULL,3}',
        '{a,"b c",NULL}', true, 'ok', '1 year 2 days', '(1,2)', '2f0b3a52-4a4f-4d5c-9c3e-111111111111', '{1,2}', 'ünïcödé 😀')`);
      await typed.query('insert into kinds (id) values (2)');
      await seen(2);
      const { rows } = await typed.query('select * from kinds order by id');
      assert.deepEqual(
        changes.map(({ row }) => row),
        rows,
      );
      await pool.query('alter role current_user reset all');
      assert.equal(changes[0].row.a, 9007199254740993n);
      assert.equal(changes[0].row.d, '2020-02-29');
      assert.deepEqual(Object.keys(changes[0].row), Object.keys(rows[0]));
    });

    it('names the columns whose large values were not sent, since they have not changed', async () => {
      await pool.query('create table large (id int primary key, n int, big text)');
      await pool.query('alter table large alter big set storage external');
      const big = 'x'.repeat(10_000);
      await pool.subscribe('news', collect);
      await pool.query('insert into large values (1, 1, $1)', [big]);
      await pool.query('update large set n = 2');
      await pool.query('alter table large replica identity full');
      await pool.query('update large set n = 3');
      await pool.query('delete from large');
      await seen(4);
      const [insert, apart, full, deleted] = changes;
      assert.equal(insert.row.big, big);
      assert.deepEqual([apart.row, apart.unchanged], [{ id: 1, n: 2 }, ['big']]);
      assert.deepEqual([full.row, full.unchanged], [{ id: 1, n: 3, big }, []]);
      assert.deepEqual(full.old, { id: 1, n: 2, big });
      assert.deepEqual(deleted.old, { id: 1, n: 3, big });
    });

    it('has a TRUNCATE for each of its tables', async () => {
      await pool.query('create table parents (id serial primary key)');
      await pool.query('create table children (id int primary key references parents)');
      await pool.subscribe('news', collect);
      await pool.query('truncate parents restart identity cascade');
      await seen(2);
      assert.deepEqual(
        changes.map(({ kind, table, cascade, restartIdentity }) => ({
          ...{ kind, table, cascade, restartIdentity },
        })),
        ['parents', 'children'].map((table) => ({
          ...{ kind: 'truncate', table, cascade: true, restartIdentity: true },
        })),
      );
    });

    it('follows the changes of a table and of parsers', async () => {
      await pool.subscribe('news', collect);
      await pool.query('insert into notes values (1)');
      await pool.query('alter table notes rename note to text');
      await pool.query('alter table notes add more int default 5');
      await pool.query("insert into notes values (2, 'two')");
      await seen(2);
      assert.deepEqual(
        changes.map(({ row }) => row),
        [
          { id: 1, note: null },
          { id: 2, text: 'two', more: 5 },
        ],
      );
    });

    it('may have messages, and where transactions begin and end', async () => {
      await pool.subscribe('news', collect, { messages: true, boundaries: true });
      await pool.query("select pg_logical_emit_message(false, 'to', 'all')");
      await pool.query(
        "begin; select pg_logical_emit_message(true, 'in', 'one'); insert into notes values (1); commit",
      );
      await seen(5);
      assert.deepEqual(
        changes.map(({ kind, prefix, content, transaction }) => ({
          ...{ kind, prefix, content: content?.toString(), hasOne: transaction !== undefined },
        })),
        [
          { kind: 'message', prefix: 'to', content: 'all', hasOne: false },
          { kind: 'begin', prefix: undefined, content: undefined, hasOne: true },
          { kind: 'message', prefix: 'in', content: 'one', hasOne: true },
          { kind: 'insert', prefix: undefined, content: undefined, hasOne: true },
          { kind: 'commit', prefix: undefined, content: undefined, hasOne: true },
        ],
      );
    });

    it('is also a transaction that has sent a message right before its commit', async () => {
      await pool.subscribe('news', collect, { messages: true });
      for (const id of [1, 2, 3]) {
        await pool.query(
          `begin; insert into notes values (${id}); select pg_logical_emit_message(false, 'a', 'b'); commit`,
        );
      }
      await pool.query('insert into notes values (4)');
      await until(() => changes.at(-1)?.row?.id === 4, 'the last');
      assert.deepEqual(
        changes.map(({ row, prefix }) => row?.id ?? prefix),
        ['a', 1, 'a', 2, 'a', 3, 4],
      );
    });

    it('has no message of a part that was rolled back, with streaming neither', async () => {
      await pool.subscribe('news', collect, { messages: true, streaming: true });
      await pool.query(`begin;
        insert into notes select n, repeat('x', 100) from generate_series(1, 3000) n;
        savepoint a; select pg_logical_emit_message(true, 'not', 'told');
        insert into notes select n, repeat('x', 100) from generate_series(3001, 6000) n; rollback to a;
        select pg_logical_emit_message(true, 'is', 'told'); commit`);
      await until(() => changes.at(-1)?.prefix === 'is', 'the last');
      assert.deepEqual(
        changes.filter(({ kind }) => kind === 'message').map(({ prefix }) => prefix),
        ['is'],
      );
      assert.equal(changes.length, 3001);
    });

    it('is the same if transactions come before they are committed', async () => {
      const plain = [];
      await pool.subscribe('news', (change) => plain.push(change));
      const streamed = await pool.subscribe('news', collect, { streaming: true });
      await pool.query(`begin;
        insert into notes select n, repeat('x', 100) from generate_series(1, 3000) n;
        savepoint a; create table inside (id int primary key); insert into inside values (1);
        savepoint b; insert into notes select n from generate_series(5001, 8000) n; rollback to b;
        update notes set note = 'y' where id < 2000;
        commit`);
      await pool.query(
        'begin; insert into notes select n from generate_series(10001, 13000) n; rollback',
      );
      await pool.query("insert into notes values (0, 'last')");
      await until(
        () => [plain, changes].every((all) => all.at(-1)?.row.note === 'last'),
        'the last',
      );
      const comparable = (all) =>
        all.map(({ relation, ...change }) => ({ ...change, of: relation.table }));
      const counted = `select stream_txns::int as n from pg_stat_replication_slots where slot_name = $1`;
      const { rows } = await pool.query(counted, [streamed.slot]);
      assert.ok(rows[0].n > 0, 'the server has streamed');
      assert.equal(plain.length, 3000 + 1 + 1999 + 1);
      assert.deepEqual(comparable(changes), comparable(plain));
    });
  });

  describe('what it confirms', () => {
    it('is a transaction, when the handler of its last change has resolved', async () => {
      let finish;
      const subscription = await pool.subscribe(
        'news',
        (change) => {
          collect(change);
          return (
            change.row.id === 2 &&
            new Promise((resolve) => {
              finish = resolve;
            })
          );
        },
        { slot: 'lasting' },
      );
      const { confirmed: atFirst } = await slotState(pool, 'lasting');
      assert.equal(subscription.position, atFirst);
      await pool.query('insert into notes values (1), (2)');
      await seen(2);
      await delay(50);
      assert.equal((await slotState(pool, 'lasting')).confirmed, atFirst);
      finish();
      await until(async () => (await slotState(pool, 'lasting')).isCurrent, 'it is confirmed');
    });

    it('goes on while nothing of the publication changes', async () => {
      await pool.query('drop publication news; create publication news for table notes');
      await pool.query('create table others (n int)');
      await pool.subscribe('news', collect, { slot: 'lasting' });
      await pool.query('insert into others select generate_series(1, 1000)');
      await until(async () => (await slotState(pool, 'lasting')).isCurrent, 'it is confirmed');
    });

    it('lasts: the next subscription to the slot begins behind it', async () => {
      const first = await pool.subscribe('news', collect, { slot: 'lasting' });
      await pool.query('insert into notes values (1)');
      await seen(1);
      await first.close();
      await pool.query('insert into notes values (2)');
      await pool.subscribe('news', collect, { slot: 'lasting' });
      await pool.query('insert into notes values (3)');
      await seen(3);
      assert.deepEqual(
        changes.map(({ row }) => row.id),
        [1, 2, 3],
      );
    });

    it('is not asked of the slot where the caller says from where on', async () => {
      const handle = (change) => {
        collect(change);
        if (change.row.id === 3) throw new Error('not this one');
      };
      const first = await pool.subscribe('news', handle, { slot: 'lasting' });
      const ended = assert.rejects(first.ended, /not this one/);
      for (const id of [1, 2, 3]) await pool.query('insert into notes values ($1)', [id]);
      await ended;
      const { after } = changes[1].transaction;
      changes = [];
      await pool.subscribe('news', collect, { slot: 'lasting', from: after });
      await seen(1);
      assert.deepEqual(
        changes.map(({ row }) => row.id),
        [3],
      );
    });

    it('begins with a snapshot of the tables where the slot is made', async () => {
      await pool.query('insert into notes values (1), (2)');
      const loaded = [];
      const gaps = [];
      await pool.subscribe('news', collect, {
        slot: 'lasting',
        async onGap(gap) {
          gaps.push(gap);
          await pool.query('insert into notes values (3)');
          await pool.transaction(
            async (transaction) => {
              await transaction.query(`set transaction snapshot '${gap.snapshot}'`);
              loaded.push(...(await transaction.query('select id from notes order by id')).rows);
            },
            { isolationLevel: 'repeatable read', readOnly: true },
          );
        },
      });
      await seen(1);
      assert.deepEqual(
        loaded.map(({ id }) => id),
        [1, 2],
      );
      assert.deepEqual(
        changes.map(({ row }) => row.id),
        [3],
      );
      const [{ reason, slot, from }] = gaps;
      assert.deepEqual(
        { reason, slot, from },
        { reason: 'slot-created', slot: 'lasting', from: null },
      );
    });
  });

  describe('the handler', () => {
    it('is called for one change at a time, and stops the server while it is slow', async () => {
      let running = 0;
      let most = 0;
      let told = 0;
      let go;
      const gate = new Promise((resolve) => {
        go = resolve;
      });
      await pool.subscribe('news', async () => {
        most = Math.max(most, ++running);
        await gate;
        --running;
        ++told;
      });
      const text = 'x'.repeat(1000);
      const { rss } = process.memoryUsage();
      await pool.query('insert into notes select n, $1 from generate_series(1, 60000) n', [text]);
      await delay(500);
      const grown = process.memoryUsage().rss - rss;
      assert.ok(grown < 40e6, `${grown} bytes of 60 MB were read`);
      go();
      await until(() => told === 60000, 'all of them');
      assert.equal(most, 1);
    });

    it('is waited for by anything that has a then(), whatever that returns', async () => {
      const seenBy = [];
      await pool.subscribe(
        'news',
        (change) => ({
          then(resolve) {
            const name = change.row?.id ?? change.prefix;
            seenBy.push(`begins ${name}`);
            setTimeout(() => {
              seenBy.push(`ends ${name}`);
              resolve();
            }, 10);
          },
        }),
        { messages: true },
      );
      await pool.query(
        "select pg_logical_emit_message(false, 'm', ''); insert into notes values (1), (2)",
      );
      await until(() => seenBy.includes('ends 2'), 'the last');
      assert.deepEqual(
        seenBy,
        ['m', 1, 2].flatMap((name) => [`begins ${name}`, `ends ${name}`]),
      );
    });

    it('that throws ends the subscription, and the change comes again to the next one', async () => {
      const subscription = await pool.subscribe(
        'news',
        () => {
          throw new Error('of the handler');
        },
        { slot: 'lasting' },
      );
      const ended = assert.rejects(subscription.ended, { message: 'of the handler' });
      await pool.query('insert into notes values (1)');
      await ended;
      await subscription.close();
      await pool.subscribe('news', collect, { slot: 'lasting' });
      await seen(1);
      assert.equal(changes[0].row.id, 1);
    });

    it('may query the pool that is being ended, which waits for it', async () => {
      const copied = [];
      await pool.subscribe('news', async ({ row }) => {
        changes.push(row);
        await delay(20);
        copied.push(...(await pool.query('select note from notes where id = $1', [row.id])).rows);
      });
      await pool.query("insert into notes values (1, 'a'), (2, 'b')");
      await seen(1);
      await pool.end();
      assert.deepEqual(copied, [{ note: 'a' }, { note: 'b' }]);
    });
  });

  describe('close()', () => {
    it('finishes the transaction that is being told, and with `now` only the change', async () => {
      for (const [now, expected] of [
        [false, [1, 2, 3]],
        [true, [1]],
      ]) {
        changes = [];
        await pool.query('truncate notes');
        const handle = async (change) => {
          if (change.kind === 'insert') collect(change);
          await delay(20);
        };
        const subscription = await pool.subscribe('news', handle, { slot: 'lasting' });
        await pool.query('insert into notes values (1), (2), (3)');
        await seen(1);
        await subscription.close({ now });
        assert.deepEqual(
          changes.map(({ row }) => row.id),
          expected,
        );
        await subscription.ended;
        assert.equal((await slotState(pool, 'lasting')).active, false);
      }
    });

    it('leaves the slot, or drops it', async () => {
      const subscription = await pool.subscribe('news', collect, { slot: 'lasting' });
      assert.equal(subscription.slot, 'lasting');
      assert.equal((await slotState(pool, 'lasting')).temporary, false);
      await subscription.close();
      await subscription.close();
      assert.equal((await slotState(pool, 'lasting')).active, false);
      await subscription.close({ dropSlot: true });
      assert.equal(await slotState(pool, 'lasting'), undefined);
    });

    it('is called by await using, and by the end of the pool', async () => {
      const other = newPool();
      const subscription = await other.subscribe('news', collect);
      assert.equal(subscription.isTemporary, true);
      await other.end();
      await subscription.ended;
      await subscription[Symbol.asyncDispose]();
      const state = () => slotState(pool, subscription.slot);
      await until(async () => (await state()) === undefined, 'the temporary slot is gone');
      await assert.rejects(other.subscribe('news', collect), PoolError);
    });
  });

  it('refuses wrong arguments before it connects', async () => {
    for (const [given, message] of [
      [[], /first argument .* publication/],
      [['', collect], /first argument .* publication/],
      [[[], collect], /first argument .* publication/],
      [['news'], /second argument .* function/],
      [['news', collect, 'x'], /third argument .* object/],
      [['news', collect, { slot: 'No' }], /"slot" .* lower-case/],
      [['news', collect, { from: 5 }], /"from" .* position such as/],
      [['news', collect, { onGap: true }], /"onGap" .* function/],
      [['news', collect, { streaming: 1 }], /"streaming" .* true or false/],
      [['news', collect, { maxStreamedBytes: 0 }], /"maxStreamedBytes" .* whole number/],
      [['news', collect, { slots: 'x' }], /no option "slots"/],
    ]) {
      const error = await pool.subscribe(...given).catch((e) => e);
      assert.ok(error instanceof ParameterError, String(error));
      assert.match(error.message, message);
    }
    const refused = newPool({ replication: 'database' });
    await assert.rejects(refused.query('select 1'), /"replication" is for a client/);
  });
});
