'use strict';

// @nestjs/typeorm: an application that is given its repositories, and closes its connections.

const assert = require('node:assert/strict');
require('reflect-metadata');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { TypeOrmModule, getDataSourceToken, getRepositoryToken } = require('@nestjs/typeorm');
const { EntitySchema } = require('typeorm');
const { NUMBERS, assertDuplicate, atOnce, useTool } = require('./support/tool');

const Account = new EntitySchema({
  name: 'accounts',
  columns: {
    id: { type: Number, primary: true, generated: true },
    email: { type: String },
  },
  uniques: [{ name: 'accounts_email_key', columns: ['email'] }],
  relations: {
    notes: { type: 'one-to-many', target: 'notes', inverseSide: 'account', cascade: true },
  },
});

const Note = new EntitySchema({
  name: 'notes',
  columns: {
    id: { type: Number, primary: true, generated: true },
    body: { type: String },
  },
  relations: { account: { type: 'many-to-one', target: 'accounts', inverseSide: 'notes' } },
});

describe('@nestjs/typeorm', () => {
  const tool = useTool('@nestjs/typeorm', { requirers: ['typeorm'] });
  let app;
  let accounts;
  let source;

  before(async () => {
    class Application {}
    Module({
      imports: [
        TypeOrmModule.forRoot({
          type: 'postgres',
          url: tool.url,
          entities: [Account, Note],
          synchronize: true,
          extra: { max: 5 },
        }),
        TypeOrmModule.forFeature([Account, Note]),
      ],
    })(Application);
    app = await NestFactory.createApplicationContext(Application, { logger: false });
    accounts = app.get(getRepositoryToken(Account));
    source = app.get(getDataSourceToken());
  });

  tool.close(() => app.close());

  it('gives repositories that save, and find with a join', async () => {
    await accounts.save({ email: 'a@b.c', notes: [{ body: 'one' }, { body: 'two' }] });
    const [account] = await accounts.find({ relations: { notes: true } });
    assert.deepEqual(account.notes.map(({ body }) => body).sort(), ['one', 'two']);
  });

  it('rolls back', async () => {
    const failed = source.transaction(async (manager) => {
      await manager.save(Account, { email: 'gone@b.c' });
      throw new Error('changed my mind');
    });
    await assert.rejects(failed, /changed my mind/);
    assert.equal(await accounts.countBy({ email: 'gone@b.c' }), 0);
  });

  it('tells which constraint was broken', async () => {
    await accounts.insert({ email: 'twice@b.c' });
    await assertDuplicate(accounts.insert({ email: 'twice@b.c' }));
  });

  it('runs many at once', async () => {
    const rows = await atOnce((i) => source.query('select $1::int as i', [i]));
    assert.deepEqual(
      rows.map(([{ i }]) => i),
      NUMBERS,
    );
  });
});
