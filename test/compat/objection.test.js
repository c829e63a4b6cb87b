'use strict';

// Objection, the models above Knex.

const assert = require('node:assert/strict');
const makeKnex = require('knex');
const { Model, UniqueViolationError, transaction } = require('objection');
const { NUMBERS, SCHEMA, atOnce, errorOf, useTool } = require('./support/tool');

class Note extends Model {
  static tableName = 'notes';
}

class Account extends Model {
  static tableName = 'accounts';
  static relationMappings = {
    notes: {
      relation: Model.HasManyRelation,
      modelClass: Note,
      join: { from: 'accounts.id', to: 'notes.account_id' },
    },
  };
}

describe('objection', () => {
  const tool = useTool('objection', { requirers: ['knex'], schema: SCHEMA });
  let knex;

  before(() => {
    knex = makeKnex({ client: 'pg', connection: tool.url });
    Model.knex(knex);
  });

  tool.close(() => knex.destroy());

  it('inserts a graph and fetches it', async () => {
    await Account.query().insertGraph({ email: 'a@b.c', notes: [{ body: 'x' }, { body: 'y' }] });
    const [account] = await Account.query()
      .withGraphJoined('notes(order)')
      .modifiers({ order: (builder) => builder.orderBy('id') });
    assert.equal(account.email, 'a@b.c');
    assert.deepEqual(account.notes.map(({ body }) => body).sort(), ['x', 'y']);
    assert.ok(account.notes[0].made_at instanceof Date);
  });

  it('rolls back', async () => {
    const failed = transaction(knex, async (trx) => {
      await Account.query(trx).insert({ email: 'gone@b.c' });
      throw new Error('changed my mind');
    });
    await assert.rejects(failed, /changed my mind/);
    assert.equal(await Account.query().where('email', 'gone@b.c').resultSize(), 0);
  });

  it('knows a broken constraint', async () => {
    await Account.query().insert({ email: 'twice@b.c' });
    const error = await errorOf(Account.query().insert({ email: 'twice@b.c' }));
    assert.ok(error instanceof UniqueViolationError, error.stack);
    assert.equal(error.constraint, 'accounts_email_key');
    assert.deepEqual(error.columns, ['email']);
  });

  it('runs many at once', async () => {
    const rows = await atOnce((i) =>
      Account.query()
        .select(knex.raw('?::int as i', [i]))
        .first(),
    );
    assert.deepEqual(
      rows.map(({ i }) => i),
      NUMBERS,
    );
  });
});
