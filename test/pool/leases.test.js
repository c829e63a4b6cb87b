'use strict';

// Borrowed clients that share connections (the option `multiplex`): reads that are the same in each session float,
// everything else has a connection alone until release().

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const { ConnectionError, QueryAbortedError } = require('../..');
const { errorOf } = require('../support/outcomes');
const { until, seen } = require('../support/outside');
const {
  PID,
  floatingPool,
  newPool,
  pidOf,
  poolError,
  teach,
  usePools,
  warm,
} = require('../support/pools');

const READ = 'select name from conduit_test.things where id = $1';

describe('A borrowed client that shares connections', function () {
  this.timeout(20_000);

  const observer = usePools();

  before(async () => {
    await observer.ask('create table conduit_test.things (id serial primary key, name text)');
    await observer.ask(
      "insert into conduit_test.things (name) select 'thing ' || i from generate_series(1, 9) i",
    );
  });

  /** @param {Record<string, any>} [given] @param {string[]} [texts] that are known afterwards */
  async function open(given, texts = []) {
    const pool = await floatingPool(given, texts);
    await teach(pool, READ, [1], 1);
    return pool;
  }

  /** @param {any} pool */
  const isPinned = (pool) => pool.stats().leases.pinned === 1;

  it('holds no connection while it only reads, however many there are', async () => {
    const pool = await open();
    const clients = await Promise.all(Array.from({ length: 50 }, () => pool.connect()));
    const results = await Promise.all(
      clients.map((client, i) => client.query(READ, [1 + (i % 9)])),
    );
    assert.deepEqual(
      results.map(({ rows }) => rows[0].name),
      clients.map((_, i) => `thing ${1 + (i % 9)}`),
    );
    assert.deepEqual(pool.stats().leases, { floating: 50, pinned: 0 });
    assert.ok(pool.totalCount <= 3);
    await until('all connections are idle', () => pool.idleCount === pool.totalCount);
    for (const client of clients) client.release();
    assert.deepEqual(pool.stats().leases, { floating: 0, pinned: 0 });
  });

  it('has a connection alone from its first other statement on, until it is released', async () => {
    const pool = await open();
    const client = await pool.connect();
    await client.query('set datestyle = german');
    assert.ok(isPinned(pool));
    const pid = pidOf(await client.query(PID));
    assert.equal(client.processID, pid);
    for (let i = 0; i < 20; ++i) {
      assert.notEqual(pidOf(await pool.query(PID)), pid);
      await client.query(READ, [1]);
      assert.match((await client.query('show datestyle')).rows[0].DateStyle, /^German/);
    }
    client.release();
    assert.ok(!isPinned(pool));
    assert.doesNotMatch((await pool.query('show datestyle')).rows[0].DateStyle, /^German/);
  });

  it('has its statements run in the order of their calls, awaited or not', async () => {
    const pool = await open();
    const client = await pool.connect();
    const results = await Promise.all([
      client.query(READ, [2]),
      client.query('begin'),
      client.query("update conduit_test.things set name = 'changed' where id = 2"),
      client.query(READ, [2]),
      client.query('rollback'),
      client.query(READ, [2]),
    ]);
    assert.deepEqual(
      results.map(({ command, rows }) => rows[0]?.name ?? command),
      ['thing 2', 'BEGIN', 'UPDATE', 'changed', 'ROLLBACK', 'thing 2'],
    );
    client.release();
  });

  describe('does not float with what belongs to a session', () => {
    before(async () => {
      await observer.ask('create view conduit_test.me as select pg_backend_pid() as pid');
      await observer.ask('create view conduit_test.about_me as select * from conduit_test.me');
      await observer.ask(
        "create view conduit_test.parameters as select name from pg_settings where name = 'port'",
      );
      await observer.ask('create table conduit_test.tenants (tenant text)');
      await observer.ask('alter table conduit_test.tenants enable row level security');
      await observer.ask(
        "create policy own on conduit_test.tenants using (tenant = current_setting('app.tenant', true))",
      );
      await observer.ask(`create function conduit_test.sets() returns int language plpgsql stable as
        $$ begin perform set_config('app.tenant', 'x', false); return 1; end $$`);
      await observer.ask('create view conduit_test.sneaky as select conduit_test.sets() as i');
    });

    for (const text of [
      'select pg_backend_pid()',
      'select pid from conduit_test.me',
      'select pid from conduit_test.about_me',
      'select name from conduit_test.parameters',
      'select * from conduit_test.tenants',
      "select current_setting('app.tenant', true)",
      "select name from pg_settings where name = 'port'",
      'select count(*) from pg_locks',
      'select count(*) from "pg_catalog".pg_class',
      'select count(*) from information_schema.tables',
      'select conduit_test.sets()',
      'select i from conduit_test.sneaky',
      "select nextval('conduit_test.things_id_seq')",
      'select 1 from conduit_test.things for update',
      'show port',
      'explain select 1',
      'values (1); select 2',
      'insert into conduit_test.things (name) values (1) returning id',
    ]) {
      it(text, async () => {
        const pool = await open({}, [text]);
        const client = await pool.connect();
        await client.query(text);
        assert.ok(isPinned(pool));
        client.release();
      });
    }
  });

  for (const text of [
    'select 1 as one',
    'select version()',
    'select current_schema',
    "select current_setting('server_version_num')",
    'select now(), pg_typeof(1)',
    'with t as (select * from conduit_test.things) select count(*), max(upper(name)) from t group by id',
  ]) {
    it(`floats with "${text}"`, async () => {
      const pool = await open({}, [text]);
      const client = await pool.connect();
      await client.query(text);
      await client.query({ text, rowMode: 'array' });
      assert.ok(!isPinned(pool));
      client.release();
    });
  }

  it('floats with named statements, whose names are its own', async () => {
    const pool = await open({}, ['select 1 as one']);
    const [client, other] = await Promise.all([pool.connect(), pool.connect()]);
    for (let i = 0; i < 3; ++i) {
      const read = { name: 'a read', text: READ, values: [2] };
      assert.equal((await client.query(read)).rows[0].name, 'thing 2');
      const one = await other.query({ name: 'a read', text: 'select 1 as one' });
      assert.deepEqual(one.rows, [{ one: 1 }]);
    }
    assert.deepEqual(pool.stats().leases, { floating: 2, pinned: 0 });
    await assert.rejects(
      client.query({ name: 'a read', text: 'select 1 as one' }),
      /must be unique/,
    );
    client.release();
    other.release();
  });

  it('does not float where a stream, a batch, a signal or a listener for notifications is', async () => {
    const pool = await open();
    const uses = {
      stream: async (client) => {
        for await (const row of client.stream(READ, [1])) assert.ok(row);
      },
      batch: (client) => client.batch([{ text: READ, values: [1] }]),
      signal: (client) => client.query(READ, [1], { signal: new AbortController().signal }),
      notification: (client) => client.on('notification', () => {}).query(READ, [1]),
    };
    for (const [name, use] of Object.entries(uses)) {
      const client = await pool.connect();
      await use(client);
      assert.ok(isPinned(pool), name);
      client.release();
    }
  });

  it('has the parsers that were set on it, and on no other', async () => {
    const pool = await open({}, ['select 1 as one']);
    const [client, other] = await Promise.all([pool.connect(), pool.connect()]);
    client.setTypeParser(23, (text) => `int ${text}`);
    assert.equal((await client.query('select 1 as one')).rows[0].one, 'int 1');
    assert.equal((await other.query('select 1 as one')).rows[0].one, 1);
    client.release();
    other.release();
  });

  it('gets events of its connection, and tells that it has nothing in flight', async () => {
    const pool = await open();
    const client = await pool.connect();
    const drained = seen(client, 'drain');
    await client.query(READ, [1]);
    await drained;
    const notices = [];
    client.on('notice', ({ message }) => notices.push(message));
    await client.query("do $$ begin raise notice 'hello'; end $$");
    await delay(0);
    assert.deepEqual(notices, ['hello']);
    await client.query('listen somewhere');
    const notified = seen(client, 'notification');
    await observer.ask('notify somewhere');
    await notified;
    client.release();
    await pool.query("do $$ begin raise notice 'for nobody'; end $$");
    assert.deepEqual(notices, ['hello']);
  });

  it('reports the loss of its connection, as its own', async () => {
    const pool = await open();
    const client = await pool.connect();
    const { rows } = await client.query(PID);
    const errors = [];
    client.on('error', (error) => errors.push(error));
    const removed = new Promise((resolve) => {
      pool.once('remove', resolve);
    });
    await observer.terminate(rows[0].pid);
    assert.equal(await removed, client);
    assert.ok(errors[0] instanceof ConnectionError || errors[0].code === '57P01');
    await assert.rejects(client.query(READ, [1]), { outcome: 'not-run' });
    client.release(true);
    assert.equal((await pool.query(READ, [1])).rows.length, 1);
  });

  it('outlives the connection that a read was lost with', async () => {
    const text = 'select max(i) from generate_series(1, 3000000) as i';
    const pool = await open({ max: 2 }, [text]);
    const client = await pool.connect();
    const running = errorOf(client.query(text));
    const pid = await until('it runs', async () => {
      const rows = await observer.ask(
        "select pid from pg_stat_activity where query = $1 and state = 'active'",
        [text],
      );
      return rows[0]?.pid;
    });
    await observer.terminate(pid);
    assert.ok((await running).outcome);
    assert.equal((await client.query(READ, [1])).rows.length, 1);
    client.release();
  });

  it('gives a process id if a connection is free, and has it from then on', async () => {
    const pool = await open();
    const client = await pool.connect();
    const { processID } = client;
    assert.ok(processID > 0);
    assert.equal(pidOf(await client.query(PID)), processID);
    client.release();
  });

  it('may be released with statements under way', async () => {
    const pool = await open();
    const client = await pool.connect();
    const read = client.query(READ, [1]);
    const write = client.query(
      "insert into conduit_test.things (name) values ('late') returning name",
    );
    client.release();
    assert.equal((await read).rows.length, 1);
    assert.equal((await write).rows[0].name, 'late');
    await until('all are free', () => pool.idleCount === pool.totalCount);
    assert.throws(() => client.release(), poolError('ERR_PG_CONDUIT_RELEASED'));
  });

  it('cancels a read that floats without touching neighbours', async () => {
    const pool = await open({}, ['select max(i) from generate_series(1, 3000000) i']);
    const client = await pool.connect();
    const running = errorOf(client.query('select max(i) from generate_series(1, 3000000) i'));
    const neighbours = Promise.all(Array.from({ length: 9 }, () => pool.query(READ, [1])));
    await client.cancel();
    assert.equal((await running).code, '57014');
    await neighbours;
    client.release();
  });

  it('may be ended', async () => {
    const pool = await open();
    const client = await pool.connect();
    const ended = seen(client, 'end');
    const read = client.query(READ, [1]);
    await client.end();
    assert.equal((await read).rows.length, 1);
    await ended;
    await assert.rejects(client.query(READ, [1]), /Client was closed and is not queryable/);
    client.release();
    assert.equal((await pool.query(READ, [1])).rows.length, 1);
  });

  it('has transaction() with savepoints', async () => {
    const pool = await open();
    const client = await pool.connect();
    await client.transaction(async (tx) => {
      await tx.query("insert into conduit_test.things (name) values ('in tx')");
      await tx.transaction((inner) => inner.query('select 1 / 0')).catch(() => {});
    });
    client.release();
    const { rows } = await pool.query("select from conduit_test.things where name = 'in tx'");
    assert.equal(rows.length, 1);
  });

  it('waits for its turn: only the oldest `max` have connections of their own', async () => {
    const pool = await open({ max: 2 });
    const clients = await Promise.all(Array.from({ length: 3 }, () => pool.connect()));
    // Nobody else has a connection, but it is too young.
    let hasBegun = false;
    const beginning = clients[2].query('begin').then(() => {
      hasBegun = true;
    });
    await clients[0].query(READ, [1]);
    await clients[1].query('begin');
    await delay(20);
    assert.ok(!hasBegun);
    assert.equal(pool.waitingCount, 1);
    clients[0].release();
    await beginning;
    await clients[2].query('rollback');
    await clients[1].query('rollback');
    clients[1].release();
    clients[2].release();
  });

  it('waits no longer for its turn than connectionTimeoutMillis, or its own limit', async () => {
    const pool = await open({ max: 2, connectionTimeoutMillis: 100 });
    const clients = await Promise.all(Array.from({ length: 3 }, () => pool.connect()));
    await assert.rejects(clients[2].query('begin'), /timeout exceeded when trying to connect/);
    const limited = clients[2].query('select pg_backend_pid()', [], { timeoutMillis: 20 });
    const error = await errorOf(limited);
    assert.ok(error instanceof QueryAbortedError);
    assert.equal(error.outcome, 'not-run');
    assert.equal((await clients[2].query(READ, [1])).rows.length, 1);
    for (const client of clients) client.release();
  });

  it('is waited for by pool.end(), and works until it is released', async () => {
    const pool = await open();
    const client = await pool.connect();
    let hasEnded = false;
    const ended = pool.end().then(() => {
      hasEnded = true;
    });
    assert.equal((await client.query(READ, [1])).rows.length, 1);
    assert.equal((await client.query('select pg_backend_pid()')).rows.length, 1);
    assert.ok(!hasEnded);
    await assert.rejects(pool.connect(), poolError('ERR_PG_CONDUIT_POOL_ENDED'));
    client.release();
    await ended;
  });

  it('that is pinned keeps no other connection open while the pool ends', async () => {
    const pool = await open();
    await Promise.all([1, 2, 3].map(() => pool.query('select pg_sleep(0.05)')));
    const client = await pool.connect();
    await client.query('select pg_backend_pid()');
    assert.ok(pool.totalCount > 1);
    const ended = pool.end();
    await until('the others are closed', () => pool.totalCount === 1);
    assert.equal((await client.query('select pg_backend_pid()')).rows.length, 1);
    client.release();
    await ended;
  });

  describe('has a connection from the beginning', () => {
    const POOLS = {
      'with max: 1, which is used as a mutex': [{ max: 1 }, () => {}],
      "with multiplex: 'off'": [{ multiplex: 'off' }, () => {}],
      'where sessions begin with onConnect': [{ onConnect: () => {} }, () => {}],
      'where somebody listens to "connect"': [{}, (pool) => pool.on('connect', () => {})],
    };
    for (const [name, [given, prepare]] of Object.entries(POOLS)) {
      it(name, async () => {
        const pool = newPool({ max: 2, multiplex: 'reads', ...given });
        prepare(pool);
        await warm(pool, 1);
        const client = await pool.connect();
        assert.equal(pool.idleCount, 0);
        assert.deepEqual(pool.stats().leases, { floating: 0, pinned: 0 });
        client.release();
      });
    }
  });

  it('never meets what another one has left: a hundred tenants at a time', async () => {
    const pool = await open({ max: 4 });
    await observer.ask('create table conduit_test.notes (tenant text, note text)');
    const TENANT = "select current_setting('app.tenant', true) as tenant";
    await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        for (let round = 0; round < 2; ++round) {
          const client = await pool.connect();
          try {
            assert.equal((await client.query(READ, [1])).rows[0].name, 'thing 1');
            await client.query("select set_config('app.tenant', $1, false)", [`t${i}`]);
            await client.query(READ, [2]);
            assert.equal((await client.query(TENANT)).rows[0].tenant, `t${i}`);
            await client.query(
              "insert into conduit_test.notes values (current_setting('app.tenant'), $1)",
              [`t${i}`],
            );
          } finally {
            client.release();
          }
        }
      }),
    );
    const { rows } = await pool.query(
      'select count(*)::int as n, count(*) filter (where tenant <> note)::int as wrong from conduit_test.notes',
    );
    assert.deepEqual(rows, [{ n: 200, wrong: 0 }]);
  });
});
