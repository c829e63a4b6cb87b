'use strict';

// Servers that are not quite PostgreSQL: other versions, other parameters, no key to cancel by, errors
// without the fields that only PostgreSQL has. A proxy changes what the real one says.

const assert = require('node:assert/strict');
const { Client, Pool, types } = require('../..');
const { errorOf } = require('../support/outcomes');
const { Proxy, errorMessage, message } = require('../support/proxy');

/** FirstNormalObjectId: from here on an OID means something else in each database. */
const FIRST_NORMAL_OID = 16384;
const KINDS = ['text', 'binary'];

describe('an engine that speaks the protocol', () => {
  /** @type {Proxy} */
  let proxy;
  before(async () => {
    proxy = await Proxy.open();
  });
  after(() => proxy.close());
  afterEach(() => {
    proxy.change = undefined;
  });

  it('has its own types: none of an OID that PostgreSQL has not fixed is known beforehand', () => {
    const text = types.getTypeParser(FIRST_NORMAL_OID, 'text');
    for (const kind of KINDS) {
      for (let oid = FIRST_NORMAL_OID; oid < FIRST_NORMAL_OID + 100_000; ++oid) {
        if (kind === 'text') assert.equal(types.getTypeParser(oid, kind), text);
      }
    }
    const known = Object.values(types.builtins).filter((oid) => typeof oid === 'number');
    assert.ok(known.every((oid) => oid < FIRST_NORMAL_OID));
  });

  for (const [name, version] of [
    ['tells another version', '13.0-YB-2.25.0.0-b0'],
    ['tells an old one', '8.0.2'],
    ['tells one that is none', 'something else entirely'],
    ['tells none', undefined],
  ]) {
    it(`${name} (${version}), and is used as any other`, async () => {
      proxy.change = (type, bytes) => {
        const isVersion = type === 'S' && bytes.includes('server_version\0');
        if (!isVersion) return bytes;
        if (version === undefined) return Buffer.alloc(0);
        return message('S', Buffer.from(`server_version\0${version}\0`));
      };
      const pool = new Pool(proxy.options({ max: 2 }));
      try {
        for (let use = 0; use < 5; ++use) {
          const { rows } = await pool.query('select $1::int as i, now() as at, $2::jsonb as j', [
            use,
            { use },
          ]);
          assert.ok(rows[0].at instanceof Date);
          assert.deepEqual([rows[0].i, rows[0].j], [use, { use }]);
        }
        await pool.transaction((tx) => tx.query('select 1'));
        assert.equal((await pool.batch(['select 1', 'select 2'])).length, 2);
      } finally {
        await pool.end();
      }
    });
  }

  it('gives no key to cancel by: the connection of what is given up is replaced', async () => {
    proxy.change = (type, bytes) => (type === 'K' ? Buffer.alloc(0) : bytes);
    const pool = new Pool(proxy.options({ max: 1 }));
    try {
      assert.deepEqual((await pool.query('select 1 as a')).rows, [{ a: 1 }]);
      const signal = AbortSignal.timeout(50);
      const error = await errorOf(pool.query({ text: 'select pg_sleep(0.5)', signal }));
      assert.deepEqual([error.code, error.outcome], ['ABORT_ERR', 'unknown']);
      assert.deepEqual((await pool.query('select 2 as a')).rows, [{ a: 2 }]);
    } finally {
      await pool.end();
    }
  });

  it('says that a statement is out of date, but not who says so: the next one is made anew', async () => {
    const pool = new Pool(proxy.options({ max: 1 }));
    try {
      for (let use = 0; use < 3; ++use) await pool.query('select $1::int as i', [use]);
      assert.equal(pool.stats().parses, 1);
      proxy.change = (type, bytes) =>
        type === 'E' ? errorMessage({ S: 'ERROR', C: '0A000', M: 'plan is stale' }) : bytes;
      const error = await errorOf(pool.query('select $1::int as i', ['none']));
      assert.equal(error.code, '0A000');
      assert.deepEqual((await pool.query('select $1::int as i', [7])).rows, [{ i: 7 }]);
      assert.equal(pool.stats().parses, 2);
    } finally {
      await pool.end();
    }
  });

  it('says errors with nothing but what the protocol wants, and they are known by their SQLSTATE', async () => {
    const client = new Client(proxy.options());
    await client.connect();
    try {
      proxy.change = (type, bytes) =>
        type === 'E' ? errorMessage({ S: 'ERROR', C: '40001', M: 'restart transaction' }) : bytes;
      const error = await errorOf(client.query('select 1 / 0'));
      assert.deepEqual([error.code, error.outcome, error.routine], ['40001', 'not-run', undefined]);
      let attempts = 0;
      const given = await errorOf(
        client.transaction(
          async (tx) => {
            ++attempts;
            await tx.query('select 1 / 0');
          },
          { retry: { serialization: 2 } },
        ),
      );
      assert.deepEqual([given.code, attempts], ['40001', 3]);
    } finally {
      proxy.change = undefined;
      await client.end();
    }
  });
});
