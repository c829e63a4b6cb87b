'use strict';

// Knex, as the query builder and the migrations of an application.

const assert = require('node:assert/strict');
const makeKnex = require('knex');
const { NUMBERS, assertDuplicate, atOnce, collect, useTool } = require('./support/tool');

const migrations = {
  getMigrations: async () => ['1_accounts'],
  getMigrationName: (name) => name,
  getMigration: async () => ({
    up: (knex) =>
      knex.schema
        .createTable('accounts', (table) => {
          table.increments();
          table.string('email').notNullable().unique({ indexName: 'accounts_email_key' });
        })
        .createTable('notes', (table) => {
          table.increments();
          table.integer('account_id').references('accounts.id');
          table.text('body');
          table.jsonb('detail');
        }),
    down: (knex) => knex.schema.dropTable('notes').dropTable('accounts'),
  }),
};

describe('knex', () => {
  const tool = useTool('knex');
  let knex;

  before(async () => {
    knex = makeKnex({ client: 'pg', connection: tool.url, pool: { min: 0, max: 5 } });
    await knex.migrate.latest({ migrationSource: migrations });
  });

  tool.close(() => knex.destroy());

  it('inserts, and selects with a join', async () => {
    const [{ id }] = await knex('accounts').insert({ email: 'a@b.c' }).returning('id');
    await knex('notes').insert([
      { account_id: id, body: 'one', detail: { a: [1] } },
      { account_id: id, body: 'two', detail: null },
    ]);
    const rows = await knex('notes')
      .join('accounts', 'accounts.id', 'notes.account_id')
      .orderBy('notes.id')
      .select('email', 'body', 'detail');
    assert.deepEqual(rows, [
      { email: 'a@b.c', body: 'one', detail: { a: [1] } },
      { email: 'a@b.c', body: 'two', detail: null },
    ]);
  });

  it('rolls back what a transaction has done, savepoints apart', async () => {
    const failed = knex.transaction(async (trx) => {
      await trx('accounts').insert({ email: 'gone@b.c' });
      throw new Error('changed my mind');
    });
    await assert.rejects(failed, /changed my mind/);
    await knex.transaction(async (trx) => {
      await trx('accounts').insert({ email: 'kept@b.c' });
      await assertDuplicate(
        trx.transaction((inner) => inner('accounts').insert({ email: 'kept@b.c' })),
      );
    });
    const rows = await knex('accounts').whereIn('email', ['gone@b.c', 'kept@b.c']).select('email');
    assert.deepEqual(rows, [{ email: 'kept@b.c' }]);
  });

  it('tells which constraint was broken', async () => {
    await knex('accounts').insert({ email: 'twice@b.c' });
    await assertDuplicate(knex('accounts').insert({ email: 'twice@b.c' }));
  });

  it('streams rows, and may stop in the middle', async () => {
    const numbers = knex.select('i').from(knex.raw('generate_series(0, 1999) as i'));
    const rows = await collect(numbers.clone().stream());
    assert.deepEqual(
      rows.map(({ i }) => i),
      Array.from({ length: 2000 }, (_, i) => i),
    );
    for await (const { i } of numbers.clone().stream({ highWaterMark: 5 })) if (i === 10) break;
    assert.deepEqual(await knex.raw('select 1 as one').then(({ rows: [row] }) => row), { one: 1 });
  });

  it('runs many at once', async () => {
    const rows = await atOnce((i) => knex.select(knex.raw('?::int as i', [i])).first());
    assert.deepEqual(
      rows.map(({ i }) => i),
      NUMBERS,
    );
  });

  it('takes the migration back', async () => {
    await knex.migrate.rollback({ migrationSource: migrations });
    assert.equal(await knex.schema.hasTable('accounts'), false);
  });
});
