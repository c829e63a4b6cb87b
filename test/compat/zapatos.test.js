'use strict';

// Zapatos: typed SQL on a pool.

const assert = require('node:assert/strict');
const { Pool } = require('pg');
const db = require('zapatos/db');
const { NUMBERS, SCHEMA, assertDuplicate, atOnce, errorOf, useTool } = require('./support/tool');

describe('zapatos', () => {
  const tool = useTool('zapatos', { schema: SCHEMA });
  let pool;

  before(() => {
    pool = new Pool({ connectionString: tool.url, max: 5 });
  });

  tool.close(() => pool.end());

  it('inserts, upserts, and selects with a join', async () => {
    const { id } = await db.insert('accounts', { email: 'a@b.c' }).run(pool);
    const notes = ['one', 'two'].map((body) => ({ account_id: id, body, detail: { body } }));
    const inserted = await db.insert('notes', notes).run(pool);
    assert.deepEqual(inserted[0].detail, { body: 'one' });
    const again = await db.upsert('accounts', { email: 'a@b.c' }, ['email']).run(pool);
    assert.deepEqual([again.id, again.$action], [id, 'UPDATE']);
    const account = await db
      .selectExactlyOne(
        'accounts',
        { id },
        {
          lateral: {
            notes: db.select(
              'notes',
              { account_id: db.parent('id') },
              { columns: ['body'], order: { by: 'id', direction: 'ASC' } },
            ),
          },
        },
      )
      .run(pool);
    assert.deepEqual(account, { id, email: 'a@b.c', notes: [{ body: 'one' }, { body: 'two' }] });
  });

  it('rolls back', async () => {
    const failed = db.serializable(pool, async (txn) => {
      await db.insert('accounts', { email: 'gone@b.c' }).run(txn);
      throw new Error('changed my mind');
    });
    await assert.rejects(failed, /changed my mind/);
    assert.equal(await db.count('accounts', { email: 'gone@b.c' }).run(pool), 0);
  });

  it('repeats a transaction that was not serializable', async () => {
    const { id } = await db.insert('accounts', { email: 'n0' }).run(pool);
    let attempts = 0;
    const add = () =>
      db.serializable(pool, async (txn) => {
        attempts += 1;
        const { email } = await db.selectExactlyOne('accounts', { id }).run(txn);
        const next = `n${Number(email.slice(1)) + 1}`;
        await db.update('accounts', { email: next }, { id }).run(txn);
      });
    await Promise.all([add(), add()]);
    const { email } = await db.selectExactlyOne('accounts', { id }).run(pool);
    assert.equal(email, 'n2');
    assert.ok(attempts >= 2);
  });

  it('knows a broken constraint', async () => {
    const insert = () => db.insert('accounts', { email: 'twice@b.c' }).run(pool);
    await insert();
    await assertDuplicate(insert());
    const error = await errorOf(insert());
    assert.ok(db.isDatabaseError(error, 'IntegrityConstraintViolation_UniqueViolation'));
  });

  it('runs many at once', async () => {
    const rows = await atOnce((i) => db.sql`select ${db.param(i)}::int as i`.run(pool));
    assert.deepEqual(
      rows.map(([{ i }]) => i),
      NUMBERS,
    );
  });
});
