'use strict';

// node-pg-migrate, by its function and by its command.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Client } = require('pg');
const { errorOf, useTool } = require('./support/tool');

const FIRST = `
exports.up = (pgm) => {
  pgm.createTable('accounts', { id: 'id', email: { type: 'text', unique: true } });
  pgm.createIndex('accounts', 'email');
  pgm.sql("insert into accounts (email) values ('a@b.c'); insert into accounts (email) values ('d')");
};
exports.down = (pgm) => pgm.dropTable('accounts');`;
const BROKEN = `
exports.up = (pgm) => {
  pgm.createTable('gone', { id: 'id' });
  pgm.sql("insert into accounts (email) values ('a@b.c')");
};`;

describe('node-pg-migrate', () => {
  const tool = useTool('node-pg-migrate');
  let dir;

  before(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'migrations-'));
    fs.writeFileSync(path.join(dir, '1_first.js'), FIRST);
  });

  after(() => fs.rmSync(dir, { recursive: true }));

  /** @param {string} text */
  async function ask(text) {
    const client = new Client(tool.url);
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  it('migrates up, refuses what is broken as a whole, and goes down', async () => {
    const { runner } = await import('node-pg-migrate');
    const options = { databaseUrl: tool.url, dir, migrationsTable: 'migrations', log() {} };
    const up = await runner({ ...options, direction: 'up' });
    assert.deepEqual(
      up.map(({ name }) => name),
      ['1_first'],
    );
    assert.equal((await ask('select * from accounts')).length, 2);
    fs.writeFileSync(path.join(dir, '2_broken.js'), BROKEN);
    const error = await errorOf(runner({ ...options, direction: 'up' }));
    assert.equal(error.code, '23505', error.stack);
    assert.deepEqual(await ask("select to_regclass('gone') as gone"), [{ gone: null }]);
    fs.rmSync(path.join(dir, '2_broken.js'));
    await runner({ ...options, direction: 'down', count: 1 });
    assert.deepEqual(await ask("select to_regclass('accounts') as gone"), [{ gone: null }]);
  });

  it('migrates from the command line', async () => {
    const { bin } = require('node-pg-migrate/package.json');
    const command = path.join(
      path.dirname(require.resolve('node-pg-migrate/package.json')),
      typeof bin === 'string' ? bin : bin['node-pg-migrate'],
    );
    const args = [command, 'up', '-m', dir, '-t', 'other_migrations'];
    execFileSync(process.execPath, args, {
      cwd: __dirname,
      env: { ...process.env, DATABASE_URL: tool.url },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    assert.equal((await ask('select * from accounts')).length, 2);
  });
});
