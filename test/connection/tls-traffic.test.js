'use strict';

// What flows through connections with TLS: nothing waits inside OpenSSL for a socket that is quiet,
// whatever the sizes of records and of the pieces they come in; both directions at once, COPY,
// streams, cancel requests, lost connections.

const assert = require('node:assert/strict');
const { createHash } = require('node:crypto');
const { once } = require('node:events');
const { Readable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { Worker } = require('node:worker_threads');
const fc = require('fast-check');
const { errorOf } = require('../support/outcomes');
const { Observer, until } = require('../support/outside');
const { holds } = require('../support/property');
const { Relay } = require('../support/relay');
const { TlsServer, cancelled } = require('../support/tls-server');

/** The most that a TLS record carries; libpq's buffers are as long or half as long. */
const RECORD = 16384;

const md5 = (text) => createHash('md5').update(text).digest('hex');

/** Passes on what comes in pieces of these sizes, one after the other, and again from the first. */
class Chopper extends Relay {
  /** @type {number[]} */
  sizes = [];
  /** After so many bytes from the server the connection is cut. */
  cutAfter = Infinity;

  /** @param {import('node:net').Socket} driver */
  receive(driver) {
    const server = this.connect();
    let left = this.cutAfter;
    const join = (from, to, isCounted) => {
      from.setNoDelay(true);
      let turn = 0;
      // A piece is one write, and the next one is in another turn of the loop.
      from.on('data', async (bytes) => {
        from.pause();
        for (let at = 0; at < bytes.length && !to.destroyed;) {
          let size = this.sizes[turn++ % this.sizes.length] ?? bytes.length;
          size = Math.min(size, bytes.length - at);
          if (isCounted) size = Math.min(size, left);
          if (size > 0) to.write(bytes.subarray(at, at + size));
          at += size;
          if (isCounted) left -= size;
          if (left === 0) {
            driver.destroy();
            server.destroy();
            return;
          }
          if (this.sizes.length > 0) await new Promise(setImmediate);
        }
        from.resume();
      });
      from.on('end', () => to.end());
      from.on('close', () => to.destroy());
    };
    join(driver, server, false);
    join(server, driver, true);
  }
}

describe('Over TLS', function () {
  this.timeout(120000);

  /** @type {TlsServer} */
  let server;
  /** @type {Chopper} */
  let chopper;
  /** Options of one who shows a certificate, too. */
  let certified;

  before(async () => {
    server = await TlsServer.start();
    chopper = await Chopper.open(server.database.config);
    const { cert, key } = server.authority.issue('by_certificate');
    certified = { user: 'by_certificate', ssl: server.ssl({ cert, key }) };
  });
  afterEach(() => server.endAll());
  after(async () => {
    await chopper.close();
    await server.stop();
  });

  describe('results', () => {
    const SIZES = [RECORD / 2, RECORD, 2 * RECORD, 4 * RECORD].flatMap((size) =>
      Array.from({ length: 41 }, (_, index) => size - 36 + index),
    );

    it('of all sizes around that of a TLS record arrive, one by one and together', async () => {
      const client = await server.connect();
      const length = async (size) => {
        const { rows } = await client.query("select repeat('x', $1::int) as x", [size]);
        return rows[0].x.length;
      };
      for (const size of SIZES) assert.equal(await length(size), size);
      assert.deepEqual(await Promise.all(SIZES.map(length)), SIZES);
    });

    it('in rows of all sizes arrive, in one result and in streams', async () => {
      const client = await server.connect();
      const text =
        'select n, repeat(chr(65 + n % 26), n * 37 % 20000) as x from generate_series(1, 3000) n';
      const check = (rows) => {
        assert.equal(rows.length, 3000);
        for (const [index, { n, x }] of rows.entries()) {
          assert.equal(n, index + 1);
          assert.equal(x, String.fromCharCode(65 + (n % 26)).repeat((n * 37) % 20000));
        }
      };
      check((await client.query(text)).rows);
      const streamed = [];
      for await (const row of client.stream(text, [], { batchSize: 3 })) {
        if (row.n % 100 === 0) await new Promise(setImmediate);
        streamed.push(row);
      }
      check(streamed);
    });

    it('of thousands of queries in flight arrive at the right ones', async () => {
      const pool = server.newPool({ max: 2, maxInFlight: 10000, syncGroup: 'off' });
      const results = await Promise.all(
        Array.from({ length: 8000 }, (_, index) =>
          pool.query("select $1::int as i, repeat('y', $1::int % 300) as y", [index]),
        ),
      );
      for (const [index, { rows }] of results.entries()) {
        assert.equal(rows[0].i, index);
        assert.equal(rows[0].y.length, index % 300);
      }
    });
  });

  describe('large values and results', () => {
    // Both directions fill up: while libpq cannot write it reads, and OpenSSL holds a part of that.
    it('are sent and received at the same time', async () => {
      const client = await server.connect();
      const sizes = Array.from({ length: 60 }, (_, index) => 200000 + index * 7919);
      const answers = await Promise.all(
        sizes.map(async (size, index) => {
          const value = String(index).repeat(size).slice(0, size);
          const { rows } = await client.query('select $1::text as value', [value]);
          return rows[0].value === value;
        }),
      );
      assert.deepEqual(new Set(answers), new Set([true]));
    });

    it('are sent and received at the same time as small ones, in a random mix', async () => {
      const client = await server.connect();
      const sizes = fc.array(
        fc.oneof(
          { weight: 3, arbitrary: fc.nat(100) },
          { weight: 2, arbitrary: fc.integer({ min: 8000, max: 70000 }) },
          { weight: 1, arbitrary: fc.integer({ min: 100000, max: 1500000 }) },
        ),
        { minLength: 1, maxLength: 60 },
      );
      const property = fc.asyncProperty(sizes, async (all) => {
        const answers = await Promise.all(
          all.map((size) => client.query('select $1::text || $1::text as v', ['z'.repeat(size)])),
        );
        assert.deepEqual(
          answers.map(({ rows }) => rows[0].v.length),
          all.map((size) => 2 * size),
        );
      });
      await holds(property, 25);
    });
  });

  describe('data that arrives in pieces', () => {
    const through = () => ({ port: chopper.port });

    afterEach(() => {
      chopper.sizes = [];
      chopper.cutAfter = Infinity;
    });

    it('of one byte is put together, the handshake too', async () => {
      chopper.sizes = [1];
      const client = await server.connect({ ...certified, ...through() });
      const { rows } = await client.query("select repeat('x', 20000) as x, $1::text as y", [
        'y'.repeat(9000),
      ]);
      assert.equal(rows[0].x, 'x'.repeat(20000));
      assert.equal(rows[0].y, 'y'.repeat(9000));
    });

    it('of any size is put together', async () => {
      const sizes = fc.array(
        fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 40000 })),
        {
          minLength: 1,
          maxLength: 10,
        },
      );
      const property = fc.asyncProperty(sizes, async (all) => {
        // Not less than some hundreds on average: the handshake is thousands of turns else.
        chopper.sizes = [...all, 5000];
        const client = await server.connect(through());
        const answers = await Promise.all(
          Array.from({ length: 40 }, (_, index) =>
            client.query('select $1::int as i, repeat($2, $1 * 500) as x', [index, 'ü']),
          ),
        );
        for (const [index, { rows }] of answers.entries()) {
          assert.equal(rows[0].i, index);
          assert.equal(rows[0].x.length, index * 500);
        }
        await client.end();
      });
      await holds(property, 25);
    });

    it('and ends anywhere leaves no promise pending, and returns no wrong row', async () => {
      const property = fc.asyncProperty(fc.integer({ min: 1, max: 60000 }), async (bytes) => {
        chopper.cutAfter = bytes;
        const pool = server.newPool({ ...through(), max: 1 });
        const queries = Array.from({ length: 50 }, (_, index) =>
          pool.query("select $1::int as i, repeat('x', $1::int * 40) as x", [index]),
        );
        for (const [index, { value, reason }] of (await Promise.allSettled(queries)).entries()) {
          if (value !== undefined) {
            assert.deepEqual(value.rows, [{ i: index, x: 'x'.repeat(index * 40) }]);
          } else {
            assert.ok(['not-run', 'unknown'].includes(reason.outcome), `${reason}`);
          }
        }
        await pool.end();
      });
      await holds(property, 40);
    });
  });

  describe('COPY', () => {
    const ROWS = 30000;
    const line = (n) => `${n}\t${String(n).repeat(n % 60)}\n`;

    it('works in both directions, in pieces of all sizes', async () => {
      const client = await server.connect();
      await client.query('create temp table copied (n int, text text)');
      const data = Array.from({ length: ROWS }, (_, n) => line(n)).join('');
      const pieces = function* () {
        for (let at = 0, size = 1; at < data.length; at += size, size = (size * 7) % 100003) {
          yield data.slice(at, at + size);
        }
      };
      await pipeline(Readable.from(pieces()), client.copyFrom('copy copied from stdin'));
      const { rows } = await client.query('select count(*)::int as n from copied');
      assert.deepEqual(rows, [{ n: ROWS }]);
      const chunks = [];
      for await (const chunk of client.copyTo('copy (select * from copied order by n) to stdout')) {
        chunks.push(chunk);
      }
      assert.equal(md5(Buffer.concat(chunks)), md5(data));
    });
  });

  describe('cancelling', () => {
    it('reaches the server, with the client certificate that it requires', async () => {
      for (const given of [{}, certified]) {
        const client = await server.connect(given);
        assert.equal(await cancelled(client), 'not-run');
        const observer = await Observer.open(server.observer.connectionParameters);
        const asleep = errorOf(client.query('select pg_sleep(60)'));
        await observer.untilAsleep(client.processID);
        await client.cancel();
        assert.equal((await asleep).code, '57014');
        assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
        await observer.close();
      }
    });
  });

  describe('a pool', () => {
    it('replaces a connection that is lost with queries in flight', async () => {
      const pool = server.newPool({ ...certified, max: 1 });
      const { rows } = await pool.query('select pg_backend_pid() as pid');
      const queries = Array.from({ length: 100 }, (_, index) =>
        pool.query("select $1::int as i, repeat('x', 5000), pg_sleep(0.01)::text", [index]),
      );
      const settling = Promise.allSettled(queries);
      await queries[3];
      await server.ask('select pg_terminate_backend($1)', [rows[0].pid]);
      const settled = await settling;
      for (const [index, { value, reason }] of settled.entries()) {
        if (value !== undefined) assert.equal(value.rows[0].i, index);
        else assert.ok(['not-run', 'unknown'].includes(reason.outcome), `${reason}`);
      }
      assert.ok(settled.some(({ status }) => status === 'rejected'));
      const next = await pool.query(
        'select client_dn as dn from pg_stat_ssl where pid = pg_backend_pid()',
      );
      assert.deepEqual(next.rows, [{ dn: '/CN=by_certificate' }]);
    });

    it('receives notifications', async () => {
      const pool = server.newPool({ max: 1 });
      const heard = [];
      const listening = await pool.listen('news', (payload) => heard.push(payload));
      const payload = 'x'.repeat(7999);
      for (let index = 0; index < 20; ++index) {
        await server.ask('select pg_notify($1, $2)', ['news', payload]);
      }
      await until('all is heard', () => heard.length === 20);
      await listening.unlisten();
    });
  });

  it('several worker threads work at the same time', async () => {
    const code = `
      const { parentPort, workerData } = require('node:worker_threads');
      const { Pool } = require(workerData.module);
      const pool = new Pool(workerData.options);
      const queries = Array.from({ length: 500 }, (_, index) =>
        pool.query("select $1::int as i, repeat('x', $1::int * 20) as x", [index]));
      Promise.all(queries).then(async (results) => {
        const right = results.filter(({ rows: [{ i, x }] }, index) =>
          i === index && x.length === index * 20);
        await pool.end();
        parentPort.postMessage(right.length);
      });`;
    const workerData = { module: require.resolve('../..'), options: server.options(certified) };
    const workers = Array.from({ length: 3 }, () => new Worker(code, { eval: true, workerData }));
    const exits = workers.map((worker) => once(worker, 'exit'));
    const counts = await Promise.all(workers.map((worker) => once(worker, 'message')));
    assert.deepEqual(counts.flat(), [500, 500, 500]);
    await Promise.all(exits);
  });
});
