'use strict';

// The two places from which W8 reaches the server: near, over loopback, and at a distance, which is the relay of ../c/relay.js.
// In the process of ../run.js. Called by workloads/w8-tools.js.

const { startRelay } = require('../c/relay');
const { withClient } = require('../tables');

/** What a round trip takes beside the server's own time. */
const ROUND_TRIP_MILLIS = 5;
/** Round trips of which the median is told. */
const ROUND_TRIPS = 21;

/**
 * @typedef {Pick<import('.').OpenOptions, 'url' | 'config'> | { error: string }} Place
 *
 * @typedef {object} Around
 * @property {Record<string, Place>} places
 * @property {() => Promise<Record<string, string>>} tearDown resolves to what the report tells of them
 */

/**
 * Tools have their own ways to read addresses, and know TCP in common.
 * @param {import('../../scripts/database').ConnectionConfig} server
 * @returns {Promise<Around>}
 */
async function openPlaces(server) {
  const near = await openPlace(server, server.host.startsWith('/') ? 0 : undefined);
  const away = await openPlace(server, ROUND_TRIP_MILLIS / 2);
  return {
    places: { near: near.place, away: away.place },
    async tearDown() {
      return {
        'W8, near': await near.close(),
        [`W8, ${ROUND_TRIP_MILLIS} ms away`]: await away.close(),
      };
    },
  };
}

/**
 * @param {import('../../scripts/database').ConnectionConfig} server
 * @param {number} [delayMillis] each way, in the relay; without it there is none
 * @returns {Promise<{ place: Place, close: () => Promise<string> }>}
 */
async function openPlace(server, delayMillis) {
  const { password, ...config } = server;
  if (delayMillis === undefined) {
    const place = { config, url: toUrl(config) };
    const told = `${await describeRoundTrip(place, password)}, over TCP`;
    return { place, close: async () => told };
  }
  try {
    const relay = await startRelay(config, delayMillis);
    const own = { ...config, host: '127.0.0.1', port: relay.port };
    const place = { config: own, url: toUrl(own) };
    const told = await describeRoundTrip(place, password).catch(async (error) => {
      await relay.end();
      throw error;
    });
    return {
      place,
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
    const { message } = /** @type {Error} */ (error);
    return { place: { error: message }, close: async () => message };
  }
}

/** @param {import('../../scripts/database').ConnectionConfig} config */
function toUrl({ host, port, user, database }) {
  const [name, path] = [user, database].map(encodeURIComponent);
  return `postgres://${name}@${host.includes(':') ? `[${host}]` : host}:${port}/${path}`;
}

/** @param {{ url: string, config: import('.').OpenOptions['config'] }} place @param {string} [password] */
async function describeRoundTrip({ url, config }, password) {
  /** @type {number[]} */
  const samples = [];
  const target = { connectionString: url, config: { ...config, password } };
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

module.exports = { ROUND_TRIP_MILLIS, openPlaces };
