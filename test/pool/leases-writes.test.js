'use strict';

// Borrowed clients with multiplex: 'all': single writes that do nothing but change rows float, too.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const { QueryAbortedError, StatementRefusedError } = require('../..');
const { binding } = require('../../lib/native');
const { useCosts } = require('../support/costs');
const { errorOf } = require('../support/outcomes');
const { until } = require('../support/outside');
const { ONE, floatingPool, usePools } = require('../support/pools');

const INSERT = 'insert into conduit_test.plain values ($1, $2) returning id';
const UPDATE = 'update conduit_test.plain set n = n + 1 where id = $1 returning n';
const READ = 'select n from conduit_test.plain where id = $1';
const SERIAL = 'insert into conduit_test.serial (t) values ($1) returning id';

describe("A borrowed client with multiplex: 'all'", function () {
  this.timeout(20_000);

  const observer = usePools();

  before(async () => {
    await observer.ask(`
      create table conduit_test.plain (id int primary key, n int not null check (n < 1000));
      insert into conduit_test.plain select i, 0 from generate_series(1, 100) i;
      create table conduit_test.serial (id serial primary key, t text);
      create table conduit_test.triggered (id int, n int);
      create function conduit_test.on_change() returns trigger language plpgsql as $$
        begin perform set_config('app.trace', TG_OP, false); return new; end $$;
      create trigger t before insert on conduit_test.triggered
        for each row execute function conduit_test.on_change()`);
  });

  /** @param {Record<string, any>} [given] */
  async function open(given) {
    const pool = await floatingPool({ multiplex: 'all', ...given });
    await pool.query(READ, [1]);
    await pool.query(UPDATE, [100]);
    await pool.query(SERIAL, ['first']);
    const [{ id }] = await observer.ask('select max(id) + 1 as id from conduit_test.plain');
    await pool.query(INSERT, [id, 0]);
    return pool;
  }

  /** @param {any} pool */
  const isPinned = (pool) => pool.stats().leases.pinned > 0;

  it('holds no connection for plain writes, and reads what it has written', async () => {
    const pool = await open();
    const clients = await Promise.all(Array.from({ length: 40 }, () => pool.connect()));
    const counts = await Promise.all(
      clients.map(async (client, i) => {
        const { rows } = await client.query(UPDATE, [1 + i]);
        const read = await client.query(READ, [1 + i]);
        return [rows[0].n, read.rows[0].n];
      }),
    );
    assert.deepEqual(
      counts,
      clients.map(() => [1, 1]),
    );
    assert.deepEqual(pool.stats().leases, { floating: 40, pinned: 0 });
    assert.ok(pool.totalCount <= 3);
    for (const client of clients) client.release();
    await observer.ask('update conduit_test.plain set n = 0');
  });

  it('has the same results and errors as on a connection alone', async () => {
    const pool = await open();
    const client = await pool.connect();
    const { command, rowCount, rows } = await client.query(INSERT, [2000, 1]);
    assert.deepEqual([command, rowCount, rows], ['INSERT', 1, [{ id: 2000 }]]);
    const duplicate = await errorOf(client.query(INSERT, [2000, 1]));
    assert.equal(duplicate.code, '23505');
    assert.equal(duplicate.constraint, 'plain_pkey');
    assert.equal(duplicate.outcome, 'not-run');
    const checked = await errorOf(client.query(INSERT, [2001, 1000]));
    assert.equal(checked.code, '23514');
    assert.ok(!isPinned(pool));
    client.release();
  });

  it('has its statements run in the order of their calls, awaited or not', async () => {
    const pool = await open();
    const client = await pool.connect();
    const results = await Promise.all([
      client.query(UPDATE, [50]),
      client.query(READ, [50]),
      client.query(UPDATE, [50]),
      client.query(READ, [50]),
    ]);
    assert.deepEqual(
      results.map(({ rows }) => rows[0].n),
      [1, 1, 2, 2],
    );
    client.release();
  });

  it('has a connection for writes that do more, and for those in transactions', async () => {
    const pool = await open();
    for (const texts of [
      ['insert into conduit_test.triggered values (1, 1)'],
      [
        "insert into conduit_test.plain values (3000, length(concat(current_setting('app.x', true))))",
      ],
      ['begin', 'update conduit_test.plain set n = 0 where id = 1', 'commit'],
      [
        'insert into conduit_test.plain values (3001, 1); delete from conduit_test.plain where id = 3001',
      ],
    ]) {
      // A text must have succeeded once.
      for (const text of texts) if (texts.length === 1) await pool.query(text);
      await pool.query('delete from conduit_test.plain where id >= 3000');
      const client = await pool.connect();
      for (const text of texts) await client.query(text);
      assert.ok(isPinned(pool), texts[0]);
      client.release();
    }
  });

  it("has a connection for a write with multiplex: 'reads'", async () => {
    const pool = await open({ multiplex: 'reads' });
    const client = await pool.connect();
    await client.query(UPDATE, [1]);
    assert.ok(isPinned(pool));
    client.release();
  });

  it('holds no connection for a write either while somebody listens to notices', async () => {
    const pool = await open();
    const client = await pool.connect();
    client.on('notice', () => {});
    await client.query(UPDATE, [1]);
    assert.equal(isPinned(pool), !binding.placesNotices);
    client.release();
  });

  it('has a connection for writes while somebody is in a transaction, who may wait for one of them', async () => {
    const pool = await open({ max: 5 });
    for (const begin of [
      async (run) => {
        const client = await pool.connect();
        await client.query('begin');
        await run(client);
        await client.query('commit');
        client.release();
      },
      (run) => pool.transaction(run),
    ]) {
      const others = await Promise.all([1, 2, 3, 4].map(() => pool.connect()));
      let blocked;
      await begin(async (tx) => {
        await tx.query(UPDATE, [70]);
        const [first, ...rest] = others;
        blocked = first.query(UPDATE, [70]);
        await Promise.all(rest.map((client, i) => client.query(UPDATE, [71 + i])));
      });
      await blocked;
      for (const client of others) client.release();
      await until('the connections are back', () => !isPinned(pool));
      const client = await pool.connect();
      await client.query(UPDATE, [1]);
      assert.ok(!isPinned(pool));
      client.release();
    }
  });

  describe('that waits for a lock', () => {
    // On a busy machine a write would look too long for others to be sent behind it.
    useCosts();

    it('holds up no reads', async () => {
      const pool = await open();
      await observer.ask('begin');
      await observer.ask('select from conduit_test.plain where id = 60 for update');
      const [writer, ...readers] = await Promise.all(
        Array.from({ length: 20 }, () => pool.connect()),
      );
      const writing = writer.query(UPDATE, [60]);
      const reads = await Promise.all(readers.map((client) => client.query(READ, [60])));
      assert.ok(reads.every(({ rows }) => rows[0].n === 0));
      await observer.ask('rollback');
      assert.equal((await writing).rows[0].n, 1);
      for (const client of [writer, ...readers]) client.release();
    });

    it('is sent once', async () => {
      const pool = await open();
      await observer.ask('begin');
      await observer.ask('select from conduit_test.plain where id = 61 for update');
      const client = await pool.connect();
      const writing = client.query(UPDATE, [61]);
      // Reads are asked again meanwhile.
      const others = await Promise.all([1, 2, 3].map(() => pool.connect()));
      await Promise.all(others.map((other) => other.query(READ, [61])));
      await delay(100);
      await observer.ask('rollback');
      assert.equal((await writing).rows[0].n, 1);
      await delay(50);
      assert.equal((await client.query(READ, [61])).rows[0].n, 1);
      for (const each of [client, ...others]) each.release();
    });

    it('and is given up is not overtaken by what its client sends next', async () => {
      const pool = await open();
      await observer.ask('begin');
      await observer.ask('select from conduit_test.plain where id = 62 for update');
      const client = await pool.connect();
      const error = await errorOf(client.query(UPDATE, [62], { timeoutMillis: 50 }));
      assert.ok(error instanceof QueryAbortedError);
      assert.equal(error.outcome, 'unknown');
      const reading = client.query(READ, [62]);
      await delay(50);
      await observer.ask('rollback');
      const [{ n }] = (await reading).rows;
      await delay(50);
      // Whether it was done or stopped was certain by then.
      assert.equal((await client.query(READ, [62])).rows[0].n, n);
      client.release();
    });

    it('and is given up is not overtaken either on a connection that its pool has left', async () => {
      const pool = await open({ max: 2 });
      const holder = await pool.connect();
      // All that floats has the other connection.
      await holder.query('listen nothing');
      await observer.ask('begin');
      await observer.ask('select from conduit_test.plain where id = 65 for update');
      const [givenUp, late, patient] = await Promise.all([1, 2, 3].map(() => pool.connect()));
      const leaving = errorOf(late.query(UPDATE, [65], { timeoutMillis: 50 }));
      const aborted = errorOf(givenUp.query(UPDATE, [66], { timeoutMillis: 100 }));
      const written = patient.query(UPDATE, [67]);
      assert.equal((await leaving).outcome, 'unknown');
      assert.equal((await aborted).outcome, 'unknown');
      const reading = givenUp.query(READ, [66]);
      // There is another connection by now, where it could be answered.
      await pool.query(READ, [1]);
      await delay(50);
      await observer.ask('rollback');
      assert.equal((await written).rows[0].n, 1);
      const [{ n }] = (await reading).rows;
      assert.equal((await givenUp.query(READ, [66])).rows[0].n, n);
      assert.equal((await observer.ask(`${READ.replace('$1', '66')}`))[0].n, n);
      for (const client of [holder, givenUp, late, patient]) client.release();
    });

    it('and is cancelled may still be done, which its error tells', async () => {
      const pool = await open();
      await observer.ask('begin');
      await observer.ask('select from conduit_test.plain where id = 63 for update');
      const client = await pool.connect();
      const running = errorOf(client.query(UPDATE, [63]));
      await delay(20);
      await client.cancel();
      const { code, outcome } = await running;
      assert.deepEqual([code, outcome], ['57014', 'unknown']);
      await observer.ask('rollback');
      assert.equal((await client.query(READ, [63])).rows[0].n, 1);
      client.release();
    });
  });

  it('does not know what has become of a write that was lost with its connection, and sends it once', async () => {
    const pool = await open({ max: 2 });
    await observer.ask('begin');
    await observer.ask('select from conduit_test.plain where id = 64 for update');
    const client = await pool.connect();
    const running = errorOf(client.query(UPDATE, [64]));
    const pid = await until('it runs', async () => {
      // What it has seen in its transaction is what it goes on to see.
      await observer.ask('select pg_stat_clear_snapshot()');
      const rows = await observer.ask(
        "select pid from pg_stat_activity where query = $1 and state = 'active'",
        [UPDATE],
      );
      return rows[0]?.pid;
    });
    await observer.terminate(pid);
    assert.equal((await running).outcome, 'unknown');
    await observer.ask('rollback');
    assert.equal((await client.query(READ, [64])).rows[0].n, 0);
    client.release();
  });

  describe('and last values of sequences', () => {
    it('floats with writes that advance one, as long as nobody asks', async () => {
      const pool = await open();
      const client = await pool.connect();
      const { rows } = await client.query(SERIAL, ['one']);
      const more = await client.query(SERIAL, ['two']);
      assert.equal(more.rows[0].id, rows[0].id + 1);
      assert.ok(!isPinned(pool));
      client.release();
    });

    for (const text of [
      'select lastval()',
      "select currval('conduit_test.serial_id_seq')",
      'do $$ begin perform lastval(); end $$',
    ]) {
      it(`refuses "${text}" behind such a write, and pins from then on`, async () => {
        const pool = await open();
        const client = await pool.connect();
        await client.query(SERIAL, ['one']);
        const error = await errorOf(client.query(text));
        assert.ok(error instanceof StatementRefusedError);
        assert.equal(error.code, 'ERR_PG_CONDUIT_REFUSED');
        assert.equal(error.outcome, 'not-run');
        assert.match(error.message, /RETURNING.*multiplex to 'off'/);
        // Also on a connection of its own.
        await client.query('begin');
        await assert.rejects(client.query(text), StatementRefusedError);
        await assert.rejects(client.batch([text]), StatementRefusedError);
        await client.query('rollback');
        client.release();

        const next = await pool.connect();
        const { rows } = await next.query(SERIAL, ['two']);
        assert.ok(isPinned(pool));
        const asked = await next.query('select lastval()::int as id');
        assert.equal(asked.rows[0].id, rows[0].id);
        next.release();
        // Others float as before.
        const other = await pool.connect();
        await other.query(UPDATE, [1]);
        assert.ok(!isPinned(pool));
        other.release();
      });
    }

    it('has a connection for such a write if something in the database asks', async () => {
      await observer.ask(
        "create function conduit_test.last() returns bigint language sql as 'select lastval()'",
      );
      try {
        const pool = await open();
        await pool.query(ONE);
        const client = await pool.connect();
        const { rows } = await client.query(SERIAL, ['one']);
        assert.ok(isPinned(pool));
        const asked = await client.query('select conduit_test.last()::int as id');
        assert.equal(asked.rows[0].id, rows[0].id);
        client.release();
      } finally {
        await observer.ask('drop function conduit_test.last()');
      }
    });
  });
});
