'use strict';

// Server-sent events: whoever listens gets a greeting with all that there is, then each event as it comes.
// Used by page.js.

const RETRY_MILLIS = 1000;

class EventStream {
  #greet;
  /** @type {Set<import('node:http').ServerResponse>} */
  #listeners = new Set();
  /** Those that have not taken what they were told. */
  #late = new Set();
  #isClosed = false;

  /** @param {() => unknown} greet what a listener is told first, as the event `hello` */
  constructor(greet) {
    this.#greet = greet;
  }

  /** @param {import('node:http').ServerResponse} response that stays open */
  add(response) {
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      // Its end is the end of the connection, so that nothing holds up a server that is closing.
      connection: 'close',
    });
    response.write(`retry: ${RETRY_MILLIS}\n\n`);
    if (this.#isClosed) {
      response.end();
      return;
    }
    response.write(format('hello', this.#greet()));
    this.#listeners.add(response);
    response.once('close', () => {
      this.#listeners.delete(response);
      this.#late.delete(response);
    });
  }

  /** @param {string} name @param {unknown} data */
  send(name, data) {
    const text = format(name, data);
    for (const response of this.#listeners) {
      // One that does not read, as a tab that sleeps, must not cost memory: it is greeted anew.
      if (response.writableNeedDrain) this.#greetLater(response);
      else response.write(text);
    }
  }

  /** @param {import('node:http').ServerResponse} response */
  #greetLater(response) {
    if (this.#late.has(response)) return;
    this.#late.add(response);
    response.once('drain', () => {
      this.#late.delete(response);
      if (!this.#isClosed) response.write(format('hello', this.#greet()));
    });
  }

  close() {
    this.#isClosed = true;
    for (const response of this.#listeners) response.end();
    this.#listeners.clear();
  }
}

/** @param {string} name @param {unknown} data */
function format(name, data) {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

module.exports = { EventStream };
