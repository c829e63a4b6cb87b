'use strict';

// Borrowed clients that share connections, where it goes wrong first: those that wait, that give up waiting or are
// released meanwhile, sessions that are not alike, and locks. What they do at all is in leases.test.js.

const assert = require('node:assert/strict');
const { setImmediate: nextTurn, setTimeout: delay } = require('node:timers/promises');
const { useCosts } = require('../support/costs');
const { errorOf } = require('../support/outcomes');
const { until } = require('../support/outside');
const { ONE, PID, floatingPool, newPool, poolError, teach, usePools } = require('../support/pools');

const WHERE = 'select current_schema as name';

describe('A borrowed client that shares connections', function () {
  this.timeout(20_000);

  const observer = usePools();

  before(async () => {
    await observer.ask('create table conduit_test.notes (i int)');
    await observer.ask('create table conduit_test.others as select 1 as i');
    await observer.ask('create sequence conduit_test.numbers');
  });

  /** @param {any} pool @param {number} count */
  const connect = (pool, count) => Promise.all(Array.from({ length: count }, () => pool.connect()));

  /** Two that are pinned, and so many that are younger. */
  async function openBusy({ connectionTimeoutMillis = 0, ...given }, youngerCount) {
    const pool = await floatingPool({ max: 2, ...given });
    // Not while its connections are opened, which others on the machine may delay.
    pool.options.connectionTimeoutMillis = connectionTimeoutMillis;
    const clients = await connect(pool, 2 + youngerCount);
    await clients[0].query('begin');
    await clients[1].query('begin');
    return { pool, clients, younger: clients.slice(2) };
  }

  /** @param {any} client whose caller waits for nothing, and hears of all */
  function sender(client) {
    /** @type {string[]} */
    const told = [];
    /** @param {any[]} queries */
    const send = (...queries) => {
      for (const query of queries) {
        client.query(query, (error, result) => told.push(error?.outcome ?? result.command));
      }
    };
    return { told, send };
  }

  describe('that waits for its turn', () => {
    it('waits no longer when it has given up what it waited for', async () => {
      const { pool, clients, younger } = await openBusy({}, 1);
      const error = await errorOf(younger[0].query('begin', [], { timeoutMillis: 20 }));
      assert.equal(error.code, 'ERR_PG_CONDUIT_QUERY_TIMEOUT');
      assert.equal(pool.waitingCount, 0);
      younger[0].release();
      clients[0].release();
      assert.equal(pool.waitingCount, 0);
    });

    it('tells that nothing of its transaction() has run, when it has waited in vain', async () => {
      const { clients, younger } = await openBusy({ connectionTimeoutMillis: 50 }, 1);
      const error = await errorOf(
        younger[0].transaction((tx) => {
          tx.query('insert into conduit_test.notes values (1)').catch(() => {});
        }),
      );
      assert.equal(error.code, 'ERR_PG_CONDUIT_POOL_TIMEOUT');
      assert.equal(error.outcome, 'not-run');
      for (const client of clients) client.release();
    });

    it('stays as it was when its transaction() has waited in vain', async () => {
      const { clients, younger } = await openBusy({ connectionTimeoutMillis: 50 }, 1);
      const [client] = younger;
      const mine = new Error('mine');
      const asIs = (tx) => tx.query('select 1');
      const hasThrown = () => Promise.reject(mine);
      const bodies = [
        asIs,
        (tx) => Promise.all([errorOf(tx.query('select 1')), hasThrown()]),
        (tx) => errorOf(tx.query('select 1')).then(hasThrown),
        (tx) => tx.transaction(asIs),
        (tx) => errorOf(tx.transaction(asIs)),
      ];
      for (const body of bodies) {
        const error = await errorOf(client.transaction(body));
        assert.ok(error === mine || error.outcome === 'not-run', error);
      }
      clients[0].release();
      assert.deepEqual((await client.query('begin')).command, 'BEGIN');
    });

    it('commits nothing of a transaction() of which a statement gave up before it had a connection', async () => {
      const { clients, younger } = await openBusy({}, 1);
      const insert = 'insert into conduit_test.notes values (3)';
      /** @type {Promise<any> | undefined} */
      let givenUp;
      const whole = errorOf(
        younger[0].transaction((tx) => {
          tx.query(insert);
          givenUp = errorOf(tx.query(insert, [], { timeoutMillis: 20 }));
          tx.query(insert);
        }),
      );
      const { code, outcome } = await whole;
      assert.deepEqual([code, outcome], ['ERR_PG_CONDUIT_TRANSACTION_ABORTED', 'not-run']);
      assert.equal((await givenUp).outcome, 'not-run');
      clients[0].release();
      assert.equal((await younger[0].query('begin')).command, 'BEGIN');
      assert.deepEqual(await observer.ask('select i from conduit_test.notes where i = 3'), []);
    });

    it('waits no longer for a transaction() that has failed, or whose client was released', async () => {
      const { pool, clients, younger } = await openBusy({}, 2);
      const [first, second] = younger;
      const limit = { timeoutMillis: 20 };
      const error = await errorOf(first.transaction((tx) => tx.query('select 1', [], limit)));
      assert.equal(error.code, 'ERR_PG_CONDUIT_QUERY_TIMEOUT');
      assert.equal(pool.waitingCount, 0);
      const insert = 'insert into conduit_test.notes values (4)';
      const released = errorOf(second.transaction((tx) => tx.query(insert)));
      await nextTurn();
      second.release();
      assert.equal((await released).code, 'ERR_PG_CONDUIT_TRANSACTION_ENDED');
      assert.equal(pool.waitingCount, 0);
      // As a query of the pool: not in a transaction that is rolled back.
      const late = second.query(insert);
      clients[0].release();
      assert.equal((await late).command, 'INSERT');
      assert.equal((await observer.ask('select i from conduit_test.notes where i = 4')).length, 1);
    });

    it('runs nothing behind a BEGIN that has waited in vain, until the transaction ends', async () => {
      const { clients, younger } = await openBusy({ connectionTimeoutMillis: 50 }, 2);
      const [client, another] = younger;
      const insert = 'insert into conduit_test.notes values (5)';
      // Who has waited for its answer knows, and may do something else.
      await errorOf(another.query('begin'));
      assert.match((await errorOf(another.query(insert))).detail, /no connection was free/);

      const both = ['/* x */ begin', insert].map((text) => errorOf(another.query(text)));
      assert.match((await both[1]).message, /timeout exceeded/);
      assert.match(
        (await errorOf(another.query(insert))).detail,
        /end the transaction with ROLLBACK/,
      );
      assert.equal((await another.query('rollback -- to no end')).command, 'ROLLBACK');
      assert.match((await errorOf(another.query(insert))).detail, /no connection was free/);

      const outcomes = sender(client);
      outcomes.send('begin', insert);
      await until('they were refused', () => outcomes.told.length === 2);
      clients[0].release();
      outcomes.send('rollback to a', 'commit and chain', insert, 'commit', insert);
      await until('all is known', () => outcomes.told.length === 7);
      assert.deepEqual(outcomes.told, [...Array(6).fill('not-run'), 'INSERT']);
      assert.equal((await client.query('begin')).command, 'BEGIN');
      assert.equal((await observer.ask('select i from conduit_test.notes where i = 5')).length, 1);
    });

    it('runs nothing behind a BEGIN that gave up while it waited', async () => {
      const { clients, younger } = await openBusy({}, 1);
      const [client] = younger;
      const insert = 'insert into conduit_test.notes values (7)';
      const outcomes = sender(client);
      outcomes.send({ text: 'begin', timeoutMillis: 20 }, insert, 'rollback', 'select 1');
      await until('BEGIN has given up', () => outcomes.told.length === 3);
      clients[0].release();
      await until('all is known', () => outcomes.told.length === 4);
      assert.deepEqual(outcomes.told.sort(), ['ROLLBACK', 'SELECT', 'not-run', 'not-run']);
      assert.deepEqual(await observer.ask('select i from conduit_test.notes where i = 7'), []);
    });

    it('leaves its place to others if it has waited in vain, and is never released', async () => {
      const { pool, clients, younger } = await openBusy({ connectionTimeoutMillis: 50 }, 3);
      await Promise.all(younger.map((client) => errorOf(client.query('begin'))));
      for (const client of clients.slice(0, 2)) client.release();
      for (let turn = 0; turn < 3; ++turn) {
        const both = await connect(pool, 2);
        for (const client of both) assert.equal((await client.query('begin')).command, 'BEGIN');
        for (const client of both) client.release();
      }
      // And takes one again.
      assert.equal((await younger[0].query('begin')).command, 'BEGIN');
      await until('it has a backend', () => younger[1].processID > 0);
    });

    it('rejects nothing of others, of its transaction() behind COMMIT after the release', async () => {
      const { clients, younger } = await openBusy({}, 1);
      const insert = 'insert into conduit_test.notes values (8)';
      const whole = errorOf(
        younger[0].transaction((tx) => {
          tx.query(insert, [], { timeoutMillis: 30 }).catch(() => {});
        }),
      );
      await nextTurn();
      younger[0].release();
      const late = younger[0].query(insert);
      assert.equal((await whole).outcome, 'not-run');
      clients[0].release();
      assert.equal((await late).command, 'INSERT');
      assert.equal((await observer.ask('select i from conduit_test.notes where i = 8')).length, 1);
    });

    it('runs nothing of a transaction() whose BEGIN was refused at once', async () => {
      const { pool, clients, younger } = await openBusy({}, 1);
      pool.options.maxWaiting = 0;
      const insert = 'insert into conduit_test.notes values (6)';
      const errors = [];
      const error = await errorOf(
        younger[0].transaction(async (tx) => {
          errors.push(await errorOf(tx.query(insert)));
          clients[0].release();
          errors.push(await errorOf(tx.query(insert)));
          errors.push(await errorOf(tx.transaction((inner) => inner.query(insert))));
        }),
      );
      for (const each of errors) assert.equal(each.code, 'ERR_PG_CONDUIT_POOL_FULL');
      assert.deepEqual([error.outcome, errors.length], ['not-run', 3]);
      assert.deepEqual(await observer.ask('select i from conduit_test.notes where i = 6'), []);
    });

    it('runs nothing of a transaction() whose BEGIN has waited in vain', async () => {
      const { clients, younger } = await openBusy({ connectionTimeoutMillis: 50 }, 1);
      const errors = [];
      const error = await errorOf(
        younger[0].transaction(async (tx) => {
          errors.push(await errorOf(tx.query('insert into conduit_test.notes values (2)')));
          // Now there would be a connection.
          clients[0].release();
          errors.push(await errorOf(tx.query('insert into conduit_test.notes values (2)')));
          errors.push(
            await errorOf(tx.batch([{ text: 'insert into conduit_test.notes values (2)' }])),
          );
          errors.push(
            await errorOf(
              tx.transaction((inner) => inner.query('insert into conduit_test.notes values (2)')),
            ),
          );
        }),
      );
      for (const each of errors) assert.match(each.message, /timeout exceeded/);
      assert.deepEqual(
        [...errors, error].map(({ outcome }) => outcome),
        Array(5).fill('not-run'),
      );
      assert.deepEqual(await observer.ask('select i from conduit_test.notes where i = 2'), []);
    });

    it('waits no longer for a connection, either, when it has given up', async () => {
      const { pool, clients } = await openBusy({}, 0);
      clients[1].release();
      const second = await pool.connect();
      // It is among the oldest; but what all share has the connection.
      const running = pool.query('select pg_sleep(0.2)');
      await errorOf(second.query('begin', [], { timeoutMillis: 20 }));
      assert.equal(pool.waitingCount, 0);
      await running;
      assert.equal((await second.query('begin')).command, 'BEGIN');
    });

    it('waits for all of connectionTimeoutMillis each time', async () => {
      const { younger } = await openBusy({ connectionTimeoutMillis: 200 }, 1);
      await errorOf(younger[0].query('begin', [], { timeoutMillis: 10 }));
      await delay(150);
      const since = performance.now();
      await assert.rejects(younger[0].query('begin'), /timeout exceeded when trying to connect/);
      assert.ok(performance.now() - since > 150);
    });

    it('counts for maxWaiting', async () => {
      const { pool, clients, younger } = await openBusy({ maxWaiting: 1 }, 3);
      const first = younger[0].query('begin');
      await assert.rejects(younger[1].query('begin'), poolError('ERR_PG_CONDUIT_POOL_FULL'));
      await assert.rejects(
        pool.query('select pg_backend_pid(), pg_sleep(0)', [], {
          signal: new AbortController().signal,
        }),
        poolError('ERR_PG_CONDUIT_POOL_FULL'),
      );
      assert.equal(pool.waitingCount, 1);
      clients[0].release();
      assert.equal((await first).command, 'BEGIN');
    });

    it('is told at once when it is released as broken', async () => {
      const { younger, pool } = await openBusy({}, 1);
      const insert = errorOf(younger[0].query('insert into conduit_test.notes values (1)'));
      younger[0].release(true);
      assert.match((await insert).message, /Client was closed and is not queryable/);
      assert.equal(pool.waitingCount, 0);
    });

    it('keeps the order of its statements, even of one that comes after its release', async () => {
      const { clients, younger } = await openBusy({}, 1);
      /** @type {string[]} */
      const order = [];
      const note = ({ command }) => order.push(command);
      const insert = younger[0].query('insert into conduit_test.notes values (2)').then(note);
      younger[0].release();
      const read = younger[0].query(ONE).then(note);
      await delay(20);
      clients[0].release();
      await Promise.all([insert, read]);
      assert.deepEqual(order, ['INSERT', 'SELECT']);
    });

    it('has no transaction() inside the transaction that a statement is to begin', async () => {
      const { clients, younger } = await openBusy({}, 1);
      const beginning = younger[0].query('begin');
      const given = errorOf(younger[0].query(PID, [], { timeoutMillis: 20 }));
      const refused = errorOf(younger[0].transaction((tx) => tx.query(PID)));
      await given;
      clients[0].release();
      await beginning;
      assert.match((await refused).message, /a transaction is open on this client/);
    });
  });

  describe('does not float where sessions differ', () => {
    for (const text of [
      "select ('conduit_test.numbers'::regclass).nextval",
      "select ('application_name'::text).current_setting",
      `select (t.name)."current_setting" from (select 'application_name'::text as name) t`,
    ]) {
      it(text, async () => {
        const pool = await floatingPool({}, [text]);
        const client = await pool.connect();
        await client.query(text);
        assert.equal(pool.stats().leases.pinned, 1);
      });
    }

    it('since the listener of "connect" was there for one connection only', async () => {
      const pool = newPool({ max: 2 });
      pool.once('connect', (client) => client.query('set search_path = pg_catalog'));
      await pool.query(ONE);
      await until('the catalog is known', () => pool.query(ONE).then(() => delay(5, true)));
      const client = await pool.connect();
      assert.deepEqual(pool.stats().leases, { floating: 0, pinned: 0 });
      const { rows } = await client.query(WHERE);
      const other = await pool.connect();
      assert.notEqual((await other.query(WHERE)).rows[0].name, rows[0].name);
      assert.deepEqual((await client.query(WHERE)).rows, rows);
    });

    it("since they keep what borrowers have changed (resetQuery: '')", async () => {
      const pool = newPool({ max: 2, resetQuery: '' });
      await pool.query(ONE);
      await pool.connect();
      assert.deepEqual(pool.stats().leases, { floating: 0, pinned: 0 });
    });
  });

  for (const [name, close] of [
    ['ended', (client) => client.end().then(() => client.release())],
    ['released as broken', (client) => client.release(true)],
  ]) {
    it(`takes nothing more once it was ${name}`, async () => {
      const pool = await floatingPool();
      const client = await pool.connect();
      await close(client);
      await assert.rejects(client.query(ONE), /Client was closed and is not queryable/);
    });
  }

  describe('has the events of pg', () => {
    it('"remove" with the client that was released as broken', async () => {
      const pool = await floatingPool();
      const client = await pool.connect();
      await client.query('begin');
      const removed = new Promise((resolve) => {
        pool.once('remove', resolve);
      });
      const ended = new Promise((resolve) => {
        client.once('end', resolve);
      });
      client.release(true);
      assert.equal(await removed, client);
      await ended;
    });

    it('"drain", even if it is released by then', async () => {
      const pool = await floatingPool({ max: 2 });
      const client = await pool.connect();
      let count = 0;
      client.on('drain', () => ++count);
      await client.query('begin');
      await client.query('commit');
      client.release();
      await delay(10);
      assert.ok(count > 0);
    });
  });

  describe('whose read is sent behind one that waits for a lock', () => {
    useCosts();
    const LOCKED = 'select i from conduit_test.notes';
    const FREE = 'select i from conduit_test.others';

    it('is answered all the same, since whoever has the lock may wait for it', async () => {
      const pool = await floatingPool({}, [LOCKED, FREE]);
      await teach(pool, LOCKED, []);
      await teach(pool, FREE, []);
      const [holder, first, second] = await connect(pool, 3);
      await holder.query('begin');
      await holder.query('lock table conduit_test.notes in access exclusive mode');
      const locked = first.query(LOCKED);
      let parsed = 0;
      second.setTypeParser(23, (text) => {
        ++parsed;
        return Number(text);
      });
      assert.deepEqual((await second.query(FREE)).rows, [{ i: 1 }]);
      await holder.query('commit');
      await locked;
      await until('all is answered', () => pool.idleCount === pool.totalCount - 1);
      assert.equal(parsed, 1);
    });

    it('is asked again with the settings that its client has made', async () => {
      await observer.ask('create schema if not exists conduit_other');
      await observer.ask('drop table if exists conduit_test.mine, conduit_other.mine');
      for (const schema of ['conduit_test', 'conduit_other']) {
        await observer.ask(`create table ${schema}.mine as select '${schema}' as whose`);
      }
      const MINE = 'select whose from mine';
      const pool = await floatingPool({}, [LOCKED, MINE]);
      await teach(pool, LOCKED, []);
      await teach(pool, MINE, []);
      const [holder, first, second] = await connect(pool, 3);
      await second.query('set search_path to conduit_other');
      await until('it floats', () => pool.stats().leases.pinned === 0);
      await holder.query('begin');
      await holder.query('lock table conduit_test.notes in access exclusive mode');
      const locked = first.query(LOCKED);
      assert.deepEqual((await second.query(MINE)).rows, [{ whose: 'conduit_other' }]);
      await holder.query('commit');
      await locked;
      await observer.ask('drop schema conduit_other cascade');
    });

    it('waits once more at most, where no other connection is free', async () => {
      const pool = await floatingPool({ max: 2, maxWaiting: 3 }, [LOCKED, FREE]);
      await teach(pool, LOCKED, []);
      await teach(pool, FREE, []);
      const [holder, first, ...others] = await connect(pool, 12);
      await holder.query('begin');
      await holder.query('lock table conduit_test.notes in access exclusive mode');
      const reads = Promise.all([first.query(LOCKED), ...others.map((one) => one.query(FREE))]);
      await delay(150);
      const { waitingCount } = pool;
      await holder.query('commit');
      await reads;
      assert.ok(waitingCount <= 1, `${waitingCount} wait`);
    });

    it('waits on no further connection if it needs the same lock', async () => {
      const pool = await floatingPool({ max: 6 }, [LOCKED]);
      await teach(pool, LOCKED, []);
      const [holder, ...others] = await connect(pool, 9);
      await holder.query('begin');
      await holder.query('lock table conduit_test.notes in access exclusive mode');
      const reads = Promise.all(others.map((client) => client.query(LOCKED)));
      // One connection as a rule, two if the server is slow to wake.
      await nextTurn();
      const used = pool.stats().connections.filter(({ inFlight }) => inFlight > 0).length;
      await delay(200);
      const [{ count }] = await observer.ask(
        "select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock' and query = $1",
        [LOCKED],
      );
      await holder.query('commit');
      await reads;
      assert.equal(count, used);
    });
  });

  it('has arrays of new types fetched without a connection of its own (fetchTypes)', async () => {
    const text = 'select moods from conduit_test.people';
    const make = async (name) => {
      await observer.ask('drop table if exists conduit_test.people');
      await observer.ask(`create type conduit_test.${name} as enum ('glad', 'sad')`);
      await observer.ask(`create table conduit_test.people (moods conduit_test.${name}[])`);
      await observer.ask("insert into conduit_test.people values ('{glad,sad}')");
    };
    await make('mood');
    const pool = await floatingPool({ max: 2, fetchTypes: true }, [text]);
    await make('humour');
    const [first, , third] = await connect(pool, 3);
    await first.query('begin');
    assert.deepEqual((await third.query(text)).rows, [{ moods: ['glad', 'sad'] }]);
    assert.deepEqual(pool.stats().leases, { floating: 2, pinned: 1 });
  });
});
