'use strict';

// Why TLS was not possible, by the code that `pg` has from Node.js: clients and pools of both drivers.

const assert = require('node:assert/strict');
const pg = require('pg');
const ours = require('../..');
const { seesCopyErrors } = require('../../lib/native/binding');
const { Authority } = require('../support/certificates');
const { cannotRun } = require('../support/cannot-run');
const { errorOf } = require('../support/outcomes');
const { TlsServer } = require('../support/tls-server');

describe('A server whose certificate is refused has the code of pg', function () {
  this.timeout(30_000);

  /** @type {TlsServer} */
  let server;
  /** @type {TlsServer} */
  let expired;
  /** @type {Authority} */
  let stranger;
  before(async () => {
    stranger = new Authority('a stranger');
    server = await TlsServer.start();
    expired = await TlsServer.start({ hasExpired: true });
  });
  after(async () => {
    stranger.remove();
    await server.stop();
    await expired.stop();
  });

  /** @param {any} driver @param {Record<string, any>} config */
  async function codesOf(driver, config) {
    const client = new driver.Client(config);
    client.on('error', () => {});
    const pool = new driver.Pool({ ...config, connectionTimeoutMillis: 20_000 });
    const errors = [await errorOf(client.connect()), await errorOf(pool.query('select 1'))];
    await Promise.all([client.end(), pool.end()]);
    return errors.map(({ code }) => code);
  }

  for (const [code, find] of /** @type {[string, () => Record<string, any>][]} */ ([
    ['SELF_SIGNED_CERT_IN_CHAIN', () => server.options({ ssl: server.ssl({ ca: stranger.cert }) })],
    ['CERT_HAS_EXPIRED', () => expired.options()],
    [
      'ERR_TLS_CERT_ALTNAME_INVALID',
      () => ({
        ...server.options({ ssl: { ca: server.authority.cert } }),
        host: '127.0.0.1',
      }),
    ],
  ])) {
    it(code, async function () {
      const isKnown = seesCopyErrors || code.startsWith('ERR_');
      if (!isKnown) cannotRun(this, 'a system libpq does not tell why a certificate is refused');
      for (const driver of [pg, ours]) {
        assert.deepEqual(await codesOf(driver, find()), [code, code]);
      }
    });
  }
});
