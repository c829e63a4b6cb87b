'use strict';

// TypeORM: synchronized schema, repositories, streams.

const assert = require('node:assert/strict');
const { DataSource, EntitySchema } = require('typeorm');
const { NUMBERS, assertDuplicate, atOnce, collect, useTool } = require('./support/tool');

const Account = new EntitySchema({
  name: 'Account',
  columns: {
    id: { type: Number, primary: true, generated: true },
    email: { type: String },
    madeAt: { type: 'timestamptz', createDate: true },
  },
  uniques: [{ name: 'accounts_email_key', columns: ['email'] }],
  relations: {
    notes: { type: 'one-to-many', target: 'Note', inverseSide: 'account', cascade: true },
  },
});

const Note = new EntitySchema({
  name: 'Note',
  columns: {
    id: { type: Number, primary: true, generated: true },
    body: { type: String },
    tags: { type: 'text', array: true, nullable: true },
  },
  relations: { account: { type: 'many-to-one', target: 'Account', inverseSide: 'notes' } },
});

describe('typeorm', () => {
  const tool = useTool('typeorm');
  let source;
  let accounts;

  before(async () => {
    const entities = [Account, Note];
    source = new DataSource({ type: 'postgres', url: tool.url, entities, synchronize: true });
    await source.initialize();
    accounts = source.getRepository(Account);
  });

  tool.close(() => source.destroy());

  it('saves and finds with relations', async () => {
    await accounts.save({ email: 'a@b.c', notes: [{ body: 'one', tags: ['x'] }, { body: 'two' }] });
    const [account] = await accounts.find({ relations: { notes: true } });
    assert.deepEqual(account.notes.map(({ body }) => body).sort(), ['one', 'two']);
    assert.ok(account.madeAt instanceof Date);
    const raw = await accounts
      .createQueryBuilder('account')
      .innerJoin('account.notes', 'note')
      .select('count(*)', 'count')
      .getRawOne();
    assert.deepEqual(raw, { count: '2' });
  });

  it('rolls back', async () => {
    const failed = source.transaction('SERIALIZABLE', async (manager) => {
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

  it('streams rows', async () => {
    await accounts.insert(NUMBERS.map((i) => ({ email: `${i}@many` })));
    const runner = source.createQueryRunner();
    const stream = await runner.stream('select email from account where email like $1', ['%@many']);
    assert.equal((await collect(stream)).length, NUMBERS.length);
    await runner.release();
  });

  it('runs many at once', async () => {
    const rows = await atOnce((i) => source.query('select $1::int as i', [i]));
    assert.deepEqual(
      rows.map(([{ i }]) => i),
      NUMBERS,
    );
  });
});
