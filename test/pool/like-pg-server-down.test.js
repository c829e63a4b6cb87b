'use strict';

// How calls fail whose server is down, as health checks see it: at once, with the message and the code of `pg`, also with
// connectionTimeoutMillis. Both drivers side by side.

const assert = require('node:assert/strict');
const net = require('node:net');
const pg = require('pg');
const ours = require('../..');
const { errorOf } = require('../support/outcomes');
const { NOWHERE, deadPort, listen } = require('../support/ports');

const LIMIT_MILLIS = 20_000;

/** @param {(socket: net.Socket) => void} onConnection @param {(port: number) => Promise<void>} use */
async function withServer(onConnection, use) {
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    onConnection(socket);
  });
  try {
    await use(await listen(server));
  } finally {
    server.close();
  }
}

/** @param {any} driver @param {Record<string, any>} target */
async function toldBy(driver, target) {
  const given = { user: 'x', database: 'x', ssl: false, ...target };
  const pool = new driver.Pool({ ...given, connectionTimeoutMillis: LIMIT_MILLIS });
  const began = performance.now();
  try {
    const errors = [await errorOf(pool.query('select 1')), await errorOf(pool.connect())];
    // Whoever asks again and again is told at once each time.
    for (let i = 0; i < 8; ++i) errors.push(await errorOf(pool.query('select 1')));
    const client = new driver.Client({ ...given, connectionTimeoutMillis: LIMIT_MILLIS });
    errors.push(await errorOf(client.connect()));
    assert.ok(performance.now() - began < LIMIT_MILLIS / 10, 'at once');
    return errors.map(({ message, code, syscall, errno, address, port }) => {
      return { message, code, syscall, errno, address, port };
    });
  } finally {
    await pool.end();
  }
}

describe('A server that is down', function () {
  this.timeout(30_000);

  /** @param {Record<string, any>} target */
  async function assertSame(target) {
    const [expected, actual] = [await toldBy(pg, target), await toldBy(ours, target)];
    assert.deepEqual(actual, expected);
    return expected[0];
  }

  it('is told at once by its code if nothing listens on the port: ECONNREFUSED', async () => {
    const { code } = await assertSame({ host: '127.0.0.1', port: await deadPort() });
    assert.equal(code, 'ECONNREFUSED');
  });

  it('is told at once by its code if there is no such socket: ENOENT', async () => {
    const { code } = await assertSame({ host: NOWHERE, port: 5432 });
    assert.equal(code, 'ENOENT');
  });

  it('is told at once if it closes each connection', () =>
    withServer(
      (socket) => socket.end(),
      async (port) => {
        const target = { host: '127.0.0.1', port };
        const [expected, actual] = [await toldBy(pg, target), await toldBy(ours, target)];
        const messages = actual.map(({ message }) => message);
        assert.deepEqual(
          messages,
          expected.map(({ message }) => message),
        );
        // `pg` has no code for it.
        assert.deepEqual(new Set(actual.map(({ code }) => code)), new Set(['ECONNRESET']));
      },
    ));

  it('is told at once by its code if it resets each connection: ECONNRESET', () =>
    withServer(
      (socket) => socket.once('data', () => socket.resetAndDestroy()),
      async (port) => {
        const target = { host: '127.0.0.1', port };
        for (const driver of [pg, ours]) {
          const codes = (await toldBy(driver, target)).map(({ code }) => code);
          assert.deepEqual(new Set(codes), new Set(['ECONNRESET']));
        }
      },
    ));
});
