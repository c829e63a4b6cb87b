'use strict';

// LoopBack's connector: models, migrations, transactions.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { DataSource } = require('loopback-datasource-juggler');
const { NUMBERS, assertDuplicate, atOnce, useTool } = require('./support/tool');

describe('loopback-connector-postgresql', () => {
  const tool = useTool('loopback-connector-postgresql');
  let source;
  let Account;
  let Note;

  before(async () => {
    source = new DataSource({
      connector: require('loopback-connector-postgresql'),
      url: tool.url,
      max: 5,
    });
    await once(source, 'connected');
    const id = { type: Number, id: true, generated: true };
    Account = source.define('accounts', {
      id,
      email: { type: String, required: true, index: { unique: true } },
      made: Date,
    });
    Note = source.define('notes', { id, body: String });
    Account.hasMany(Note, { as: 'notes', foreignKey: 'accountId' });
    Note.belongsTo(Account, { as: 'account', foreignKey: 'accountId' });
    await source.automigrate();
  });

  tool.close(() => source.disconnect());

  it('migrates, inserts, and includes what is related', async () => {
    await source.autoupdate();
    const made = new Date('2026-01-02T03:04:05Z');
    const { id } = await Account.create({ email: 'a@b.c', made });
    await Note.create(['one', 'two'].map((body) => ({ body, accountId: id })));
    const [account] = await Account.find({ where: { id }, include: 'notes' });
    const { email, notes, made: read } = account.toJSON();
    assert.deepEqual([email, read], ['a@b.c', made]);
    assert.deepEqual(notes.map(({ body }) => body).sort(), ['one', 'two']);
    assert.equal(await Note.count({ body: { regexp: '^T/i' } }), 1);
  });

  it('rolls back', async () => {
    const transaction = await Account.beginTransaction({ isolationLevel: 'SERIALIZABLE' });
    await Account.create({ email: 'gone@b.c' }, { transaction });
    await transaction.rollback();
    const kept = await Account.beginTransaction({});
    await Account.create({ email: 'kept@b.c' }, { transaction: kept });
    await kept.commit();
    assert.equal(await Account.count({ email: { inq: ['gone@b.c', 'kept@b.c'] } }), 1);
  });

  it('tells which constraint was broken', async () => {
    await Account.create({ email: 'twice@b.c' });
    await assertDuplicate(Account.create({ email: 'twice@b.c' }), 'accounts_email_idx');
  });

  it('runs many at once', async () => {
    const rows = await atOnce((i) => source.execute('select $1::int as i', [i]));
    assert.deepEqual(
      rows.map(([{ i }]) => i),
      NUMBERS,
    );
  });
});
