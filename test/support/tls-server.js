'use strict';

// A server of the test's own that takes connections with TLS only, what its clients need to trust
// it and to be trusted, and users for each way of authentication.

const pg = require('pg');
const { Client, Pool } = require('../..');
const { startDatabase } = require('../../scripts/database');
const { Authority } = require('./certificates');

/** In the server's certificate; it says nothing of addresses. */
const SERVER_NAME = 'db.test';

const PASSWORD = 'tönnchen';

const HBA = `
local all all trust
hostnossl all all all reject
hostssl all by_password all scram-sha-256
hostssl all by_md5 all md5
hostssl all by_certificate all cert
hostssl all all all trust`;

class TlsServer {
  /** @type {{ end: () => any }[]} */
  #opened = [];

  /** @param {{ hasExpired?: boolean }} [options] */
  static async start({ hasExpired = false } = {}) {
    const server = new TlsServer();
    server.authority = new Authority('an authority');
    server.identity = server.authority.issue('server', {
      hosts: [SERVER_NAME, 'localhost'],
      kind: 'rsa',
      isExpired: hasExpired,
    });
    server.database = await startDatabase({
      own: true,
      hba: HBA,
      tls: {
        cert: server.identity.certFile,
        key: server.identity.keyFile,
        ca: server.authority.certFile,
      },
    });
    const { config, socketDirectory } = server.database;
    server.observer = new pg.Client({ ...config, host: socketDirectory });
    await server.observer.connect();
    await server.observer.query(`
      create user by_password password '${PASSWORD}';
      create user by_certificate;
      set password_encryption = 'md5';
      create user by_md5 password '${PASSWORD}'`);
    return server;
  }

  /** What verifies this server. @param {Record<string, any>} [given] */
  ssl(given) {
    return { ca: this.authority.cert, servername: SERVER_NAME, ...given };
  }

  /** Options of a client that verifies this server, unless they are told otherwise. */
  options(given) {
    return { ...this.database.config, ssl: this.ssl(), ...given };
  }

  /** @param {Record<string, any>} [given] */
  async connect(given) {
    const client = new Client(this.options(given));
    this.#opened.push(client);
    await client.connect();
    return client;
  }

  /** @param {Record<string, any>} [given] */
  newPool(given) {
    const pool = new Pool(this.options(given));
    this.#opened.push(pool);
    return pool;
  }

  /** Connects, and tells how the server sees that. @param {Record<string, any>} [given] */
  async seen(given) {
    const client = await this.connect(given);
    const { rows } = await client.query(
      'select ssl, version, client_dn as "clientDn" from pg_stat_ssl where pid = pg_backend_pid()',
    );
    await client.end();
    return rows[0];
  }

  /** What the server says of itself, past TLS. @param {string} text @param {any[]} [values] */
  async ask(text, values) {
    return (await this.observer.query(text, values)).rows;
  }

  /** Ends what connect() and newPool() gave out; call it in afterEach. */
  async endAll() {
    await Promise.all(this.#opened.splice(0).map((one) => one.end().catch(() => {})));
  }

  async stop() {
    await this.observer.end();
    await this.database.stop();
    this.authority.remove();
  }
}

/** @param {Client} client @returns {Promise<string>} 'not-run': the server has cancelled its query */
async function cancelled(client) {
  const controller = new AbortController();
  const asleep = client.query({ text: 'select pg_sleep(30)', signal: controller.signal });
  setImmediate(() => controller.abort());
  return asleep.then(
    () => 'slept',
    ({ outcome }) => outcome,
  );
}

module.exports = { PASSWORD, SERVER_NAME, TlsServer, cancelled };
