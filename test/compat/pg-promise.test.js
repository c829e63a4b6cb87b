'use strict';

// pg-promise, whose peer `pg` is this driver.

const assert = require('node:assert/strict');
const pgPromise = require('pg-promise');
const QueryStream = require('pg-query-stream');
const { NUMBERS, SCHEMA, assertDuplicate, atOnce, useTool } = require('./support/tool');

describe('pg-promise', () => {
  const tool = useTool('pg-promise', { schema: SCHEMA });
  const pgp = pgPromise();
  let db;

  before(() => {
    assert.equal(pgp.pg, require('pg'));
    db = pgp({ connectionString: tool.url, max: 5 });
  });

  tool.close(() => db.$pool.end());

  const addAccount = (on, email) =>
    on.one('insert into accounts (email) values ($<email>) returning id', { email });

  it('inserts, and selects with a join', async () => {
    const { id } = await addAccount(db, 'a@b.c');
    const columns = new pgp.helpers.ColumnSet(['account_id', 'body'], { table: 'notes' });
    await db.none(
      pgp.helpers.insert(
        [1, 2].map((i) => ({ account_id: id, body: `${i}` })),
        columns,
      ),
    );
    const rows = await db.any(
      'select email, body from notes join accounts on accounts.id = account_id order by body',
    );
    assert.deepEqual(rows, [
      { email: 'a@b.c', body: '1' },
      { email: 'a@b.c', body: '2' },
    ]);
  });

  it('runs several statements, prepared and parameterized ones', async () => {
    assert.deepEqual(await db.multi('select 1 as a; select 2 as b'), [[{ a: 1 }], [{ b: 2 }]]);
    const prepared = new pgp.PreparedStatement({ name: 'one', text: 'select $1::int as i' });
    assert.deepEqual(await db.one(prepared, [1]), { i: 1 });
    assert.deepEqual(await db.one(prepared, [2]), { i: 2 });
    const parameterized = new pgp.ParameterizedQuery({
      text: 'select $1::text as t',
      values: ['x'],
    });
    assert.deepEqual(await db.one(parameterized), { t: 'x' });
  });

  it('rolls back, savepoints apart', async () => {
    const failed = db.tx(async (tx) => {
      await addAccount(tx, 'gone@b.c');
      throw new Error('changed my mind');
    });
    await assert.rejects(failed, /changed my mind/);
    await db.tx(async (tx) => {
      await addAccount(tx, 'kept@b.c');
      await assertDuplicate(tx.tx((inner) => addAccount(inner, 'kept@b.c')));
    });
    assert.deepEqual(await db.any("select email from accounts where email ~ 'kept|gone'"), [
      { email: 'kept@b.c' },
    ]);
  });

  it('tells which constraint was broken', async () => {
    await addAccount(db, 'twice@b.c');
    await assertDuplicate(addAccount(db, 'twice@b.c'));
  });

  it('streams rows', async () => {
    let rows = 0;
    const { processed } = await db.stream(
      new QueryStream('select generate_series(1, 1000) as i'),
      (stream) => stream.on('data', () => ++rows),
    );
    assert.deepEqual([processed, rows], [1000, 1000]);
  });

  it('listens', async () => {
    const connection = await db.connect({ direct: true });
    const heard = new Promise((resolve) => {
      connection.client.on('notification', resolve);
    });
    await connection.none('listen $1~', 'news');
    await db.none("notify news, 'hello'");
    assert.equal((await heard).payload, 'hello');
    await connection.done();
  });

  it('runs many at once', async () => {
    const rows = await atOnce((i) => db.one('select $1::int as i', [i]));
    assert.deepEqual(
      rows.map(({ i }) => i),
      NUMBERS,
    );
  });
});
