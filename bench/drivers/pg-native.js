'use strict';

// `pg-native` by its own API, which is faster than by `pg.native`. A connection takes one query at a
// time and there is no pool, so both waiting lines are here. Loaded by child.js.

const { packageVersion } = require('./package-version');
const { StatementNames } = require('./statement-names');

/** @typedef {{ text: string, values: unknown[], resolve: (rows: any[]) => void, reject: (error: Error) => void }} Waiting */

/** @type {any} */
let Native;

class Connection {
  #native = new Native();
  #prepared = new Set();
  #names = new StatementNames();

  /** @param {string} connectionString */
  connect(connectionString) {
    return new Promise((resolve, reject) => {
      this.#native.connect(connectionString, (/** @type {Error?} */ error) =>
        error ? reject(error) : resolve(undefined),
      );
    });
  }

  /**
   * @param {string} text
   * @param {unknown[]} values
   * @param {(error: Error | null, rows: any[]) => void} callback
   */
  run(text, values, callback) {
    const name = this.#names.get(text);
    const execute = () => this.#native.execute(name, values.map(String), callback);
    if (this.#prepared.has(name)) {
      execute();
      return;
    }
    this.#native.prepare(name, text, values.length, (/** @type {Error?} */ error) => {
      if (error) {
        callback(error, []);
        return;
      }
      this.#prepared.add(name);
      execute();
    });
  }

  end() {
    return new Promise((resolve) => {
      this.#native.end(resolve);
    });
  }
}

/** @type {import('.').Driver} */
module.exports = {
  name: 'pg-native',
  settings:
    'its own API, prepare() and execute(); our waiting line, and our pool of such connections',

  load() {
    Native = require('pg-native');
    return packageVersion('pg-native');
  },

  async connect({ connectionString, max }) {
    const connections = Array.from({ length: max }, () => new Connection());
    await Promise.all(connections.map((connection) => connection.connect(connectionString)));
    const idle = [...connections];
    /** @type {Waiting[]} */
    let waiting = [];
    let head = 0; // shift() of a long array would be our cost in its figures

    const pulse = () => {
      while (idle.length > 0 && head < waiting.length) {
        const connection = /** @type {Connection} */ (idle.pop());
        const { text, values, resolve, reject } = waiting[head++];
        if (head === waiting.length) {
          waiting = [];
          head = 0;
        }
        connection.run(text, values, (error, rows) => {
          idle.push(connection);
          if (error) reject(error);
          else resolve(rows);
          pulse();
        });
      }
    };

    return {
      query: (text, values) =>
        new Promise((resolve, reject) => {
          waiting.push({ text, values, resolve, reject });
          pulse();
        }),
      end: () => Promise.all(connections.map((connection) => connection.end())),
    };
  },
};
