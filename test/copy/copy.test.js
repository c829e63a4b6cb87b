'use strict';

// COPY: copyFrom() and copyTo() as streams.

const assert = require('node:assert/strict');
const { Readable } = require('node:stream');
const { finished, pipeline } = require('node:stream/promises');
const { setTimeout: delay } = require('node:timers/promises');
const { ConnectionError, ParameterError, StatementRefusedError } = require('../..');
const binding = require('../../lib/native/binding');
const { newClient } = require('../support/connect');
const { errorOf } = require('../support/outcomes');
const { seen, until } = require('../support/outside');
const { LOCK, PID, newPool, pidOf, poolError, usePools } = require('../support/pools');

/** Far more than all buffers on the way hold. */
/** In the select list a series is made row by row; behind FROM all of it is made before the first row. */
const HUGE = "copy (select generate_series(1, 2000000) as n, repeat('x', 1000) as t) to stdout";

describe('COPY', () => {
  const observer = usePools();
  const rowsOf = (table) => observer.rowsOf(table);
  const makeTable = (name, columns) => observer.makeTable(name, columns);
  const works = async (db) =>
    assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
  const untilNothingRuns = () =>
    until('no COPY runs', async () => {
      const rows = await observer.ask(
        "select 1 from pg_stat_activity where query ilike 'copy%' and state = 'active'",
      );
      return rows.length === 0;
    });

  /** Writes all of it, and waits for the end. */
  async function write(stream, ...chunks) {
    for (const chunk of chunks) stream.write(chunk);
    stream.end();
    await finished(stream);
    return stream.rowCount;
  }

  /** Resolves when the stream has handed it over. */
  const written = (stream, data) =>
    new Promise((resolve) => {
      stream.write(data, resolve);
    });

  async function read(stream) {
    const chunks = await stream.toArray();
    for (const chunk of chunks) assert.ok(Buffer.isBuffer(chunk));
    return Buffer.concat(chunks);
  }

  for (const [face, open] of [
    ['of a pool', async (given) => newPool({ max: 1, ...given })],
    ['of a client', (given) => newClient(given)],
  ]) {
    describe(`copyFrom() ${face}`, () => {
      it('takes text as strings or bytes, in chunks of any size', async () => {
        const db = await open();
        await makeTable('plain', 'n int, t text');
        const count = await write(
          db.copyFrom('copy plain from stdin'),
          '1\ta',
          Buffer.from('b\n2\t'),
          Buffer.from([0xc3]),
          Buffer.from([0xa9, 0x0a]),
          new Uint8Array(Buffer.from('3\t\\N')),
        );
        assert.equal(count, 3);
        assert.deepEqual(await rowsOf('plain'), [
          { n: 1, t: 'ab' },
          { n: 2, t: 'é' },
          { n: 3, t: null },
        ]);
        await works(db);
      });

      it('takes CSV and the binary format', async () => {
        const db = await open();
        await makeTable('formats', 'n int, t text');
        await write(
          db.copyFrom('copy formats from stdin (format csv, header)'),
          'n,t\n1,"a\n,b"\n',
        );
        const binary = await read(db.copyTo('copy formats to stdout (format binary)'));
        assert.equal(binary.subarray(0, 6).toString('latin1'), 'PGCOPY');
        assert.equal(await write(db.copyFrom('copy formats from stdin binary'), binary), 1);
        assert.deepEqual(await rowsOf('formats'), new Array(2).fill({ n: 1, t: 'a\n,b' }));
      });

      it('takes no rows at all', async () => {
        const db = await open();
        await makeTable('none', 'n int');
        assert.equal(await write(db.copyFrom('copy none from stdin')), 0);
        assert.deepEqual(await rowsOf('none'), []);
        await works(db);
      });

      it('takes one huge chunk, and very many tiny ones', async () => {
        const db = await open();
        await makeTable('sizes', 'n int, t text');
        const line = `1\t${'x'.repeat(998)}\n`;
        const huge = Buffer.from(line.repeat(20_000));
        assert.equal(await write(db.copyFrom('copy sizes from stdin'), huge), 20_000);
        const tiny = Buffer.from('7\tseven\n'.repeat(2000));
        const count = await write(
          db.copyFrom('copy sizes from stdin'),
          ...Array.from(tiny, (byte) => Buffer.from([byte])),
        );
        assert.equal(count, 2000);
        const [{ n, bytes }] = await observer.ask(
          'select count(*)::int as n, sum(length(t))::int as bytes from conduit_test.sizes',
        );
        assert.deepEqual([n, bytes], [22_000, 20_000 * 998 + 2000 * 5]);
      });

      it('applies back-pressure to its source while the server does not read', async () => {
        const db = await open();
        await makeTable('slow', 't text');
        await observer.ask(
          `create or replace function conduit_test.wait() returns trigger language plpgsql as
           $$ begin perform pg_advisory_xact_lock(${LOCK}); return new; end $$`,
        );
        await observer.ask(
          `create trigger wait before insert on conduit_test.slow
           for each row execute function conduit_test.wait()`,
        );
        await observer.lock(LOCK);
        let produced = 0;
        const lines = Buffer.from(`${'x'.repeat(1023)}\n`.repeat(64));
        const source = Readable.from(
          (async function* () {
            for (; produced < 400; ++produced) yield lines;
          })(),
        );
        const copied = pipeline(source, db.copyFrom('copy slow from stdin'));
        await observer.untilWaitedFor(LOCK);
        await until('the producer stands still', async () => {
          const before = produced;
          await delay(100);
          return produced === before;
        });
        assert.ok(produced < 200, String(produced));
        await observer.unlock(LOCK);
        await copied;
        assert.equal(produced, 400);
        const [{ n }] = await observer.ask('select count(*)::int as n from conduit_test.slow');
        assert.equal(n, 400 * 64);
      });

      it('with an error in the data leaves the table unchanged and the connection open', async () => {
        const db = await open();
        await makeTable('wrong', 'n int');
        const pid = pidOf(await db.query(PID));
        for (const chunks of [['1\nx\n2\n'], ['1\n', 'x\n', '2\n'], ['1\t2\n'], ['1\n2\t']]) {
          const stream = db.copyFrom('copy wrong from stdin');
          const error = await errorOf(write(stream, ...chunks));
          assert.equal(error.outcome, 'not-run');
          assert.match(error.code, /^22/);
          assert.match(error.where, /^COPY wrong, line/);
          assert.equal(stream.rowCount, null);
          assert.deepEqual(await rowsOf('wrong'), []);
          assert.equal(pidOf(await db.query(PID)), pid);
        }
      });

      it('reports an error before the end of the data, with the bundled libpq', async () => {
        const db = await open();
        await makeTable('early', 'n int');
        // Far more than the buffers hold; without the bundled one all of it is sent.
        const rows = Buffer.from('2\n'.repeat(1 << 15));
        let produced = 0;
        const source = Readable.from(
          (function* generate() {
            yield Buffer.from('1\nx\n');
            for (; produced < 2000; ++produced) yield rows;
          })(),
        );
        const error = await errorOf(pipeline(source, db.copyFrom('copy early from stdin')));
        assert.deepEqual([error.code, error.outcome], ['22P02', 'not-run']);
        assert.equal(produced < 2000, binding.seesCopyErrors);
        assert.deepEqual(await rowsOf('early'), []);
        await works(db);
      });

      it('fails at its commit, or before it begins', async () => {
        const db = await open();
        await makeTable('late', 'n int unique deferrable initially deferred');
        const late = await errorOf(write(db.copyFrom('copy late from stdin'), '1\n1\n'));
        assert.deepEqual([late.code, late.outcome], ['23505', 'not-run']);
        assert.deepEqual(await rowsOf('late'), []);
        const early = await errorOf(write(db.copyFrom('copy nowhere from stdin'), '1\n1\n'));
        assert.equal(early.code, '42P01');
        await works(db);
      });

      for (const [stage, wait] of [
        ['at once', async () => {}],
        [
          'while it waits for data',
          () =>
            until('the server waits', async () => {
              const rows = await observer.ask(
                `select 1 from pg_stat_activity where query = 'copy destroyed from stdin'
                 and state = 'active' and wait_event = 'ClientRead'`,
              );
              return rows.length > 0;
            }),
        ],
        ['after some data', (stream) => written(stream, '1\n')],
        [
          'with data that was not sent yet',
          async (stream) => {
            for (let n = 0; n < 100; ++n) stream.write('1\n'.repeat(1 << 15));
          },
        ],
      ]) {
        it(`destroyed ${stage} leaves the table unchanged and the connection open`, async () => {
          const db = await open();
          await makeTable('destroyed', 'n int');
          const pid = pidOf(await db.query(PID));
          for (const error of [undefined, new Error('mine \0'), 'text']) {
            const stream = db.copyFrom('copy destroyed from stdin');
            stream.on('error', (one) => assert.equal(one, error));
            await wait(stream);
            const closed = seen(stream, 'close');
            stream.destroy(error);
            await closed;
            assert.deepEqual(await rowsOf('destroyed'), []);
            assert.equal(pidOf(await db.query(PID)), pid);
          }
          await untilNothingRuns();
        });
      }

      it('is aborted by the signal of a pipeline', async () => {
        const db = await open();
        await makeTable('aborted', 'n int');
        const controller = new AbortController();
        const source = Readable.from(
          (async function* () {
            for (let n = 0; ; ++n) {
              if (n === 100) controller.abort();
              yield '1\n';
            }
          })(),
        );
        const { signal } = controller;
        await assert.rejects(pipeline(source, db.copyFrom('copy aborted from stdin'), { signal }), {
          name: 'AbortError',
        });
        await works(db);
        assert.deepEqual(await rowsOf('aborted'), []);
      });

      it('fails when its connection is lost, while data is written or not', async () => {
        await makeTable('lost', 'n int');
        for (const goesOn of [true, false]) {
          const db = await open();
          const stream = db.copyFrom('copy lost from stdin');
          const failed = errorOf(finished(stream));
          await written(stream, '1\n');
          const [{ pid }] = await observer.ask(
            "select pid from pg_stat_activity where query = 'copy lost from stdin' and state = 'active'",
          );
          await observer.terminate(pid);
          if (goesOn) stream.write('2\n'.repeat(1 << 20));
          const error = await failed;
          assert.ok(error instanceof ConnectionError, String(error));
          assert.equal(error.outcome, 'unknown');
          assert.deepEqual(await rowsOf('lost'), []);
        }
      });

      for (const [text, type] of [
        [42, ParameterError],
        ['select 1', ParameterError],
        ['', ParameterError],
        ["copy t from '/dev/null'", ParameterError],
        ['copy t from stdin; copy t from stdin', ParameterError],
        ['copy t from stdin; select 1', ParameterError],
        ['copy (select 1) to stdout', StatementRefusedError],
      ]) {
        it(`refuses ${text}`, async () => {
          const db = await open();
          const stream = db.copyFrom(text);
          const error = await errorOf(write(stream, '1\n'));
          assert.ok(error instanceof type, String(error));
          assert.equal(error.outcome, 'not-run');
          await works(db);
        });
      }

      it('takes a text with comments before it and a semicolon after it', async () => {
        const db = await open();
        await makeTable('commented', 'n int');
        const comments = '/* a; /* b */ */ -- c;\n'.repeat(200);
        assert.equal(await write(db.copyFrom(`${comments} copy commented from stdin; `), '1\n'), 1);
      });
    });

    describe(`copyTo() ${face}`, () => {
      it('gives the bytes of text, of CSV and of no rows', async () => {
        const db = await open();
        await makeTable('given', 'n int, t text');
        await observer.ask("insert into conduit_test.given values (1, 'é\t'), (2, null)");
        for (const [text, expected] of [
          ['copy (select * from given order by n) to stdout', '1\té\\t\n2\t\\N\n'],
          ['copy (select * from given order by n) to stdout (format csv)', '1,é\t\n2,\n'],
          ['copy (select * from given limit 0) to stdout', ''],
          ['copy (select 1 as one where false) to stdout (format csv, header)', 'one\n'],
        ]) {
          assert.equal((await read(db.copyTo(text))).toString(), expected);
        }
        await works(db);
      });

      it('gives back what copyFrom() has taken, byte by byte', async () => {
        const db = await open();
        await makeTable('there', 'n int, b bytea');
        await observer.ask(
          `insert into conduit_test.there select n, decode(md5(n::text), 'hex')
           from generate_series(1, 50000) as n`,
        );
        for (const format of ['text', 'csv', 'binary']) {
          await makeTable('back', 'n int, b bytea');
          await pipeline(
            db.copyTo(`copy there to stdout (format ${format})`),
            (await open()).copyFrom(`copy back from stdin (format ${format})`),
          );
          const [{ same }] = await observer.ask(
            `select not exists (
              (table conduit_test.there except all table conduit_test.back) union all
              (table conduit_test.back except all table conduit_test.there)) as same`,
          );
          assert.ok(same, format);
        }
      });

      it('stops the server while it is not read, without growing memory', async () => {
        const db = await open();
        const stream = db.copyTo(HUGE);
        const iterator = stream[Symbol.asyncIterator]();
        await iterator.next();
        const untilStopped = () =>
          until('the server waits for its reader', async () => {
            const rows = await observer.ask(
              "select 1 from pg_stat_activity where query = $1 and wait_event = 'ClientWrite'",
              [HUGE],
            );
            return rows.length > 0;
          });
        await untilStopped();
        const before = process.memoryUsage.rss();
        await delay(300);
        const grown = process.memoryUsage.rss() - before;
        assert.ok(grown < 64 << 20, `${grown} bytes more`);
        for (let n = 0; n < 20; ++n) await iterator.next();
        await untilStopped();
        await iterator.return();
        await works(db);
        await untilNothingRuns();
      });

      it('destroyed at any stage frees its connection, which stays open', async () => {
        const db = await open();
        const pid = pidOf(await db.query(PID));
        for (const wait of [0, 1, 20]) {
          const stream = db.copyTo(HUGE);
          if (wait > 0) await delay(wait);
          const closed = seen(stream, 'close');
          stream.destroy();
          await closed;
          assert.equal(pidOf(await db.query(PID)), pid);
        }
        await untilNothingRuns();
      });

      it('gives the data before an error, then the error', async () => {
        const db = await open();
        const stream = db.copyTo(
          'copy (select 100 / (5000 - n) from generate_series(1, 10000) as n) to stdout',
        );
        let bytes = 0;
        const error = await errorOf(
          (async () => {
            for await (const chunk of stream) bytes += chunk.length;
          })(),
        );
        assert.deepEqual([error.code, error.outcome], ['22012', 'not-run']);
        assert.ok(bytes > 0);
        await works(db);
      });

      it('fails when its connection is lost', async () => {
        const db = await open();
        const iterator = db.copyTo(HUGE)[Symbol.asyncIterator]();
        await iterator.next();
        const [{ pid }] = await observer.ask(
          "select pid from pg_stat_activity where query = $1 and state = 'active'",
          [HUGE],
        );
        await observer.terminate(pid);
        const error = await errorOf(
          (async () => {
            while (!(await iterator.next()).done);
          })(),
        );
        assert.ok(error instanceof ConnectionError, String(error));
      });

      for (const text of [42, 'select 1', "copy t to '/dev/null'", 'copy t to stdout; select 1']) {
        it(`refuses ${text}`, async () => {
          const db = await open();
          const error = await errorOf(db.copyTo(text).toArray());
          assert.ok(error instanceof ParameterError, String(error));
          await works(db);
        });
      }

      it('refuses COPY FROM STDIN, without copying anything', async () => {
        const db = await open();
        await makeTable('other_way', 'n int');
        const error = await errorOf(db.copyTo('copy other_way from stdin').toArray());
        assert.ok(error instanceof StatementRefusedError, String(error));
        assert.deepEqual(await rowsOf('other_way'), []);
        await works(db);
      });
    });
  }

  describe('on a pool', () => {
    it('has a connection to itself, and queries wait for it when there is no other', async () => {
      const pool = newPool({ max: 1 });
      await makeTable('alone', 'n int');
      const stream = pool.copyFrom('copy alone from stdin');
      await written(stream, '1\n');
      const queries = Array.from({ length: 10 }, () =>
        pool.query('select count(*)::int as n from alone'),
      );
      assert.equal(pool.waitingCount, 10);
      stream.end('2\n');
      for (const { rows } of await Promise.all(queries)) assert.deepEqual(rows, [{ n: 2 }]);
    });

    it('waits for a connection, until it is destroyed', async () => {
      const pool = newPool({ max: 1 });
      const client = await pool.connect();
      const streams = [
        pool.copyFrom('copy alone from stdin'),
        pool.copyTo('copy alone to stdout'),
        pool.copyFrom('copy alone from stdin'),
      ];
      assert.equal(pool.waitingCount, 3);
      for (const stream of streams) stream.destroy();
      await until('nobody waits', () => pool.waitingCount === 0);
      client.release();
      await works(pool);
    });

    it('that has ended is refused', async () => {
      const pool = newPool();
      await pool.end();
      const ended = poolError('ERR_PG_CONDUIT_POOL_ENDED');
      await assert.rejects(write(pool.copyFrom('copy alone from stdin'), '1\n'), ended);
      await assert.rejects(pool.copyTo('copy alone to stdout').toArray(), ended);
      await assert.rejects(pool.copyRows('alone', ['n'], [[1]]), ended);
    });

    it('is finished before end() resolves', async () => {
      const pool = newPool({ max: 1 });
      await makeTable('ending', 'n int');
      const stream = pool.copyFrom('copy ending from stdin');
      await written(stream, '1\n');
      const ended = pool.end();
      await write(stream, '2\n');
      await ended;
      assert.deepEqual(await rowsOf('ending'), [{ n: 1 }, { n: 2 }]);
    });
  });

  describe('on a client', () => {
    it('is part of the transaction, in both directions', async () => {
      const client = await newClient();
      await makeTable('inside', 'n int');
      await client.query('begin');
      await write(client.copyFrom('copy inside from stdin'), '1\n');
      await client.copyRows('inside', ['n'], [[2]]);
      assert.equal((await read(client.copyTo('copy inside to stdout'))).toString(), '1\n2\n');
      assert.deepEqual(await rowsOf('inside'), []);
      await client.query('rollback');
      assert.deepEqual(await rowsOf('inside'), []);
      await client.query('begin');
      await assert.rejects(write(client.copyFrom('copy inside from stdin'), 'x\n'));
      await assert.rejects(client.query('select 1'), { code: '25P02' });
      await client.query('rollback');
    });

    it('runs in the order of the calls, and later queries wait for its end', async () => {
      const client = await newClient();
      await makeTable('placed', 'n int');
      const count = () => client.query('select count(*)::int as n from placed');
      const before = count();
      const first = write(client.copyFrom('copy placed from stdin'), '1\n');
      const between = count();
      const second = client.copyRows('placed', ['n'], [[2], [3]]);
      const after = count();
      const given = read(client.copyTo('copy placed to stdout'));
      await Promise.all([first, second]);
      const counts = await Promise.all([before, between, after]);
      assert.deepEqual(
        counts.map(({ rows }) => rows[0].n),
        [0, 1, 3],
      );
      assert.equal((await given).toString(), '1\n2\n3\n');
    });

    it('emits the notices of triggers', async () => {
      const client = await newClient();
      const told = [];
      client.on('notice', ({ message }) => told.push(message));
      await makeTable('loud', 'n int');
      await observer.ask(
        `create or replace function conduit_test.shout() returns trigger language plpgsql as
         $$ begin raise notice 'row %', new.n; return new; end $$`,
      );
      await observer.ask(
        `create trigger shout before insert on conduit_test.loud
         for each row execute function conduit_test.shout()`,
      );
      await write(client.copyFrom('copy loud from stdin'), '1\n', '2\n');
      assert.deepEqual(told, ['row 1', 'row 2']);
      await works(client);
    });

    it('is finished before end() of the client resolves, with the option pipeline', async () => {
      const client = await newClient({ pipeline: true });
      await makeTable('last', 'n int');
      const stream = client.copyFrom('copy last from stdin');
      await written(stream, '1\n');
      const ended = client.end();
      await write(stream, '2\n');
      await ended;
      assert.deepEqual(await rowsOf('last'), [{ n: 1 }, { n: 2 }]);
    });

    it('fails when it is cancelled', async () => {
      const client = await newClient();
      const stream = client.copyTo(HUGE);
      const iterator = stream[Symbol.asyncIterator]();
      await iterator.next();
      const cancelled = client.cancel();
      const error = await errorOf(
        (async () => {
          while (!(await iterator.next()).done);
        })(),
      );
      assert.equal(error.code, '57014');
      await cancelled;
      await works(client);
    });
  });
});
