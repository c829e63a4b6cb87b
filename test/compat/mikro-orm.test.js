'use strict';

// MikroORM 6, which reaches the driver through Knex.

const assert = require('node:assert/strict');
const {
  EntitySchema,
  MikroORM,
  UniqueConstraintViolationException,
} = require('@mikro-orm/postgresql');
const { NUMBERS, atOnce, errorOf, useTool } = require('./support/tool');

const Account = new EntitySchema({
  name: 'Account',
  properties: {
    id: { type: 'number', primary: true },
    email: { type: 'string', unique: 'accounts_email_key' },
    detail: { type: 'json', nullable: true },
    notes: { kind: '1:m', entity: 'Note', mappedBy: 'account' },
  },
});

const Note = new EntitySchema({
  name: 'Note',
  properties: {
    id: { type: 'number', primary: true },
    body: { type: 'string' },
    madeAt: { type: 'Date', onCreate: () => new Date() },
    account: { kind: 'm:1', entity: 'Account', inversedBy: 'notes' },
  },
});

describe('@mikro-orm/postgresql', () => {
  const tool = useTool('@mikro-orm/postgresql');
  let orm;

  before(async () => {
    orm = await MikroORM.init({ clientUrl: tool.url, entities: [Account, Note] });
    await orm.schema.createSchema();
  });

  tool.close(() => orm.close());

  it('flushes and finds with populated relations', async () => {
    const em = orm.em.fork();
    const account = em.create('Account', { email: 'a@b.c', detail: { a: [1] } });
    em.create('Note', { body: 'one', account });
    await em.flush();
    const found = await orm.em
      .fork()
      .findOneOrFail('Account', { email: 'a@b.c' }, { populate: ['notes'] });
    assert.deepEqual(found.detail, { a: [1] });
    assert.deepEqual(
      found.notes.getItems().map(({ body, madeAt }) => [body, madeAt instanceof Date]),
      [['one', true]],
    );
  });

  it('rolls back', async () => {
    const failed = orm.em.fork().transactional(async (em) => {
      em.create('Account', { email: 'gone@b.c' });
      await em.flush();
      throw new Error('changed my mind');
    });
    await assert.rejects(failed, /changed my mind/);
    assert.equal(await orm.em.fork().count('Account', { email: 'gone@b.c' }), 0);
  });

  it('tells which constraint was broken', async () => {
    const add = () => orm.em.fork().insert('Account', { email: 'twice@b.c' });
    await add();
    const error = await errorOf(add());
    assert.ok(error instanceof UniqueConstraintViolationException, error.stack);
    assert.equal(error.constraint, 'accounts_email_key');
  });

  it('runs many at once', async () => {
    const rows = await atOnce((i) => orm.em.fork().execute('select ?::int as i', [i]));
    assert.deepEqual(
      rows.map(([{ i }]) => i),
      NUMBERS,
    );
  });
});
