'use strict';

// BEGIN without a round trip: its promise resolves when it is on its way. Everything else about it is as in `pg`.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const pg = require('pg');
const { TransactionError } = require('../..');
const { connectionOf } = require('../../lib/client/client');
const { endAll, newClient, newPool, options, resetSchema } = require('../support/connect');
const { errorOf } = require('../support/outcomes');
const { observeServer, until } = require('../support/outside');
const { errorMessage, Proxy } = require('../support/proxy');

const EARLY = [
  'BEGIN',
  'begin;',
  ' Begin Work',
  'begin transaction isolation level repeatable read',
  'BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE',
  'start transaction read write',
  'START TRANSACTION',
];
const NOT_EARLY = [
  'begin isolation level',
  'begin read',
  'start',
  '/* a comment */ begin',
  'begin\u00a0work',
  'begin; select 1',
  'savepoint a',
  'commit',
  'select 1',
];

describe('BEGIN', () => {
  const observer = observeServer();
  /** @type {Proxy} */
  let proxy;
  /** @type {any} */
  let client;

  before(resetSchema);
  beforeEach(async () => {
    proxy = await Proxy.open();
    client = await newClient(proxy.options());
  });
  afterEach(endAll);
  afterEach(() => proxy.close());

  /** @param {Promise<any>} promise @returns {Promise<boolean>} whether it settles while nothing passes */
  async function settlesAlone(promise) {
    promise.catch(() => {});
    proxy.hold();
    const winner = await Promise.race([promise.then(() => true), delay(30, false)]);
    proxy.release();
    return winner;
  }

  for (const text of EARLY) {
    it(`waits for no answer, and begins a transaction all the same: "${text}"`, async () => {
      assert.ok(await settlesAlone(client.query(text)));
      assert.equal(client.getTransactionStatus(), 'T');
      const pid = client.processID;
      await until('the server has begun', async () => {
        const rows = await observer.ask('select state from pg_stat_activity where pid = $1', [pid]);
        return rows[0].state === 'idle in transaction';
      });
      const peer = new pg.Client(options());
      await peer.connect();
      await peer.query(text);
      const SHOW =
        "select current_setting('transaction_isolation'), current_setting('transaction_read_only')";
      const shown = await Promise.all(
        [client, peer].map((one) => one.query({ text: SHOW, rowMode: 'array' })),
      );
      assert.deepEqual(shown[0].rows, shown[1].rows);
      assert.equal((await client.query('commit')).command, 'COMMIT');
      assert.equal(client.getTransactionStatus(), 'I');
      await peer.end();
    });
  }

  for (const text of NOT_EARLY) {
    it(`is answered by the server where it is another statement: "${text}"`, async () => {
      assert.ok(!(await settlesAlone(client.query(text))));
    });
  }

  it('is answered by the server inside a transaction, behind something in flight, and with limits', async () => {
    assert.ok(!(await settlesAlone(client.query('begin', [], { timeoutMillis: 9000 }))));
    assert.ok(!(await settlesAlone(client.query('begin'))));
    await client.query('rollback');
    const running = client.query('select 1');
    assert.ok(!(await settlesAlone(client.query('begin'))));
    await running;
    await client.query('rollback');
  });

  it('gives the result of pg, by promise and callback', async () => {
    const peer = new pg.Client(options());
    await peer.connect();
    for (const text of ['begin', 'start transaction']) {
      for (const one of [client, peer]) await one.query('rollback');
      const results = [];
      for (const one of [client, peer]) results.push(await one.query(text));
      const [{ command, rowCount, oid, rows, fields }, expected] = results;
      assert.deepEqual(
        { command, rowCount, oid, rows, fields },
        {
          command: expected.command,
          rowCount: expected.rowCount,
          oid: expected.oid,
          rows: expected.rows,
          fields: expected.fields,
        },
      );
    }
    await client.query('rollback');
    const [error, result] = await new Promise((resolve) => {
      client.query('begin', (...given) => resolve(given));
    });
    assert.equal(error, null);
    assert.equal(result.command, 'BEGIN');
    await peer.end();
  });

  it('travels with the statement behind it', async () => {
    await client.query('select 1');
    const before = connectionOf(client).counters().flushes;
    await client.query('begin');
    await client.query('select 1');
    assert.equal(connectionOf(client).counters().flushes, before + 1);
  });

  it('that the server refuses after all closes the connection: nothing behind it counts as committed', async () => {
    await client.query('create table conduit_test.begun (i int)');
    proxy.change = (type, bytes) => {
      const isBegin = type === 'C' && bytes.includes('BEGIN');
      return isBegin ? errorMessage({ S: 'ERROR', V: 'ERROR', C: '0A000', M: 'not now' }) : bytes;
    };
    await client.query('begin');
    const error = await errorOf(client.query('insert into conduit_test.begun values (1)'));
    assert.ok(error instanceof TransactionError);
    assert.match(error.message, /could not begin: not now/);
    assert.equal(error.outcome, 'unknown');
    assert.equal(/** @type {any} */ (await errorOf(client.query('select 1'))).outcome, 'not-run');
  });

  it('that is cancelled by query_timeout closes the connection: its caller believes in a transaction', async () => {
    const limited = await newClient(proxy.options({ query_timeout: 50 }));
    await limited.query('create table conduit_test.limited (i int)');
    proxy.change = (type, bytes) => {
      const isBegin = type === 'C' && bytes.includes('BEGIN');
      return isBegin ? errorMessage({ S: 'ERROR', V: 'ERROR', C: '57014', M: 'cancelled' }) : bytes;
    };
    const errors = [];
    limited.on('error', (error) => errors.push(error));
    proxy.hold();
    await limited.query('begin');
    await delay(150);
    proxy.release();
    const INSERT = 'insert into conduit_test.limited values (1)';
    const error = await errorOf(limited.query(INSERT, [], { timeoutMillis: 9000 }));
    assert.equal(/** @type {any} */ (error).outcome, 'not-run');
    assert.ok(errors[0] instanceof TransactionError);
    assert.match(errors[0].message, /could not begin: Query read timeout/);
    assert.deepEqual(await observer.ask('select from conduit_test.limited'), []);
  });

  it('that is lost with its connection is told by the statement behind it', async () => {
    proxy.hold();
    await client.query('begin');
    const next = errorOf(client.query('select 1'));
    await observer.terminate(client.processID);
    proxy.release();
    assert.ok(await next);
  });

  it('is rejected where the client is closed', async () => {
    await client.end();
    await assert.rejects(client.query('begin'), /Client was closed and is not queryable/);
  });

  it('works alike on clients of a pool', async () => {
    const pool = newPool(proxy.options({ max: 2 }));
    const borrowed = await pool.connect();
    assert.ok(await settlesAlone(borrowed.query('begin')));
    await borrowed.query('select 1');
    borrowed.release();
    await pool.query('select 1');
  });
});
