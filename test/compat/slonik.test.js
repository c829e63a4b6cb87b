'use strict';

// Slonik.

const assert = require('node:assert/strict');
const { UniqueIntegrityConstraintViolationError, createPool, sql } = require('slonik');
const { NUMBERS, SCHEMA, atOnce, errorOf, useTool } = require('./support/tool');

describe('slonik', () => {
  const tool = useTool('slonik', {
    requirers: ['@slonik/pg-driver', 'pg-query-stream'],
    schema: SCHEMA,
  });
  let pool;

  before(async () => {
    pool = await createPool(tool.url, { maximumPoolSize: 5 });
  });

  tool.close(() => pool.end());

  const addAccount = (on, email) =>
    on.one(sql.unsafe`insert into accounts (email) values (${email}) returning id`);

  it('inserts, and selects with a join', async () => {
    const { id } = await addAccount(pool, 'a@b.c');
    const bodies = sql.unnest(
      ['one', 'two'].map((body) => [id, body]),
      ['int4', 'text'],
    );
    await pool.query(sql.unsafe`insert into notes (account_id, body) select * from ${bodies}`);
    const rows = await pool.any(sql.unsafe`
      select email, body, made_at from notes join accounts on accounts.id = account_id order by body`);
    assert.deepEqual(
      rows.map(({ email, body, made_at: madeAt }) => [email, body, typeof madeAt]),
      [
        ['a@b.c', 'one', 'number'],
        ['a@b.c', 'two', 'number'],
      ],
    );
  });

  it('rolls back, savepoints apart', async () => {
    const failed = pool.transaction(async (transaction) => {
      await addAccount(transaction, 'gone@b.c');
      throw new Error('changed my mind');
    });
    await assert.rejects(failed, /changed my mind/);
    await pool.transaction(async (transaction) => {
      await addAccount(transaction, 'kept@b.c');
      await errorOf(transaction.transaction((inner) => addAccount(inner, 'kept@b.c')));
    });
    const emails = await pool.anyFirst(sql.unsafe`
      select email from accounts where email ~ 'kept|gone'`);
    assert.deepEqual(emails, ['kept@b.c']);
  });

  it('knows a broken constraint', async () => {
    await addAccount(pool, 'twice@b.c');
    const error = await errorOf(addAccount(pool, 'twice@b.c'));
    assert.ok(error instanceof UniqueIntegrityConstraintViolationError, error.stack);
    assert.equal(error.constraint, 'accounts_email_key');
  });

  it('streams rows', async () => {
    const rows = [];
    await pool.stream(sql.unsafe`select generate_series(1, 1000) as i`, (stream) => {
      stream.on('data', ({ data }) => rows.push(data.i));
    });
    assert.deepEqual(
      rows,
      Array.from({ length: 1000 }, (_, i) => i + 1),
    );
  });

  it('runs many at once', async () => {
    const numbers = await atOnce((i) => pool.oneFirst(sql.unsafe`select ${i}::int`));
    assert.deepEqual(numbers, NUMBERS);
  });
});
