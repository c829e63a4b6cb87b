'use strict';

// Streams, cursors and COPY inside transaction(): part of it, may be left early without failing it, and
// never two at a time.

const assert = require('node:assert/strict');
const { finished } = require('node:stream/promises');
const { DatabaseError, QueryAbortedError, StatementRefusedError } = require('../..');
const { errorOf } = require('../support/outcomes');
const { newPool, pidOf, PID } = require('../support/pools');
const { Proxy } = require('../support/proxy');
const { assertAborted, assertEnded, insert, useTransactions } = require('../support/transactions');

/** Far more rows than all buffers on the way hold. */
// In the select list a series is made row by row; behind FROM all of it is made before the first row.
const HUGE = 'select generate_series(1, 2000000) as i, repeat($1, 1000) as t';
const HUGE_COPY = "copy (select generate_series(1, 2000000), repeat('x', 1000)) to stdout";

describe('In a transaction()', function () {
  this.timeout(30000);

  const { numbers, observer } = useTransactions();
  /** @type {any} */
  let pool;

  beforeEach(() => {
    pool = newPool({ max: 1 });
  });

  const fill = (count) =>
    observer.ask('insert into conduit_test.t select generate_series(1, $1::int)', [count]);

  async function take(rows) {
    const taken = [];
    for await (const { i } of rows) taken.push(i);
    return taken;
  }

  async function write(stream, data) {
    stream.end(data);
    await finished(stream);
    return stream.rowCount;
  }

  it('streams and cursors read what the transaction has written', async () => {
    await fill(3);
    const text = 'select i from t where i > $1 order by i';
    const [streamed, read] = await pool.transaction(async (tx) => {
      insert(tx, 4);
      const taken = await take(tx.stream(text, [1]));
      insert(tx, 5);
      const cursor = tx.cursor(text, [2]);
      const first = await cursor.read(2);
      const rest = await cursor.read(10);
      return [taken, [...first, ...rest].map(({ i }) => i)];
    });
    assert.deepEqual(streamed, [2, 3, 4]);
    assert.deepEqual(read, [3, 4, 5]);
    assert.deepEqual(await numbers('t'), [1, 2, 3, 4, 5]);
  });

  it('COPY works in both directions, and is rolled back with it', async () => {
    await pool.transaction(async (tx) => {
      insert(tx, 1);
      assert.equal(await write(tx.copyFrom('copy t from stdin'), '2\n3\n'), 2);
      assert.deepEqual(await tx.copyRows('t', ['i'], [[4], ['5']]), { rowCount: 2 });
      const chunks = await tx.copyTo('copy (select i from t order by i) to stdout').toArray();
      assert.equal(Buffer.concat(chunks).toString(), '1\n2\n3\n4\n5\n');
    });
    assert.deepEqual(await numbers('t'), [1, 2, 3, 4, 5]);
    const mine = new Error('mine');
    const error = await errorOf(
      pool.transaction(async (tx) => {
        await tx.copyRows('t', ['i'], [[6]]);
        throw mine;
      }),
    );
    assert.equal(error, mine);
    assert.deepEqual(await numbers('t'), [1, 2, 3, 4, 5]);
  });

  for (const [what, breakOff] of [
    [
      'a stream that is left',
      async (tx) => {
        for await (const { i } of tx.stream(HUGE, ['x'])) if (i === 3) break;
      },
    ],
    [
      'a stream that is destroyed before its first row',
      async (tx) => {
        tx.stream(HUGE, ['x']).destroy();
      },
    ],
    [
      'a stream whose signal is aborted',
      async (tx) => {
        const controller = new AbortController();
        const { signal } = controller;
        const reading = take(tx.stream({ text: HUGE, values: ['x'], signal }));
        setTimeout(() => controller.abort(), 20);
        assert.equal((await errorOf(reading)).name, 'AbortError');
      },
    ],
    [
      'a cursor that is closed',
      async (tx) => {
        const cursor = tx.cursor(HUGE, ['x']);
        await cursor.read(3);
        await cursor.close();
      },
    ],
    [
      'a COPY TO that is left',
      async (tx) => {
        for await (const data of tx.copyTo(HUGE_COPY)) if (data.length > 0) break;
      },
    ],
    [
      'an INSERT that is left, and rolled back,',
      async (tx) => {
        const text = "insert into t select generate_series(1, 50000) returning i, repeat('x', 100)";
        for await (const row of tx.stream(text)) if (row) break;
      },
    ],
  ]) {
    it(`${what} does not fail it`, async () => {
      const values = await pool.transaction(async (tx) => {
        await insert(tx, 1);
        const pid = pidOf(await tx.query(PID));
        await breakOff(tx);
        insert(tx, 2);
        await breakOff(tx);
        const inner = await tx.transaction(async (nested) => {
          insert(nested, 3);
          await breakOff(nested);
          return pidOf(await nested.query(PID));
        });
        await breakOff(tx);
        return [pid, inner];
      });
      assert.equal(values[0], values[1]);
      assert.deepEqual(await numbers('t'), [1, 2, 3]);
      const { rows } = await pool.query('select pg_backend_pid() as pid');
      assert.equal(rows[0].pid, values[0]);
    });
  }

  it('a stream that is left waits for rows already in transit, however slow the network', async () => {
    const proxy = await Proxy.open();
    const slow = newPool(proxy.options({ max: 1 }));
    try {
      const pids = await slow.transaction(async (tx) => {
        const before = pidOf(await tx.query(PID));
        proxy.bytesPerSecond = 250_000;
        for await (const { i } of tx.stream(HUGE, ['x'])) if (i === 1) break;
        return [before, pidOf(await tx.query(PID))];
      });
      assert.equal(pids[0], pids[1]);
    } finally {
      await slow.end();
      await proxy.close();
    }
  });

  it('a stream that is left does not wait for its rows if the cancel request does not arrive', async function () {
    // Far less than the rows may take where it is asked.
    this.timeout(10_000);
    const CANCEL_REQUEST = Buffer.from([0x04, 0xd2, 0x16, 0x2e]);
    const proxy = await Proxy.open();
    const slow = newPool(proxy.options({ max: 1 }));
    try {
      const error = await errorOf(
        slow.transaction(async (tx) => {
          proxy.bytesPerSecond = 250_000;
          proxy.mute = { at: CANCEL_REQUEST, reaches: false };
          for await (const { i } of tx.stream(HUGE, ['x'])) if (i === 1) break;
          await tx.query('select 1');
        }),
      );
      assert.equal(error.outcome, 'not-run');
      proxy.bytesPerSecond = Infinity;
      assert.equal((await slow.query('select 1 as one')).rows[0].one, 1);
    } finally {
      await slow.end();
      await proxy.close();
    }
  });

  it('a stream that is left does not fail a transaction begun by a BEGIN statement either', async () => {
    const client = await pool.connect();
    await client.query('begin');
    await client.query('insert into t values (1)');
    for await (const { i } of client.stream(HUGE, ['x'])) if (i === 3) break;
    client.query('insert into t values (2)');
    const cursor = client.cursor(HUGE, ['x']);
    await cursor.read(3);
    const closed = cursor.close();
    client.query('savepoint mine');
    client.copyTo(HUGE_COPY).destroy();
    client.query('insert into t values (3)');
    client.query('rollback to mine');
    await client.query('commit');
    await closed;
    assert.deepEqual(await numbers('t'), [1, 2]);
    // A transaction that has failed is left as it is.
    await client.query('begin');
    await errorOf(client.query('select 1 / 0'));
    const error = await errorOf(take(client.stream('select 1 as i')));
    assert.equal(error.code, '25P02');
    await client.query('rollback');
    client.release();
  });

  it('an error of a stream or COPY fails it, unless there is a savepoint', async () => {
    for (const use of [
      (tx) => take(tx.stream('select 100 / (5000 - i) as i from generate_series(1, 10000) as i')),
      (tx) => tx.cursor('select nothing').read(1),
      (tx) => tx.copyTo('copy (select 1 / 0) to stdout').toArray(),
      (tx) => write(tx.copyFrom('copy t from stdin'), 'x\n'),
      (tx) => tx.copyRows('t', ['i'], [[1], ['x']]),
    ]) {
      const failed = await errorOf(
        pool.transaction(async (tx) => {
          await insert(tx, 1);
          const error = await errorOf(use(tx));
          assert.ok(error instanceof DatabaseError, String(error));
        }),
      );
      assertAborted(failed);
      assert.deepEqual(await numbers('t'), []);
      await pool.transaction(async (tx) => {
        await insert(tx, 1);
        await errorOf(tx.transaction(use));
        await tx.query('delete from t');
      });
    }
  });

  it('other statements are refused while a stream, cursor or COPY is open', async () => {
    for (const open of [
      (tx) => tx.stream(HUGE, ['x']),
      (tx) => tx.cursor(HUGE, ['x']),
      (tx) => tx.copyFrom('copy t from stdin'),
      (tx) => tx.copyTo(HUGE_COPY),
    ]) {
      for (const use of [
        (tx) => tx.query('select 1'),
        (tx) => tx.batch(['select 1']),
        (tx) => tx.transaction((nested) => nested.query('select 1')),
        (tx) => take(tx.stream('select 1')),
        (tx) => tx.cursor('select 1').read(1),
        (tx) => tx.copyTo('copy t to stdout').toArray(),
        (tx) => tx.copyRows('t', ['i'], [[1]]),
      ]) {
        const mine = new Error('mine');
        const error = await errorOf(
          pool.transaction(async (tx) => {
            const stream = open(tx);
            stream.on?.('error', () => {});
            const refused = await errorOf(use(tx));
            assert.ok(refused instanceof StatementRefusedError, String(refused));
            assert.match(refused.message, /is open in this transaction/);
            throw mine;
          }),
        );
        assert.equal(error, mine);
      }
    }
    assert.deepEqual(await numbers('t'), []);
  });

  it('a stream, cursor or COPY still open at its end is aborted, and everything is rolled back', async () => {
    for (const open of [
      (tx) => take(tx.stream(HUGE, ['x'])),
      (tx) => tx.cursor(HUGE, ['x']).read(1e7),
      (tx) => tx.copyTo(HUGE_COPY).toArray(),
      (tx) => finished(tx.copyFrom('copy t from stdin')),
    ]) {
      let ended;
      const error = await errorOf(
        pool.transaction(async (tx) => {
          await insert(tx, 1);
          ended = errorOf(open(tx));
        }),
      );
      assertEnded(error);
      assertEnded(await ended);
      assert.deepEqual(await numbers('t'), []);
      assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
    }
  });

  it('a COPY FROM that was ended but not awaited is part of it', async () => {
    await pool.transaction((tx) => {
      tx.copyFrom('copy t from stdin').end('1\n');
      insert(tx, 2);
    });
    assert.deepEqual(await numbers('t'), [1, 2]);
  });

  it('a stream is refused after the end of the transaction', async () => {
    let late;
    await pool.transaction((tx) => {
      late = tx;
    });
    assertEnded(await errorOf(take(late.stream('select 1'))));
    assertEnded(await errorOf(late.copyRows('t', ['i'], [[1]])));
  });

  it('releasing the client aborts a stream', async () => {
    const client = await pool.connect();
    let reading;
    const ended = errorOf(
      client.transaction((tx) => {
        reading = errorOf(take(tx.stream(HUGE, ['x'])));
        return reading;
      }),
    );
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
    client.release();
    assertEnded(await reading);
    assertEnded(await ended);
    assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
  });

  it('losing the connection fails a stream', async () => {
    let read;
    const error = await errorOf(
      pool.transaction(async (tx) => {
        const pid = pidOf(await tx.query(PID));
        const stream = tx.stream(HUGE, ['x']);
        for await (const { i } of stream) {
          if (i === 1) await observer.terminate(pid);
          read = i;
        }
      }),
    );
    assert.ok(read > 0);
    assert.ok(!(error instanceof QueryAbortedError), String(error));
    assert.equal(error.outcome, 'not-run');
    assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
  });
});
