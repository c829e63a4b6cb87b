'use strict';

// lib/base/caller-stack.js: the stack of each error names a line of the caller's, whichever public method it comes from, and
// calls that succeed pay nothing for it.

const assert = require('node:assert/strict');
const { tracingChannel } = require('node:diagnostics_channel');
const PgCursor = require('pg-cursor');
const { Client, Pool, Query } = require('../..');
const { Deferred } = require('../../lib/base/caller-stack');
const { Cursor } = require('../../lib/query/cursor');
const { Transaction } = require('../../lib/transaction/transaction');
const { endAll, newClient, newPool, resetSchema } = require('../support/connect');
const { errorOf } = require('../support/outcomes');

const NOWHERE = 'postgres://nobody@127.0.0.1:1/nothing';
const LONG = 'x'.repeat(9000);

/** Errors of a stream come as events. @param {import('node:stream').Stream} stream */
function failureOf(stream) {
  return new Promise((resolve, reject) => {
    stream.on('error', reject);
    stream.on('close', () => resolve(undefined));
    if ('resume' in stream) /** @type {any} */ (stream).resume();
    else /** @type {any} */ (stream).end('1\n');
  });
}

/** @param {any} cursor */
async function readAll(cursor) {
  while ((await cursor.read(10)).length > 0);
}

/** Rows as they come, COPY, and statements: what pools, clients and transactions have in common. */
const STATEMENTS = {
  query: (on, { text }) => on.query(text),
  batch: (on, { text }) => on.batch(['select 1', text]),
  describe: (on, { described }) => on.describe(described),
  stream: async (on, { text }) => {
    // eslint-disable-next-line no-unused-vars
    for await (const row of on.stream(text));
  },
  copyFrom: (on, { from }) => failureOf(on.copyFrom(from)),
  copyTo: (on, { to }) => failureOf(on.copyTo(to)),
  copyRows: (on, { table }) => on.copyRows(table, ['a'], [[1]]),
};
const CURSORS = {
  cursor: (on, { text }) => readAll(on.cursor(text)),
};
const inTransaction = (calls) =>
  Object.fromEntries(
    Object.entries(calls).map(([name, call]) => [
      name,
      (on, how) => on.transaction((tx) => call(tx, how)),
    ]),
  );
const TRANSACTIONS = {
  transaction: (on, { body, text }) => on.transaction(body ?? ((tx) => tx.query(text))),
};
const IN_TRANSACTION = inTransaction({ ...STATEMENTS, ...CURSORS, ...TRANSACTIONS });

/** @type {Record<string, Record<string, (on: any, how: any) => Promise<any>>>} */
const CALLS = {
  Pool: {
    ...STATEMENTS,
    ...TRANSACTIONS,
    connect: async (on) => (await on.connect()).release(),
    listen: (on, { channel }) => on.listen(channel, () => {}),
    notify: (on, { channel }) => on.notify(channel, LONG),
    subscribe: (on, { channel }) => on.subscribe(channel, () => {}),
    walPosition: (on) => on.walPosition(),
    end: (on) => on.end(),
  },
  Client: {
    ...STATEMENTS,
    ...CURSORS,
    ...TRANSACTIONS,
    connect: (on) => on.connect(),
    'query of pg-cursor': (on, { text }) => readAll(on.query(new PgCursor(text))),
    'query of a Query': (on, { text }) => failureOf(on.query(new Query(text))),
    'query of a Query of two statements': (on, { text }) =>
      failureOf(on.query(new Query(`select 1; ${text}`))),
  },
  Transaction: IN_TRANSACTION,
};

/** What gives no promise, stream or cursor, or one that is never rejected. */
const WITHOUT_ERRORS = new Set([
  ...['constructor', 'stats', 'ref', 'unref', 'setTypeParser', 'getTypeParser'],
  ...['escapeIdentifier', 'escapeLiteral', 'getTransactionStatus', 'pauseDrain', 'resumeDrain'],
]);
/** In test/connection/cancel.test.js; ends without an error; the cursor's own. */
const ELSEWHERE = { Client: ['cancel', 'end'], Pool: [], Transaction: [], Cursor: ['close'] };

const WELL = {
  text: 'select 1',
  described: 'select 1',
  from: 'copy a from stdin',
  to: 'copy a to stdout',
  table: 'a',
};
const REFUSED = {
  text: 'select 1 / 0',
  described: 'select nothing',
  from: 'copy nothing from stdin',
  to: 'copy nothing to stdout',
  table: 'nothing',
  channel: 'a',
};
const WRONG = {
  text: 42,
  described: 42,
  from: 'select',
  to: 'select',
  table: 42,
  channel: 42,
  body: 42,
};

/**
 * Ways to fail, each with what the calls get and those that it does not concern.
 * @type {Record<string, { how: object, on: Record<string, () => any>, but?: string[] }>}
 */
const FAILURES = {
  'the server refuses it': {
    how: REFUSED,
    on: { Pool: newPool, Client: newClient, Transaction: newPool },
    but: ['Pool connect', 'Pool listen', 'Pool walPosition', 'Pool end', 'Client connect'],
  },
  'there is no server': {
    how: { ...WELL, channel: 'a' },
    on: {
      Pool: () => new Pool(NOWHERE),
      Client: () => new Client(NOWHERE),
      Transaction: () => new Pool(NOWHERE),
    },
    // What is asked of a client that connects later waits, as in pg.
    but: [
      'Pool end',
      ...Object.keys({ ...STATEMENTS, ...CURSORS, ...CALLS.Client }).flatMap((name) =>
        name === 'connect' ? [] : [`Client ${name}`],
      ),
    ],
  },
  'its argument is wrong': {
    how: WRONG,
    on: { Pool: newPool, Client: newClient, Transaction: newPool },
    but: [
      ...['Pool connect', 'Pool walPosition', 'Pool end', 'Client connect'],
      'Client query of a Query of two statements',
    ],
  },
  'an option is wrong': {
    how: WELL,
    on: {
      Pool: () => new Pool({ max: -1 }),
      Client: () => new Client({ port: 'x' }),
      Transaction: () => new Pool({ max: -1 }),
    },
    but: ['Pool end'],
  },
  'it is called after end()': {
    how: { ...WELL, channel: 'a' },
    on: {
      Pool: () => ended(newPool()),
      Client: async () => ended(await newClient()),
      Transaction: async () => ended(await newClient()),
    },
  },
};

/** @param {any} one */
async function ended(one) {
  await one.end();
  return one;
}

/** @param {any} error @param {RegExp} [caller] of the stack */
function assertNamesCaller(error, caller = /caller-stack\.test\.js:\d+/) {
  assert.ok(error instanceof Error);
  const [header, ...frames] = String(error.stack).split('\n    at ');
  assert.equal(header, String(error));
  assert.match(frames.join('\n'), caller);
  assert.ok(frames.length <= Error.stackTraceLimit + 10, error.stack);
}

describe('the stack of an error', () => {
  before(async () => {
    await resetSchema();
  });
  afterEach(endAll);

  it('is tested for each public method', () => {
    for (const Class of [Pool, Client, Transaction, Cursor]) {
      const calls = Object.keys(
        CALLS[Class.name] ?? { read: true, onRows: 0, onFailed: 0, onEnded: 0 },
      );
      const known = new Set([...calls, ...ELSEWHERE[Class.name], ...WITHOUT_ERRORS]);
      const { prototype } = Class;
      const methods = Object.entries(Object.getOwnPropertyDescriptors(prototype))
        .filter(([, { value }]) => typeof value === 'function')
        .map(([name]) => name);
      assert.deepEqual(
        methods.filter((name) => !known.has(name)),
        [],
      );
    }
  });

  for (const [what, { how, on, but = [] }] of Object.entries(FAILURES)) {
    for (const [Class, calls] of Object.entries(CALLS)) {
      for (const [name, call] of Object.entries(calls)) {
        if (but.includes(`${Class} ${name}`)) continue;
        it(`names the function that awaits ${Class} ${name}, when ${what}`, async () => {
          const one = await on[Class]();
          async function theCaller() {
            await call(one, how);
          }
          assertNamesCaller(await errorOf(theCaller()));
        });
      }
    }
  }

  describe('of a promise that is not awaited', () => {
    /** What ends in a promise that the driver itself has made. */
    const PROMISED = {
      Pool: [
        'query',
        'batch',
        'copyRows',
        'transaction',
        'connect',
        'listen',
        'notify',
        'walPosition',
      ],
      Client: ['query', 'batch', 'copyRows', 'transaction', 'connect'],
      Transaction: ['query', 'batch', 'copyRows', 'transaction', 'cursor'],
    };

    for (const [what, { how, on, but = [] }] of Object.entries(FAILURES)) {
      for (const [Class, names] of Object.entries(PROMISED)) {
        for (const name of names) {
          if (but.includes(`${Class} ${name}`)) continue;
          it(`names the call of ${Class} ${name}, when ${what}`, async () => {
            const one = await on[Class]();
            const call = CALLS[Class][name];
            const error = await new Promise((resolve) => {
              call(one, how).catch(resolve);
            });
            assertNamesCaller(error);
          });
        }
      }
    }

    it('names the call if there is a callback', async () => {
      for (const one of [newPool(), await newClient(), new Pool(NOWHERE), ended(newPool())]) {
        const asked = await one;
        function theCaller(callback) {
          asked.query('select 1 / 0', callback);
        }
        assertNamesCaller(await new Promise(theCaller), /theCaller/);
      }
      const nowhere = new Pool(NOWHERE);
      function connects(callback) {
        nowhere.connect(callback);
      }
      assertNamesCaller(await new Promise(connects), /connects/);
    });

    it('names the call until its text has succeeded once', async () => {
      const pool = newPool();
      await pool.query('create table later_there (a int)');
      await pool.query('drop table later_there');
      function theCaller(callback) {
        pool.query('select * from later_there', callback);
      }
      for (let times = 0; times < 3; ++times) {
        assertNamesCaller(await new Promise(theCaller), /theCaller/);
      }
    });

    it('names the first 16 calls of a tick, and in the next tick others', async () => {
      const client = await newClient();
      function theCaller(callback) {
        client.query('select 1 / 0 as burst', callback);
      }
      const isNamed = ({ stack }) => /theCaller/.test(stack);
      for (let burst = 0; burst < 2; ++burst) {
        const errors = await Promise.all(Array.from({ length: 40 }, () => new Promise(theCaller)));
        assert.equal(new Set(errors).size, 40);
        assert.deepEqual(
          errors.map(isNamed),
          errors.map((_, index) => index < 16),
        );
      }
    });
  });

  describe('costs nothing for a query that succeeds', () => {
    const { captureStackTrace } = Error;
    afterEach(() => {
      Error.captureStackTrace = captureStackTrace;
    });

    /** @param {() => Promise<unknown>} run @returns {Promise<number>} stacks that were captured */
    async function countCaptures(run) {
      let count = 0;
      Error.captureStackTrace = (...given) => {
        ++count;
        captureStackTrace(...given);
      };
      await run();
      return count;
    }

    it('if its text has succeeded before', async () => {
      const pool = newPool();
      const client = await newClient();
      const run = async () => {
        await Promise.all([pool.query('select $1::int', [1]), pool.query('select 2')]);
        await pool.batch(['select 2', 'select 3']);
        await pool.transaction((tx) => tx.query('select 2'));
        (await pool.connect()).release();
        await client.query('select 2');
        await client.transaction((tx) => tx.transaction((inner) => inner.query('select 2')));
      };
      assert.ok((await countCaptures(run)) > 0);
      assert.equal(await countCaptures(run), 0);
    });

    it('if each text is new, since values are written into it', async () => {
      const pool = newPool();
      const ask = (from) => async () => {
        for (let i = from; i < from + 300; ++i) await pool.query(`select ${i}`);
      };
      assert.ok((await countCaptures(ask(0))) > 0);
      assert.equal(await countCaptures(ask(300)), 0);
    });
  });

  describe('is that of the user', () => {
    it('if a function of the user has thrown it', async () => {
      const pool = newPool();
      const own = await errorOf(pool.query('select 1 / 0'));
      const { stack } = own;
      assert.equal(
        await errorOf(
          pool.transaction(() => {
            throw own;
          }),
        ),
        own,
      );
      assert.equal(own.stack, stack);
      const stream = pool.stream('select 1');
      stream.destroy(own);
      assert.equal(await errorOf(failureOf(stream)), own);
      assert.equal(own.stack, stack);
    });

    it('if a hook has thrown it, for all waiting calls', async () => {
      async function theHook(client) {
        await client.query('select 1 / 0');
      }
      function thePassword() {
        throw new RangeError('vault closed');
      }
      for (const given of [{ onConnect: theHook }, { password: thePassword }]) {
        const [[, hook]] = Object.entries(given);
        const pool = newPool(given);
        for (const error of await Promise.all([
          errorOf(pool.query('select 1')),
          errorOf(pool.connect()),
        ])) {
          assertNamesCaller(error, new RegExp(hook.name));
        }
      }
      const error = await errorOf(newClient({ password: thePassword }));
      assertNamesCaller(error, /thePassword/);
      // Of what is no error there is no line, and of one that does not show its own neither.
      const hidden = Object.defineProperty(new RangeError('hidden'), 'stack', {
        get() {
          throw new Error('not today');
        },
      });
      for (const thrown of ['no error', hidden]) {
        const pool = newPool({ onConnect: () => Promise.reject(thrown) });
        async function theCaller() {
          await pool.query('select 1');
        }
        const failed = await errorOf(theCaller());
        assert.match(failed.message, /no error|hidden/);
        if (thrown !== hidden) assertNamesCaller(failed, /theCaller/);
      }
    });
  });

  it('is that of the first rejection, and later ones have no effect', async () => {
    const unhandled = [];
    const note = (reason) => unhandled.push(reason);
    process.on('unhandledRejection', note);
    try {
      const failed = new Deferred();
      failed.reject(new RangeError('first'));
      failed.reject(new RangeError('second'));
      failed.resolve(1);
      assert.equal((await errorOf(failed.promise)).message, 'first');
      const done = new Deferred();
      done.resolve(1);
      done.reject(new RangeError('late'));
      assert.equal(await done.promise, 1);
      // Fails when it is ended, and when the connection is given up then.
      const client = new Client('postgres://nobody@192.0.2.1/nothing');
      const connecting = errorOf(client.connect());
      await client.end();
      assert.match((await connecting).message, /terminated/);
      await new Promise(setImmediate);
    } finally {
      process.off('unhandledRejection', note);
    }
    assert.deepEqual(unhandled, []);
  });

  it('names the awaiting function while tracing channels have subscribers', async () => {
    const channels = ['query', 'connect', 'transaction'].map((name) =>
      tracingChannel(`pg-conduit:${name}`),
    );
    const handlers = { error() {}, asyncEnd() {} };
    for (const channel of channels) channel.subscribe(handlers);
    try {
      const client = await newClient();
      async function theCaller(run) {
        await run();
      }
      for (const run of [
        () => new Client(NOWHERE).connect(),
        () => client.transaction((tx) => tx.query('select 1 / 0')),
        () => client.query('select 1 / 0'),
      ]) {
        assertNamesCaller(await errorOf(theCaller(run)), /async theCaller/);
      }
    } finally {
      for (const channel of channels) channel.unsubscribe(handlers);
    }
  });

  it('names the function that awaits a transaction whose COMMIT fails', async () => {
    const pool = newPool();
    await pool.query(
      'create table deferring (a int unique deferrable initially deferred); insert into deferring values (1)',
    );
    async function theCaller() {
      await pool.transaction((tx) => tx.query('insert into deferring values (1)'));
    }
    const error = await errorOf(theCaller());
    assert.equal(error.code, '23505');
    assertNamesCaller(error, /async theCaller/);
  });

  it('names the awaiting function if the query() of clients is wrapped', async () => {
    class Wrapped extends Client {
      async query(...given) {
        return await super.query(...given);
      }
    }
    const pool = newPool({ Client: Wrapped });
    async function theCaller() {
      await pool.query('select $1::int / 0', [1]);
    }
    for (let times = 0; times < 3; ++times) {
      assertNamesCaller(await errorOf(theCaller()), /theCaller/);
    }
  });

  it('names the call of stream() when its signal aborts the stream', async () => {
    const controller = new AbortController();
    const pool = newPool();
    function theCaller() {
      return pool.stream({ text: 'select pg_sleep(10)', signal: controller.signal });
    }
    const failure = errorOf(failureOf(theCaller()));
    controller.abort();
    const error = await failure;
    assert.equal(error.name, 'AbortError');
    assert.equal(error.outcome, 'unknown');
    assertNamesCaller(error, /theCaller/);
  });

  describe('is not touched', () => {
    const { stackTraceLimit, prepareStackTrace } = Error;
    afterEach(() => {
      Error.stackTraceLimit = stackTraceLimit;
      Error.prepareStackTrace = prepareStackTrace;
    });

    /** @param {() => any} run that fails in each way that is told otherwise */
    const failures = (run) =>
      Promise.all([
        errorOf(run().query('select 1 / 0')),
        errorOf(failureOf(run().stream('select 1 / 0'))),
        errorOf(run().query(42)),
      ]);

    it('if Error.stackTraceLimit is 0 or invalid', async () => {
      for (const limit of [0, undefined, 'none']) {
        Error.stackTraceLimit = /** @type {any} */ (limit);
        for (const error of await failures(newPool)) {
          assert.ok(error instanceof Error);
          assert.equal(Error.stackTraceLimit, limit);
        }
      }
    });

    it('if Error.prepareStackTrace is replaced', async () => {
      Error.prepareStackTrace = (error, sites) => sites.length;
      for (const error of await failures(newPool)) assert.equal(typeof error.stack, 'number');
    });

    it('if a subscriber has frozen the error', async () => {
      const channel = tracingChannel('pg-conduit:query');
      const handlers = { error: ({ error }) => Object.freeze(error) };
      channel.subscribe(handlers);
      try {
        const [failed] = await failures(newPool);
        assert.equal(failed.code, '22012');
      } finally {
        channel.unsubscribe(handlers);
      }
    });
  });
});
