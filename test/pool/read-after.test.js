'use strict';

// pool.read.query({ after }): the isolation of the check and the read, their time limits, and their effects on
// other queries of the connection. Here the replica is the server itself; standbys are in test/fleet/replicas.test.js.

const assert = require('node:assert/strict');
const { connectionString, countPrepared } = require('../support/connect');
const { errorOf } = require('../support/outcomes');
const { newPool, usePools } = require('../support/pools');
const { Proxy } = require('../support/proxy');

const ISOLATION =
  "select current_setting('transaction_isolation') as level, pg_backend_pid() as pid";
const LEVELS = ['read uncommitted', 'read committed', 'repeatable read', 'serializable'];

describe('pool.read.query() with `after`', function () {
  this.timeout(20000);
  usePools();

  const newPair = (given) =>
    newPool({ max: 1, replicas: { connectionString: connectionString(), max: 1 }, ...given });

  for (const level of LEVELS) {
    it(`takes its snapshot after the check, where the default isolation level is ${level}`, async () => {
      const pool = newPair({
        options: `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`,
      });
      const after = await pool.walPosition();
      const {
        rows: [read],
      } = await pool.read.query({ text: ISOLATION, after });
      assert.equal(read.level, 'read committed');
      // It ends with the read.
      const {
        rows: [plain],
      } = await pool.read.query(ISOLATION);
      assert.deepEqual(plain, { level, pid: read.pid });
    });
  }

  it('keeps the prepared statements of other queries, and causes no notice', async () => {
    const pool = newPair({ prepareThreshold: 1 });
    const notices = [];
    pool.read.on('connect', (client) => client.on('notice', (notice) => notices.push(notice)));
    for (let i = 0; i < 3; ++i) await pool.read.query('select 1 as others');
    const before = await countPrepared(pool.read);
    assert.ok(before > 0);
    for (let i = 0; i < 3; ++i) {
      await pool.read.query({ text: 'select 2 as mine', after: '0/0', prepare: false });
    }
    assert.ok((await countPrepared(pool.read)) >= before);
    assert.deepEqual(notices, []);
  });

  it('rejects as a single query does', async () => {
    const pool = newPair();
    const error = await errorOf(pool.read.query({ text: 'select * from nowhere', after: '0/0' }));
    assert.equal(error.code, '42P01');
    assert.equal('index' in error, false);
    const wrong = await errorOf(pool.read.query({ text: 'select 1', after: 'yesterday' }));
    assert.equal(wrong.code, '22P02');
  });

  it('calls the functions of pg_catalog, whatever is in the search_path', async () => {
    const pool = newPair({ options: '-c search_path=conduit_test,pg_catalog' });
    await pool.query(
      'create function conduit_test.pg_is_in_recovery() returns boolean language plpgsql as $$ begin raise exception $x$no$x$; end $$',
    );
    const { rows } = await pool.read.query({ text: 'select 1 as one', after: '0/0' });
    assert.deepEqual(rows, [{ one: 1 }]);
  });

  it('takes an instance of a class whose text is a getter', async () => {
    const statement = new (class {
      values = [5];
      after = '0/0';
      get text() {
        return 'select $1::int as a';
      }
    })();
    const { rows } = await newPair().read.query(statement);
    assert.deepEqual(rows, [{ a: 5 }]);
  });

  for (const how of [{ timeoutMillis: 300 }, { query_timeout: 300 }, {}]) {
    const name = Object.keys(how)[0] ?? 'the option query_timeout';
    it(`has one limit for all attempts: ${name}`, async () => {
      const proxy = await Proxy.open();
      try {
        const given = name in how ? {} : { query_timeout: 300 };
        const pool = newPool({
          max: 1,
          ...given,
          replicas: proxy.options({ max: 1, connectionString: undefined, ...given }),
          catchUpMillis: 60000,
        });
        await pool.read.query('select 1');
        proxy.mute = { at: 'pg_last_wal_replay_lsn' };
        const begunAt = performance.now();
        const error = await errorOf(pool.read.query({ text: 'select 1', after: '0/0', ...how }));
        assert.equal(error.code, 'ERR_PG_CONDUIT_QUERY_TIMEOUT');
        assert.ok(performance.now() - begunAt < 5000);
      } finally {
        await proxy.close();
      }
    });
  }
});
