'use strict';

// Giving up a batch: by a signal, which cancels it at the server, or after a time.

const assert = require('node:assert/strict');
const { DatabaseError, ParameterError, QueryAbortedError } = require('../..');
const { newClient } = require('../support/connect');
const { errorOf } = require('../support/outcomes');
const { LOCK, newPool, pidOf, PID, usePools } = require('../support/pools');

const INSERT = 'insert into given values (1)';
const BLOCKED = { text: 'select pg_advisory_xact_lock($1)', values: [LOCK] };

describe('Aborting a batch', function () {
  this.timeout(20000);

  const observer = usePools();
  const rows = () => observer.rowsOf('given');
  beforeEach(() => observer.makeTable('given', 'i int primary key deferrable initially deferred'));

  for (const [face, open] of [
    ['of a pool', async (given) => newPool({ max: 1, ...given })],
    ['of a client', (given) => newClient(given)],
  ]) {
    describe(face, () => {
      it('by a signal cancels it at the server, and nothing of it is committed', async () => {
        const db = await open();
        const pid = pidOf(await db.query(PID));
        await observer.lock(LOCK);
        for (const statements of [[INSERT, BLOCKED, INSERT], [BLOCKED], [INSERT, BLOCKED]]) {
          const controller = new AbortController();
          const { signal } = controller;
          const batch = errorOf(db.batch(statements, { signal }));
          const next = db.query('select 1 as one');
          await observer.untilWaitedFor(LOCK);
          controller.abort(new Error('mine'));
          const error = await batch;
          assert.ok(error instanceof QueryAbortedError, String(error));
          assert.deepEqual([error.name, error.code], ['AbortError', 'ABORT_ERR']);
          assert.deepEqual([error.outcome, error.index], ['not-run', undefined]);
          assert.equal(error.cause.message, 'mine');
          assert.deepEqual((await next).rows, [{ one: 1 }]);
          assert.equal(pidOf(await db.query(PID)), pid);
          assert.deepEqual(await rows(), []);
        }
      });

      it('by a signal that is aborted before the call, or while the batch waits, sends nothing', async () => {
        const db = await open();
        await observer.lock(LOCK);
        const aborted = AbortSignal.abort();
        const early = await errorOf(db.batch([INSERT], { signal: aborted }));
        assert.deepEqual([early.name, early.outcome], ['AbortError', 'not-run']);
        const controller = new AbortController();
        const blocking = db.query(BLOCKED);
        const late = errorOf(db.batch([INSERT], { signal: controller.signal }));
        await observer.untilWaitedFor(LOCK);
        controller.abort();
        const error = await late;
        assert.deepEqual([error.name, error.outcome], ['AbortError', 'not-run']);
        await observer.unlock(LOCK);
        await blocking;
        assert.deepEqual(await rows(), []);
      });

      it('does not happen while its signal is not aborted', async () => {
        const db = await open();
        const { signal } = new AbortController();
        const [first, second] = await db.batch([INSERT, 'select count(*)::int as n from given'], {
          signal,
          timeoutMillis: 5000,
        });
        assert.deepEqual([first.rowCount, second.rows], [1, [{ n: 1 }]]);
        const error = await errorOf(db.batch(['select 1', 'select 1 / 0'], { signal }));
        assert.ok(error instanceof DatabaseError);
        assert.deepEqual([error.code, error.index], ['22012', 1]);
        const again = await errorOf(db.batch([INSERT], { signal }));
        assert.equal(again.code, '23505');
        assert.deepEqual(await db.batch([], { signal, timeoutMillis: 1 }), []);
      });

      it('by a time limit works with its own limit and with the one for all queries', async () => {
        await observer.lock(LOCK);
        for (const [given, options] of [
          [{}, { timeoutMillis: 20 }],
          [{ query_timeout: 20 }, undefined],
          [{ query_timeout: 60000 }, { timeoutMillis: 20 }],
        ]) {
          const db = await open(given);
          // Connecting may take longer than that, and then nothing is sent.
          await db.query({ text: 'select 1', timeoutMillis: 60000 });
          const error = await errorOf(db.batch([INSERT, BLOCKED], options));
          assert.equal(error.code, 'ERR_PG_CONDUIT_QUERY_TIMEOUT');
          assert.equal(error.index, undefined);
          // Others may stand beside it on a shared connection: there it goes on.
          assert.equal(error.outcome, face === 'of a pool' ? 'unknown' : 'not-run');
        }
        await observer.unlock(LOCK);
      });

      it('refuses an invalid signal and an invalid time limit', async () => {
        const db = await open();
        for (const options of [{ signal: 'now' }, { timeoutMillis: -1 }, { timeoutMillis: '5' }]) {
          const error = await errorOf(db.batch([INSERT], options));
          assert.ok(error instanceof ParameterError, String(error));
        }
        await assert.rejects(db.batch([{ text: INSERT, timeoutMillis: 5 }]), ParameterError);
        assert.deepEqual(await rows(), []);
      });
    });
  }

  it('in a transaction makes the transaction fail', async () => {
    const pool = newPool({ max: 1 });
    await observer.lock(LOCK);
    const error = await errorOf(
      pool.transaction(async (tx) => {
        await tx.query(INSERT);
        await tx.batch([BLOCKED], { timeoutMillis: 20 });
      }),
    );
    assert.equal(error.code, 'ERR_PG_CONDUIT_QUERY_TIMEOUT');
    assert.equal(error.outcome, 'not-run');
    assert.deepEqual(await rows(), []);
  });
});
