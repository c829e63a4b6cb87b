'use strict';

// W3: results of many rows, one query at a time. Every row is compared once, before the measured time;
// then one row of each result is looked at. Run by child.js.

const { closedLoop } = require('../measure');
const {
  ROWS,
  SELECT_INTEGERS,
  SELECT_MIXED,
  checkRows,
  expectedMixed,
  expectedPoint,
} = require('../tables');

/**
 * @param {string} columns
 * @param {number} count
 * @param {string} text
 * @param {(id: number) => { id: number | string }} expected
 * @returns {import('.').Case}
 */
function newCase(columns, count, text, expected) {
  return {
    name: `${count.toLocaleString('en')} rows x ${columns}`,
    max: 1,
    unitsPerOperation: count,
    limit: { mode: 'select', text, rows: count, inFlight: 1 },
    async run(session, timing) {
      checkRows(await session.query(text, [count]), count, expected);
      // Twice: a driver may do it in another way once the statement is prepared.
      checkRows(await session.query(text, [count]), count, expected);
      let turn = 0;
      const operation = async () => {
        const rows = await session.query(text, [count]);
        const index = (turn++ * 37) % count;
        if (rows.length !== count || Number(rows[index].id) !== index + 1) {
          throw new Error(`Row ${index + 1} of ${rows.length} is ${JSON.stringify(rows[index])}`);
        }
      };
      return closedLoop(operation, { ...timing, inFlight: 1 });
    },
  };
}

/** @type {import('.').Workload} */
module.exports = {
  id: 'w3',
  title: 'W3: results of many rows, one query at a time, one connection',
  unit: 'row',
  cases: [
    newCase('9 mixed columns', ROWS, SELECT_MIXED, expectedMixed),
    newCase('9 mixed columns', 100, SELECT_MIXED, expectedMixed),
    newCase('2 integers', ROWS, SELECT_INTEGERS, expectedPoint),
  ],
};
