'use strict';

// The process of peer.js, seen from start.js.

const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');

class PeerProcess {
  name = 'pg';
  version = '';
  url = '';
  #child = fork(path.join(__dirname, 'peer.js'), [], { execArgv: [] });
  /** It answers in order. @type {((answer: any) => void)[]} */
  #asking = [];
  #ended = once(this.#child, 'exit').then(() => {
    throw new Error('the process of pg has ended');
  });

  constructor() {
    this.#child.on('message', (answer) => this.#asking.shift()(answer));
    this.#ended.catch(() => {}); // whoever asks hears of it
  }

  /** @param {import('pg').PoolConfig} options of its pool */
  static async start(options) {
    const peer = new PeerProcess();
    return Object.assign(peer, await peer.#ask(options));
  }

  /** @param {object} question */
  #ask(question) {
    const answered = new Promise((resolve) => {
      this.#asking.push(resolve);
    });
    if (this.#child.connected) this.#child.send(question);
    return Promise.race([answered, this.#ended]);
  }

  /** What its process has taken so far. */
  async cpuMicros() {
    return (await this.#ask({})).cpuMicros;
  }

  async end() {
    if (this.#child.connected) this.#child.disconnect();
    await this.#ended.catch(() => {});
  }
}

module.exports = { PeerProcess };
