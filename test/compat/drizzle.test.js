'use strict';

// Drizzle's node-postgres driver on a pool.

const assert = require('node:assert/strict');
const { eq, relations, sql } = require('drizzle-orm');
const { drizzle } = require('drizzle-orm/node-postgres');
const { integer, jsonb, pgTable, serial, text, timestamp } = require('drizzle-orm/pg-core');
const { Pool } = require('pg');
const { NUMBERS, SCHEMA, assertDuplicate, atOnce, useTool } = require('./support/tool');

const accounts = pgTable('accounts', { id: serial('id').primaryKey(), email: text('email') });
const notes = pgTable('notes', {
  id: serial('id').primaryKey(),
  accountId: integer('account_id'),
  body: text('body'),
  tags: text('tags').array(),
  detail: jsonb('detail'),
  madeAt: timestamp('made_at', { withTimezone: true }).defaultNow(),
});
const schema = {
  accounts,
  notes,
  accountRelations: relations(accounts, ({ many }) => ({ notes: many(notes) })),
  noteRelations: relations(notes, ({ one }) => ({
    account: one(accounts, { fields: [notes.accountId], references: [accounts.id] }),
  })),
};

describe('drizzle-orm', () => {
  const tool = useTool('drizzle-orm', { schema: SCHEMA });
  let pool;
  let db;

  before(() => {
    pool = new Pool({ connectionString: tool.url, max: 5 });
    db = drizzle(pool, { schema });
  });

  tool.close(() => pool.end());

  it('inserts, and selects with a join and with relations', async () => {
    const [{ id }] = await db.insert(accounts).values({ email: 'a@b.c' }).returning();
    const detail = { deep: [{ er: true }] };
    await db.insert(notes).values({ accountId: id, body: 'one', tags: ['x', 'y,"'], detail });
    const [row] = await db
      .select()
      .from(notes)
      .innerJoin(accounts, eq(accounts.id, notes.accountId));
    assert.deepEqual(row.accounts, { id, email: 'a@b.c' });
    assert.deepEqual([row.notes.tags, row.notes.detail], [['x', 'y,"'], detail]);
    assert.ok(row.notes.madeAt instanceof Date);
    const found = await db.query.accounts.findFirst({ with: { notes: true } });
    assert.deepEqual(
      found.notes.map(({ body, madeAt }) => [body, Number(madeAt)]),
      [['one', Number(row.notes.madeAt)]],
    );
  });

  it('rolls back, savepoints apart', async () => {
    await assert.rejects(
      db.transaction(async (tx) => {
        await tx.insert(accounts).values({ email: 'gone@b.c' });
        tx.rollback();
      }),
    );
    await db.transaction(async (tx) => {
      await tx.insert(accounts).values({ email: 'kept@b.c' });
      await assertDuplicate(
        tx.transaction((inner) => inner.insert(accounts).values({ email: 'kept@b.c' })),
      );
    });
    const rows = await db.select({ email: accounts.email }).from(accounts);
    assert.deepEqual(rows.map(({ email }) => email).sort(), ['a@b.c', 'kept@b.c']);
  });

  it('tells which constraint was broken', async () => {
    await db.insert(accounts).values({ email: 'twice@b.c' });
    await assertDuplicate(db.insert(accounts).values({ email: 'twice@b.c' }).execute());
  });

  it('runs many at once, prepared statements among them', async () => {
    const prepared = db
      .select({ i: sql`${sql.placeholder('i')}::int` })
      .from(sql`(select) as nothing`)
      .prepare('one_number');
    const rows = await atOnce((i) => prepared.execute({ i }));
    assert.deepEqual(
      rows.map(([{ i }]) => i),
      NUMBERS,
    );
  });
});
