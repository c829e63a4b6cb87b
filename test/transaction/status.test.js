'use strict';

// The transaction status that the driver assumes while statements are in flight that are not awaited: streams and
// transaction() rely on it. An exclusive client of `pg` is the oracle.

const assert = require('node:assert/strict');
const fc = require('fast-check');
const pg = require('pg');
const { StatementRefusedError } = require('../..');
const { connectionOf } = require('../../lib/client/client');
const { connectionString, newClient, newPool } = require('../support/connect');
const { outcomeOf } = require('../support/outcomes');
const { IS_LONG, holds } = require('../support/property');
const { useTransactions } = require('../support/transactions');

const swallow = () => {};
const ROWS = 'select generate_series(1, 3000)';
const FAILING = 'select 1 / (i - 3) from generate_series(1, 9) i';

/** Waits until the stream has ended, however that is. */
const ended = (stream) =>
  new Promise((resolve) => {
    stream.on('error', swallow).on('close', resolve);
  });

// Each is begun by ours and not awaited; what it is to the oracle stands beside it.
const say = (text) => ({
  name: text,
  ours: (client) => client.query(text).catch(swallow),
  theirs: [text],
});
const ACTIONS = [
  ...['begin', 'commit', 'rollback', 'savepoint s', 'rollback to s', 'release s'].map(say),
  say('set work_mem = 128'),
  say("set local work_mem = '1MB'"),
  say('insert into t values (1)'),
  say('insert into t values (2)'),
  say('select 1 as a'),
  say('select 2 as b'),
  say('select 1 / 0'),
  say('select 1; select 2'),
  {
    name: 'a stream, read',
    ours: (client) => ended(client.stream(ROWS).resume()),
    theirs: [ROWS],
  },
  {
    name: 'a stream, left at its first row',
    ours: (client) => {
      const stream = client.stream(ROWS);
      stream.once('data', () => stream.destroy());
      return ended(stream);
    },
    theirs: ['select 1'],
  },
  {
    name: 'a stream, left at once',
    ours: (client) => {
      const stream = client.stream(ROWS);
      const done = ended(stream);
      stream.destroy();
      return done;
    },
    theirs: [],
  },
  {
    name: 'a stream that fails',
    ours: (client) => ended(client.stream(FAILING).resume()),
    theirs: [FAILING],
  },
  {
    name: 'a stream that ends the transaction',
    ours: (client) => ended(client.stream('commit').resume()),
    theirs: ['commit'],
  },
  {
    name: 'a cursor, closed',
    ours: async (client) => {
      const cursor = client.cursor(ROWS);
      await cursor.read(2).catch(swallow);
      await cursor.close();
    },
    theirs: ['select 1'],
  },
  {
    name: 'COPY to a stream',
    ours: (client) => ended(client.copyTo('copy (select 1) to stdout').resume()),
    theirs: ['select 1'],
  },
];
const WAIT = { name: 'wait', ours: undefined, theirs: [] };

describe('While statements are in flight, transaction()', function () {
  this.timeout(120000);

  const { numbers, observer } = useTransactions();

  it('is refused exactly where an exclusive client of pg has an open transaction', async () => {
    const oracle = new pg.Client({
      connectionString: connectionString(),
      options: '-c search_path=conduit_test,public',
    });
    await oracle.connect();
    let status = 'I';
    oracle.connection.on('readyForQuery', (message) => {
      status = message.status;
    });
    const run = async (actions) => {
      await observer.ask('truncate conduit_test.t');
      for (const text of actions.flatMap(({ theirs }) => theirs)) {
        await oracle.query(text).catch(swallow);
      }
      const expectsRefusal = status !== 'I';
      await oracle.query(expectsRefusal ? 'commit' : 'insert into t values (100)');
      const expected = await numbers('t');

      await observer.ask('truncate conduit_test.t');
      const client = await newClient({ prepareThreshold: 1 });
      let going = [];
      for (const { ours } of actions) {
        if (ours !== undefined) {
          going.push(ours(client));
          continue;
        }
        await Promise.all(going);
        going = [];
      }
      const { error } = await outcomeOf(
        client.transaction((tx) => tx.query('insert into t values (100)')),
      );
      await Promise.all(going);
      assert.equal(error instanceof StatementRefusedError, expectsRefusal, String(error));
      if (expectsRefusal) await client.query('commit');
      else assert.equal(error, undefined);
      assert.deepEqual(await numbers('t'), expected);
      assert.equal(connectionOf(client).session.transactionStatus, 0);
      await client.end();
    };

    const action = fc.constantFrom(...ACTIONS, WAIT, WAIT).map((each) => ({
      ...each,
      [fc.toStringMethod]: () => each.name,
    }));
    try {
      await holds(fc.asyncProperty(fc.array(action, { maxLength: 12 }), run), IS_LONG ? 150 : 60);
    } finally {
      await oracle.end();
    }
  });

  // As it was found: SET has the prepared statements closed, and their Closes hide the status.
  it('is not refused behind SET and a stream', async () => {
    for (let i = 0; i < 40; ++i) {
      const client = await newClient({ prepareThreshold: 1 });
      await client.query('select 1 as a');
      await client.query('select 1 as a');
      client.query('set work_mem = 65');
      client.query('select 1 as a');
      const done = ended(client.stream(ROWS).resume());
      if (i % 2 === 0) await done;
      assert.equal(await client.transaction(() => 'run'), 'run');
      await done;
      await client.end();
    }
  });

  it('is refused behind a BEGIN that was not awaited', async () => {
    const client = await newClient();
    client.query('begin');
    client.query('insert into t values (1)');
    const { error } = await outcomeOf(client.transaction((tx) => tx.query('select 1')));
    assert.ok(error instanceof StatementRefusedError, String(error));
    await client.query('rollback');
    assert.deepEqual(await numbers('t'), []);
    client.query('begin');
    client.query('commit');
    assert.equal(await client.transaction(() => 'run'), 'run');
  });

  it('is refused behind a BEGIN that waits for a cancel request', async () => {
    for (let i = 0; i < 20; ++i) {
      const client = await newClient();
      const cursor = client.cursor(ROWS);
      await cursor.read(2);
      await cursor.close();
      client.query('begin');
      const { error } = await outcomeOf(client.transaction((tx) => tx.query('select 1')));
      assert.ok(error instanceof StatementRefusedError, String(error));
      await client.end();
    }
  });

  it('does not wait where no statement can have begun a transaction', async () => {
    const client = await newClient();
    const slow = client.query('select pg_sleep(0.2)');
    let isCalled = false;
    const run = client.transaction((tx) => {
      isCalled = true;
      return tx.query('select 1');
    });
    assert.equal(isCalled, true);
    await Promise.all([slow, run]);
  });

  it('is not begun when the client is released while the status is unknown', async () => {
    const pool = newPool({ max: 1 });
    const client = await pool.connect();
    client.query('begin');
    const run = outcomeOf(client.transaction((tx) => tx.query('insert into t values (1)')));
    client.release();
    const { error } = await run;
    assert.equal(error.code, 'ERR_PG_CONDUIT_TRANSACTION_ENDED');
    await pool.query('select 1');
    assert.deepEqual(await numbers('t'), []);
  });
});
