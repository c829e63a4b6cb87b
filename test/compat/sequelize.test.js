'use strict';

// Sequelize 6.

const assert = require('node:assert/strict');
const { DataTypes, Sequelize, UniqueConstraintError } = require('sequelize');
const { NUMBERS, assertDuplicate, atOnce, errorOf, useTool } = require('./support/tool');

describe('sequelize', () => {
  const tool = useTool('sequelize');
  let sequelize;
  let Account;
  let Note;

  before(async () => {
    sequelize = new Sequelize(tool.url, { logging: false });
    Account = sequelize.define('account', {
      email: { type: DataTypes.STRING, unique: 'accounts_email_key' },
      kind: DataTypes.ENUM('person', 'robot'),
    });
    Note = sequelize.define('note', { body: DataTypes.TEXT, detail: DataTypes.JSONB });
    Account.hasMany(Note);
    await sequelize.sync({ force: true });
  });

  tool.close(() => sequelize.close());

  it('creates and finds with an include', async () => {
    const detail = { a: { b: [1, 'x'] } };
    const given = { email: 'a@b.c', kind: 'robot', notes: [{ body: 'one', detail }] };
    await Account.create(given, { include: Note });
    const account = await Account.findOne({ include: Note });
    assert.equal(account.kind, 'robot');
    assert.deepEqual(account.notes[0].detail, detail);
    assert.ok(account.createdAt instanceof Date);
  });

  it('rolls back', async () => {
    const failed = sequelize.transaction(async (transaction) => {
      await Account.create({ email: 'gone@b.c' }, { transaction });
      throw new Error('changed my mind');
    });
    await assert.rejects(failed, /changed my mind/);
    assert.equal(await Account.count({ where: { email: 'gone@b.c' } }), 0);
  });

  it('tells which constraint was broken', async () => {
    await Account.create({ email: 'twice@b.c' });
    const error = await errorOf(Account.create({ email: 'twice@b.c' }));
    assert.ok(error instanceof UniqueConstraintError, error.stack);
    assert.deepEqual(error.fields, { email: 'twice@b.c' });
    await assertDuplicate(Account.create({ email: 'twice@b.c' }));
  });

  it('runs many at once', async () => {
    const found = await atOnce((i) =>
      sequelize.query('select $1::int as i', { bind: [i], plain: true }),
    );
    assert.deepEqual(
      found.map(({ i }) => i),
      NUMBERS,
    );
  });
});
