'use strict';

// describe(): the types of a statement, which is never executed, wherever it is asked for.

const assert = require('node:assert/strict');
const {
  Client,
  ConnectionError,
  DatabaseError,
  ParameterError,
  TransactionError,
} = require('../..');
const { endAll, newClient, newPool, options, resetSchema } = require('../support/connect');
const { errorOf } = require('../support/outcomes');

const INT4 = 23;
const TEXT = 25;
const INT8 = 20;

describe('describe()', () => {
  let admin;

  before(async () => {
    await resetSchema();
    const client = await newClient();
    await client.query('create table described (id int8 primary key, name varchar(20))');
    await client.query("insert into described values (1, 'one')");
    await client.end();
  });
  beforeEach(async () => {
    admin = await newClient();
  });
  afterEach(endAll);

  const oids = (list) => list.map(({ dataTypeID }) => dataTypeID);

  for (const kind of ['pool', 'pool that shares nothing', 'client', 'borrowed client']) {
    it(`of a ${kind} tells the types of parameters and columns`, async () => {
      const pool = newPool(kind.endsWith('nothing') ? { multiplex: 'off', max: 1 } : {});
      const borrowed = kind.startsWith('borrowed') ? await pool.connect() : undefined;
      const one = kind === 'client' ? admin : (borrowed ?? pool);
      const { rows, fields } = await one.query('select id, name from described');
      const described = await one.describe(
        'select id, name from described where id > $1 and name like $2',
      );
      assert.deepEqual(oids(described.parameters), [INT8, TEXT]);
      assert.deepEqual(described.fields, fields);
      assert.deepEqual(rows, [{ id: '1', name: 'one' }]);
      assert.deepEqual(await one.describe({ text: 'select 1 where false', values: [1] }), {
        parameters: [],
        fields: (await one.query('select 1 where false')).fields,
      });
      borrowed?.release();
    });
  }

  it('executes nothing, whatever the text would do', async () => {
    const pool = newPool({ max: 2 });
    const client = await pool.connect();
    const changes = [
      ['delete from described', [], []],
      ['insert into described values ($1, $2) returning id', [INT8, 1043], [INT8]],
      ["update described set name = 'two' where id = $1::int", [INT4], []],
      ['truncate described', [], []],
      ['drop table described', [], []],
      ['begin', [], []],
      ["set search_path = 'nowhere'", [], []],
      ['listen channel', [], []],
      ['vacuum described', [], []],
      ['copy described from stdin', [], []],
      ['commit', [], []],
      ["select nextval('nothing') from described where false and $1", undefined, undefined],
    ];
    for (const one of [pool, client, admin]) {
      for (const [text, parameters, columns] of changes) {
        const described = await one.describe(text).catch((error) => error);
        if (parameters === undefined) {
          assert.equal(described.code, '42P01');
          continue;
        }
        assert.deepEqual(oids(described.parameters), parameters, text);
        assert.deepEqual(oids(described.fields), columns, text);
      }
      const { rows } = await one.query('select id, name from described');
      assert.deepEqual(rows, [{ id: '1', name: 'one' }]);
    }
    assert.equal(client.getTransactionStatus() ?? 'I', 'I');
    client.release();
  });

  it('is pipelined with queries, and one that fails reaches nobody else', async () => {
    const pool = newPool({ max: 1 });
    await pool.query('select 1');
    const [first, error, second, third] = await Promise.all([
      pool.query('select 1 as one'),
      errorOf(pool.describe('select nothing from nowhere')),
      pool.describe('select $1::int as one'),
      pool.query('select 2 as two'),
    ]);
    assert.deepEqual([first.rows, third.rows], [[{ one: 1 }], [{ two: 2 }]]);
    assert.ok(error instanceof DatabaseError);
    assert.equal(error.code, '42P01');
    assert.equal(error.outcome, 'not-run');
    assert.deepEqual(oids(second.parameters), [INT4]);
    assert.equal((await errorOf(pool.describe('select 1; select 2'))).code, '42601');
    assert.deepEqual((await pool.describe('')).fields, []);
  });

  it('executes nothing on a connection for replication either, and before a shared client has joined', async () => {
    const walsender = new Client({ ...options(), replication: 'database' });
    await walsender.connect();
    assert.equal((await errorOf(walsender.describe('create table of_describe ()'))).code, '08P01');
    await walsender.end();
    const shared = new Client({ ...options(), multiplex: 'reads' });
    const connected = shared.connect();
    const text = 'select 1; create table of_describe ()';
    assert.equal((await errorOf(shared.describe(text))).code, '42601');
    await connected;
    await shared.end();
    const { rows } = await admin.query("select to_regclass('of_describe') as made");
    assert.deepEqual(rows, [{ made: null }]);
  });

  it('sees the tables of its own session', async () => {
    const pool = newPool({ max: 2 });
    const client = await pool.connect();
    await client.query('create temp table own (n int)');
    assert.deepEqual(oids((await client.describe('select n from own where n = $1')).fields), [
      INT4,
    ]);
    await client.query('begin');
    await client.query('alter table own add column t text');
    assert.deepEqual(oids((await client.describe('select * from own')).fields), [INT4, TEXT]);
    await client.query('rollback');
    client.release();
    assert.equal((await errorOf(pool.describe('select n from own'))).code, '42P01');
  });

  describe('of a transaction', () => {
    for (const kind of ['pool', 'client', 'borrowed client', 'wrapped client']) {
      it(`sees what it has created, and executes nothing, ${kind}`, async () => {
        const pool = newPool({ max: 2 });
        const client = kind.endsWith('client') ? await pool.connect() : undefined;
        if (kind === 'wrapped client') {
          const { query } = client;
          client.query = (...given) => query.apply(client, given);
        }
        const one = { pool, client: admin }[kind] ?? client;
        await one.transaction(async (tx) => {
          // Travels with BEGIN.
          const first = tx.describe('select id from described where name = $1');
          assert.deepEqual(oids((await first).parameters), [TEXT]);
          await tx.query('create table of_transaction (n int)');
          const [{ fields }, { rows }] = await Promise.all([
            tx.describe({ text: 'insert into of_transaction values ($1) returning n' }),
            tx.query('select count(*)::int as n from of_transaction'),
          ]);
          assert.deepEqual([oids(fields), rows], [[INT4], [{ n: 0 }]]);
          const gone = tx.transaction((inner) => inner.describe('select nothing'));
          assert.equal((await errorOf(gone)).code, '42703');
          await tx.query('drop table of_transaction');
          await tx.describe('rollback');
          await tx.query("insert into described values (2, 'two')");
        });
        const { rows } = await one.query('delete from described where id = 2 returning id');
        assert.deepEqual(rows, [{ id: '2' }]);
        client?.release();
      });
    }

    it('fails it with its error', async () => {
      const pool = newPool();
      let inside;
      const outside = await errorOf(
        pool.transaction(async (tx) => {
          await tx.query("insert into described values (3, 'three')");
          inside = await errorOf(tx.describe('select nothing'));
        }),
      );
      assert.ok(outside instanceof TransactionError);
      assert.equal(outside.cause, inside);
      assert.deepEqual(
        [inside.code, inside.outcome, outside.outcome],
        ['42703', 'not-run', 'not-run'],
      );
      const { rows } = await pool.query('select from described where id = 3');
      assert.deepEqual(rows, []);
    });

    it('is refused while something is open, and after its end', async () => {
      const pool = newPool();
      let ended;
      const error = await errorOf(
        pool.transaction(async (tx) => {
          ended = tx;
          tx.cursor('select 1');
          await tx.describe('select 1');
        }),
      );
      assert.equal(error.code, 'ERR_PG_CONDUIT_REFUSED', error.stack);
      const late = await errorOf(ended.describe('select 1'));
      assert.equal(late.code, 'ERR_PG_CONDUIT_TRANSACTION_ENDED', late.stack);
    });
  });

  it('refuses what is no text, and rejects on a pool that has ended', async () => {
    const pool = newPool();
    for (const text of [undefined, null, 5, {}, 'select \0']) {
      assert.ok((await errorOf(pool.describe(text))) instanceof ParameterError, String(text));
    }
    await pool.end();
    assert.equal((await errorOf(pool.describe('select 1'))).code, 'ERR_PG_CONDUIT_POOL_ENDED');
    await admin.end();
    const late = await errorOf(admin.describe('select 1'));
    assert.ok(late instanceof ConnectionError);
    assert.equal(late.outcome, 'not-run');
  });
});
