'use strict';

// The process of watch.js, seen from the one that forks it, with which it ends. Used by child.js.

const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');

class ConnectionsWatch {
  #child = fork(path.join(__dirname, 'watch.js'), [], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  #ended = once(this.#child, 'exit').then(() => {
    throw new Error('the process that counts connections has ended');
  });

  constructor() {
    this.#ended.catch(() => undefined); // whoever waits hears of it
  }

  /** @param {import('../tables').Target} server */
  static async start(server) {
    const watch = new ConnectionsWatch();
    await watch.#ask({ server });
    return watch;
  }

  /** @param {string} name the application_name of the connections that count from now on */
  async begin(name) {
    await this.#ask({ name });
  }

  /** @returns {Promise<number>} the most that were seen at a time */
  async end() {
    return (await this.#ask({})).connections;
  }

  /** @param {object} order @returns {Promise<any>} */
  async #ask(order) {
    const answered = once(this.#child, 'message');
    this.#child.send(order);
    const [answer] = await Promise.race([answered, this.#ended]);
    return answer;
  }
}

module.exports = { ConnectionsWatch };
