'use strict';

// Tools that run migrations and nothing else, each from the same files.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const dbMigrate = require('db-migrate');
const { Client } = require('pg');
const { migrate } = require('postgres-migrations');
const { default: Postgrator } = require('postgrator');
const { errorOf, useTool } = require('./support/tool');

const CREATE = `create table accounts (id serial primary key, email text unique);
  -- Several statements, and a quoted ';'.
  insert into accounts (email) values ('a;b');`;
const ALTER = 'alter table accounts add column made timestamptz default now();';
const BROKEN = `insert into accounts (email) values ('gone'); insert into accounts (email) values ('a;b');`;

/** @param {Record<string, string>} files @returns {string} a folder with them */
function write(files) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'migrations-test-'));
  after(() => fs.rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

/** @param {{ url: string }} tool @param {string} text */
async function ask(tool, text) {
  const client = new Client(tool.url);
  await client.connect();
  const { rows } = await client.query(text);
  await client.end();
  return rows;
}

const EMAILS = 'select email, made is not null as made from accounts';

describe('postgres-migrations', () => {
  const tool = useTool('postgres-migrations');

  it('runs migrations once, whoever begins, and rolls back one that fails', async () => {
    const folder = write({ '1-create.sql': CREATE, '2-alter.sql': ALTER });
    const { host, port, user, database } = tool.config;
    const config = { host, port, user, database, password: tool.config.password ?? '' };
    // Each waits for the advisory lock of the other.
    const both = await Promise.all([migrate(config, folder), migrate(config, folder)]);
    assert.deepEqual(both.map(({ length }) => length).sort(), [0, 3]);
    fs.writeFileSync(path.join(folder, '3-broken.sql'), BROKEN);
    const client = new Client(tool.url);
    await client.connect();
    const error = await errorOf(migrate({ client }, folder));
    assert.match(error.message, /accounts_email_key/);
    await client.end();
    assert.deepEqual(await ask(tool, EMAILS), [{ email: 'a;b', made: true }]);
  });
});

describe('postgrator', () => {
  const tool = useTool('postgrator', { requirers: [] });

  it('goes up and down, and stops at what fails', async () => {
    const folder = write({
      '001.do.create.sql': CREATE,
      '002.do.alter.sql': ALTER,
      '002.undo.alter.sql': 'alter table accounts drop column made;',
      '003.do.broken.sql': `begin; ${BROKEN} commit;`,
    });
    const client = new Client(tool.url);
    await client.connect();
    const postgrator = new Postgrator({
      migrationPattern: path.join(folder, '*'),
      driver: 'pg',
      database: tool.config.database,
      schemaTable: 'public.versions',
      execQuery: (text) => client.query(text),
    });
    await postgrator.migrate('002');
    await postgrator.migrate('001');
    await postgrator.migrate('002');
    const error = await errorOf(postgrator.migrate());
    assert.equal(error.constraint, 'accounts_email_key');
    await client.query('rollback');
    assert.equal(await postgrator.getDatabaseVersion(), 2);
    await client.end();
    assert.deepEqual(await ask(tool, EMAILS), [{ email: 'a;b', made: true }]);
  });
});

describe('db-migrate-pg', () => {
  const tool = useTool('db-migrate-pg');

  it('goes up and down, and rolls back a migration that fails', async () => {
    const folder = write({
      'migrations/20260101000000-create.js': `
        exports.up = async (db) => {
          await db.createTable('accounts', {
            id: { type: 'int', primaryKey: true, autoIncrement: true },
            email: { type: 'string', unique: true },
          });
          await db.insert('accounts', ['email'], ['a;b']);
          await db.addIndex('accounts', 'accounts_email', ['email']);
        };
        exports.down = (db) => db.dropTable('accounts');
        exports._meta = { version: 1 };`,
      'migrations/20260102000000-alter.js': `
        exports.up = (db) => db.addColumn('accounts', 'made', { type: 'timestamp', defaultValue: 'now()' });
        exports.down = (db) => db.removeColumn('accounts', 'made');
        exports._meta = { version: 1 };`,
    });
    const { host, port, user, password, database } = tool.config;
    const pg = { driver: 'pg', host, port, user, password, database };
    const open = () => {
      const instance = dbMigrate.getInstance(true, {
        cwd: folder,
        config: { dev: pg },
        env: 'dev',
        throwUncatched: true,
      });
      instance.silence(true);
      return instance;
    };
    await open().up();
    await open().down(1);
    await open().up();
    assert.deepEqual(await ask(tool, EMAILS), [{ email: 'a;b', made: true }]);
    fs.writeFileSync(
      path.join(folder, 'migrations', '20260103000000-broken.js'),
      `exports.up = (db) => db.runSql(${JSON.stringify(BROKEN)}); exports._meta = { version: 1 };`,
    );
    const error = await errorOf(open().up());
    assert.equal(error.constraint, 'accounts_email_key');
    assert.deepEqual(await ask(tool, EMAILS), [{ email: 'a;b', made: true }]);
    assert.deepEqual(await ask(tool, 'select name from migrations order by id'), [
      { name: '/20260101000000-create' },
      { name: '/20260102000000-alter' },
    ]);
  });
});
