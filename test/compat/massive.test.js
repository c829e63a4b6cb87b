'use strict';

// Massive: tables as objects, on a pg-promise of its own.

const assert = require('node:assert/strict');
const massive = require('massive');
const { NUMBERS, SCHEMA, assertDuplicate, atOnce, collect, useTool } = require('./support/tool');

describe('massive', () => {
  const tool = useTool('massive', { schema: SCHEMA });
  let db;

  before(async () => {
    db = await massive({ connectionString: tool.url, poolSize: 5 });
  });

  tool.close(() => db.instance.$pool.end());

  it('knows the tables, inserts and selects with a join', async () => {
    assert.deepEqual(db.listTables().sort(), ['accounts', 'notes']);
    const { id } = await db.accounts.insert({ email: 'a@b.c' });
    await db.notes.insert(
      ['one', 'two'].map((body) => ({
        account_id: id,
        body,
        tags: ['x', 'y'],
        detail: JSON.stringify({ body }),
      })),
    );
    const [account] = await db.accounts.join('notes').find({ 'accounts.id': id });
    assert.equal(account.email, 'a@b.c');
    assert.deepEqual(account.notes.map(({ body }) => body).sort(), ['one', 'two']);
    assert.deepEqual(account.notes[0].tags, ['x', 'y']);
    assert.ok(account.notes[0].made_at instanceof Date);
    assert.equal(await db.notes.count({ 'detail.body': 'two' }), '1');
  });

  it('rolls back', async () => {
    const failed = db.withTransaction(async (tx) => {
      await tx.accounts.insert({ email: 'gone@b.c' });
      await tx.withTransaction((inner) => inner.accounts.insert({ email: 'inner@b.c' }));
      throw new Error('changed my mind');
    });
    await assert.rejects(failed, /changed my mind/);
    assert.equal(await db.accounts.count({ 'email like': '%@b.c', 'email <>': 'a@b.c' }), '0');
  });

  it('tells which constraint was broken', async () => {
    await db.accounts.insert({ email: 'twice@b.c' });
    await assertDuplicate(db.accounts.insert({ email: 'twice@b.c' }));
  });

  it('streams rows', async () => {
    const stream = await db.query('select generate_series(1, 1000) as i', [], { stream: true });
    const rows = await collect(stream);
    assert.deepEqual([rows.length, rows[999]], [1000, { i: 1000 }]);
  });

  it('runs many at once', async () => {
    const rows = await atOnce((i) => db.query('select $1::int as i', [i], { single: true }));
    assert.deepEqual(
      rows.map(({ i }) => i),
      NUMBERS,
    );
  });
});
