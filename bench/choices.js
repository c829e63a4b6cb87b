'use strict';

// What --tcp, --tls and --latency ask for, and the words for it. Read by run.js, which lets network.js do it, and by whatever
// shows figures: those of another network are not mixed with those of the usual one.

/**
 * @typedef {object} Choices
 * @property {boolean} tcp with either of the others, too: without it the network is the usual one
 * @property {boolean} tls which is over TCP
 * @property {number} latencyMillis that a round trip takes beside the server's time; over TCP if it is not 0
 */

/** @param {{ tcp: boolean, tls: boolean, latency?: string }} values @returns {Choices} */
function readChoices({ tcp, tls, latency }) {
  const latencyMillis = latency === undefined ? 0 : Number(latency);
  if (latency !== undefined && !(latencyMillis > 0 && latencyMillis <= 1000)) {
    throw new Error(`--latency is "${latency}": give the milliseconds of a round trip, up to 1000`);
  }
  if (tls && process.env.PG_CONDUIT_DATABASE_URL) {
    throw new Error('--tls needs a server of the bench: unset PG_CONDUIT_DATABASE_URL');
  }
  return { tcp: tcp || tls || latencyMillis > 0, tls, latencyMillis };
}

/** @param {Choices} choices @param {{ host: string }} config */
function describeNetwork({ tls, latencyMillis }, { host }) {
  const words = [host.startsWith('/') ? 'a unix socket' : tls ? 'TCP with TLS' : 'TCP'];
  if (latencyMillis > 0) words.push(`${latencyMillis} ms away`);
  return words.join(', ');
}

/**
 * @param {{ network?: Choices }} figures without it they are those of the usual one
 * @param {Partial<Choices>} [wanted] what is left out is not asked for
 */
function isOver({ network }, { tcp = false, tls = false, latencyMillis = 0 } = {}) {
  const found = { tcp: false, tls: false, latencyMillis: 0, ...network };
  return found.tcp === tcp && found.tls === tls && found.latencyMillis === latencyMillis;
}

module.exports = { describeNetwork, isOver, readChoices };
