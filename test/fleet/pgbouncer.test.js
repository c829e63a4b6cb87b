'use strict';

// PgBouncer between the driver and the server, old and new, in each of its modes.

const assert = require('node:assert/strict');
const pg = require('pg');
const { Client, Pool } = require('../..');
const { errorOf } = require('../support/outcomes');
const { until } = require('../support/outside');
const { KINDS, startPooler, startServerBehind } = require('../support/poolers');
const { warningsOf } = require('../support/process');
const { Proxy } = require('../support/proxy');

const MODES = /** @type {const} */ (['session', 'transaction', 'statement']);

describe('behind PgBouncer', function () {
  this.timeout(60_000);

  /** @type {Awaited<ReturnType<typeof startServerBehind>>} */
  let server;
  /** @type {pg.Client} past the pooler */
  let outside;
  /** @type {Awaited<ReturnType<typeof startPooler>>[]} */
  const poolers = [];
  /** @type {{ end: () => any }[]} */
  const opened = [];

  before(async function () {
    // Where this file runs by itself, the newer PgBouncer may not have been compiled yet.
    this.timeout(600_000);
    for (const { find } of Object.values(KINDS)) find();
    server = await startServerBehind();
    outside = new pg.Client(server.connectionString);
    await outside.connect();
    await outside.query('create schema conduit_test');
  });

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.end()));
    await Promise.all(poolers.splice(0).map((one) => one.stop()));
  });

  after(async () => {
    await outside?.end();
    await server?.stop();
  });

  /** @param {import('../support/poolers').Kind} kind @param {any} options */
  async function start(kind, options) {
    const pooler = await startPooler(server, kind, options);
    poolers.push(pooler);
    return pooler;
  }

  function newPool(pooler, given) {
    const pool = new Pool({ ...pooler.config, ...given });
    opened.push(pool);
    return pool;
  }

  async function newClient(pooler, given) {
    const client = new Client({ ...pooler.config, ...given });
    opened.push(client);
    await client.connect();
    return client;
  }

  for (const kind of Object.values(KINDS)) {
    for (const poolMode of MODES) {
      describe(`${kind.name}, in ${poolMode} mode`, () => {
        it('everybody gets what he has asked for, though sessions are mixed', async () => {
          const pooler = await start(kind, { poolMode, poolSize: 8 });
          const pools = [newPool(pooler, { max: 4 }), newPool(pooler, { max: 4 })];
          const texts = Array.from({ length: 20 }, (_, k) => `select $1::int as i, ${k} as k`);
          const outcomes = await Promise.all(
            Array.from({ length: 4000 }, (_, i) =>
              pools[i % 2].query(texts[i % texts.length], [i]).catch((error) => error),
            ),
          );
          for (const [i, { rows, message }] of outcomes.entries()) {
            assert.deepEqual(rows, [{ i, k: i % texts.length }], message);
          }
        });

        it('one query at a time goes on each connection with maxInFlight: 1', async () => {
          const pooler = await start(kind, { poolMode, poolSize: 4 });
          const pool = newPool(pooler, { max: 4, maxInFlight: 1 });
          const results = await Promise.all(
            Array.from({ length: 400 }, (_, i) => pool.query('select $1::int as i', [i])),
          );
          for (const [i, { rows }] of results.entries()) assert.deepEqual(rows, [{ i }]);
        });

        it('Sync groups, batches, streams and COPY work', async () => {
          await outside.query('drop table if exists rows_here; create table rows_here (a int)');
          const pooler = await start(kind, { poolMode, poolSize: 4 });
          const pool = newPool(pooler, { max: 2, syncGroup: 'all' });
          for (let round = 0; round < 4; ++round) {
            await Promise.all(
              Array.from({ length: 40 }, (_, i) =>
                pool.query('insert into rows_here values ($1)', [i]),
              ),
            );
          }
          const { queries, syncs } = pool.stats();
          const isOneByOne = kind === KINDS.old;
          assert.equal(syncs < queries, !isOneByOne, `${syncs} Syncs for ${queries} queries`);
          const [one, two] = await pool.batch([
            'select 1 as a',
            'select count(*)::int as n from rows_here',
          ]);
          assert.deepEqual([one.rows, two.rows], [[{ a: 1 }], [{ n: 160 }]]);
          await pool.copyRows('rows_here', ['a'], [[7], [8]]);
          let sum = 0;
          for await (const { a } of pool.stream('select a from rows_here where a > 6')) sum += a;
          assert.equal(sum, 4 * ((39 * 40) / 2 - 21) + 15);
          // The guilty one alone.
          const outcomes = await Promise.allSettled([
            pool.query('select $1::int / 0 as a', [1]),
            pool.query('select 1 as a'),
          ]);
          assert.deepEqual(
            outcomes.map(({ status }) => status),
            ['rejected', 'fulfilled'],
          );
        });

        it('cancels what runs, and nothing else', async () => {
          const pooler = await start(kind, { poolMode, poolSize: 4 });
          const pool = newPool(pooler, { max: 2 });
          const controller = new AbortController();
          const slow = pool.query({ text: 'select pg_sleep(60)', signal: controller.signal });
          const neighbour = pool.query('select pg_sleep(0.5), 1 as one');
          await until('it runs', async () => {
            const { rows } = await outside.query(
              "select 1 from pg_stat_activity where query = 'select pg_sleep(60)' and state = 'active'",
            );
            return rows.length > 0;
          });
          controller.abort();
          const error = await errorOf(slow);
          assert.deepEqual([error.code, error.outcome], ['ABORT_ERR', 'not-run']);
          assert.equal((await neighbour).rows[0].one, 1);
          const client = await newClient(pooler);
          const cancelled = errorOf(client.query('select pg_sleep(60)'));
          await client.cancel();
          assert.equal((await cancelled).code, '57014');
        });

        if (poolMode === 'statement') {
          it('a transaction is refused with the words of the pooler', async () => {
            const pooler = await start(kind, { poolMode });
            const pool = newPool(pooler, { max: 2 });
            const error = await errorOf(pool.transaction((tx) => tx.query('select 1')));
            const words = [error.message, error.detail, error.cause?.message].join('\n');
            assert.match(words, /transaction blocks not allowed/);
            assert.deepEqual((await pool.query('select 1 as a')).rows, [{ a: 1 }]);
          });
        } else {
          it('transactions hold together', async () => {
            await outside.query(
              'drop table if exists accounts; create table accounts (id int, n int)',
            );
            await outside.query('insert into accounts values (1, 100), (2, 100)');
            const pooler = await start(kind, { poolMode, poolSize: 4 });
            const pool = newPool(pooler, { max: 4 });
            const text = 'update accounts set n = n + $2 where id = $1';
            const done = await Promise.allSettled(
              Array.from({ length: 60 }, (_, i) =>
                pool.transaction(async (tx) => {
                  await tx.query(text, [1, -1]);
                  await tx.query(text, [2, 1]);
                  if (i % 3 === 0) throw new Error('on purpose');
                }),
              ),
            );
            const committed = done.filter(({ status }) => status === 'fulfilled').length;
            const { rows } = await outside.query('select n from accounts order by id');
            assert.deepEqual(rows, [{ n: 100 - committed }, { n: 100 + committed }]);
            for (const { reason } of done) {
              // Reported, and surely not run.
              if (reason?.code !== undefined) assert.equal(reason.outcome, 'not-run');
            }
          });
        }

        it('tells that settings cannot be given at the start, and what to do', async () => {
          const pooler = await start(kind, { poolMode });
          const error = await errorOf(newPool(pooler, { statement_timeout: 50 }).query('select 1'));
          assert.equal(error.code, '08P01');
          assert.match(error.message, /^unsupported startup parameter/);
          assert.match(error.hint, /ALTER ROLE .* SET/);
          const deaf = await start(kind, {
            poolMode,
            settings: { ignore_startup_parameters: 'options' },
          });
          const { rows } = await newPool(deaf, { statement_timeout: 50 }).query(
            'show statement_timeout',
          );
          assert.deepEqual(rows, [{ statement_timeout: '0' }]);
        });

        if (poolMode === 'session') {
          it('listen() hears, and a session is one', async () => {
            const pooler = await start(kind, { poolMode, poolSize: 6 });
            const pool = newPool(pooler, { max: 2 });
            const heard = [];
            const { unlisten } = await pool.listen('news', (payload) => heard.push(payload));
            await pool.notify('news', 'one');
            await until('it is heard', () => heard.length > 0);
            assert.deepEqual(heard, ['one']);
            await unlisten();
            const client = await newClient(pooler);
            await client.query("set application_name = 'mine'");
            assert.deepEqual((await client.query('show application_name')).rows, [
              { application_name: 'mine' },
            ]);
          });
        } else {
          it('listen() is refused, since it would hear nothing', async () => {
            const pooler = await start(kind, { poolMode });
            const pool = newPool(pooler, { max: 2 });
            const error = await errorOf(pool.listen('news', () => {}));
            assert.deepEqual([error.code, error.outcome], ['ERR_PG_CONDUIT_REFUSED', 'not-run']);
            assert.match(error.message, /pool_mode = session/);
          });
        }
      });
    }
  }

  describe('that reads what is sent in pieces', () => {
    /** @param {import('../support/poolers').Kind} kind @param {any} [options] @param {any} [given] */
    async function startInPieces(kind, options, given) {
      const pooler = await start(kind, { poolMode: 'transaction', listen: true, ...options });
      const proxy = await Proxy.open(pooler.connectionString);
      opened.push({ end: () => proxy.close() });
      const pool = newPool({ config: proxy.options({ options: undefined }) }, { max: 3, ...given });
      // The first message must come as a whole.
      await Promise.all(Array.from({ length: 3 }, () => pool.query('select pg_sleep(0.05)')));
      proxy.pieceBytes = 48;
      return pool;
    }

    for (const kind of Object.values(KINDS)) {
      it(`${kind.name}: nothing is lost, of queries, batches, transactions and clients`, async () => {
        await outside.query('drop table if exists pieces; create table pieces (a int primary key)');
        const pool = await startInPieces(kind);
        const insert = 'insert into pieces values ($1)';
        const acts = [
          (i) => pool.query(insert, [i]),
          (i) => pool.query('select $1::int as i', [i]),
          async () => {
            const { code } = await errorOf(pool.query('select $1::int as i', ['none']));
            assert.equal(code, '22P02');
          },
          (i) => pool.query(insert.replace('($1)', '(length($1))'), ['x'.repeat(i + 5000)]),
          (i) => pool.batch([{ text: insert, values: [i] }, 'select 1']),
          (i) =>
            pool.transaction((tx) => Promise.all([tx.query(insert, [i]), tx.query('select 1')])),
          async (i) => {
            const client = await pool.connect();
            const all = [client.query('begin'), client.query(insert, [i]), client.query('commit')];
            await Promise.all(all).finally(() => client.release());
          },
        ];
        await warningsOf(() =>
          Promise.all(Array.from({ length: 140 }, (_, i) => acts[i % acts.length](i))),
        );
        const { rows } = await outside.query('select count(*)::int as n from pieces');
        assert.equal(rows[0].n, 100);
      });
    }

    it('an old one gets one at a time, or as many as maxInFlight allows', async () => {
      for (const [maxInFlight, expected] of [
        [undefined, 1],
        [1024, 50],
      ]) {
        const pool = await startInPieces(
          KINDS.old,
          { poolMode: 'session' },
          { max: 1, maxInFlight },
        );
        const all = Promise.all(Array.from({ length: 50 }, () => pool.query('select 1')));
        assert.equal(pool.stats().connections[0].inFlight, expected);
        await all;
      }
    });
  });

  describe('that gives its sessions to one after the other', () => {
    const text = 'select $1::int as i';

    for (const kind of [KINDS.old, KINDS.forgetful]) {
      it(`${kind.name}: the query whose statement is not there is answered, and none is prepared any more`, async () => {
        const pooler = await start(kind, { poolMode: 'transaction', poolSize: 2 });
        const pool = newPool(pooler, { max: 4, maxInFlight: 1 });
        // Each connection may find the same session for a while.
        let isTold = false;
        process.once('warning', () => (isTold = true));
        const warnings = await warningsOf(async () => {
          for (let round = 0; round < 20 || !isTold; ++round) {
            const results = await Promise.all(
              Array.from({ length: 20 }, (_, i) => pool.query(text, [i])),
            );
            for (const [i, { rows }] of results.entries()) assert.deepEqual(rows, [{ i }]);
          }
        });
        const codes = warnings.map(({ code }) => code);
        assert.deepEqual(codes, ['PG_CONDUIT_POOLER']);
        assert.match(warnings[0].message, /prepare: false/);
        const { parses } = pool.stats();
        for (let i = 0; i < 20; ++i) await pool.query({ name: 'by name', text: 'select 1' });
        assert.equal(pool.stats().parses, parses);
      });

      it(`${kind.name}: with prepare: false nothing of this happens`, async () => {
        const pooler = await start(kind, { poolMode: 'transaction', poolSize: 2 });
        const pool = newPool(pooler, { max: 4, maxInFlight: 1, prepare: false });
        const warnings = await warningsOf(async () => {
          for (let round = 0; round < 20; ++round) {
            await Promise.all(Array.from({ length: 20 }, (_, i) => pool.query(text, [i])));
          }
        });
        assert.deepEqual([warnings, pool.stats().parses], [[], 0]);
      });

      it(`${kind.name}: in a transaction it is not executed, but the query is answered`, async () => {
        const pooler = await start(kind, { poolMode: 'transaction', poolSize: 2 });
        const [one, ...others] = await Promise.all([1, 2, 3].map(() => newClient(pooler)));
        // All in one session, whichever.
        await one.query({ text: 'begin', prepare: false });
        for (let use = 0; use < 3; ++use) await one.query(text, [0]);
        await one.query({ text: 'commit', prepare: false });
        // The others have both sessions of the server, and keep the one that it was prepared in.
        const prepared = `select 1 from pg_prepared_statements where statement = '${text}'`;
        const hasIt = [];
        for (const client of others) {
          await client.query({ text: 'begin', prepare: false });
          hasIt.push((await client.query({ text: prepared, prepare: false })).rows.length > 0);
        }
        assert.deepEqual([...hasIt].sort(), [false, true]);
        const keeper = others[hasIt.indexOf(true)];
        await others[hasIt.indexOf(false)].query({ text: 'rollback', prepare: false });
        await one.query({ text: 'begin', prepare: false });
        assert.deepEqual((await one.query(text, [1])).rows, [{ i: 1 }]);
        await one.query('rollback');
        await keeper.query('rollback');
        for (let i = 0; i < 3; ++i) {
          await one.query('begin');
          assert.deepEqual((await one.query(text, [i])).rows, [{ i }]);
          await one.query('commit');
        }
      });
    }

    it('a newer one knows them: each client its own, eviction with Close included', async () => {
      const pooler = await start(KINDS.newer, { poolMode: 'transaction', poolSize: 2 });
      const pools = [1, 2].map(() =>
        newPool(pooler, { max: 3, maxInFlight: 1, statementCacheSize: 5, prepareThreshold: 1 }),
      );
      const warnings = await warningsOf(async () => {
        for (let round = 0; round < 30; ++round) {
          await Promise.all(
            pools.map(async (pool, p) => {
              const results = await Promise.all(
                Array.from({ length: 20 }, (_, k) =>
                  pool.query(`select $1::int as i, ${(k * round) % 17} as k`, [p]),
                ),
              );
              for (const [k, { rows }] of results.entries()) {
                assert.deepEqual(rows, [{ i: p, k: (k * round) % 17 }]);
              }
            }),
          );
        }
      });
      assert.deepEqual(warnings, []);
      for (const pool of pools) {
        const { statementCache, parses } = pool.stats();
        assert.ok(statementCache.evictions > 0 && parses > 0);
      }
    });

    it('a table that is altered does not make queries fail for ever', async () => {
      await outside.query('drop table if exists altered; create table altered (a int)');
      const pooler = await start(KINDS.newer, { poolMode: 'transaction', poolSize: 2 });
      const pool = newPool(pooler, { max: 2 });
      for (let use = 0; use < 6; ++use) await pool.query('select * from altered');
      await outside.query('alter table altered add column b int');
      for (let use = 0; use < 6; ++use) {
        const { fields } = await pool.query('select * from altered');
        assert.equal(fields.length, 2);
      }
      // And in transactions, where nothing can be run again.
      for (let use = 0; use < 6; ++use) {
        const { fields } = await pool.transaction((tx) => tx.query('select * from altered'));
        assert.equal(fields.length, 2);
      }
    });

    // Not 1.18: it loses the rest of such a message when its client had to wait for a session, and lets the
    // server read on in the middle of it.
    for (const kind of [KINDS.newer, KINDS.forgetful]) {
      it(`${kind.name}: large values come and go`, async () => {
        const pooler = await start(kind, { poolMode: 'transaction', poolSize: 3 });
        const pool = newPool(pooler, { max: 3, maxInFlight: 1 });
        await Promise.all(
          Array.from({ length: 18 }, async (_, i) => {
            const value = Buffer.alloc(2 << 20, i);
            const { rows } = await pool.query('select $1::bytea as value', [value]);
            assert.ok(value.equals(rows[0].value));
          }),
        );
      });
    }

    for (const kind of Object.values(KINDS)) {
      it(`${kind.name}: no session of many gives the rows of another text`, async () => {
        const pooler = await start(kind, { poolMode: 'transaction', poolSize: 3 });
        const clients = await Promise.all(Array.from({ length: 12 }, () => newClient(pooler)));
        await Promise.all(
          clients.map(async (client, c) => {
            // The n-th statement of each client has a text of its own.
            for (let use = 0; use < 60; ++use) {
              const n = use % 6;
              const { rows } = await client.query(`select ${c * 100 + n} as mine, $1::int as i`, [
                use,
              ]);
              assert.deepEqual(rows, [{ mine: c * 100 + n, i: use }]);
            }
          }),
        );
      });
    }
  });
});
