'use strict';

// The load: autocannon, in a process of its own, on the server of start.js and on its peer in turns, so that what
// disturbs the machine disturbs both. One load at a time, so that it stays bounded whoever asks for it. Run by start.js
// at the beginning, and by live/page.js when its button is pressed.

const { EventEmitter, once } = require('node:events');
const { LoadProcess } = require('../../bench/http/load-process');
const { percentiles } = require('../../bench/measure');

const ROUTES = ['/db', '/queries?n=20', '/updates?n=20', '/fortunes'];

/**
 * The turns of a load, by contender, each for so many parts of its time. Nothing is measured in the first two. Then one
 * goes first and last, and a machine that slows down or speeds up in the meantime does it to both.
 */
const WARM_UPS = [
  { contender: 0, part: 0.15 },
  { contender: 1, part: 0.15 },
];
const TURNS = [0, 1, 1, 0].map((contender) => ({ contender, part: 0.175 }));

/** Some seven ticks a turn, so that a line can be drawn through them. @param {number} seconds of a load */
const tickMillisOf = (seconds) => Math.min(500, Math.max(50, seconds * 25));

/**
 * A server that is loaded.
 * @typedef {object} Contender
 * @property {string} name of its driver
 * @property {string} url
 * @property {() => Promise<number>} cpuMicros what its process has taken so far
 * @property {() => Promise<number>} countConnections that the database server has of it
 *
 * @typedef {object} Order
 * @property {string} route one of ROUTES
 * @property {number} connections HTTP connections
 * @property {number} seconds for both together
 *
 * @typedef {Order & { endsAt: number }} Running
 *
 * What has come out of it for one of them.
 * @typedef {object} Outcome
 * @property {string} name
 * @property {number} requestsPerSecond
 * @property {number} cpuMicros for each request, of all threads of the process
 * @property {number} p50Millis
 * @property {number} p99Millis as the client has seen them
 * @property {number} connections
 * @property {number} failures
 *
 * @typedef {Order & { outcomes: Outcome[] }} Finished
 *
 * A moment of the load.
 * @typedef {object} Tick
 * @property {string} name whose turn it was
 * @property {number} seconds that it took, about
 * @property {number} requestsPerSecond
 * @property {number | null} cpuMicros for each request; null when none was answered
 * @property {number | null} p99Millis
 */

/** What the turns of one contender come to. */
class Sum {
  #requests = 0;
  #seconds = 0;
  #cpuMicros = 0;
  #failures = 0;
  #connections = 0;
  /** @type {number[][]} */
  #latencies = [];

  add({ requests, seconds, cpuMicros, errors, non2xx, latencies, open }) {
    this.#requests += requests;
    this.#seconds += seconds;
    this.#cpuMicros += cpuMicros;
    this.#failures += errors + non2xx;
    this.#connections = Math.max(this.#connections, open);
    this.#latencies.push(latencies);
  }

  /** @returns {Omit<Outcome, 'name'>} */
  outcome() {
    const { p50Micros, p99Micros } = percentiles(this.#latencies.flatMap((some) => [...some]));
    return {
      requestsPerSecond: this.#requests / this.#seconds,
      cpuMicros: this.#cpuMicros / this.#requests,
      p50Millis: p50Micros / 1000,
      p99Millis: p99Micros / 1000,
      connections: this.#connections,
      failures: this.#failures,
    };
  }
}

/** Emits `change` when a load begins or ends, and `tick` a few times a second in between. */
class Loader extends EventEmitter {
  /** The one that others are compared with, and ours. @type {Contender[]} */
  contenders = [];
  /** @type {Running | undefined} */
  running = undefined;
  /** The last one that was not interrupted. @type {Finished | undefined} */
  last = undefined;
  /** Of the one that is running, or of the last one. @type {Tick[]} */
  ticks = [];
  #signal;

  /** @param {AbortSignal} signal ends a load at once */
  constructor(signal) {
    super();
    this.#signal = signal;
  }

  /**
   * @param {Order} order
   * @returns {Promise<Finished | undefined>} nothing when it was interrupted
   */
  async run({ route, connections, seconds }) {
    if (this.running) throw new Error('a load is running already');
    if (!ROUTES.includes(route)) throw new Error(`no route to load: ${route}`);
    if (this.#signal.aborted) return undefined;
    const order = { route, connections, seconds };
    this.running = { ...order, endsAt: Date.now() + seconds * 1000 };
    this.ticks = [];
    this.emit('change');
    const load = new LoadProcess();
    const done = new AbortController();
    try {
      const interrupted = once(this.#signal, 'abort', { signal: done.signal }).catch(() => {});
      const outcomes = await Promise.race([
        this.#runTurns(load, order),
        interrupted.then(() => undefined),
      ]);
      if (outcomes === undefined) return undefined;
      this.last = { ...order, outcomes };
      return this.last;
    } finally {
      done.abort();
      load.end();
      this.running = undefined;
      this.emit('change');
    }
  }

  /** @param {LoadProcess} load @param {Order} order */
  async #runTurns(load, order) {
    for (const turn of WARM_UPS) await this.#runTurn(load, order, turn);
    const sums = this.contenders.map(() => new Sum());
    for (const turn of TURNS) {
      sums[turn.contender].add(
        await this.#runTurn(load, order, turn, (tick) => {
          this.ticks.push(tick);
          this.emit('tick', tick);
        }),
      );
    }
    return this.contenders.map(({ name }, index) => ({ name, ...sums[index].outcome() }));
  }

  /**
   * @param {LoadProcess} load
   * @param {Order} order
   * @param {{ contender: number, part: number }} turn
   * @param {(tick: Tick) => void} [onTick]
   */
  async #runTurn(load, { route, connections, seconds }, { contender, part }, onTick) {
    const one = this.contenders[contender];
    const tickMillis = tickMillisOf(seconds);
    const url = one.url + route;
    const millis = seconds * part * 1000;
    const before = await one.cpuMicros();
    let last = before;
    const tell = (tick, now) => {
      const { requests } = tick;
      onTick({
        name: one.name,
        seconds: tickMillis / 1000,
        requestsPerSecond: requests / tick.seconds,
        cpuMicros: requests > 0 ? (now - last) / requests : null,
        p99Millis: requests > 0 ? tick.p99Micros / 1000 : null,
      });
      last = now;
    };
    const loaded = await load.run(
      {
        ...{ url, connections, millis, keepsLatencies: true },
        ...(onTick && { tickMillis }),
      },
      // A process that has ended is missed at the end of the turn.
      (tick) =>
        one.cpuMicros().then(
          (now) => tell(tick, now),
          () => {},
        ),
    );
    const cpuMicros = (await one.cpuMicros()) - before;
    return { ...loaded, cpuMicros, open: await one.countConnections() };
  }
}

module.exports = { Loader, ROUTES };
