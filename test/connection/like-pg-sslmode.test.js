'use strict';

// What sslmode in a URL and PGSSLMODE mean, with pg and with this driver: which of them verify the server.

const assert = require('node:assert/strict');
const pg = require('pg');
const ours = require('../..');
const { withEnvironment } = require('../support/process');
const { TlsServer } = require('../support/tls-server');

const DRIVERS = { pg, ours };

describe('TLS like that of pg', function () {
  this.timeout(120000);

  /** @type {TlsServer} */
  let server;

  before(async () => {
    server = await TlsServer.start();
  });
  after(() => server.stop());

  /** @returns {string} where the server is, by the name in its certificate */
  function url(parameters) {
    const { port, user, database } = server.database.config;
    return `postgresql://${user}@localhost:${port}/${database}${parameters}`;
  }

  /** @returns {Promise<boolean | 'refused'>} whether the connection is encrypted */
  async function isEncrypted(driver, config) {
    const client = new driver.Client(config);
    client.on('error', () => {});
    try {
      await client.connect();
      const { rows } = await client.query(
        'select ssl from pg_stat_ssl where pid = pg_backend_pid()',
      );
      return rows[0].ssl;
    } catch {
      return 'refused';
    } finally {
      await client.end().catch(() => {});
    }
  }

  const NOT_TRUSTED = ['prefer', 'require', 'verify-ca', 'verify-full'];

  for (const [parameters, expected] of [
    ...NOT_TRUSTED.map((mode) => [`?sslmode=${mode}`, 'refused']),
    ...NOT_TRUSTED.map((mode) => [`?sslmode=${mode}&sslrootcert=CA`, true]),
    ['?ssl=true', 'refused'],
    ['?sslmode=no-verify', true],
    ['?sslmode=require&uselibpqcompat=true', true],
    ['?sslmode=prefer&uselibpqcompat=true', true],
    ['?sslmode=verify-full&uselibpqcompat=true&sslrootcert=CA', true],
    // The server takes no connection without TLS.
    ['?sslmode=disable', 'refused'],
  ]) {
    it(`${parameters} ${expected === true ? 'connects' : 'refuses'} to a server that is not known`, async () => {
      const ca = encodeURIComponent(server.authority.certFile);
      const connectionString = url(parameters.replace('CA', ca));
      for (const [name, driver] of Object.entries(DRIVERS)) {
        assert.equal(await isEncrypted(driver, { connectionString }), expected, name);
      }
    });
  }

  for (const mode of [...NOT_TRUSTED, 'no-verify']) {
    it(`PGSSLMODE=${mode} means the same`, async () => {
      const expected = mode === 'no-verify' ? true : 'refused';
      await withEnvironment({ PGSSLMODE: mode }, async () => {
        for (const [name, driver] of Object.entries(DRIVERS)) {
          const given = { ...server.database.config, host: 'localhost' };
          assert.equal(await isEncrypted(driver, given), expected, name);
          const known = { ...given, ssl: { ca: server.authority.cert } };
          assert.equal(await isEncrypted(driver, known), true, name);
        }
      });
    });
  }

  it('is there without any option, where pg has none', async () => {
    const connectionString = url('');
    assert.equal(await isEncrypted(pg, { connectionString }), 'refused');
    assert.equal(await isEncrypted(ours, { connectionString }), true);
  });

  it('has the meaning of libpq in the option sslmode, which pg does not have', async () => {
    const connectionString = url('');
    assert.equal(await isEncrypted(ours, { connectionString, sslmode: 'require' }), true);
    assert.equal(await isEncrypted(ours, `${url('').replace('postgresql:', 'postgres:')}`), true);
  });
});
