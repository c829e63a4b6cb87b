'use strict';

// Better Auth on a pool: its own tables, users and sessions.

const assert = require('node:assert/strict');
const { betterAuth } = require('better-auth');
const { getMigrations } = require('better-auth/db/migration');
const { Pool } = require('pg');
const { assertDuplicate, atOnce, errorOf, useTool } = require('./support/tool');

describe('better-auth', () => {
  const tool = useTool('better-auth');
  let pool;
  let auth;

  before(async () => {
    pool = new Pool({ connectionString: tool.url, max: 5 });
    auth = betterAuth({
      database: pool,
      baseURL: 'http://localhost:3000',
      secret: 'a secret that nobody needs to know, ever',
      // Hashing takes more time than all else here.
      emailAndPassword: {
        enabled: true,
        password: {
          hash: async (password) => `hashed ${password}`,
          verify: async ({ hash, password }) => hash === `hashed ${password}`,
        },
      },
      advanced: { database: { useNumberId: false } },
      logger: { disabled: true },
      telemetry: { enabled: false },
      rateLimit: { enabled: false },
    });
    const { toBeCreated, runMigrations } = await getMigrations(auth.options);
    assert.ok(toBeCreated.length >= 4);
    await runMigrations();
  });

  tool.close(() => pool.end());

  /** @param {string} email */
  const signUp = (email) =>
    auth.api.signUpEmail({ body: { email, name: email, password: 'long enough' } });

  it('makes its tables once', async () => {
    const { toBeAdded, toBeCreated } = await getMigrations(auth.options);
    assert.deepEqual([toBeAdded, toBeCreated], [[], []]);
  });

  it('signs up, in and out', async () => {
    const { user } = await signUp('a@b.co');
    const { headers, response } = await auth.api.signInEmail({
      body: { email: 'a@b.co', password: 'long enough' },
      returnHeaders: true,
    });
    assert.equal(response.user.id, user.id);
    const cookie = headers.get('set-cookie').split(';')[0];
    const session = await auth.api.getSession({ headers: new Headers({ cookie }) });
    assert.equal(session.user.email, 'a@b.co');
    assert.ok(session.session.expiresAt instanceof Date);
    await auth.api.signOut({ headers: new Headers({ cookie }) });
    assert.equal(await auth.api.getSession({ headers: new Headers({ cookie }) }), null);
  });

  it('refuses what is wrong', async () => {
    const error = await errorOf(
      auth.api.signInEmail({ body: { email: 'a@b.co', password: 'another one' } }),
    );
    assert.equal(error.statusCode, 401);
    assert.equal((await errorOf(signUp('a@b.co'))).statusCode, 422);
    await assertDuplicate(
      pool.query('insert into "user" (id, name, email, "emailVerified") values (1, $1, $1, true)', [
        'a@b.co',
      ]),
      'user_email_key',
    );
  });

  it('rolls back', async () => {
    const { adapter } = await auth.$context;
    const failed = adapter.transaction(async (trx) => {
      const data = { email: 'gone@b.co', name: 'gone', emailVerified: false };
      await trx.create({ model: 'user', data });
      throw new Error('changed my mind');
    });
    await assert.rejects(failed, /changed my mind/);
    const where = [{ field: 'email', value: 'gone@b.co' }];
    assert.equal(await adapter.count({ model: 'user', where }), 0);
  });

  it('serves many at once', async () => {
    const all = await atOnce((i) => signUp(`many${i}@b.co`));
    assert.equal(new Set(all.map(({ user }) => user.id)).size, all.length);
  });
});
