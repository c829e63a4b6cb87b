'use strict';

// One result of many rows at a time. Every row is compared once, before the measured time; then one row
// of each result is looked at. Called by the workloads about rows.

const { closedLoop, halve } = require('../measure');
const { checkRows } = require('../tables');

/**
 * @param {{ count: number, text: string, expected: (id: number) => { id: number | string },
 *   stalls?: boolean } & Pick<import('.').Case, 'name' | 'full' | 'once' | 'series' | 'x'>} options
 * @returns {import('.').Case}
 */
function newRowsCase({ count, text, expected, stalls, ...rest }) {
  return {
    ...rest,
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
      return closedLoop(operation, {
        ...(rest.series ? halve(timing) : timing),
        inFlight: 1,
        stalls,
      });
    },
  };
}

module.exports = { newRowsCase };
