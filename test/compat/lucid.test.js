'use strict';

// Lucid, the models of AdonisJS, on a Knex of its own.

const assert = require('node:assert/strict');
const { Emitter } = require('@adonisjs/core/events');
const { Logger } = require('@adonisjs/core/logger');
const { Database } = require('@adonisjs/lucid/database');
const { Adapter, BaseModel, belongsTo, column, hasMany } = require('@adonisjs/lucid/orm');
const { NUMBERS, SCHEMA, assertDuplicate, atOnce, useTool } = require('./support/tool');

class Account extends BaseModel {}
class Note extends BaseModel {}

column({ isPrimary: true })(Account.prototype, 'id');
column()(Account.prototype, 'email');
hasMany(() => Note)(Account.prototype, 'notes');
column({ isPrimary: true })(Note.prototype, 'id');
column()(Note.prototype, 'accountId');
column()(Note.prototype, 'body');
column()(Note.prototype, 'tags');
belongsTo(() => Account)(Note.prototype, 'account');

describe('@adonisjs/lucid', () => {
  const tool = useTool('@adonisjs/lucid', { requirers: ['knex'], schema: SCHEMA });
  let db;

  before(() => {
    const config = {
      connection: 'pg',
      connections: { pg: { client: 'pg', connection: tool.url, pool: { min: 0, max: 5 } } },
    };
    db = new Database(config, new Logger({ enabled: false }), new Emitter(/** @type {any} */ ({})));
    BaseModel.$adapter = new Adapter(db);
  });

  tool.close(() => db.manager.closeAll());

  it('creates, and preloads', async () => {
    const account = await Account.create({ email: 'a@b.c' });
    await account.related('notes').createMany([{ body: 'one', tags: ['x'] }, { body: 'two' }]);
    const [read] = await Account.query()
      .preload('notes', (query) => query.orderBy('body'))
      .withCount('notes');
    assert.equal(read.email, 'a@b.c');
    assert.deepEqual(
      read.notes.map(({ body, tags }) => [body, tags]),
      [
        ['one', ['x']],
        ['two', null],
      ],
    );
    assert.equal(read.$extras.notes_count, '2');
    const [row] = await db.from('notes').join('accounts', 'accounts.id', 'account_id').count('*');
    assert.deepEqual(row, { count: '2' });
  });

  it('rolls back, savepoints apart', async () => {
    const failed = db.transaction(async (trx) => {
      await Account.create({ email: 'gone@b.c' }, { client: trx });
      throw new Error('changed my mind');
    });
    await assert.rejects(failed, /changed my mind/);
    await db.transaction(async (trx) => {
      await Account.create({ email: 'kept@b.c' }, { client: trx });
      const inner = trx.transaction((nested) =>
        Account.create({ email: 'kept@b.c' }, { client: nested }),
      );
      await assertDuplicate(inner);
    });
    const accounts = await Account.query().whereIn('email', ['gone@b.c', 'kept@b.c']);
    assert.deepEqual(
      accounts.map(({ email }) => email),
      ['kept@b.c'],
    );
  });

  it('tells which constraint was broken', async () => {
    await Account.create({ email: 'twice@b.c' });
    await assertDuplicate(Account.create({ email: 'twice@b.c' }));
    assert.equal((await Account.updateOrCreate({ email: 'twice@b.c' }, {})).email, 'twice@b.c');
  });

  it('runs many at once', async () => {
    const results = await atOnce((i) => db.rawQuery('select ?::int as i', [i]));
    assert.deepEqual(
      results.map(({ rows }) => rows[0].i),
      NUMBERS,
    );
  });
});
