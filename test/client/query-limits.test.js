'use strict';

// query(text, values, { signal, timeoutMillis }) on all objects with query(), and invalid signals. The effects of a
// cancel are in test/connection/cancel.test.js.

const assert = require('node:assert/strict');
const { ParameterError, QueryAbortedError } = require('../..');
const { connectionString, endAll, newClient, newPool } = require('../support/connect');
const { called, errorOf } = require('../support/outcomes');

// Longer than all limits here, and no longer than a pool may wait for it at its end.
const SLOW = 'select pg_sleep(0.3), $1::int as n';

/** @type {Record<string, (use: (on: any) => Promise<any>) => Promise<any>>} */
const FACES = {
  'a pool': (use) => use(newPool()),
  'a client': async (use) => use(await newClient()),
  'a client of a pool': async (use) => {
    const client = await newPool().connect();
    try {
      return await use(client);
    } finally {
      client.release();
    }
  },
  'the pool of replicas': (use) =>
    use(newPool({ replicas: { connectionString: connectionString() } }).read),
  'the pool of replicas, after a position': async (use) => {
    const pool = newPool({ replicas: { connectionString: connectionString() } });
    const after = await pool.walPosition();
    return use({ query: (text, ...rest) => pool.read.query({ text, after }, ...rest) });
  },
  'a transaction': (use) => newPool().transaction(use),
  'a client whose query is wrapped': (use) => {
    const pool = newPool();
    pool.on('connect', (client) => {
      const { query } = client;
      client.query = (...given) => query.apply(client, given);
    });
    return use(pool);
  },
};

const ODD_SIGNALS = {
  'a number': 42,
  zero: 0,
  'a text': 'now',
  'an empty text': '',
  false: false,
  'an object': {},
  'an object with the members of one': {
    aborted: false,
    addEventListener() {},
    removeEventListener() {},
  },
  'an object with the prototype of one': Object.create(AbortSignal.prototype),
  'a controller': new AbortController(),
  'a getter that throws': {
    get aborted() {
      throw new Error('not today');
    },
  },
  'a proxy that throws': new Proxy(new AbortController().signal, {
    get() {
      throw new Error('not today');
    },
  }),
};

describe('query(text, values, { signal, timeoutMillis })', () => {
  afterEach(endAll);

  for (const [face, on] of Object.entries(FACES)) {
    describe(`of ${face}`, () => {
      it('is aborted by the signal', async () => {
        const reason = new Error('mine');
        for (const signal of [AbortSignal.abort(reason), AbortSignal.timeout(20)]) {
          const error = await errorOf(on((db) => db.query(SLOW, [1], { signal })));
          assert.ok(error instanceof QueryAbortedError, String(error));
          assert.equal(error.name, 'AbortError');
          assert.equal(error.cause, signal.reason);
        }
      });

      it('is rejected after the time limit', async () => {
        const error = await errorOf(on((db) => db.query(SLOW, [1], { timeoutMillis: 20 })));
        assert.equal(error.code, 'ERR_PG_CONDUIT_QUERY_TIMEOUT');
      });

      it('resolves to the result otherwise', async () => {
        const { signal } = new AbortController();
        for (const options of [
          { signal, timeoutMillis: 10_000 },
          { timeoutMillis: 0 },
          { signal: null, timeoutMillis: undefined },
          {},
          null,
          undefined,
        ]) {
          const { rows } = await on((db) => db.query('select $1::int as n', [7], options));
          assert.deepEqual(rows, [{ n: 7 }]);
          const without = await on((db) => db.query('select 8 as n', undefined, options));
          assert.deepEqual(without.rows, [{ n: 8 }]);
        }
      });

      it('takes a callback in that place, too', async () => {
        await on(async (db) => {
          const [error, result] = await called((callback) => {
            assert.equal(db.query('select $1::int as n', [7], callback), undefined);
          });
          assert.ok(!error);
          assert.deepEqual(result.rows, [{ n: 7 }]);
        });
      });

      it('rejects other options and invalid limits', async () => {
        for (const options of [
          { rowMode: 'array' },
          { timeoutMillis: -1 },
          { timeoutMillis: '10' },
          [1],
          { timeout: 1 },
        ]) {
          const error = await errorOf(on((db) => db.query('select $1::int', [1], options)));
          const { cause = error } = error;
          assert.ok(cause instanceof ParameterError, String(error));
          assert.match(cause.message, /unknown option "|timeoutMillis must be/);
        }
        await on((db) => db.query('select $1::int', [1], { rowMode: undefined }));
      });

      for (const [what, signal] of Object.entries(ODD_SIGNALS)) {
        it(`rejects ${what} as a signal`, async () => {
          const error = await errorOf(on((db) => db.query('select 1', [], { signal })));
          const { cause = error } = error;
          assert.ok(cause instanceof ParameterError, String(error));
          assert.match(cause.message, /signal must be an AbortSignal/);
        });
      }
    });
  }

  it('takes precedence over limits in the query object', async () => {
    for (const db of [newPool(), await newClient()]) {
      const text = { text: SLOW, timeoutMillis: 60_000, signal: new AbortController().signal };
      const late = await errorOf(db.query(text, [1], { timeoutMillis: 20 }));
      assert.equal(late.code, 'ERR_PG_CONDUIT_QUERY_TIMEOUT');
      const aborted = await errorOf(db.query(text, [1], { signal: AbortSignal.timeout(20) }));
      assert.equal(aborted.name, 'AbortError');
      // What is not said there stays.
      const kept = await errorOf(
        db.query({ text: SLOW, timeoutMillis: 20 }, [1], { signal: undefined }),
      );
      assert.equal(kept.code, 'ERR_PG_CONDUIT_QUERY_TIMEOUT');
    }
  });

  it('keeps other options of the query object', async () => {
    const { rows } = await newPool().query({ text: 'select 1', rowMode: 'array' }, [], {
      timeoutMillis: 10_000,
    });
    assert.deepEqual(rows, [[1]]);
  });
});

describe('an invalid signal', () => {
  afterEach(endAll);

  for (const [what, signal] of Object.entries(ODD_SIGNALS)) {
    it(`(${what}) rejects the promise or fails the stream, instead of throwing`, async () => {
      const client = await newClient();
      const pool = newPool();
      const failures = [
        ...[client, pool].flatMap((db) => [
          db.query({ text: 'select 1', signal }),
          db.batch(['select 1'], { signal }),
          db.batch([{ text: 'select 1', signal }]),
          db.stream({ text: 'select 1', signal }).toArray(),
          db.stream('select 1', [], { signal }).toArray(),
        ]),
        client.cursor({ text: 'select 1', signal }).read(1),
        client.cursor('select 1', [], { signal }).read(1),
      ];
      for (const failure of failures) {
        const error = await errorOf(failure);
        assert.ok(error instanceof ParameterError, String(error));
        assert.match(error.message, /signal must be an AbortSignal/);
        assert.equal(error.outcome, 'not-run');
      }
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
    });
  }
});

describe('a signal in the third argument', () => {
  afterEach(endAll);

  it('aborts a stream or a cursor', async () => {
    const client = await newClient();
    for (const db of [client, newPool()]) {
      const signal = AbortSignal.timeout(20);
      const error = await errorOf(db.stream('select pg_sleep(10)', [], { signal }).toArray());
      assert.equal(error.name, 'AbortError');
    }
    const signal = AbortSignal.timeout(20);
    const error = await errorOf(client.cursor('select pg_sleep(10)', [], { signal }).read(1));
    assert.equal(error.name, 'AbortError');
  });
});
