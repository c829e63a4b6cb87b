'use strict';

// The two places from which W8 reaches the server: near, over loopback, and at a distance, which is a relay.
// In the process of ../run.js. Called by workloads/w8-tools.js.

const { openWay } = require('../network');

/** What a round trip takes beside the server's own time. */
const ROUND_TRIP_MILLIS = 5;

/**
 * @typedef {Pick<import('.').OpenOptions, 'url' | 'config' | 'tls'> | { error: string }} Place
 *
 * @typedef {object} Around
 * @property {Record<string, Place>} places
 * @property {() => Promise<Record<string, string>>} tearDown resolves to what the report tells of them
 */

/**
 * Tools have their own ways to read addresses, and know TCP in common. What is far away by itself is the one place.
 * @param {import('../network').Server} server
 * @param {import('../choices').Choices} network
 * @returns {Promise<Around>}
 */
async function openPlaces(server, { latencyMillis }) {
  if (latencyMillis > 0) {
    const near = await openPlace(server, latencyMillis / 2);
    return {
      places: { near: near.place },
      tearDown: async () => ({ [`W8, ${latencyMillis} ms away`]: await near.close() }),
    };
  }
  const near = await openPlace(server, server.config.host.startsWith('/') ? 0 : undefined);
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
 * @param {import('../network').Server} server
 * @param {number} [delayMillis] each way, in the relay; without it there is none
 * @returns {Promise<{ place: Place, close: () => Promise<string> }>}
 */
async function openPlace(server, delayMillis) {
  try {
    const { target, close } = await openWay(server, delayMillis);
    const { host, port, user, database } = target.config;
    const config = { host, port, user, database };
    return { place: { config, url: toUrl(config), tls: server.tls !== undefined }, close };
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

module.exports = { ROUND_TRIP_MILLIS, openPlaces };
