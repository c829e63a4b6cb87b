'use strict';

// Statements that the driver sends by itself (BEGIN, COMMIT, savepoints, what resets a session, LISTEN)
// when a connection falls silent there: their deadline, what callers are told, and that the pool goes on.

const assert = require('node:assert/strict');
const { setImmediate: nextTurn, setTimeout: delay } = require('node:timers/promises');
const { mock } = require('node:test');
const { ConnectionError } = require('../..');
const { connectionOf } = require('../../lib/client/client');
const { takeSlot, freeSlot } = require('../../lib/native/slots');
const {
  OWN_STATEMENT_MILLIS,
  OwnDeadline,
  ownQuery,
} = require('../../lib/connection/own-statements');
const { OWN_DEFAULTS, Query } = require('../../lib/query/query');
const { blockThread } = require('../support/blocked');
const { newClient } = require('../support/connect');
const { errorOf, outcomeOf } = require('../support/outcomes');
const { seen, until } = require('../support/outside');
const { PID, newPool, pidOf } = require('../support/pools');
const { itInLong, someOf } = require('../support/property');
const { Proxy } = require('../support/proxy');
const { insert, useTransactions } = require('../support/transactions');

const QUERY_MILLIS = 300;
/** Later than any deadline of these tests; with a test's patience for a busy machine. */
const IN_TIME_MILLIS = 8000;

/** Parse of an empty text. */
const EMPTY_QUERY = Buffer.from('500000000800000000', 'hex');
/** Close of a prepared statement. */
const CLOSE = 'Spgc_';

/** @template T @param {Promise<T>} promise @returns {Promise<T>} */
function inTime(promise) {
  const late = new AbortController();
  const timeout = delay(IN_TIME_MILLIS, undefined, { signal: late.signal }).then(() => {
    throw new Error('it is still pending');
  });
  timeout.catch(() => {});
  return Promise.race([promise, timeout]).finally(() => late.abort());
}

describe("A connection that falls silent at one of the driver's own statements", function () {
  this.timeout(30000);

  const { numbers, observer } = useTransactions();
  /** @type {Proxy} */
  let proxy;
  beforeEach(async () => {
    proxy = await Proxy.open();
  });
  afterEach(() => proxy.close());

  const options = (given) =>
    proxy.options({
      query_timeout: QUERY_MILLIS,
      connectionTimeoutMillis: 5000,
      waitForServer: true,
      ...given,
    });

  it('at a query of onConnect, while the pool is being ended', async () => {
    proxy.mute = { at: 'select 123' };
    const pool = newPool(options({ max: 1, onConnect: (client) => client.query('select 123') }));
    assert.equal((await errorOf(pool.query('select 1'))).outcome, 'not-run');
    await inTime(pool.end());
    assert.equal(pool.totalCount, 0);
  });

  /** The pool has all of its connections again, and an end. */
  async function assertAlive(pool, max) {
    const clients = await inTime(Promise.all(Array.from({ length: max }, () => pool.connect())));
    for (const client of clients) await client.query('select 1');
    for (const client of clients) client.release();
    await inTime(pool.end());
  }

  // What a caller does, where it falls silent, and what is to become of the call.
  const failure = new Error('thrown by the function');
  const cases = [
    {
      name: 'BEGIN',
      at: 'BEGIN',
      act: (one) => one.transaction((tx) => insert(tx, 1)),
      // Behind a BEGIN that fails it would run without a transaction.
      outcome: 'unknown',
      rows: [],
    },
    {
      name: 'COMMIT',
      at: 'COMMIT',
      act: (one) => one.transaction((tx) => insert(tx, 1)),
      outcome: 'unknown',
      rows: [1],
    },
    {
      name: 'ROLLBACK',
      at: 'ROLLBACK',
      act: (one) =>
        one.transaction(async (tx) => {
          await insert(tx, 1);
          throw failure;
        }),
      error: failure,
      rows: [],
    },
    {
      name: 'SAVEPOINT',
      at: 'SAVEPOINT',
      act: (one) =>
        one.transaction(async (tx) => {
          await insert(tx, 1);
          await tx.transaction((inner) => insert(inner, 2));
        }),
      outcome: 'not-run',
      rows: [],
    },
    {
      name: 'RELEASE, which COMMIT follows',
      at: 'RELEASE',
      act: (one) =>
        one.transaction(async (tx) => {
          await insert(tx, 1);
          await tx.transaction((inner) => insert(inner, 2));
        }),
      outcome: 'unknown',
      rows: [1, 2],
    },
    {
      name: 'RELEASE, behind a statement whose caller gives it up',
      at: 'RELEASE',
      isGivenUp: true,
      act: (one) =>
        one.transaction(async (tx) => {
          await insert(tx, 1);
          await tx.transaction(async (inner) => {
            await insert(inner, 2);
            insert(inner, 3).catch(() => {});
          });
          await insert(tx, 4);
        }),
      outcome: 'not-run',
      rows: [],
    },
    {
      name: 'ROLLBACK TO',
      at: 'ROLLBACK TO',
      act: (one) =>
        one.transaction(async (tx) => {
          await insert(tx, 1);
          await tx
            .transaction(async (inner) => {
              await insert(inner, 2);
              throw failure;
            })
            .catch(() => {});
          await insert(tx, 3);
        }),
      outcome: 'not-run',
      rows: [],
    },
    {
      name: "a stream's SAVEPOINT",
      at: 'SAVEPOINT pg_conduit_read',
      act: (one) =>
        one.transaction(async (tx) => {
          await insert(tx, 1);
          for await (const row of tx.stream('select generate_series(1, 3)')) assert.ok(row);
        }),
      outcome: 'not-run',
      rows: [],
    },
    {
      name: "the RELEASE of a stream's savepoint",
      at: 'RELEASE pg_conduit_read',
      act: (one) =>
        one.transaction(async (tx) => {
          await insert(tx, 1);
          for await (const row of tx.stream('select generate_series(1, 3)')) assert.ok(row);
          await insert(tx, 2);
        }),
      outcome: 'not-run',
      rows: [],
    },
    {
      name: 'the statements that undo a stream which was left',
      at: 'ROLLBACK TO pg_conduit_read',
      act: (one) =>
        one.transaction(async (tx) => {
          await insert(tx, 1);
          for await (const row of tx.stream('select generate_series(1, 1000000)')) {
            assert.ok(row);
            break;
          }
          await insert(tx, 2);
        }),
      outcome: 'not-run',
      rows: [],
    },
  ];

  for (const reaches of [false, true]) {
    describe(reaches ? 'whose answer is lost' : 'that is lost', () => {
      for (const [index, one] of cases.entries()) {
        const { name, at, act, outcome, error: expected, rows, isGivenUp } = one;
        const assertOutcome = async (error) => {
          if (expected === undefined) assert.equal(error.outcome, outcome, error.stack);
          else assert.equal(error, expected);
          // What reached the server has been done by it some time later.
          if (reaches) await until('it is done', async () => same(await numbers('t'), rows));
          else assert.deepEqual(await numbers('t'), []);
        };

        // The short form has one case with a pool of 1, and the next with a pool of 2.
        for (const max of someOf(index % 2 === 0 ? [1, 2] : [2, 1])) {
          it(`is replaced in a pool of ${max}: ${name}`, async () => {
            const pool = newPool(options({ max }));
            await pool.query('select 1');
            proxy.mute = { at, reaches };
            await assertOutcome(await inTime(errorOf(act(pool))));
            assert.equal(proxy.mute, undefined);
            await assertAlive(pool, max);
          });
        }

        // Those take seconds each.
        (isGivenUp ? itInLong : it)(`ends a client: ${name}`, async () => {
          const client = await newClient(options());
          const lost = seen(client, 'error');
          client.on('error', () => {});
          proxy.mute = { at, reaches };
          await assertOutcome(await inTime(errorOf(act(client))));
          // It is closed then without being lost.
          if (!isGivenUp) await inTime(lost);
          const error = await inTime(errorOf(client.query('select 1')));
          assert.ok(error instanceof ConnectionError);
          assert.equal(error.outcome, 'not-run');
        });
      }
    });
  }

  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

  it('names the statement in its error, and how long it waited', async () => {
    const client = await newClient(options());
    proxy.mute = { at: 'COMMIT' };
    const error = await inTime(errorOf(client.transaction((tx) => insert(tx, 1))));
    assert.ok(error instanceof ConnectionError);
    assert.equal(error.message, 'Connection terminated unexpectedly');
    assert.equal(error.code, 'ETIMEDOUT');
    assert.equal(error.detail, `the server has not answered COMMIT within ${QUERY_MILLIS} ms`);
  });

  // What a released client has left behind.
  const LEFT = [
    ['ROLLBACK', 'begin', {}],
    ['DISCARD ALL', 'set work_mem = 65', {}],
    ['set lock_timeout', 'set work_mem = 65', { resetQuery: 'reset all; set lock_timeout = 1' }],
  ];
  for (const [at, left, given] of LEFT) {
    for (const max of [1, 2]) {
      it(`is replaced in a pool of ${max} at release(): ${at}`, async () => {
        const pool = newPool(options({ max, ...given }));
        const client = await pool.connect();
        await client.query(left);
        proxy.mute = { at };
        client.release();
        const others = Array.from({ length: 4 }, () =>
          pool.query({ text: 'select 1', timeoutMillis: 0 }),
        );
        await inTime(Promise.all(others));
        await assertAlive(pool, max);
      });
    }
  }

  it('is replaced at the Close of a prepared statement', async () => {
    const pool = newPool(options({ max: 1, prepareThreshold: 1, statementCacheSize: 1 }));
    const client = await pool.connect();
    for (let i = 0; i < 3; ++i) await client.query('select 1 as a');
    proxy.mute = { at: CLOSE };
    const outcomes = [1, 2, 3].map((i) => outcomeOf(client.query(`select ${i} as b`)));
    await until('it is closed', () => proxy.mute === undefined);
    client.release();
    await inTime(Promise.all(outcomes));
    await assertAlive(pool, 1);
  });

  it('is replaced at the query that follows a cancel', async () => {
    const pool = newPool(options({ max: 1, query_timeout: QUERY_MILLIS }));
    const client = await pool.connect();
    const sleeping = errorOf(client.query({ text: 'select pg_sleep(60)', timeoutMillis: 0 }));
    await observer.untilAsleep(client.processID);
    proxy.mute = { at: EMPTY_QUERY };
    const cancelled = client.cancel();
    assert.equal((await inTime(sleeping)).code, '57014');
    client.release();
    await inTime(cancelled);
    await assertAlive(pool, 1);
  });

  it('is replaced while the types are fetched', async () => {
    const pool = newPool(options({ max: 1, fetchTypes: true }));
    proxy.mute = { at: 'pg_type' };
    const error = await inTime(errorOf(pool.query('select 1')));
    assert.ok(error.outcome === 'not-run', error.stack);
    await assertAlive(pool, 1);
  });

  for (const kind of ['pool', 'client']) {
    it(`is replaced when copyRows() of a ${kind} reads the columns of the table`, async () => {
      const pool = newPool(options({ max: 1 }));
      const one = kind === 'pool' ? pool : await pool.connect();
      proxy.mute = { at: 'pg_attribute' };
      const error = await inTime(errorOf(one.copyRows('t', ['i'], [[1]])));
      assert.equal(error.outcome, 'not-run');
      if (one !== pool) one.release();
      assert.deepEqual(await numbers('t'), []);
      await assertAlive(pool, 1);
    });
  }

  for (const at of ['listen "c"', 'unlisten "c"']) {
    it(`is replaced at the ${at} of a listener`, async () => {
      const pool = newPool(options({ max: 1, connectionTimeoutMillis: 0 }));
      const kept = await pool.listen('kept', () => {});
      if (at.startsWith('listen')) {
        proxy.mute = { at };
        const error = await inTime(outcomeOf(pool.listen('c', () => {})));
        assert.ok(error.error === undefined || error.error.outcome !== undefined);
      } else {
        const { unlisten } = await pool.listen('c', () => {});
        proxy.mute = { at };
        await inTime(unlisten());
      }
      assert.equal(proxy.mute, undefined);
      const payload = await inTime(
        new Promise((resolve) => {
          pool.listen('after', resolve).then(() => pool.notify('after', 'heard'));
        }),
      );
      assert.equal(payload, 'heard');
      await inTime(kept.unlisten());
      await inTime(pool.end());
    });
  }

  describe('is not considered silent', () => {
    it('while the statement waits behind a long one of a caller', async () => {
      const pool = newPool(options({ max: 1 }));
      const client = await pool.connect();
      const pid = pidOf(await client.query(PID));
      const long = `select pg_sleep(${(4 * QUERY_MILLIS) / 1000})`;
      await client.transaction(async (tx) => {
        await insert(tx, 1);
        tx.query({ text: long, timeoutMillis: 0 });
      });
      await client.query('begin');
      client.query({ text: long, timeoutMillis: 0 });
      client.release();
      assert.equal(pidOf(await pool.query({ text: PID, timeoutMillis: 0 })), pid);
      assert.deepEqual(await numbers('t'), [1]);
    });

    it('while the event loop is blocked, and the answer has arrived', async () => {
      const client = await newClient(options());
      for (let i = 0; i < 3; ++i) {
        await client.transaction(async (tx) => {
          await insert(tx, i);
          // COMMIT is sent before this, and answered meanwhile.
          setImmediate(() => blockThread(2 * QUERY_MILLIS));
        });
      }
      assert.deepEqual(await numbers('t'), [0, 1, 2]);
    });

    it('while nothing is in flight, however long that takes', async () => {
      const pool = newPool(options({ max: 1 }));
      await pool.transaction((tx) => insert(tx, 1));
      const pid = pidOf(await pool.query(PID));
      await delay(3 * QUERY_MILLIS);
      assert.equal(pidOf(await pool.query(PID)), pid);
    });

    it('while the reader of a stream makes it wait', async () => {
      const client = await newClient(options());
      await client.transaction(async (tx) => {
        await insert(tx, 1);
        let count = 0;
        for await (const row of tx.stream('select generate_series(1, 200000)')) {
          assert.ok(row);
          if (++count % 50000 === 0) await delay(2 * QUERY_MILLIS);
        }
      });
      assert.deepEqual(await numbers('t'), [1]);
    });
  });

  describe('without query_timeout', () => {
    beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
    afterEach(() => mock.timers.reset());

    /** What is given up after so many ms with this at the head, if anything. */
    async function watchHead(entry, millis, { isShared = false, queryMillis = 0 } = {}) {
      const slot = takeSlot(entry);
      /** @type {any[]} */
      let given = [];
      let now = 0;
      const head = () => ({ slot, millis: now });
      const deadline = new OwnDeadline({ isShared, inFlight: 1 }, head, queryMillis, (...how) => {
        given = how;
      });
      deadline.watch();
      for (; now < millis;) {
        const step = Math.min(10_000, millis - now);
        now += step;
        mock.timers.tick(step);
        await nextTurn();
      }
      deadline.stop();
      freeSlot(slot);
      return given;
    }

    const commit = () => Object.assign(ownQuery('COMMIT'), { mayTakeLong: true });
    const DAY = 86_400_000;

    it('a statement that is always fast has two and a half minutes', async () => {
      const query = ownQuery('ROLLBACK');
      assert.deepEqual(await watchHead(query, OWN_STATEMENT_MILLIS - 1), []);
      assert.deepEqual(await watchHead(query, OWN_STATEMENT_MILLIS + 1), [
        'ROLLBACK',
        OWN_STATEMENT_MILLIS,
      ]);
    });

    it('a COMMIT has no limit, since deferred constraints and standbys may take long', async () => {
      assert.deepEqual(await watchHead(commit(), DAY), []);
      assert.deepEqual(await watchHead(commit(), 1000, { queryMillis: 999 }), ['COMMIT', 999]);
    });

    it('a statement of a caller has no limit', async () => {
      const query = new Query('select 1', [], {}, OWN_DEFAULTS);
      assert.deepEqual(await watchHead(query, DAY), []);
    });

    it('query_timeout does not shorten the limit on a shared connection', async () => {
      const how = { isShared: true, queryMillis: 100 };
      const query = ownQuery('x');
      assert.deepEqual(await watchHead(query, OWN_STATEMENT_MILLIS - 1, how), []);
      assert.equal((await watchHead(query, OWN_STATEMENT_MILLIS + 1, how))[0], 'x');
    });
  });

  it('does not keep a process alive that has nothing else to do', async () => {
    const client = await newClient();
    await client.transaction((tx) => tx.query('select 1'));
    assert.equal(connectionOf(client).inFlight, 0);
    const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout');
    await client.end();
    const after = process.getActiveResourcesInfo().filter((name) => name === 'Timeout');
    assert.equal(after.length, timers.length);
  });
});
