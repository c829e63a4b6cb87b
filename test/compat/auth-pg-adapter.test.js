'use strict';

// The adapter of Auth.js: users, accounts and sessions on a pool.

const assert = require('node:assert/strict');
const { Pool } = require('pg');
const { MANY, assertDuplicate, atOnce, useTool } = require('./support/tool');

const TABLES = `
  create table verification_token (
    identifier text, expires timestamptz not null, token text, primary key (identifier, token));
  create table accounts (
    id serial primary key, "userId" int not null, type text not null, provider text not null,
    "providerAccountId" text not null, refresh_token text, access_token text, expires_at bigint,
    id_token text, scope text, session_state text, token_type text);
  create table sessions (
    id serial primary key, "userId" int not null, expires timestamptz not null,
    "sessionToken" text not null);
  create table users (
    id serial primary key, name text, email text unique, "emailVerified" timestamptz, image text)`;

describe('@auth/pg-adapter', () => {
  const tool = useTool('@auth/pg-adapter', { schema: TABLES });
  const expires = new Date('2036-01-02T03:04:05.678Z');
  let pool;
  let adapter;

  before(async () => {
    const { default: PostgresAdapter } = await import('@auth/pg-adapter');
    pool = new Pool({ connectionString: tool.url, max: 5 });
    adapter = PostgresAdapter(pool);
  });

  tool.close(() => pool.end());

  it('keeps users, their accounts and sessions', async () => {
    const user = await adapter.createUser({ email: 'a@b.c', emailVerified: expires });
    assert.deepEqual((await adapter.getUser(user.id)).emailVerified, expires);
    const account = { provider: 'github', providerAccountId: '7', type: 'oauth' };
    const linked = await adapter.linkAccount({ ...account, userId: user.id, expires_at: 2 ** 40 });
    assert.equal(linked.expires_at, 2 ** 40);
    assert.equal((await adapter.getUserByAccount(account)).email, 'a@b.c');
    await adapter.createSession({ sessionToken: 'one', userId: user.id, expires });
    const { session } = await adapter.getSessionAndUser('one');
    assert.deepEqual(session.expires, expires);
    await adapter.updateUser({ id: user.id, name: 'new' });
    assert.equal((await adapter.getUserByEmail('a@b.c')).name, 'new');
    await adapter.deleteUser(user.id);
    assert.equal(await adapter.getSessionAndUser('one'), null);
    assert.equal(await adapter.getUser('no number'), null);
  });

  it('uses a token once', async () => {
    await adapter.createVerificationToken({ identifier: 'a', token: 't', expires });
    const used = await atOnce(() => adapter.useVerificationToken({ identifier: 'a', token: 't' }));
    assert.deepEqual(
      used.filter((token) => token !== null),
      [{ identifier: 'a', token: 't', expires }],
    );
  });

  it('tells which constraint was broken', async () => {
    await adapter.createUser({ email: 'twice@b.c' });
    await assertDuplicate(adapter.createUser({ email: 'twice@b.c' }), 'users_email_key');
  });

  it('keeps many at once', async () => {
    const users = await atOnce((i) => adapter.createUser({ email: `${i}@many` }));
    assert.equal(new Set(users.map(({ id }) => id)).size, MANY);
  });
});
