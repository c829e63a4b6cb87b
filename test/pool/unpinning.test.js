'use strict';

// When a borrowed client gives its connection back before it is released: behind a transaction that has left nothing
// in the session.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const { errorOf } = require('../support/outcomes');
const { until } = require('../support/outside');
const { floatingPool, ONE, teach, usePools } = require('../support/pools');

const READ = 'select name from conduit_test.things where id = $1';
const UPDATE = 'update conduit_test.things set name = $1 where id = $2';
const INSERT = 'insert into conduit_test.things (name) values ($1) returning id';

describe('A borrowed client, behind a transaction', function () {
  this.timeout(20_000);

  const observer = usePools();

  before(async () => {
    await observer.ask('create table conduit_test.things (id serial primary key, name text)');
    await observer.ask("insert into conduit_test.things (name) values ('one'), ('two'), ('three')");
    await observer.ask('create table conduit_test.triggered (id int)');
    await observer.ask(
      `create function conduit_test.remember() returns trigger language plpgsql as
       $$ begin perform set_config('conduit.last', new.id::text, false); return new; end $$`,
    );
    await observer.ask(
      `create trigger remember before insert on conduit_test.triggered
       for each row execute function conduit_test.remember()`,
    );
  });

  async function open() {
    const pool = await floatingPool();
    await teach(pool, UPDATE, ['one', 1], 2);
    await teach(pool, `${READ} for update`, [1], 2);
    await teach(pool, READ, [1], 2);
    return pool;
  }

  /** @param {any} pool */
  const isPinned = (pool) => pool.stats().leases.pinned === 1;
  /** @param {any} pool */
  const untilFloating = (pool) => until('it floats', () => !isPinned(pool));

  for (const [what, ...texts] of [
    ['that only reads', 'begin', 'read', 'commit'],
    ['that is rolled back', 'begin', 'update', 'rollback'],
    ['that writes plain tables', 'begin', 'read', 'update', 'commit'],
    ['that locks rows', 'begin', 'locked read', 'update', 'commit'],
    ['with savepoints', 'begin', 'savepoint a', 'update', 'rollback to a', 'release a', 'end'],
    ['with settings of its own', 'begin', "set local work_mem = '5MB'", 'update', 'commit'],
    ['with modes', 'start transaction', 'set transaction read only', 'read', 'commit'],
    ['that is chained', 'begin', 'update', 'commit and chain', 'update', 'commit'],
  ]) {
    it(`floats again: one ${what}`, async () => {
      const pool = await open();
      const client = await pool.connect();
      for (const text of texts) {
        if (text === 'read') await client.query(READ, [1]);
        else if (text === 'locked read') await client.query(`${READ} for update`, [1]);
        else if (text === 'update') await client.query(UPDATE, ['one', 1]);
        else await client.query(text);
        if (text !== texts.at(-1)) assert.ok(isPinned(pool), text);
      }
      await until('its connection is free', () => pool.idleCount === pool.totalCount);
      assert.ok(!isPinned(pool));
      assert.equal((await client.query(READ, [1])).rows[0].name, 'one');
      assert.ok(!isPinned(pool));
      client.release();
    });
  }

  it('floats again when all was sent at once', async () => {
    const pool = await open();
    const client = await pool.connect();
    await Promise.all([
      client.query('begin'),
      client.query(UPDATE, ['one', 1]),
      client.query('commit'),
    ]);
    await untilFloating(pool);
    client.release();
  });

  it('floats again behind transaction()', async () => {
    const pool = await open();
    const client = await pool.connect();
    await client.transaction(async (tx) => {
      await tx.query(READ, [1]);
      await tx.transaction((inner) => inner.query(UPDATE, ['one', 1]));
    });
    await untilFloating(pool);
    const failed = client.transaction(async (tx) => {
      await tx.query(UPDATE, ['changed', 1]);
      throw new Error('of the body');
    });
    assert.equal((await errorOf(failed)).message, 'of the body');
    await untilFloating(pool);
    assert.equal((await client.query(READ, [1])).rows[0].name, 'one');
    client.release();
  });

  it('reads what it has committed', async () => {
    const pool = await open();
    await teach(pool, INSERT, ['learned'], 2);
    const clients = await Promise.all(Array.from({ length: 9 }, () => pool.connect()));
    await Promise.all(
      clients.map(async (client, i) => {
        for (let turn = 0; turn < 10; ++turn) {
          const name = `name ${i} ${turn}`;
          await client.query('begin');
          const { rows } = await client.query(INSERT, [name]);
          await client.query('commit');
          assert.equal((await client.query(READ, [rows[0].id])).rows[0].name, name);
        }
        client.release();
      }),
    );
  });

  for (const [what, text] of [
    ['a setting', "set work_mem to '5MB'"],
    ["a parameter of the user's own, even for the transaction", "set local conduit.mine = 'x'"],
    ['the same by a function', "select set_config('conduit.mine', 'x', true)"],
    ['what decides what random() gives next', 'set local seed = 0.5'],
    ['a lock of the session', 'select pg_advisory_lock(17)'],
    ['a temporary table', 'create temp table mine (i int)'],
    ['a prepared statement', 'prepare mine as select 1'],
    ['a cursor that is held', 'declare c cursor with hold for select 1'],
    ['a trigger', 'insert into conduit_test.triggered values (1)'],
    ['a code block', 'do $$ begin perform 1; end $$'],
    ['several statements', 'select 1; select 2'],
    ['what asks the session', 'select pg_backend_pid()'],
    ['a statement that has never succeeded', 'update conduit_test.things set id = id / 0'],
  ]) {
    it(`keeps its connection if there was ${what}`, async () => {
      const pool = await open();
      const client = await pool.connect();
      await client.query('begin');
      await client.query(text).catch(() => {});
      await client.query('commit');
      await delay(2);
      await client.query(ONE);
      assert.ok(isPinned(pool));
      client.release();
    });
  }

  it('keeps its connection if somebody knows its process id', async () => {
    const pool = await open();
    const client = await pool.connect();
    const { processID } = client;
    assert.ok(processID > 0);
    await client.query('begin');
    await client.query('commit');
    await delay(2);
    assert.ok(isPinned(pool));
    assert.equal(client.processID, processID);
    client.release();
  });

  it('answers lastval() as a session does', async () => {
    const pool = await open();
    await teach(pool, INSERT, ['learned'], 2);
    const client = await pool.connect();
    await client.query('begin');
    const { rows } = await client.query(INSERT, ['mine']);
    await client.query('commit');
    const asked = await client.query('select lastval()::int as id').catch((error) => error);
    if (asked instanceof Error) assert.equal(/** @type {any} */ (asked).outcome, 'not-run');
    else assert.equal(asked.rows[0].id, rows[0].id);
    // From now on the pool knows that they are asked for.
    for (let turn = 0; turn < 3; ++turn) {
      await client.query('begin');
      const inserted = await client.query(INSERT, ['mine']);
      await client.query('commit');
      await Promise.all([1, 2, 3].map(() => pool.query(INSERT, ['of others'])));
      const last = await client.query('select lastval()::int as id');
      assert.equal(last.rows[0].id, inserted.rows[0].id);
    }
    client.release();
  });
});
