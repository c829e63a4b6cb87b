'use strict';

// The process of load.js, seen from the one that forks it, with which it ends. Used by workloads/w5-http.js,
// the experiments http-styles and many-processes, and examples/http-server.

const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');

/**
 * @typedef {import('./load').Order} Order
 * @typedef {import('./load').Loaded} Loaded
 * @typedef {import('./load').Tick} Tick
 * @typedef {import('./load').Answer} Answer
 */

class LoadProcess {
  #child = fork(path.join(__dirname, 'load.js'), [], {
    execArgv: [],
    serialization: 'advanced', // numbers stay in their arrays
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  #ended = once(this.#child, 'exit').then(() => {
    throw new Error('the process of the load has ended');
  });

  constructor() {
    this.#ended.catch(() => undefined); // whoever waits hears of it
  }

  /**
   * @param {Order} order
   * @param {(tick: Tick) => void} [onTick] hears how it goes, if the order says how often
   * @returns {Promise<Loaded>}
   */
  async run(order, onTick) {
    /** @type {Promise<Answer>} */
    const answered = new Promise((resolve) => {
      const listener = (/** @type {Answer} */ answer) => {
        if (answer.tick) {
          onTick?.(answer.tick);
          return;
        }
        this.#child.off('message', listener);
        resolve(answer);
      };
      this.#child.on('message', listener);
    });
    this.#child.send(order);
    const { loaded, error } = await Promise.race([answered, this.#ended]);
    if (!loaded) throw new Error(error);
    return loaded;
  }

  /** Whatever it is doing. */
  end() {
    if (this.#child.connected) this.#child.disconnect();
  }
}

/**
 * @param {Loaded} loaded
 * @param {{ error?: Error }} server that was loaded
 */
function checkLoaded(loaded, server) {
  const { requests, errors, non2xx } = loaded;
  if (server.error) throw server.error;
  if (errors > 0 || non2xx > 0 || requests === 0) {
    throw new Error(`${requests} requests, ${errors} errors, ${non2xx} other than 2xx`);
  }
  return loaded;
}

module.exports = { LoadProcess, checkLoaded };
