'use strict';

// test/support/proxy.js: that it does to a connection what tests of faults rely on.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const net = require('node:net');
const { buffer } = require('node:stream/consumers');
const { setTimeout: delay } = require('node:timers/promises');
const { newClient, endAll } = require('../support/connect');
const { until } = require('../support/outside');
const { listen } = require('../support/ports');
const { Proxy, message } = require('../support/proxy');

describe('The proxy of the tests', () => {
  /** @type {net.Server} */
  let echo;
  /** What the server has got so far. */
  let got = 0;
  /** @type {Proxy} */
  let proxy;
  /** @type {net.Socket} */
  let socket;
  /** Sizes of what the driver's side has read. */
  let sizes = [];

  /** Of one message of the server's, so that the proxy takes it for one. */
  const TEXT = message('D', Buffer.alloc(200, 'x'));

  beforeEach(async () => {
    got = 0;
    sizes = [];
    echo = net.createServer({ allowHalfOpen: true }, (peer) => {
      peer.on('error', () => {});
      peer.on('data', ({ length }) => (got += length));
      peer.pipe(peer);
    });
    const port = await listen(echo);
    proxy = await Proxy.open({ host: '127.0.0.1', port });
  });
  afterEach(async () => {
    socket?.destroy();
    await proxy.close();
    echo.close();
    await endAll();
  });

  function connect() {
    socket = net.connect(proxy.port, '127.0.0.1');
    socket.on('data', ({ length }) => sizes.push(length));
    return socket;
  }

  const sum = () => sizes.reduce((total, size) => total + size, 0);

  it('passes on bytes in both directions, and the end', async () => {
    connect().end(TEXT);
    assert.deepEqual(await buffer(socket), TEXT);
    assert.deepEqual(proxy.bytes, { toServer: TEXT.length, toDriver: TEXT.length });
  });

  it('splits data into pieces of one byte, each read separately', async () => {
    proxy.pieceBytes = 1;
    connect().end(TEXT);
    await once(socket, 'close');
    assert.deepEqual(sizes, Array(TEXT.length).fill(1));
  });

  it('delays data, keeps the order whatever the jitter, and passes on what waits before the end', async () => {
    Object.assign(proxy, { delayMillis: 20, jitterMillis: 20, pieceBytes: 10 });
    const sentAt = performance.now();
    connect().end(TEXT);
    assert.deepEqual(await buffer(socket), TEXT);
    assert.ok(performance.now() - sentAt >= 40);
  });

  for (const by of /** @type {const} */ (['FIN', 'RST'])) {
    it(`cuts after so many bytes to the server by ${by}, the next connection only`, async () => {
      proxy.cut = { direction: 'toServer', afterBytes: 50, by };
      connect().write(TEXT);
      const [error] = await Promise.race([once(socket, 'end'), errorOf(socket)]);
      assert.equal(error?.code, by === 'RST' ? 'ECONNRESET' : undefined);
      await until('the server has them', () => got === 50);
      connect().end(TEXT);
      assert.deepEqual(await buffer(socket), TEXT);
    });

    it(`cuts after so many bytes to the driver by ${by}`, async () => {
      proxy.cut = { direction: 'toDriver', afterBytes: 50, by };
      connect().write(TEXT);
      await Promise.race([once(socket, 'close'), errorOf(socket)]);
      // RST throws away what is not read yet.
      assert.ok(by === 'FIN' ? sum() === 50 : sum() <= 50, String(sum()));
    });
  }

  it('cuts before the first byte', async () => {
    proxy.cut = { direction: 'toServer', afterBytes: 0, by: 'FIN' };
    connect().write(TEXT);
    await Promise.race([once(socket, 'close'), errorOf(socket)]);
    assert.equal(got, 0);
  });

  it('holds everything back without reading, and releases it', async () => {
    proxy.hold();
    const large = message('D', Buffer.alloc(16 << 20));
    connect().write(large);
    await delay(100);
    assert.equal(got, 0);
    assert.ok(socket.writableLength > 0, 'its buffers are full');
    proxy.release();
    await until('all of it is back', () => sum() === large.length);
  });

  it('limits the rate', async () => {
    proxy.bytesPerSecond = 2000;
    const sentAt = performance.now();
    connect().end(TEXT);
    assert.deepEqual(await buffer(socket), TEXT);
    assert.ok(performance.now() - sentAt >= 90);
  });

  it('stops reading when the driver does not read', async () => {
    const large = message('D', Buffer.alloc(64 << 20));
    connect().pause();
    socket.write(large);
    await until('its buffers are full', async () => {
      const before = got;
      await delay(100);
      return got > 0 && got === before;
    });
    assert.ok(got < large.length, String(got));
    socket.resume();
    await until('all of it is back', () => sum() === large.length);
  });

  it('changes messages of a server, also in the middle of a connection', async () => {
    const real = await Proxy.open();
    try {
      const client = await newClient({ connectionString: undefined, ...real.options() });
      const ask = async () => (await client.query("select 'right' as t")).rows[0].t;
      assert.equal(await ask(), 'right');
      real.change = (type, bytes) =>
        type === 'D' ? Buffer.from(bytes.toString('latin1').replace('right', 'wrong')) : bytes;
      assert.equal(await ask(), 'wrong');
      real.change = undefined;
      assert.equal(await ask(), 'right');
    } finally {
      await endAll();
      await real.close();
    }
  });
});

/** @param {net.Socket} socket */
function errorOf(socket) {
  return new Promise((resolve) => {
    socket.on('error', (error) => resolve([error]));
  });
}
