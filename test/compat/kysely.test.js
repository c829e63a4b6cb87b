'use strict';

// Kysely on a pool, with pg-cursor for its streams.

const assert = require('node:assert/strict');
const { Kysely, PostgresDialect, sql } = require('kysely');
const { Pool } = require('pg');
const Cursor = require('pg-cursor');
const { NUMBERS, assertDuplicate, atOnce, collect, useTool } = require('./support/tool');

describe('kysely', () => {
  const tool = useTool('kysely', { requirers: ['kysely', 'pg-cursor'] });
  let db;

  before(async () => {
    const pool = new Pool({ connectionString: tool.url, max: 5 });
    db = new Kysely({ dialect: new PostgresDialect({ pool, cursor: Cursor }) });
    await db.schema
      .createTable('accounts')
      .addColumn('id', 'serial', (column) => column.primaryKey())
      .addColumn('email', 'text', (column) => column.notNull())
      .addUniqueConstraint('accounts_email_key', ['email'])
      .execute();
    await db.schema
      .createTable('notes')
      .addColumn('id', 'serial', (column) => column.primaryKey())
      .addColumn('account_id', 'integer', (column) => column.references('accounts.id'))
      .addColumn('body', 'text')
      .execute();
  });

  tool.close(() => db.destroy());

  const addAccount = (on, email) =>
    on.insertInto('accounts').values({ email }).returningAll().executeTakeFirstOrThrow();

  it('inserts, updates and selects with a join', async () => {
    const { id } = await addAccount(db, 'a@b.c');
    const bodies = ['one', 'two'].map((body) => ({ account_id: id, body }));
    const { numInsertedOrUpdatedRows } = await db
      .insertInto('notes')
      .values(bodies)
      .executeTakeFirst();
    assert.equal(numInsertedOrUpdatedRows, 2n);
    const { numUpdatedRows } = await db
      .updateTable('notes')
      .set({ body: 'two' })
      .executeTakeFirst();
    assert.equal(numUpdatedRows, 2n);
    const rows = await db
      .selectFrom('notes')
      .innerJoin('accounts', 'accounts.id', 'notes.account_id')
      .select(['email', 'body'])
      .execute();
    const row = { email: 'a@b.c', body: 'two' };
    assert.deepEqual(rows, [row, row]);
  });

  it('rolls back', async () => {
    const failed = db.transaction().execute(async (trx) => {
      await addAccount(trx, 'gone@b.c');
      throw new Error('changed my mind');
    });
    await assert.rejects(failed, /changed my mind/);
    await db
      .transaction()
      .setIsolationLevel('serializable')
      .execute((trx) => addAccount(trx, 'kept@b.c'));
    const rows = await db.selectFrom('accounts').select('email').execute();
    assert.deepEqual(rows.map(({ email }) => email).sort(), ['a@b.c', 'kept@b.c']);
  });

  it('tells which constraint was broken', async () => {
    await addAccount(db, 'twice@b.c');
    await assertDuplicate(addAccount(db, 'twice@b.c'));
  });

  it('streams rows, and may stop in the middle', async () => {
    const numbers = db.selectFrom(sql`generate_series(0, 999)`.as('i')).select('i');
    const rows = await collect(numbers.stream(100));
    assert.deepEqual(
      rows.map(({ i }) => i),
      Array.from({ length: 1000 }, (_, i) => i),
    );
    for await (const { i } of numbers.stream(10)) if (i === 25) break;
    await addAccount(db, 'after@b.c');
  });

  it('runs many at once', async () => {
    const rows = await atOnce((i) => db.selectNoFrom(sql`${i}::int`.as('i')).executeTakeFirst());
    assert.deepEqual(
      rows.map(({ i }) => i),
      NUMBERS,
    );
  });
});
