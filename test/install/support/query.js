'use strict';

// Runs tls-query.js in a root, against a server outside of it.

const assert = require('node:assert/strict');
const path = require('node:path');
const { PASSWORD } = require('../../support/tls-server');

const SCRIPT = path.join(__dirname, 'tls-query.js');

/** Where the project is in a root. */
const PROJECT = '/app';

/** @param {import('../../support/tls-server').TlsServer} server @param {Record<string, any>} [given] */
function optionsFor(server, given) {
  // With SCRAM the password is bound to the channel: OpenSSL's part is as large as it can be.
  const secrets = { user: 'by_password', password: PASSWORD, channel_binding: 'require' };
  return { ...server.options({ ...secrets, ...given }), max: 1 };
}

/**
 * @param {import('./roots').Root} root
 * @param {import('../../support/tls-server').TlsServer} server
 * @param {{ node?: string[], given?: Record<string, any> }} [how]
 */
function runQuery(root, server, { node = ['/usr/local/bin/node'], given } = {}) {
  root.copy(SCRIPT, `${PROJECT}/tls-query.js`);
  const env = { PG_CONDUIT_OPTIONS: JSON.stringify(optionsFor(server, given)) };
  return root.run([...node, `${PROJECT}/tls-query.js`], { env });
}

/**
 * @param {Awaited<ReturnType<typeof runQuery>>} run
 * @param {string} addon the file that has done it, inside of the package
 * @returns {{ version: string, arch: string }}
 */
function assertAnswered({ code, stdout, stderr }, addon) {
  assert.equal(code, 0, stderr);
  assert.equal(stderr, '');
  const { row, addon: loaded, version, arch } = JSON.parse(stdout);
  assert.deepEqual(row, {
    ssl: true,
    version: 'TLSv1.3',
    user: 'by_password',
    next: 42,
    text: 'Maß & Straß',
  });
  assert.equal(loaded, `${PROJECT}/node_modules/pg-conduit/${addon}`);
  return { version, arch };
}

module.exports = { PROJECT, assertAnswered, runQuery };
