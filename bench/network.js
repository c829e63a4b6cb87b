'use strict';

// What is between the drivers and the server, by the options --tcp, --tls and --latency: the server for it, with certificates
// of its own, and a relay in a process of its own. Used by run.js; openWay() by tools/places.js.

const { startDatabase, toConnectionString } = require('../scripts/database');
const { Authority } = require('../test/support/certificates');
const { startRelay } = require('./c/relay');
const { withClient } = require('./tables');

/** Whoever says nothing of TLS must not get by without it. The unix socket is for the bench itself. */
const TLS_ONLY = `
local all all trust
hostnossl all all all reject
hostssl all all all trust`;
/** Round trips of which the median is told. */
const ROUND_TRIPS = 21;

/**
 * @typedef {import('../scripts/database').ConnectionConfig} Config
 * @typedef {import('./tables').Target} Target
 * @typedef {import('./choices').Choices} Choices
 *
 * Where the server itself is, without a relay.
 * @typedef {Pick<Target, 'config' | 'tls'>} Server
 *
 * @typedef {object} Network
 * @property {import('../scripts/database').Database} database
 * @property {Target} target for the drivers
 * @property {Target} ownTarget for the bench itself: the nearest way to the server
 * @property {Server} server
 * @property {() => Promise<Record<string, string>>} disconnect resolves to what the report tells of the network
 * @property {() => Promise<void>} stop ends the server
 */

/**
 * @param {Choices} choices
 * @param {import('../scripts/database').DatabaseOptions} options of a server of our own
 * @returns {Promise<Network>}
 */
async function openNetwork(choices, options) {
  /** @type {(() => unknown)[]} what ends it, in the order in which it was begun */
  const ends = [];
  const stop = async () => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  try {
    const certificates = choices.tls ? makeCertificates() : undefined;
    if (certificates) ends.push(certificates.remove);
    const database = await startDatabase({
      ...options,
      listen: options.listen || choices.tcp,
      ...(certificates && { own: true, hba: TLS_ONLY, tls: certificates.files }),
    });
    ends.push(database.stop);
    const server = {
      config: database.config,
      ...(certificates && { tls: { caFile: certificates.files.ca } }),
    };
    const near = nearTarget(database, server);
    const { target, close } = await openTarget(choices, { near, server, database });
    /** @type {string | undefined} */
    let told;
    ends.push(async () => {
      told ??= await close?.();
    });
    return {
      ...{ database, server, target, ownTarget: near, stop },
      async disconnect() {
        told ??= await close?.();
        return told === undefined ? {} : { Network: told };
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function makeCertificates() {
  const authority = new Authority('the authority of a bench');
  const { certFile, keyFile } = authority.issue('server', {
    hosts: ['localhost', '127.0.0.1'],
    kind: 'rsa',
  });
  return {
    files: { cert: certFile, key: keyFile, ca: authority.certFile },
    remove: () => authority.remove(),
  };
}

/**
 * Beside TCP a server of our own has a unix socket.
 * @param {import('../scripts/database').Database} database
 * @param {Server} server
 * @returns {Target}
 */
function nearTarget({ connectionString, config, binDirectory, socketDirectory }, server) {
  if (socketDirectory === undefined || process.platform === 'win32') {
    return { ...(server.tls ? toTarget(server) : { connectionString, config }), binDirectory };
  }
  return { ...toTarget({ config: { ...config, host: socketDirectory } }), binDirectory };
}

/**
 * @param {Choices} choices
 * @param {{ near: Target, server: Server, database: import('../scripts/database').Database }} to
 * @returns {Promise<{ target: Target, close?: () => Promise<string> }>}
 */
async function openTarget({ tcp, latencyMillis }, { near, server, database }) {
  if (!tcp) return { target: near };
  const { binDirectory, connectionString, config } = database;
  if (latencyMillis > 0) {
    const { target, close } = await openWay(server, latencyMillis / 2);
    return { target: { ...target, binDirectory }, close };
  }
  if (config.host.startsWith('/')) {
    throw new Error('--tcp: PG_CONDUIT_DATABASE_URL names a unix socket');
  }
  return {
    target: { ...(server.tls ? toTarget(server) : { connectionString, config }), binDirectory },
  };
}

/** @param {Server} server @returns {Target} */
function toTarget({ config, tls }) {
  const address = toConnectionString(config);
  // libpq, `pg` and pgx read it there; other drivers get `tls`.
  const verified = tls && `&sslmode=verify-full&sslrootcert=${encodeURIComponent(tls.caFile)}`;
  return { connectionString: address + (verified ?? ''), config, ...(tls && { tls }) };
}

/**
 * @param {Server} server
 * @param {number} [delayMillis] each way, in a relay; without it there is none
 * @returns {Promise<{ target: Target, close: () => Promise<string> }>} tells of itself at its end
 */
async function openWay(server, delayMillis) {
  if (delayMillis === undefined) {
    const target = toTarget(server);
    const told = `${await describeRoundTrip(target)}, over TCP`;
    return { target, close: async () => told };
  }
  const relay = await startRelay(server.config, delayMillis);
  try {
    const config = { ...server.config, host: '127.0.0.1', port: relay.port };
    const target = toTarget({ ...server, config });
    const told = await describeRoundTrip(target);
    return {
      target,
      async close() {
        const { busiestPart, lateMillis } = await relay.end();
        const part = Math.ceil(100 * busiestPart);
        return (
          `${told}, through a relay, which never used more than ${part} % of a core, and passed 99 of 100 pieces on ` +
          `no more than ${lateMillis.toFixed(1)} ms late`
        );
      },
    };
  } catch (error) {
    await relay.end();
    throw error;
  }
}

/** @param {Target} target */
async function describeRoundTrip(target) {
  /** @type {number[]} */
  const samples = [];
  await withClient(target, async (client) => {
    for (let i = 0; i < ROUND_TRIPS; i++) {
      const start = performance.now();
      await client.query('select 1');
      samples.push(performance.now() - start);
    }
  });
  const median = samples.sort((a, b) => a - b)[ROUND_TRIPS >> 1];
  return `a query alone takes ${median.toFixed(1)} ms`;
}

module.exports = { openNetwork, openWay };
