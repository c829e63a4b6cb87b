'use strict';

// The process of load.js, seen from the driver's process, with which it ends. Used by
// workloads/w5-http.js.

const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');

/**
 * @typedef {import('./load').Order} Order
 * @typedef {import('./load').Loaded} Loaded
 * @typedef {import('./load').Answer} Answer
 */

class LoadProcess {
  #child = fork(path.join(__dirname, 'load.js'), [], {
    execArgv: [],
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
   * @returns {Promise<Loaded>}
   */
  async run(order) {
    const answered = once(this.#child, 'message');
    this.#child.send(order);
    /** @type {Answer[]} */
    const [{ loaded, error }] = await Promise.race([answered, this.#ended]);
    if (!loaded) throw new Error(error);
    return loaded;
  }
}

module.exports = { LoadProcess };
