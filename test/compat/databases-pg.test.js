'use strict';

// @databases/pg: a pool of its own above clients, with pg-cursor for its streams.

const assert = require('node:assert/strict');
const makePool = require('@databases/pg');
const { NUMBERS, SCHEMA, atOnce, collect, errorOf, useTool } = require('./support/tool');

const { isSQLError, sql, SQLErrorCode } = makePool;

describe('@databases/pg', () => {
  const tool = useTool('@databases/pg', { schema: SCHEMA });
  let db;

  before(() => {
    db = makePool({ connectionString: tool.url, poolSize: 5, bigIntMode: 'number' });
  });

  tool.close(() => db.dispose());

  /** @param {Promise<any>} promise */
  async function assertDuplicate(promise) {
    const error = await errorOf(promise);
    assert.ok(isSQLError(error), error.stack);
    assert.equal(error.code, SQLErrorCode.UNIQUE_VIOLATION);
    assert.equal(error.constraint, 'accounts_email_key');
  }

  const addAccount = (on, email) =>
    on.query(sql`insert into accounts (email) values (${email}) returning id`);

  it('inserts, and selects with a join', async () => {
    const [{ id }] = await addAccount(db, 'a@b.c');
    const values = ['one', 'two'].map((body) => sql`(${id}, ${body})`);
    await db.query(sql`insert into notes (account_id, body) values ${sql.join(values, ', ')}`);
    const rows = await db.query(
      sql`select email, body, 1::int8 as big from notes join accounts on accounts.id = account_id`,
    );
    assert.deepEqual(rows, [
      { email: 'a@b.c', body: 'one', big: 1 },
      { email: 'a@b.c', body: 'two', big: 1 },
    ]);
    assert.deepEqual(await db.query([sql`select 1 as a`, sql`select 2 as b`]), [
      [{ a: 1 }],
      [{ b: 2 }],
    ]);
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
    const rows = await db.query(sql`select email from accounts where email ~ 'gone|kept'`);
    assert.deepEqual(rows, [{ email: 'kept@b.c' }]);
  });

  it('tells which constraint was broken', async () => {
    await addAccount(db, 'twice@b.c');
    await assertDuplicate(addAccount(db, 'twice@b.c'));
  });

  it('streams rows, and may stop in the middle', async () => {
    const numbers = sql`select i from generate_series(0, 999) as i`;
    const rows = await collect(db.queryStream(numbers, { batchSize: 100 }));
    assert.deepEqual([rows.length, rows[999]], [1000, { i: 999 }]);
    for await (const { i } of db.queryStream(numbers, { batchSize: 10 })) if (i === 25) break;
    assert.equal((await collect(db.queryNodeStream(numbers))).length, 1000);
  });

  it('runs many at once', async () => {
    const rows = await atOnce((i) => db.query(sql`select ${i}::int as i`));
    assert.deepEqual(
      rows.map(([{ i }]) => i),
      NUMBERS,
    );
  });
});
