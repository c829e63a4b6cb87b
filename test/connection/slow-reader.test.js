'use strict';

// What is written while the other side reads slowly: the kernel takes a part at a time, and libpq keeps the rest in a
// buffer to which more is added (deps/libpq-patches). Each byte arrives once and in its order, over TLS too.

const assert = require('node:assert/strict');
const { createHash } = require('node:crypto');
const { once } = require('node:events');
const { Readable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { setTimeout: delay } = require('node:timers/promises');
const fc = require('fast-check');
const { endAll, newClient } = require('../support/connect');
const { holds } = require('../support/property');
const { Relay } = require('../support/relay');
const { TlsServer } = require('../support/tls-server');

const MB = 1 << 20;

const md5 = (bytes) => createHash('md5').update(bytes).digest('hex');

/** @param {number} length @returns {Buffer} bytes that no other place repeats */
function noise(length) {
  const bytes = Buffer.alloc(length);
  for (let at = 0, word = 1; at + 4 <= length; at += 4) {
    word = (Math.imul(word, 1664525) + 1013904223) | 0;
    bytes.writeInt32LE(word, at);
  }
  return bytes;
}

/** Takes what the driver sends in small pieces, each in a turn of the event loop of its own. */
class SlowReader extends Relay {
  #stalled = Promise.resolve();

  /** For 200 ms it takes nothing: what is sent meanwhile fills all buffers. */
  stall() {
    this.#stalled = delay(200);
  }

  /** @param {import('node:net').Socket} driver */
  receive(driver) {
    const server = this.connect();
    driver.on('data', async (bytes) => {
      driver.pause();
      await this.#stalled;
      if (!server.write(bytes)) await once(server, 'drain').catch(() => {});
      setImmediate(() => driver.resume());
    });
    server.on('data', (bytes) => driver.write(bytes));
    for (const [from, to] of [
      [driver, server],
      [server, driver],
    ]) {
      from.on('end', () => to.end());
      from.on('close', () => to.destroy());
    }
  }
}

for (const isTls of [false, true]) {
  describe(`What a slow reader is sent${isTls ? ' over TLS' : ''}`, function () {
    this.timeout(180_000);

    const bytes = noise(64 * MB);
    /** @type {TlsServer | undefined} */
    let server;
    /** @type {SlowReader} */
    let relay;

    before(async () => {
      if (isTls) server = await TlsServer.start();
      relay = await SlowReader.open(server?.database.config);
    });
    afterEach(() => (server === undefined ? endAll() : server.endAll()));
    after(async () => {
      await relay.close();
      await server?.stop();
    });

    const connect = () =>
      server === undefined ? newClient(relay.options()) : server.connect({ port: relay.port });

    /** @param {any} client @param {Buffer} value */
    async function check(client, value) {
      const { rows } = await client.query('select md5($1::bytea) as sum, length($1) as n', [value]);
      assert.deepEqual(rows, [{ sum: md5(value), n: value.length }]);
    }

    it('as one value of 64 MB arrives as it is, and so do its neighbours', async () => {
      const client = await connect();
      relay.stall();
      const small = (n) => check(client, bytes.subarray(n, 2 * n));
      await Promise.all([small(10), check(client, bytes), small(20), small(3 * MB)]);
    });

    it('as many values, some submitted while others are leaving, arrives as it is', async () => {
      const client = await connect();
      const sizes = fc.array(
        fc.oneof(fc.nat(100), fc.nat(20_000), fc.nat(300_000), fc.nat(3 * MB)),
        {
          minLength: 1,
          maxLength: 10,
        },
      );
      // Each caller submits a value when the one before it is answered: the buffer is never empty.
      const callers = fc.array(sizes, { minLength: 2, maxLength: 20 });
      const property = fc.asyncProperty(callers, async (all) => {
        relay.stall();
        await Promise.all(
          all.map(async (own, caller) => {
            for (const [index, size] of own.entries()) {
              const from = (caller * 8191 + index * 131_071) % (bytes.length - size);
              await check(client, bytes.subarray(from, from + size));
            }
          }),
        );
      });
      await holds(property, 6);
    });

    it('as a COPY arrives as it is', async () => {
      const client = await connect();
      await client.query('create temporary table copied (sum text, t text)');
      relay.stall();
      const lines = function* () {
        for (
          let at = 0, size = 1;
          at + size < 24 * MB;
          at += size, size = (size * 31 + 7) % 700_001
        ) {
          const text = bytes.toString('base64', at, at + size);
          yield `${md5(text)}\t${text}\n`;
        }
      };
      const sink = client.copyFrom('copy copied from stdin');
      await pipeline(Readable.from(lines()), sink);
      const text =
        'select count(*)::int as n, count(*) filter (where md5(t) = sum)::int as same from copied';
      const { rows } = await client.query(text);
      const count = [...lines()].length;
      assert.ok(count > 50);
      assert.deepEqual(rows, [{ n: count, same: count }]);
    });
  });
}
