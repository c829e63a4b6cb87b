'use strict';

// Tools wrap Client.prototype.query, or the query of one client, to see the queries of an application: in
// `pg` all queries of a pool pass there, and so they do here once it is wrapped.

const assert = require('node:assert/strict');
const { AsyncLocalStorage } = require('node:async_hooks');
const { tracingChannel } = require('node:diagnostics_channel');
const { errorMonitor } = require('node:events');
const { setTimeout: delay } = require('node:timers/promises');
const { Client, DatabaseError, Query, QueryAbortedError } = require('../..');
const { SCHEMA, newClient, resetSchema } = require('../support/connect');
const { until } = require('../support/outside');
const { LOCK, PID, newPool, teach, usePools, warm } = require('../support/pools');

const MANY = 40;

describe('a wrapped query() of clients', () => {
  const observer = usePools();
  const { query: plain } = Client.prototype;

  before(resetSchema);
  afterEach(() => {
    Client.prototype.query = plain;
  });

  /** @param {(client: Client, args: any[], next: (...args: any[]) => any) => any} around */
  function wrap(around) {
    const seen = [];
    Client.prototype.query = function wrapper(...args) {
      seen.push(args[0].text ?? args[0]);
      return around(this, args, (...given) => plain.apply(this, given));
    };
    return seen;
  }

  const passOn = (client, args, next) => next(...args);
  const one = { text: 'select $1::int as i', values: [1] };

  it('sees each query of a pool once, with its values, name and mode, and runs it', async () => {
    const configs = [];
    const seen = wrap((client, [config], next) => {
      configs.push(config);
      assert.ok(client instanceof Client && client.processID > 0);
      return next(config);
    });
    const pool = newPool();
    const named = { ...one, name: 'a name', rowMode: 'array' };
    assert.deepEqual((await pool.query(named)).rows, [[1]]);
    const { text, values, name, rowMode } = configs[0];
    assert.deepEqual({ text, values, name, rowMode }, named);
    assert.deepEqual((await pool.query('select 2 as two')).rows, [{ two: 2 }]);
    await new Promise((resolve, reject) => {
      pool.query('select $1::int as i', [3], (error, result) => {
        if (error) reject(error);
        else resolve(assert.deepEqual(result.rows, [{ i: 3 }]));
      });
    });
    const results = await pool.query('select 4 as i; select 5 as i');
    assert.deepEqual(
      results.map(({ rows }) => rows[0].i),
      [4, 5],
    );
    const { signal } = new AbortController();
    assert.deepEqual((await pool.query({ ...one, signal })).rows, [{ i: 1 }]);
    assert.equal(seen.length, 5);
  });

  it('may reject after its query was aborted, without an unhandled rejection', async () => {
    const pool = newPool({ max: 1 });
    await pool.query(one);
    /** @type {(value?: any) => void} */
    let fail = () => {};
    const told = new Promise((resolve) => {
      fail = resolve;
    });
    wrap(async () => {
      await told;
      throw new Error('too late');
    });
    const unhandled = [];
    const note = (/** @type {unknown} */ error) => unhandled.push(error);
    process.on('unhandledRejection', note);
    try {
      await assert.rejects(pool.query({ ...one, timeoutMillis: 10 }), QueryAbortedError);
      fail();
      await delay(10);
    } finally {
      process.off('unhandledRejection', note);
    }
    assert.deepEqual(unhandled, []);
  });

  it('is called in the async context of the caller, also for queries that have waited', async () => {
    const storage = new AsyncLocalStorage();
    const contexts = [];
    wrap((client, args, next) => {
      contexts.push([args[0].values[0], storage.getStore()]);
      return next(...args);
    });
    const pool = newPool({ max: 1, maxInFlight: 2 });
    const ask = (i) => storage.run(i, () => pool.query('select $1::int as i', [i]));
    const results = await Promise.all(Array.from({ length: MANY }, (_, i) => ask(i)));
    results.forEach(({ rows }, i) => assert.deepEqual(rows, [{ i }]));
    assert.equal(contexts.length, MANY);
    for (const [i, store] of contexts) assert.equal(store, i);
  });

  it("may be wrapped for one client, in a 'connect' listener", async () => {
    const storage = new AsyncLocalStorage();
    const stores = [];
    const pool = newPool({ max: 2 });
    pool.on('connect', (client) => {
      client.query = function (...args) {
        stores.push(storage.getStore());
        return plain.apply(client, args);
      };
    });
    const ask = (i) => storage.run(i, () => pool.query(one));
    await Promise.all(Array.from({ length: MANY }, (_, i) => ask(i)));
    assert.deepEqual(
      stores.sort((a, b) => a - b),
      Array.from({ length: MANY }, (_, i) => i),
    );
  });

  it('gets the same error as the caller', async () => {
    const errors = [];
    wrap((client, args, next) =>
      next(...args).catch((error) => {
        errors.push(error);
        throw error;
      }),
    );
    const pool = newPool();
    for (const text of ['select 1 / 0', 'select nonsense']) {
      const error = await pool.query(text).catch((reason) => reason);
      assert.ok(error instanceof DatabaseError);
      assert.equal(errors.pop(), error);
    }
  });

  it('may add a comment to a copy of the query, or pass other arguments', async () => {
    const pool = newPool();
    const text = 'select current_query() as text, $1::int as i';
    const expected = [{ text: `${text} /* seen */`, i: 7 }];
    const forms = [
      ([config], next) => next({ ...config, text: `${config.text} /* seen */` }),
      ([config], next) => next(`${config.text} /* seen */`, config.values),
      ([config], next) =>
        next({ ...config, text: `${config.text} /* seen */`, values: undefined }, [7]),
      ([config], next) =>
        new Promise((resolve, reject) => {
          const copy = { ...config, text: `${config.text} /* seen */` };
          const returned = next(copy, (error, result) => (error ? reject(error) : resolve(result)));
          assert.equal(returned, undefined);
        }),
      ([config], next) => {
        config.text += ' /* seen */';
        return next(config);
      },
    ];
    for (const form of forms) {
      wrap((client, args, next) => form(args, next));
      assert.deepEqual((await pool.query(text, [7])).rows, expected);
    }
  });

  it('may not turn a shared query into a statement that needs a session', async () => {
    wrap((client, [config], next) => next({ ...config, text: 'begin' }));
    await assert.rejects(newPool().query('select 1'), { code: 'ERR_PG_CONDUIT_REFUSED' });
  });

  it('decides what the caller gets', async () => {
    const pool = newPool();
    wrap(async (client, args, next) => ({ ...(await next(...args)), more: true }));
    const { rows, more } = await pool.query(one);
    assert.deepEqual([rows, more], [[{ i: 1 }], true]);
    wrap(async () => ({ rows: ['from a cache'] }));
    assert.deepEqual(await pool.query(one), { rows: ['from a cache'] });
    wrap(() => {
      throw new Error('thrown');
    });
    await assert.rejects(pool.query(one), /thrown/);
    wrap(() => Promise.reject(new Error('rejected')));
    await assert.rejects(pool.query({ ...one, signal: new AbortController().signal }), /rejected/);
    Client.prototype.query = plain;
    assert.equal(pool.stats().inFlight ?? 0, 0);
    assert.deepEqual((await pool.query(one)).rows, [{ i: 1 }]);
  });

  it('may return or pass on an object with a getter that throws, without affecting other queries', async () => {
    const pool = newPool({ max: 1 });
    const thrown = new Error('looked at');
    const hostile = (/** @type {string} */ name) =>
      Object.defineProperty({}, name, {
        enumerable: true,
        get() {
          throw thrown;
        },
      });
    const isOne = (/** @type {any[]} */ args) => args[0].values?.[0] === 13;
    const WRAPPERS = {
      'a then()': () => hostile('then'),
      'a rejection of nothing': async () => {
        throw undefined; // eslint-disable-line no-throw-literal
      },
      'a text': (client, [config], next) =>
        next(Object.assign(hostile('text'), { ...config, text: 1 })),
      'a mode': (client, [config], next) =>
        next(
          Object.defineProperties(
            hostile('rowMode'),
            Object.getOwnPropertyDescriptors({ ...config }),
          ),
        ),
    };
    for (const [what, wrapper] of Object.entries(WRAPPERS)) {
      wrap((client, args, next) => (isOne(args) ? wrapper(client, args, next) : next(...args)));
      const [before, failing, after] = await Promise.allSettled([
        pool.query(one),
        pool.query({ ...one, values: [13] }),
        pool.query(one),
      ]);
      assert.equal(failing.status, 'rejected', what);
      for (const { value } of [before, after]) assert.deepEqual(value.rows, [{ i: 1 }]);
      const client = await pool.connect();
      client.release();
    }
    Client.prototype.query = plain;
    assert.deepEqual((await pool.query(one)).rows, [{ i: 1 }]);
  });

  it('may use another client instead, or run the query twice', async () => {
    const pool = newPool();
    const other = await newClient();
    const text = 'select pg_backend_pid() as pid';
    wrap((client, args) => plain.apply(other, args));
    assert.equal((await pool.query(text)).rows[0].pid, other.processID);
    wrap(async (client, args, next) => {
      await next(...args);
      return next(...args);
    });
    assert.deepEqual((await pool.query(one)).rows, [{ i: 1 }]);
  });

  it('may run the query later, and its connection is not checked out until then', async () => {
    const pool = newPool({ max: 1 });
    await warm(pool, 1);
    wrap(async (client, args, next) => {
      await delay(30);
      return next(...args);
    });
    const asked = pool.query('select pg_current_xact_id_if_assigned() as id, 1 as i');
    const client = await pool.connect();
    const { rows } = await asked;
    assert.deepEqual(rows, [{ id: null, i: 1 }]);
    client.release();
  });

  it('may run the query after pool.end() was called, or after the time limit of the query', async () => {
    let goOn;
    const later = new Promise((resolve) => {
      goOn = resolve;
    });
    const seen = wrap(async (client, args, next) => {
      await later;
      return next(...args);
    });
    const pool = newPool({ max: 1 });
    await warm(pool, 1);
    const asked = pool.query(one);
    const error = await pool.query({ ...one, timeoutMillis: 20 }).catch((reason) => reason);
    assert.ok(error instanceof QueryAbortedError);
    assert.equal(error.outcome, 'not-run');
    const ended = pool.end();
    goOn();
    assert.deepEqual((await asked).rows, [{ i: 1 }]);
    await ended;
    assert.equal(seen.length, 2);
  });

  it('sees a query once that is sent again because its connection was lost', async () => {
    const pool = newPool({ max: 1 });
    pool.on('error', () => {});
    const text = 'select length($1) as n, pg_advisory_xact_lock($2)';
    const large = { text, values: ['x'.repeat(6 << 20), LOCK] };
    await teach(pool, text, ['x', LOCK]);
    const [{ pid }] = (await pool.query(PID)).rows;
    const seen = wrap(passOn);
    await observer.ask('select pg_advisory_lock($1)', [LOCK]);
    // More than 8 MB are not sent before the first one is answered.
    const settled = Promise.allSettled([
      pool.query(large),
      pool.query(large),
      pool.query(text, ['x', LOCK]),
    ]);
    await until('the first one waits for the lock', async () => {
      const rows = await observer.ask('select from pg_locks where not granted and pid = $1', [pid]);
      return rows.length > 0;
    });
    await observer.ask('select pg_terminate_backend($1)', [pid]);
    await observer.ask('select pg_advisory_unlock($1)', [LOCK]);
    const [first, second, third] = await settled;
    assert.equal(first.reason.outcome, 'unknown');
    assert.equal(second.value.rows[0].n, 6 << 20);
    assert.equal(third.value.rows[0].n, 1);
    assert.equal(seen.length, 3);
  });

  it('sees the statements of a transaction', async () => {
    const seen = wrap(passOn);
    const pool = newPool({ options: `-c search_path=${SCHEMA}` });
    await pool.transaction(async (tx) => {
      await tx.query('create table t (i int)');
      await tx.query('insert into t values ($1)', [1]);
    });
    assert.deepEqual(seen, ['create table t (i int)', 'insert into t values ($1)']);
  });

  it('may wait before it passes on a statement of a transaction', async () => {
    wrap(async (client, args, next) => {
      await delay(5);
      return next(...args);
    });
    const pool = newPool({ max: 1 });
    /** @type {any} */
    let late;
    await pool.transaction(async (tx) => {
      const answers = await Promise.all([tx.query(one), tx.query('select 2 as i')]);
      assert.deepEqual(
        answers.map(({ rows }) => rows[0].i),
        [1, 2],
      );
      await tx.transaction(async (inner) => {
        await inner.query('select 3');
      });
      // By then the transaction has ended: it is not run outside of it.
      late = tx.query('select 4').catch((error) => error);
    });
    assert.equal((await late).code, 'ERR_PG_CONDUIT_TRANSACTION_ENDED');
    const client = await pool.connect();
    await client.transaction(async (tx) => {
      await tx.query('select 5');
      // Who does not ask by the transaction is not in it.
      await assert.rejects(client.query('select 6'), /transaction/);
    });
    client.release();
  });

  it('does not treat queries that follow a callback of a transaction as part of it', async () => {
    wrap(passOn);
    const client = await newPool({ max: 1 }).connect();
    /** @type {Promise<any> | undefined} */
    let later;
    await client.transaction(async (tx) => {
      await new Promise((resolve) => {
        tx.query('select 1', (error) => {
          later = delay(20).then(() => client.query(one));
          resolve(error);
        });
      });
    });
    const { rows } = await later;
    assert.deepEqual(rows, [{ i: 1 }]);
    client.release();
  });

  it('gets the arguments of a statement of a transaction, and no more', async () => {
    const counts = [];
    wrap((client, args, next) => {
      counts.push(args.length);
      return next(...args);
    });
    await newPool().transaction(async (tx) => {
      await tx.query('select 1');
      await tx.query('select $1::int', [1]);
      await new Promise((resolve) => {
        tx.query('select 1', resolve);
      });
    });
    assert.deepEqual(counts, [1, 2, 2]);
  });

  for (const isTraced of [false, true]) {
    const also = isTraced ? ', also when it is traced' : '';
    it(`finds its query last in queryQueue, as an emitter of its result${also}`, async () => {
      const traced = [];
      const handlers = { asyncEnd: ({ text }) => traced.push(text) };
      if (isTraced) tracingChannel('pg-conduit:query').subscribe(handlers);
      const told = [];
      wrap((client, args, next) => {
        const answer = next(...args);
        const { queryQueue } = client;
        const look = (value) => told.push(value.message ?? value.rows);
        queryQueue.at(-1).once(errorMonitor, look).once('end', look);
        return answer;
      });
      const pool = newPool();
      await pool.query(one);
      await pool.query('select 1 / 0').catch(() => {});
      // Refused before anything is sent.
      const client = await pool.connect();
      await client.query('select $1', 'no array').catch(() => {});
      const query = client.query(new Query('select 2 as two'));
      await new Promise((resolve) => {
        query.once('end', resolve);
      });
      assert.deepEqual(client.queryQueue, []);
      client.release();
      const [first, second, third, fourth] = told;
      assert.deepEqual([first, fourth], [[{ i: 1 }], [{ two: 2 }]]);
      assert.match(second, /division by zero/);
      assert.match(third, /must be an array/);
      if (isTraced) tracingChannel('pg-conduit:query').unsubscribe(handlers);
      assert.equal(traced.length, isTraced ? 4 : 0, traced.join());
    });
  }

  it('does not keep queries from sharing a connection and its Syncs', async () => {
    const pool = newPool({ max: 1 });
    for (let i = 0; i < 30; ++i) await pool.query(one);
    const seen = wrap(passOn);
    await Promise.all(Array.from({ length: MANY }, () => pool.query(one)));
    assert.equal(seen.length, MANY);
    assert.equal(pool.totalCount, 1);
  });
});
