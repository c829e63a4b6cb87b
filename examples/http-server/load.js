'use strict';

// The load: autocannon on one of the server's own routes, from a thread of its own, since it must not
// share the server's event loop. One at a time, so that it stays bounded whoever asks for it. Run by
// start.js at the beginning, and by live/page.js when its button is pressed.

const { EventEmitter, once } = require('node:events');
const autocannon = require('autocannon');

const ROUTES = ['/db', '/queries?n=20', '/updates?n=20', '/fortunes'];

/**
 * @typedef {object} Order
 * @property {string} route one of ROUTES
 * @property {number} connections HTTP connections
 * @property {number} seconds
 *
 * @typedef {Order & { endsAt: number }} Running
 *
 * @typedef {Order & { requests: number, p50: number, p99: number, failures: number }} Finished
 *   requests a second, and the milliseconds of one, as autocannon has seen them
 */

/** Emits `change` when a load begins or ends. */
class Loader extends EventEmitter {
  /** @type {Running | undefined} */
  running = undefined;
  /** The last one that was not interrupted. @type {Finished | undefined} */
  last = undefined;
  /** Of the server, once it listens. */
  url = '';
  #signal;

  /** @param {AbortSignal} signal ends a load at once */
  constructor(signal) {
    super();
    this.#signal = signal;
  }

  /**
   * @param {Order} order
   * @returns {Promise<any>} what autocannon reports; nothing when it was interrupted
   */
  async run({ route, connections, seconds }) {
    if (this.running) throw new Error('a load is running already');
    if (!ROUTES.includes(route)) throw new Error(`no route to load: ${route}`);
    if (this.#signal.aborted) return undefined;
    const order = { route, connections, seconds };
    this.running = { ...order, endsAt: Date.now() + seconds * 1000 };
    this.emit('change');
    const done = new AbortController();
    try {
      const url = this.url + route;
      const running = autocannon({ url, connections, duration: seconds, workers: 1 });
      // With workers, a load that was stopped never reports.
      const interrupted = once(this.#signal, 'abort', { signal: done.signal }).catch(() => {});
      const report = await Promise.race([running, interrupted.then(() => undefined)]);
      if (report) this.last = { ...order, ...summarize(report) };
      else running.stop();
      return report;
    } finally {
      done.abort();
      this.running = undefined;
      this.emit('change');
    }
  }
}

/** @param {any} report */
function summarize(report) {
  const { requests, latency } = report;
  return {
    requests: Math.round(requests.average),
    p50: latency.p50,
    p99: latency.p99,
    failures: failuresOf(report),
  };
}

/** @param {{ errors: number, timeouts: number, non2xx: number }} report */
function failuresOf({ errors, timeouts, non2xx }) {
  return errors + timeouts + non2xx;
}

module.exports = { Loader, ROUTES, failuresOf };
