'use strict';

// stream() and cursor(): rows as they arrive, with back-pressure up to the server.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const PgCursor = require('pg-cursor');
const { ConnectionError, ParameterError, StatementRefusedError } = require('../..');
const { newClient } = require('../support/connect');
const { withPg } = require('../support/like-pg');
const { errorOf } = require('../support/outcomes');
const { seen, until } = require('../support/outside');
const { LOCK, PID, newPool, pidOf, poolError, usePools } = require('../support/pools');
const { Proxy } = require('../support/proxy');

const SERIES = 'select n from generate_series(1, $1::int) as n';
/** Far more than all buffers on the way hold. */
/** In the select list it is made row by row; behind FROM all of it is made before the first row. */
const HUGE = "select generate_series(1, 2000000) as n, repeat('x', 1000) as t";
const series = (count) => Array.from({ length: count }, (_, index) => ({ n: index + 1 }));

async function take(stream, count) {
  const rows = [];
  for await (const row of stream) {
    rows.push(row);
    if (rows.length === count) break;
  }
  return rows;
}

describe('Streaming rows:', () => {
  const observer = usePools();

  const untilStopped = (text) =>
    until('the server waits for its reader', async () => {
      const rows = await observer.ask(
        "select pid from pg_stat_activity where query = $1 and wait_event = 'ClientWrite'",
        [text],
      );
      return rows.length > 0;
    });
  const untilNothingRuns = (text) =>
    until('the server has stopped', async () => {
      const rows = await observer.ask(
        "select pid from pg_stat_activity where query = $1 and state = 'active'",
        [text],
      );
      return rows.length === 0;
    });

  for (const [face, open] of [
    ['of a pool', async (given) => newPool({ max: 1, ...given })],
    ['of a client', (given) => newClient(given)],
  ]) {
    describe(`stream() ${face}`, () => {
      it('gives all rows in their order', async () => {
        const db = await open();
        for (const count of [0, 1, 255, 256, 257, 5000]) {
          for (let execution = 0; execution < 3; ++execution) {
            assert.deepEqual(await db.stream(SERIES, [count]).toArray(), series(count));
          }
        }
      });

      it('takes the forms and options of query(): rowMode, types, a name, a query object', async () => {
        const db = await open();
        const types = { getTypeParser: () => (text) => `<${text}>` };
        const text = 'select n, null as nothing from generate_series(1, $1::int) as n';
        const query = { text, values: [2], rowMode: 'array', types, name: 'typed' };
        for (let execution = 0; execution < 3; ++execution) {
          assert.deepEqual(await db.stream(query).toArray(), [
            ['<1>', null],
            ['<2>', null],
          ]);
        }
        assert.deepEqual(await db.stream({ text: SERIES }, [1]).toArray(), [{ n: 1 }]);
      });

      it('has its fields once the first rows have arrived', async () => {
        const db = await open();
        const stream = db.stream(SERIES, [3]);
        assert.deepEqual(stream.fields, []);
        await take(stream, 1);
        assert.deepEqual(
          stream.fields.map(({ name, dataTypeID }) => [name, dataTypeID]),
          [['n', 23]],
        );
      });

      it('refuses unknown options', async () => {
        const db = await open();
        for (const [options, message] of [
          [{ batchsize: 5 }, /unknown option "batchsize".*\{ batchSize, signal \}/],
          [{ timeoutMillis: 5 }, /timeoutMillis does not work for streams.*AbortSignal\.timeout/],
        ]) {
          const error = await errorOf(db.stream(SERIES, [3], options).toArray());
          assert.ok(error instanceof ParameterError);
          assert.match(error.message, message);
        }
        const nothing = { signal: undefined, timeoutMillis: undefined };
        assert.deepEqual(await db.stream(SERIES, [3], nothing).toArray(), series(3));
      });

      it('buffers as many rows as batchSize says, down to 1', async () => {
        const db = await open();
        for (const batchSize of [1, 7, 100000]) {
          const stream = db.stream(SERIES, [3000], { batchSize });
          assert.equal(stream.readableHighWaterMark, batchSize);
          assert.deepEqual(await stream.toArray(), series(3000));
        }
        for (const batchSize of [0, -1, 1.5, '10', NaN, null]) {
          const error = await errorOf(db.stream(SERIES, [1], { batchSize }).toArray());
          assert.ok(error instanceof ParameterError, String(batchSize));
        }
        assert.deepEqual(await db.stream(SERIES, [1], undefined).toArray(), series(1));
      });

      it('of a statement without rows ends, after the statement has run', async () => {
        const db = await open();
        await db.query('drop table if exists streamed');
        assert.deepEqual(await db.stream('create table streamed (n int)').toArray(), []);
        assert.deepEqual(await db.stream('insert into streamed values (1)').toArray(), []);
        assert.deepEqual(await db.stream('insert into streamed values (2) returning n').toArray(), [
          { n: 2 },
        ]);
        assert.deepEqual(await db.stream('').toArray(), []);
        assert.equal((await db.query('select * from streamed')).rows.length, 2);
      });

      it('stops the server while it is not read, without growing memory', async () => {
        const db = await open();
        const stream = db.stream(HUGE);
        const iterator = stream[Symbol.asyncIterator]();
        await iterator.next();
        await untilStopped(HUGE);
        const before = process.memoryUsage.rss();
        await delay(300);
        const grown = process.memoryUsage.rss() - before;
        assert.ok(grown < 64 << 20, `${grown} bytes more`);
        await untilStopped(HUGE);
        // It goes on where it was.
        for (let n = 2; n < 5000; ++n) assert.equal((await iterator.next()).value.n, n);
        await iterator.return();
        assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
        await untilNothingRuns(HUGE);
      });

      it('that is left early frees its connection, which stays open', async () => {
        const db = await open();
        const pid = pidOf(await db.query(PID));
        for (const count of [1, 10, 1000]) {
          assert.equal((await take(db.stream(HUGE), count)).length, count);
          assert.equal(pidOf(await db.query(PID)), pid);
        }
        await untilNothingRuns(HUGE);
      });

      it('that was never read is ended by destroy()', async () => {
        const db = await open();
        for (const wait of [0, 1, 30]) {
          const stream = db.stream(HUGE);
          if (wait > 0) await delay(wait);
          const closed = seen(stream, 'close');
          stream.destroy();
          await closed;
          assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
        }
        await untilNothingRuns(HUGE);
      });

      it('gives the rows before an error, then the error', async () => {
        const db = await open();
        const text = 'select 10000 / (5000 - n) as q from generate_series(1, 10000) as n';
        let count = 0;
        const error = await errorOf(
          (async () => {
            for await (const { q } of db.stream(text)) {
              assert.ok(q > 0);
              ++count;
            }
          })(),
        );
        assert.deepEqual([error.code, error.outcome], ['22012', 'not-run']);
        assert.ok(count > 1000 && count < 5000, String(count));
        assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
      });

      it('is destroyed when its query cannot be sent or parsed', async () => {
        const db = await open();
        for (const [query, values, check] of [
          [42, [], (error) => error instanceof ParameterError],
          [SERIES, [() => 1], (error) => error instanceof ParameterError],
          ['select $1::text', ['\0'], (error) => error instanceof ParameterError],
          ['selekt', [], (error) => error.code === '42601'],
          ['select 1; select 2', [], (error) => error.code === '42601'],
          ['copy t to stdout', [], (error) => error instanceof StatementRefusedError],
        ]) {
          const error = await errorOf(db.stream(query, values).toArray());
          assert.ok(check(error), String(error));
          assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
        }
      });

      it('is cancelled when a row cannot be read', async () => {
        const db = await open();
        const types = {
          getTypeParser: () => (text) => {
            if (text === '300') throw new Error('cannot read that');
            return text;
          },
        };
        const error = await errorOf(db.stream({ text: HUGE, types }).toArray());
        assert.deepEqual([error.message, error.outcome], ['cannot read that', 'unknown']);
        assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
        await untilNothingRuns(HUGE);
      });

      it('is destroyed with an error of the server, and not with that of a row which came with it', async () => {
        const db = await open();
        const types = {
          getTypeParser: () => () => {
            throw new Error('cannot read that');
          },
        };
        const text = 'select 1 / (20 - n) from generate_series(1, 20) as n';
        const error = await errorOf(db.stream({ text, types }).toArray());
        assert.deepEqual([error.code, error.outcome], ['22012', 'not-run']);
      });

      it('is aborted by its signal, before it begins and in the middle', async () => {
        const db = await open();
        const aborted = await errorOf(
          db.stream({ text: HUGE, signal: AbortSignal.abort() }).toArray(),
        );
        assert.deepEqual([aborted.name, aborted.code], ['AbortError', 'ABORT_ERR']);
        const controller = new AbortController();
        const stream = db.stream({ text: HUGE, signal: controller.signal });
        const error = await errorOf(
          (async () => {
            for await (const { n } of stream) if (n === 1000) controller.abort();
          })(),
        );
        assert.equal(error.name, 'AbortError');
        assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
        await untilNothingRuns(HUGE);
      });

      it('replaces a prepared statement that is out of date', async () => {
        const db = await open({ prepareThreshold: 1 });
        await observer.ask('drop table if exists conduit_test.stale');
        await observer.ask('create table conduit_test.stale as select 1 as a');
        for (let use = 0; use < 2; ++use) await db.stream('select * from stale').toArray();
        await observer.ask('alter table conduit_test.stale add b int');
        assert.deepEqual(await db.stream('select * from stale').toArray(), [{ a: 1, b: null }]);
      });

      it('is destroyed when its connection is lost, also while it is not read', async () => {
        for (const reads of [true, false]) {
          const db = await open();
          const stream = db.stream(HUGE);
          const iterator = stream[Symbol.asyncIterator]();
          await iterator.next();
          await untilStopped(HUGE);
          const [{ pid }] = await observer.ask(
            "select pid from pg_stat_activity where query = $1 and state = 'active'",
            [HUGE],
          );
          await observer.terminate(pid);
          const error = await errorOf(
            (async () => {
              if (!reads) await delay(50);
              while (!(await iterator.next()).done);
            })(),
          );
          assert.ok(error instanceof ConnectionError, String(error));
          assert.equal(error.outcome, 'unknown');
        }
      });

      it('can be converted to a web stream', async () => {
        const db = await open();
        const { Readable } = require('node:stream');
        const rows = [];
        for await (const row of Readable.toWeb(db.stream(SERIES, [1000]))) rows.push(row);
        assert.deepEqual(rows, series(1000));
        const reader = Readable.toWeb(db.stream(HUGE)).getReader();
        assert.equal((await reader.read()).value.n, 1);
        await reader.cancel();
        assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
      });

      it('works in a pipeline of streams', async () => {
        const db = await open();
        const { pipeline } = require('node:stream/promises');
        let sum = 0;
        await pipeline(db.stream(SERIES, [1000]), async (rows) => {
          for await (const { n } of rows) sum += n;
        });
        assert.equal(sum, 500500);
      });
    });
  }

  describe('stream() of a pool', () => {
    it('has a connection to itself, one after the other with max: 1', async () => {
      const pool = newPool({ max: 1 });
      const first = pool.stream(SERIES, [2000]);
      const second = pool.stream(SERIES, [2000]);
      const query = pool.query('select 1 as one');
      const all = await Promise.all([first.toArray(), second.toArray(), query]);
      assert.deepEqual(all[0], series(2000));
      assert.deepEqual(all[1], series(2000));
      assert.deepEqual(all[2].rows, [{ one: 1 }]);
    });

    it('keeps no query waiting while there is another connection', async () => {
      const pool = newPool({ max: 2 });
      const stream = pool.stream(HUGE);
      await seen(stream, 'readable');
      const results = await Promise.all(
        Array.from({ length: 100 }, (_, n) => pool.query('select $1::int as n', [n])),
      );
      assert.deepEqual(
        results.map(({ rows }) => rows[0].n),
        Array.from(results, (_, n) => n),
      );
      stream.destroy();
    });

    it('is finished before end() resolves', async () => {
      const pool = newPool({ max: 1 });
      const stream = pool.stream(SERIES, [100000]);
      await seen(stream, 'readable');
      const ended = pool.end();
      let count = 0;
      for await (const row of stream) assert.equal(row.n, ++count);
      assert.equal(count, 100000);
      await ended;
    });

    it('is refused for statements that need a session, and after end()', async () => {
      const pool = newPool({ max: 1 });
      for (const text of ['begin', 'set work_mem = 100', 'listen a', 'fetch all from c']) {
        const error = await errorOf(pool.stream(text).toArray());
        assert.ok(error instanceof StatementRefusedError, text);
      }
      await pool.end();
      await assert.rejects(
        pool.stream('select 1').toArray(),
        poolError('ERR_PG_CONDUIT_POOL_ENDED'),
      );
    });

    it('waits for a connection, until it is destroyed', async () => {
      const pool = newPool({ max: 1 });
      const client = await pool.connect();
      const stream = pool.stream('select 1');
      assert.equal(pool.waitingCount, 1);
      stream.destroy();
      assert.equal(pool.waitingCount, 0);
      client.release();
      assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
    });
  });

  describe('stream() of a client', () => {
    it('runs in the order of the calls, among other queries', async () => {
      const client = await newClient();
      await client.query('create temp table placed (n int)');
      const insert = 'insert into placed values (1)';
      const count = 'select count(*)::int as n from placed';
      const [, first, , second] = await Promise.all([
        client.query(insert),
        client.stream(count).toArray(),
        client.query(insert),
        client.stream(count).toArray(),
      ]);
      assert.deepEqual([first, second], [[{ n: 1 }], [{ n: 2 }]]);
    });

    it('is part of the open transaction, which fails with it', async () => {
      const client = await newClient();
      await client.query('begin');
      await client.query('create temp table inside (n int) on commit drop');
      await client.query('insert into inside values (1), (2)');
      assert.deepEqual(await client.stream('select n from inside').toArray(), series(2));
      await assert.rejects(client.stream('select 1 / 0').toArray(), { code: '22012' });
      await assert.rejects(client.query('select 1'), { code: '25P02' });
      await client.query('rollback');
    });

    it('with an aborted signal cancels no other query', async () => {
      const client = await newClient();
      await observer.lock(LOCK);
      const running = client.query(`select pg_advisory_xact_lock(${LOCK}), 1 as one`);
      await observer.untilWaitedFor(LOCK);
      const signal = AbortSignal.abort();
      await assert.rejects(client.stream({ text: 'select 1', signal }).toArray());
      await assert.rejects(client.cursor({ text: 'select 1', signal }).read(1));
      const behind = client.stream('select 1');
      behind.destroy();
      await observer.unlock(LOCK);
      assert.equal((await running).rows[0].one, 1);
    });
  });

  describe('cursor()', () => {
    it('reads the given number of rows at a time, then none', async () => {
      const client = await newClient();
      for (const count of [0, 1, 10, 25, 3000]) {
        const cursor = client.cursor(SERIES, [count]);
        const rows = [];
        for (;;) {
          const part = await cursor.read(10);
          assert.equal(part.length, Math.min(10, count - rows.length));
          if (part.length === 0) break;
          rows.push(...part);
        }
        assert.deepEqual(rows, series(count));
        assert.deepEqual(await cursor.read(10), []);
      }
    });

    it('serves concurrent reads in their order', async () => {
      const client = await newClient();
      const cursor = client.cursor(SERIES, [1000]);
      const parts = await Promise.all([1, 100, 500, 1000, 5].map((count) => cursor.read(count)));
      assert.deepEqual(
        parts.map(({ length }) => length),
        [1, 100, 500, 399, 0],
      );
      assert.deepEqual(parts.flat(), series(1000));
    });

    it('refuses to read a number of rows that is not a positive integer', async () => {
      const client = await newClient();
      const cursor = client.cursor(SERIES, [3]);
      for (const count of [0, -1, 1.5, undefined, '1']) {
        await assert.rejects(cursor.read(count), RangeError);
      }
      assert.deepEqual(await cursor.read(3), series(3));
      await cursor.close();
    });

    it('stops the server between reads', async () => {
      const client = await newClient();
      const cursor = client.cursor(HUGE);
      assert.equal((await cursor.read(1))[0].n, 1);
      await untilStopped(HUGE);
      assert.equal((await cursor.read(2000)).at(-1).n, 2001);
      await untilStopped(HUGE);
      await cursor.close();
      await untilNothingRuns(HUGE);
    });

    it('gives all rows, however many arrive at once', async () => {
      // A unix socket holds less.
      const proxy = await Proxy.open();
      try {
        const client = await newClient(proxy.options());
        // Input buffers stay as large as the largest value.
        await client.query("select repeat('x', 4000000)");
        const cursor = client.cursor('select n from generate_series(1, 250000) as n');
        assert.deepEqual(await cursor.read(2), series(2));
        await delay(500);
        let next = 3;
        for (let rows = await cursor.read(9973); rows.length > 0; rows = await cursor.read(9973)) {
          for (const { n } of rows) {
            if (n !== next++) assert.fail(`${n} in the place of ${next - 1}`);
          }
        }
        assert.equal(next, 250001);
        await client.end();
      } finally {
        await proxy.close();
      }
    });

    it('closed in the middle gives no more rows, and frees the connection', async () => {
      const client = await newClient();
      const cursor = client.cursor(HUGE);
      await cursor.read(3);
      await cursor.close();
      assert.deepEqual(await cursor.read(1), []);
      await cursor.close();
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
    });

    it('finishes the reads that were called before close(), as pg-cursor does', async () => {
      const numbers = (rows) => rows.map(({ n }) => n);
      const client = await newClient();
      await withPg(async (like) => {
        for (const cursor of [client.cursor(HUGE), like.query(new PgCursor(HUGE))]) {
          const read = cursor.read(3);
          const closed = cursor.close();
          assert.deepEqual(numbers(await read), [1, 2, 3]);
          await closed;
        }
      });
      // With two reads pg-cursor fails.
      const cursor = client.cursor(HUGE);
      const reads = Promise.all([cursor.read(3), cursor.read(2)]);
      await cursor.close();
      assert.deepEqual((await reads).map(numbers), [
        [1, 2, 3],
        [4, 5],
      ]);
    });

    it('closed before anything was read, or at its end, frees the connection', async () => {
      const client = await newClient();
      await client.cursor(HUGE).close();
      const cursor = client.cursor(SERIES, [2]);
      assert.deepEqual(await cursor.read(5), series(2));
      await cursor.close();
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
    });

    it('gives the rows before an error, then the error on every read', async () => {
      const client = await newClient();
      const cursor = client.cursor('select 100 / (300 - n) as q from generate_series(1, 600) as n');
      const rows = await cursor.read(100);
      assert.equal(rows.length, 100);
      await errorOf(
        (async () => {
          for (;;) await cursor.read(100);
        })(),
      );
      await assert.rejects(cursor.read(1), { code: '22012' });
      await assert.rejects(cursor.read(1), { code: '22012' });
      await cursor.close();
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
    });

    it('rejects a read whose rows end in an error', async () => {
      const client = await newClient();
      const cursor = client.cursor('select 100 / (300 - n) as q from generate_series(1, 600) as n');
      assert.equal((await cursor.read(250)).length, 250);
      await assert.rejects(cursor.read(250), { code: '22012' });
      await assert.rejects(cursor.read(1), { code: '22012' });
      await cursor.close();
    });

    it('rejects the first read when its query cannot be sent or parsed', async () => {
      const client = await newClient();
      for (const [text, code] of [
        [42, 'ERR_PG_CONDUIT_PARAMETER'],
        ['selekt', '42601'],
        ['select 1; select 2', '42601'],
      ]) {
        const cursor = client.cursor(text);
        await assert.rejects(cursor.read(1), { code });
        await cursor.close();
      }
    });

    it('is aborted by its signal', async () => {
      const client = await newClient();
      const controller = new AbortController();
      const cursor = client.cursor({ text: HUGE, signal: controller.signal });
      await cursor.read(1);
      const pending = errorOf(cursor.read(1e7));
      controller.abort();
      assert.equal((await pending).name, 'AbortError');
      await assert.rejects(cursor.read(1), { name: 'AbortError' });
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
      await untilNothingRuns(HUGE);
    });

    it('rejects when the connection is lost', async () => {
      const client = await newClient();
      const cursor = client.cursor(HUGE);
      await cursor.read(1);
      await observer.terminate(client.processID);
      const error = await errorOf(
        (async () => {
          while ((await cursor.read(1000)).length > 0);
        })(),
      );
      assert.ok(error instanceof ConnectionError, String(error));
      await cursor.close();
    });
  });
});
