'use strict';

// A commit that waits for a synchronous standby, and whose wait is cancelled: the server says that it is done, behind a
// warning that it may be lost. On a server whose standby never comes.

const assert = require('node:assert/strict');
const pg = require('pg');
const { Client, Pool, QueryAbortedError, TransactionError } = require('../..');
const { startDatabase } = require('../../scripts/database');
const { errorOf } = require('../support/outcomes');
const { Observer, until } = require('../support/outside');
const { atOnce, counted, MANY, makeKnown } = require('../support/sync-groups');

const WAIT_MILLIS = 200;
const INSERT = 'insert into written values ($1)';

describe('A commit that no synchronous standby confirms', function () {
  this.timeout(60_000);

  /** @type {Awaited<ReturnType<typeof startDatabase>>} */
  let database;
  /** @type {Observer} */
  let observer;
  /** Whose commits wait. @type {Observer} */
  let prober;
  /** @type {{ end: () => Promise<void> }[]} */
  const opened = [];

  before(async () => {
    database = await startDatabase({ own: true, settings: { synchronous_commit: 'on' } });
    observer = await Observer.open(database.config);
    await observer.ask('set synchronous_commit = local');
    await observer.ask('create table written (id int)');
    await observer.ask('create table probed (id int)');
    prober = await Observer.open(database.config);
  });
  beforeEach(async () => {
    await observer.ask('truncate written');
    await waitFor('nobody');
  });
  afterEach(async () => {
    // Of a test that has failed.
    for (const { pid } of await waiting()) {
      await observer.ask(`select pg_terminate_backend(${pid})`);
    }
    await Promise.all(opened.splice(0).map((one) => one.end()));
  });
  after(async () => {
    await observer?.close();
    await prober?.close();
    await database?.stop();
  });

  /** @param {Record<string, any>} [given] */
  function newPool(given) {
    const pool = new Pool({ ...database.config, max: 1, ...given });
    opened.push(pool);
    return pool;
  }

  /** @param {any} constructor @param {Record<string, any>} [given] */
  async function newClient(constructor, given) {
    const client = new constructor({ ...database.config, ...given });
    opened.push(client);
    await client.connect();
    return client;
  }

  /** @returns {Promise<{ pid: number, since: string }[]>} backends that wait for the standby, in the transactions that began then */
  function waiting() {
    return observer.ask(
      "select pid, xact_start::text as since from pg_stat_activity where wait_event = 'SyncRep' order by pid",
    );
  }

  /** @param {string} standby '' for none */
  async function waitFor(standby) {
    await observer.ask(`alter system set synchronous_standby_names = '${standby}'`);
    await observer.ask('select pg_reload_conf()');
    // It counts for commits as soon as the checkpointer has read it.
    await until('commits go by the setting', async () => (await probe()) === (standby !== ''));
  }

  /** @returns {Promise<boolean>} whether a commit waits for the standby */
  async function probe() {
    let isDone = false;
    const probing = prober.ask('insert into probed values (1)').then(() => {
      isDone = true;
    });
    const [backend] = await until('a commit is done, or waits', async () => {
      const backends = await waiting();
      return (isDone || backends.length > 0) && backends;
    });
    if (backend !== undefined) await observer.ask(`select pg_cancel_backend(${backend.pid})`);
    await probing;
    return backend !== undefined;
  }

  const cancelWaiting = async () => {
    const [{ pid }] = await until('a commit waits', async () => {
      const backends = await waiting();
      return backends.length > 0 && backends;
    });
    await observer.ask(`select pg_cancel_backend(${pid})`);
  };

  async function assertWritten(ids) {
    const rows = await observer.ask('select id from written order by id');
    assert.deepEqual(
      rows.map(({ id }) => id),
      ids,
    );
  }

  function assertUnreplicated(error) {
    assert.ok(error instanceof TransactionError, String(error));
    assert.deepEqual([error.code, error.outcome], ['ERR_PG_CONDUIT_NOT_REPLICATED', 'unknown']);
    assert.match(error.message, /committed, but no synchronous standby has confirmed it/);
    assert.match(String(error.hint), /failover/);
    assert.equal(error.cause.routine, 'SyncRepWaitForLSN');
    assert.match(error.cause.detail, /committed locally/);
  }

  function assertAborted(error, code) {
    assert.ok(error instanceof QueryAbortedError, String(error));
    assert.deepEqual([error.code, error.outcome], [code, 'unknown']);
  }

  it('is unknown to whoever aborts it by a signal', async () => {
    const pool = newPool();
    const signal = AbortSignal.timeout(WAIT_MILLIS);
    assertAborted(await errorOf(pool.query({ text: INSERT, values: [1], signal })), 'ABORT_ERR');
    await assertWritten([1]);
    const { rows } = await pool.query('select 1 as one');
    assert.deepEqual(rows, [{ one: 1 }]);
  });

  it('is unknown to whoever aborts a batch', async () => {
    const pool = newPool();
    const signal = AbortSignal.timeout(WAIT_MILLIS);
    const batch = pool.batch(
      [
        { text: INSERT, values: [1] },
        { text: INSERT, values: [2] },
      ],
      { signal },
    );
    assertAborted(await errorOf(batch), 'ABORT_ERR');
    await assertWritten([1, 2]);
  });

  for (const [how, write] of /** @type {const} */ ([
    ['a statement', (db) => db.query(INSERT, [1])],
    ['a text of several statements', (db) => db.query('insert into written values (1); select 1')],
    ['a batch', (db) => db.batch([{ text: INSERT, values: [1] }])],
    ['a transaction', (db) => db.transaction((tx) => tx.query(INSERT, [1]))],
    ['COPY', (db) => db.copyRows('written', ['id'], [[1]])],
  ])) {
    it(`is unknown when somebody else cancels the wait of ${how}`, async () => {
      const client = await newClient(Client);
      const [error] = await Promise.all([errorOf(write(client)), cancelWaiting()]);
      assertUnreplicated(error);
      await assertWritten([1]);
      const { rows } = await client.query('select 1 as one');
      assert.deepEqual(rows, [{ one: 1 }]);
    });
  }

  it('is unknown to all who share its Sync, and to nobody behind it', async () => {
    const pool = newPool({ syncGroup: 'all' });
    const ids = Array.from({ length: MANY }, (_, index) => index);
    // The driver learns of the text while nothing is waited for: only what it knows to be cheap shares a Sync, and a
    // commit that the disk delays is not.
    await waitFor('');
    await makeKnown(pool, [INSERT, [0]]);
    await observer.ask('truncate written');
    await waitFor('nobody');
    const sent = counted(pool, () => atOnce(MANY, (id) => errorOf(pool.query(INSERT, [id]))));
    let isOver = false;
    const cancelling = (async () => {
      // Each wait once: a second signal may find the backend in the next statement, which it would end.
      const cancelled = new Set();
      while (!isOver) {
        for (const { pid, since } of await waiting()) {
          if (!cancelled.has(since)) await observer.ask(`select pg_cancel_backend(${pid})`);
          cancelled.add(since);
        }
      }
    })();
    const { value: errors, syncs } = await sent;
    isOver = true;
    await cancelling;
    for (const error of errors) assertUnreplicated(error);
    assert.equal(new Set(errors).size, ids.length);
    assert.ok(syncs < ids.length, `${syncs} Syncs`);
    await assertWritten(ids);
    const { rows } = await pool.query('select count(*)::int as n from written');
    assert.deepEqual(rows, [{ n: MANY }]);
  });

  it('counts as done with pg, and is unknown here', async () => {
    const theirs = await newClient(pg.Client);
    const [{ rowCount }] = await Promise.all([theirs.query(INSERT, [1]), cancelWaiting()]);
    assert.equal(rowCount, 1);
    const ours = await newClient(Client);
    const [error] = await Promise.all([errorOf(ours.query(INSERT, [2])), cancelWaiting()]);
    assertUnreplicated(error);
    await assertWritten([1, 2]);
  });
});
