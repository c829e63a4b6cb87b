'use strict';

// No driver and no server: the queries of the HTTP routes answered from memory. What the HTTP server and its load cost by
// themselves, and so the limit of W5. Loaded by child.js.

const {
  FORTUNES,
  ROWS,
  SELECT_FORTUNES,
  SELECT_WORLD,
  UPDATE_WORLD,
  expectedWorld,
} = require('../tables');

/** @type {import('.').Driver} */
module.exports = {
  name: 'no-database',
  settings:
    'the same handlers, with rows from the memory of the process; promises that are resolved at once',
  workloads: ['w5'],

  load: () => process.version,

  async connect() {
    const numbers = new Map(
      Array.from({ length: ROWS }, (_, index) => [index + 1, expectedWorld(index + 1)]),
    );
    /** @type {Record<string, (...values: any[]) => any[]>} */
    const statements = {
      [SELECT_WORLD]: (id) => [{ id, randomnumber: numbers.get(id) }],
      [SELECT_FORTUNES]: () => FORTUNES.map((message, index) => ({ id: index + 1, message })),
      [UPDATE_WORLD](id, randomnumber) {
        numbers.set(id, randomnumber);
        return [];
      },
    };
    return {
      query: async (text, values) => statements[text](...values),
      end: async () => undefined,
    };
  },
};
