'use strict';

// What happens to connections and tables while clients work: backends are terminated, relays cut and
// stall connections, tables are altered, pools are ended. Made by round.js.

const { setTimeout: delay } = require('node:timers/promises');
const { Relay } = require('../support/relay');
const { CALM } = require('./schema');

const MAX_PIECE_BYTES = 4000;

/** A relay that passes bytes in pieces, and cuts or stalls connections when it is told to. */
class StormyRelay extends Relay {
  /** @type {Set<{ driver: import('node:net').Socket, server: import('node:net').Socket }>} */
  #pairs = new Set();
  /** Whether what passes is torn into pieces. */
  tears = false;
  /** @type {import('./random').Random} */
  random;

  /** @param {import('node:net').Socket} driver */
  receive(driver) {
    const server = this.connect();
    const pair = { driver, server };
    this.#pairs.add(pair);
    for (const [from, to] of [
      [driver, server],
      [server, driver],
    ]) {
      from.setNoDelay(true);
      from.on('data', (bytes) => this.#pass(bytes, from, to));
      from.on('end', () => to.end());
      from.on('close', () => {
        to.destroy();
        this.#pairs.delete(pair);
      });
    }
  }

  /** @param {Buffer} bytes @param {import('node:net').Socket} from @param {import('node:net').Socket} to */
  #pass(bytes, from, to) {
    const size = this.tears ? this.random.small(1, MAX_PIECE_BYTES) : bytes.length;
    let isTaken = to.write(bytes.subarray(0, size));
    if (size < bytes.length) {
      from.pause();
      setImmediate(() => {
        isTaken = to.write(bytes.subarray(size));
        if (isTaken) from.resume();
        else to.once('drain', () => from.resume());
      });
    } else if (!isTaken) {
      from.pause();
      to.once('drain', () => from.resume());
    }
  }

  /** Cuts one connection, if there is one. @returns {string} what was done */
  cut() {
    const { random } = this;
    const pairs = [...this.#pairs];
    if (pairs.length === 0) return 'nothing to be cut';
    const { driver, server } = random.pick(pairs);
    const how = random.pick(['both', 'reset', 'driver only', 'server only', 'half closed']);
    if (how === 'both') driver.destroy();
    else if (how === 'reset') driver.resetAndDestroy();
    else if (how === 'driver only') driver.end();
    else if (how === 'server only') server.destroy();
    else server.end();
    return `cut: ${how}`;
  }

  /** One connection passes nothing for a while, and may be cut then. */
  async stall() {
    const pairs = [...this.#pairs];
    if (pairs.length === 0) return;
    const { driver, server } = this.random.pick(pairs);
    const socket = this.random.pick([driver, server]);
    socket.pause();
    await delay(this.random.int(5, 300));
    if (this.random.chance(0.4)) driver.destroy();
    else socket.resume();
  }
}

/** @typedef {{ steps: [doing: string, undoing: string], isDone: boolean }} Change what is next comes first */

class Storm {
  #round;
  #random;
  #isOver = false;
  /** @type {Change[]} */
  #changes = [
    { steps: ['changing add column b int', 'changing drop column b'], isDone: false },
    { steps: ['vanishing rename to gone', 'gone rename to vanishing'], isDone: false },
  ];
  /** @type {Promise<void> | undefined} */
  #running = undefined;

  /** @param {import('./round').Round} round @param {import('./random').Random} random */
  constructor(round, random) {
    this.#round = round;
    this.#random = random;
    this.pauseMillis = random.pick([20, 60, 200]);
  }

  start() {
    this.#running = this.#blow();
  }

  async stop() {
    this.#isOver = true;
    await this.#running;
  }

  async #blow() {
    const { journal, isStormy, relays } = this.#round;
    const random = this.#random;
    while (!this.#isOver) {
      await delay(random.int(1, 2 * this.pauseMillis));
      const what = random.weighted([
        ['terminate', isStormy ? 4 : 0],
        ['cut', isStormy ? 4 : 0],
        ['stall', isStormy ? 1 : 0],
        ['alter', 2],
        ['end a pool', 0.4],
      ]);
      try {
        if (what === 'terminate') await this.#terminate();
        else if (what === 'alter') await this.#alter(random.pick(this.#changes));
        else if (what === 'end a pool') this.#round.replacePool(random.fork());
        else if (what === 'cut') {
          const done = random.pick(relays).cut();
          journal.noteWeather(done);
          journal.count('weather', done);
        } else await random.pick(relays).stall();
      } catch (error) {
        journal.fault(`the storm itself has failed: ${error.stack}`);
        return;
      }
    }
  }

  async #terminate() {
    const { journal, outside } = this.#round;
    const all = await outside.sessions();
    const sessions = all.filter(({ application_name }) => !application_name.startsWith(CALM));
    if (sessions.length === 0) return;
    const { pid, query } = this.#random.pick(sessions);
    journal.noteWeather(`terminate ${pid}: ${query.slice(0, 60)}`);
    journal.count('weather', 'terminated');
    await outside.terminate(pid);
  }

  /** Does what is next to be done to a table, or undoes it. @param {Change} change */
  async #alter(change) {
    const { journal, outside } = this.#round;
    const [next] = change.steps;
    try {
      await outside.alter(next);
      change.steps.reverse();
      change.isDone = !change.isDone;
      journal.count('weather', `altered: ${next}`);
    } catch (error) {
      // Somebody has the table for longer, or a deadlock ends with us.
      if (error.code !== '55P03' && error.code !== '40P01') throw error;
    }
  }

  /** The tables are as they were. */
  async calm() {
    for (const change of this.#changes) if (change.isDone) await this.#alter(change);
  }
}

module.exports = { Storm, StormyRelay };
