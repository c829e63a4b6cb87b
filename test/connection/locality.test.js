'use strict';

// Databases that are not one server: what promises one transaction has BEGIN and COMMIT, and an error proves less.

const assert = require('node:assert/strict');
const { Client, Pool } = require('../..');
const { judge } = require('../../lib/connection/locality');
const { startDatabase } = require('../../scripts/database');
const { EagerServer } = require('../support/eager-server');
const { errorOf, outcomeOf } = require('../support/outcomes');
const { newClient } = require('../support/connect');
const { until } = require('../support/outside');
const { usePools, newPool } = require('../support/pools');

const POSTGRESQL =
  'PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc';
const QUESTION = 'pg_extension';
const INSERT = 'insert into far values ($1)';

describe('A database', () => {
  const kindOf = (found) => judge({ version: POSTGRESQL, extensions: [], wrappers: [], ...found });

  for (const version of [
    POSTGRESQL,
    'PostgreSQL 18beta1 on aarch64-unknown-linux-musl, compiled by gcc',
    'PostgreSQL 17.0, compiled by Visual C++ build 1914, 64-bit',
    'PostgreSQL 16.4 (Homebrew) on aarch64-apple-darwin23.4.0, compiled by Apple clang',
    'PostgreSQL 9.6.24 on x86_64-pc-linux-gnu, compiled by gcc',
  ]) {
    it(`is one server if it calls itself ${version}`, () => {
      assert.equal(kindOf({ version }), 'local');
    });
  }

  for (const version of [
    'PostgreSQL 15.2-YB-2.25.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang',
    'PostgreSQL 12.12 (Greenplum Database 7.0.0 build) on x86_64-pc-linux-gnu',
    'PostgreSQL 10.0 @ OpenTenBase_v2.0 on x86_64-pc-linux-gnu',
    'PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2, Redshift 1.0.1234',
    'CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu)',
    'PostgreSQL 14.1',
    '',
  ]) {
    it(`is not known to be one server if it calls itself "${version}"`, () => {
      assert.equal(kindOf({ version }), 'distributed');
    });
  }

  it('is one server with extensions that do not distribute, and none with any other', () => {
    assert.equal(kindOf({ extensions: ['plpgsql', 'hstore', 'postgis', 'postgres_fdw'] }), 'local');
    for (const name of ['citus', 'dblink', 'spock', 'somebodys_own', 'constructor']) {
      assert.equal(kindOf({ extensions: ['plpgsql', name] }), 'distributed', name);
    }
  });

  it('with foreign servers of postgres_fdw keeps pipelines, with others nothing is known', () => {
    assert.equal(kindOf({ wrappers: ['', 'file_fdw_handler'] }), 'local');
    assert.equal(kindOf({ wrappers: ['postgres_fdw_handler', ''] }), 'foreign');
    assert.equal(
      kindOf({ wrappers: ['postgres_fdw_handler', 'mysql_fdw_handler'] }),
      'distributed',
    );
  });
});

describe('On an engine that commits each statement of a pipeline at once', function () {
  this.timeout(30000);
  const observer = usePools();
  const rows = async () => (await observer.rowsOf('far')).map(({ n }) => n);
  /** @type {EagerServer} */
  let server;
  /** @type {any[]} */
  let opened = [];

  beforeEach(async () => {
    server = await EagerServer.open();
    await observer.makeTable('far', 'n int unique deferrable initially immediate');
  });
  afterEach(async () => {
    await Promise.all(opened.map((one) => one.end()));
    opened = [];
    await server.close();
  });
  const poolOf = (given) => {
    const pool = new Pool(server.options({ max: 1, distributed: true, ...given }));
    opened.push(pool);
    return pool;
  };
  const clientOf = async (given) => {
    const client = new Client(server.options({ distributed: true, ...given }));
    opened.push(client);
    await client.connect();
    return client;
  };
  const insert = (n) => ({ text: INSERT, values: [n] });

  it('a batch without BEGIN is no transaction: such an engine breaks the promise of the protocol', async () => {
    const pool = poolOf({ distributed: false });
    const error = await errorOf(pool.batch([insert(1), insert(2), insert(1)]));
    assert.equal(error.code, '23505');
    assert.deepEqual(await rows(), [1, 2]);
  });

  for (const [face, open] of [
    ['a pool', async () => poolOf()],
    ['a client', () => clientOf()],
  ]) {
    it(`a batch of ${face} is all or nothing, and is told rightly`, async () => {
      const db = await open();
      for (let round = 0; round < 20; ++round) {
        const error = await errorOf(db.batch([insert(1), insert(2), insert(1), insert(3)]));
        assert.deepEqual([error.code, error.index, error.outcome], ['23505', 2, 'not-run']);
      }
      assert.deepEqual(await rows(), []);
      const results = await db.batch([insert(1), 'select n from far', insert(2)]);
      assert.deepEqual(
        results.map(({ command, rowCount }) => [command, rowCount]),
        [
          ['INSERT', 1],
          ['SELECT', 1],
          ['INSERT', 1],
        ],
      );
      assert.deepEqual(await rows(), [1, 2]);
      assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
    });
  }

  it('BEGIN, the statements and COMMIT are sent in one flush', async () => {
    const pool = poolOf();
    await pool.query('select 1');
    server.flushes = [];
    await pool.batch(['select 1 as a', 'select 2 as b']);
    assert.equal(server.flushes.length, 1);
    const texts = server.flushes[0].filter((kind) => kind.length > 1 || kind === 'S');
    assert.deepEqual(texts, ['BEGIN', 'select 1 as a', 'select 2 as b', 'S', 'COMMIT', 'S']);
  });

  it('queries and batches of other callers in the same pipeline are never in its transaction', async () => {
    const pool = poolOf();
    const all = await Promise.all(
      Array.from({ length: 60 }, (_, n) => {
        if (n % 3 === 0) return outcomeOf(pool.query(INSERT, [n]));
        return outcomeOf(pool.batch([insert(n), insert(n % 3 === 1 ? n : 1000 + n)]));
      }),
    );
    const wanted = [];
    for (const [n, { error }] of all.entries()) {
      if (n % 3 === 1) {
        assert.deepEqual([error.code, error.outcome, error.index], ['23505', 'not-run', 1]);
      } else assert.equal(error, undefined);
      if (n % 3 !== 1) wanted.push(n);
      if (n % 3 === 2) wanted.push(1000 + n);
    }
    assert.deepEqual(
      (await rows()).sort((a, b) => a - b),
      wanted.sort((a, b) => a - b),
    );
  });

  it('a batch in a transaction has no COMMIT of its own, whoever has begun it', async () => {
    const client = await clientOf();
    await client.query('begin');
    await client.batch([insert(1), insert(2)]);
    await client.query('rollback');
    const late = client.query('begin');
    const batch = client.batch([insert(3), insert(4)]);
    await client.query('rollback');
    await Promise.all([late, batch]);
    await errorOf(
      client.transaction(async (tx) => {
        await tx.batch([insert(5), insert(6)]);
        throw new Error('mine');
      }),
    );
    assert.deepEqual(await rows(), []);
    // Behind statements that are not answered: none of them has left a transaction open.
    client.query('begin');
    client.query('commit');
    await client.batch([insert(7), insert(8)]);
    assert.deepEqual(await rows(), [7, 8]);
  });

  it('an error at the COMMIT of a batch has the outcome that it proves', async () => {
    await observer.makeTable('late', 'n int unique deferrable initially deferred');
    const pool = poolOf();
    const add = { text: 'insert into late values ($1)', values: [1] };
    const error = await errorOf(pool.batch([add, add]));
    assert.deepEqual([error.code, error.index, error.outcome], ['23505', undefined, 'not-run']);
    assert.deepEqual(await observer.rowsOf('late'), []);
  });

  it('a batch of one write is told as the write by itself, also if it fails at the commit', async () => {
    await observer.makeTable('later', 'n int unique deferrable initially deferred');
    const pool = poolOf({ distributed: true });
    const twice = 'insert into later values (1), (1)';
    for (const call of [
      () => pool.query(twice),
      () => pool.batch([twice]),
      () => pool.batch([twice], { timeoutMillis: 10_000 }),
    ]) {
      const { code, outcome } = await errorOf(call());
      assert.deepEqual([code, outcome], ['23505', 'not-run']);
    }
    assert.deepEqual(await observer.rowsOf('later'), []);
  });

  it('an aborted batch is rolled back, and its connection is used again', async () => {
    const client = await clientOf();
    const controller = new AbortController();
    const batch = errorOf(
      client.batch([insert(1), 'select pg_sleep(30)'], { signal: controller.signal }),
    );
    setTimeout(() => controller.abort(), 200);
    const error = await batch;
    assert.deepEqual([error.name, error.code], ['AbortError', 'ABORT_ERR']);
    assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
    assert.deepEqual(await rows(), []);
  });

  it('one statement that may not run in a transaction is a batch as it was', async () => {
    await poolOf().batch(['vacuum far']);
    assert.equal((await errorOf(poolOf().batch(['select 1', 'vacuum far']))).code, '25001');
  });

  it('writes share no Sync, so none is run twice, and each is told what became of it', async () => {
    await observer.makeTable('counts', 'id int, n int');
    const pool = poolOf({ syncGroup: 'all' });
    await pool.query('insert into counts values (1, 0)');
    const text = 'update counts set n = n + 1 / $1::int where id = 1';
    for (let use = 0; use < 3; ++use) await pool.query(text, [1]);
    const all = await Promise.all(
      Array.from({ length: 200 }, (_, n) => outcomeOf(pool.query(text, [n % 20 === 0 ? 0 : 1]))),
    );
    const done = all.filter(({ error }) => error === undefined).length;
    assert.equal(done, 190);
    const [{ n }] = await observer.rowsOf('counts');
    assert.equal(n, done + 3);
  });

  for (const [code, outcome] of [
    ['08006', 'unknown'],
    ['57P01', 'unknown'],
    ['57014', 'unknown'],
    ['XX000', 'unknown'],
    ['53200', 'unknown'],
    ['40003', 'unknown'],
    ['ZZZZZ', 'unknown'],
    ['23505', 'not-run'],
  ]) {
    it(`an error ${code} behind a commit elsewhere is ${outcome}`, async () => {
      const pool = poolOf();
      server.failBehind = (text) => (text.startsWith('insert') ? code : undefined);
      const error = await errorOf(pool.query('insert into far values (1)'));
      assert.deepEqual([error.code, error.outcome], [code, outcome]);
    });
  }

  it('what is proved to only read is not-run, as soon as the catalog is known', async () => {
    const pool = poolOf();
    server.failBehind = (text) => (text.startsWith('select n') ? '08006' : undefined);
    const outcomes = new Set();
    await until('the catalog is known', async () => {
      const { outcome } = await errorOf(pool.query('select n from far'));
      outcomes.add(outcome);
      return outcome === 'not-run';
    });
    assert.deepEqual([...outcomes], ['unknown', 'not-run']);
    assert.equal((await errorOf(pool.query('select nextval($1)', ['x']))).outcome, 'not-run');
    server.failBehind = () => '08006';
    assert.equal((await errorOf(pool.query('select pg_sleep(0)'))).outcome, 'unknown');
  });

  it('a statement that has failed itself is not-run', async () => {
    const pool = poolOf();
    for (const text of [
      'insert into far values (1), (1)',
      'insert into nowhere values (1)',
      'selec',
    ]) {
      assert.equal((await errorOf(pool.query(text))).outcome, 'not-run');
    }
    const { code, outcome } = await errorOf(pool.query(INSERT, [1, 2]));
    assert.deepEqual([code, outcome], ['08P01', 'not-run']);
    assert.deepEqual(await rows(), []);
  });

  it('in a transaction a statement that fails is not-run, whatever its error is', async () => {
    const client = await clientOf();
    const error = await errorOf(
      client.transaction((tx) => tx.query("do $$ begin raise sqlstate '57P01'; end $$")),
    );
    assert.deepEqual([error.code, error.outcome], ['57P01', 'not-run']);
    await client.query('begin');
    const inner = await errorOf(
      client.query("select 1 / (select 0 where set_config('a.b', 'c', true) = 'c')"),
    );
    assert.equal(inner.outcome, 'not-run');
    await client.query('rollback');
  });
});

describe('Whether a database is one server', function () {
  this.timeout(60000);
  usePools();
  const asked = (queries) => queries.filter((text) => text.includes(QUESTION)).length;

  /** @param {EagerServer} server */
  const textsOf = (server) => server.flushes.flat().filter((kind) => kind.length > 1);

  it('is asked once, before the first batch, and never for queries and single statements', async () => {
    const server = await EagerServer.open();
    const pool = new Pool(server.options({ max: 1 }));
    try {
      await pool.query('select 1');
      await pool.batch(['select 1']);
      await pool.transaction((tx) => tx.batch(['select 1', 'select 2']));
      assert.equal(asked(textsOf(server)), 0);
      await Promise.all([
        pool.batch(['select 1', 'select 2']),
        pool.batch(['select 1', 'select 2']),
      ]);
      await pool.batch(['select 1', 'select 2']);
      const texts = textsOf(server);
      assert.equal(asked(texts), 1);
      // Only that of transaction(): a server of its own keeps the protocol's promise.
      assert.equal(texts.filter((text) => text === 'BEGIN').length, 1);
    } finally {
      await pool.end();
      await server.close();
    }
  });

  it("is asked once, in the background, with syncGroup: 'all', and writes share Syncs from then on", async () => {
    const server = await EagerServer.open();
    const pool = new Pool(server.options({ max: 1, syncGroup: 'all' }));
    try {
      for (let burst = 0; burst < 6; ++burst) {
        await Promise.all(
          Array.from({ length: 40 }, () => pool.query("select set_config('a.b', 'c', true)")),
        );
        await Promise.all(Array.from({ length: 40 }, () => pool.query('select now()')));
      }
      assert.equal(asked(textsOf(server)), 1);
      const { queries, syncs } = pool.stats();
      assert.ok(syncs < queries, `${syncs} Syncs of ${queries} queries`);
    } finally {
      await pool.end();
      await server.close();
    }
  });

  it('is asked behind the first error that does not prove what was kept: on one server that is not-run', async () => {
    const client = await newClient({ statement_timeout: 100 });
    const pool = newPool({ max: 1, statement_timeout: 100 });
    for (const db of [client, pool]) {
      const error = await errorOf(db.query('select pg_sleep(30)'));
      assert.deepEqual([error.code, error.outcome], ['57014', 'not-run']);
      assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
    }
  });

  it('is not asked where the option says it', async () => {
    const server = await EagerServer.open();
    try {
      for (const distributed of [true, false]) {
        server.flushes = [];
        const pool = new Pool(server.options({ max: 1, distributed }));
        await pool.batch(['select 1', 'select 2']);
        await errorOf(pool.query("do $$ begin raise sqlstate '57P01'; end $$"));
        await pool.end();
        assert.equal(asked(textsOf(server)), 0);
        assert.equal(textsOf(server).includes('BEGIN'), distributed);
      }
    } finally {
      await server.close();
    }
    const error = await errorOf(new Pool({ distributed: 'yes' }).query('select 1'));
    assert.match(error.message, /distributed/);
  });

  it('settles what has waited for the answer when the connection is lost', async () => {
    const server = await EagerServer.open();
    const pool = new Pool(server.options({ max: 1 }));
    pool.on('error', () => {});
    try {
      await pool.query('select 1');
      const batch = outcomeOf(pool.batch(['select 1 as a', 'select 2 as b']));
      server.sever();
      const { error } = await batch;
      if (error !== undefined) assert.equal(error.outcome, 'not-run');
    } finally {
      await pool.end();
      await server.close();
    }
  });

  describe('on a server of its own', () => {
    /** @type {any} */
    let database;
    /** @type {Client} */
    let root;
    before(async () => {
      database = await startDatabase({ own: true });
      root = new Client({ connectionString: database.connectionString });
      await root.connect();
      await root.query('set allow_system_table_mods = on');
      await root.query('create table far (n int unique)');
    });
    after(async () => {
      await root.end();
      await database.stop();
    });
    const newOne = (given) => new Pool({ ...database.config, max: 1, ...given });

    it('an extension like citus makes it distributed, and what is known is renewed by DDL', async () => {
      const pool = newOne();
      const outcomes = [];
      await root.query(
        "create function fail() returns void language plpgsql as $$ begin raise sqlstate '57P01'; end $$",
      );
      const tell = async () => (await errorOf(pool.query('select fail()'))).outcome;
      outcomes.push(await tell());
      await root.query(
        "insert into pg_extension select 99999, 'citus', 10, 11, false, '13', null, null",
      );
      // Of another session: not seen within a minute. DDL of the pool's own discards the answer.
      outcomes.push(await tell());
      await pool.query('create table other (n int)');
      outcomes.push(await tell());
      await root.query("delete from pg_extension where extname = 'citus'");
      await pool.query('drop table other');
      outcomes.push(await tell());
      assert.deepEqual(outcomes, ['not-run', 'not-run', 'unknown', 'not-run']);
      await pool.end();
    });

    it('with servers of postgres_fdw, no error at a commit proves that nothing was kept, and none is run again', async () => {
      await root.query(`create function fail_late() returns trigger language plpgsql as $$
        begin raise sqlstate '40001' using message = 'another server has committed'; end $$`);
      await root.query('create table late (n int)');
      await root.query(`create constraint trigger late after insert on late deferrable initially deferred
        for each row execute function fail_late()`);
      const text = 'insert into late values (1)';
      const tell = async (given) => {
        const pool = newOne(given);
        let attempts = 0;
        const transfer = async (tx) => {
          ++attempts;
          await tx.query(text);
        };
        const errors = [
          await errorOf(pool.query(text)),
          await errorOf(pool.batch([text, 'select 1'])),
          await errorOf(pool.query(`${text}; select 1`)),
          await errorOf(pool.transaction(transfer, { retry: { serialization: 2 } })),
          await errorOf(pool.query('insert into far values (1), (1)')),
        ];
        await pool.end();
        return [...errors.map(({ outcome }) => outcome), attempts];
      };
      const local = [...Array(5).fill('not-run'), 3];
      assert.deepEqual(await tell(), local);
      // What is distributed takes all of it back when it says so.
      assert.deepEqual(await tell({ distributed: true }), local);
      await root.query('create extension postgres_fdw');
      await root.query('create server other foreign data wrapper postgres_fdw');
      assert.deepEqual(await tell(), [...Array(4).fill('unknown'), 'not-run', 1]);
      await root.query('drop extension postgres_fdw cascade');
    });

    it('with servers of postgres_fdw sends nothing in a way that hides whether an error is that of the commit', async () => {
      await root.query('create extension postgres_fdw');
      await root.query('create server other foreign data wrapper postgres_fdw');
      const server = await EagerServer.open(database.connectionString);
      const pool = new Pool(server.options({ max: 1, options: '' }));
      try {
        for (let i = 0; i < 40; ++i) await pool.query(`select ${i} as n`);
        await pool.batch(['select 1', 'select 2']);
        server.flushes = [];
        await pool.query('select 1234 as n');
        assert.deepEqual(server.flushes, [['select 1234 as n', 'B', 'D', 'E', 'S']]);
      } finally {
        await pool.end();
        await server.close();
        await root.query('drop extension postgres_fdw cascade');
      }
    });

    it('counts as distributed if the catalog may not be read', async () => {
      await root.query('create role reader login');
      await root.query('revoke select on pg_extension from public');
      const pool = newOne({ user: 'reader' });
      assert.equal((await errorOf(pool.query('select fail()'))).outcome, 'unknown');
      assert.equal((await pool.batch(['select 1', 'select 2'])).length, 2);
      await pool.end();
      await root.query('grant select on pg_extension to public');
    });
  });
});
