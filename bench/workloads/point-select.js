'use strict';

// One select by primary key, its answer checked: the operation of several workloads.

const { ROWS, SELECT_POINT, expectedPoint } = require('../tables');

/**
 * @param {import('.').Session} session
 * @param {() => number} random
 * @param {string} [text] of the same statement
 */
async function selectPoint(session, random, text = SELECT_POINT) {
  const id = 1 + Math.floor(random() * ROWS);
  const rows = await session.query(text, [id]);
  if (rows.length !== 1 || rows[0].id !== id || rows[0].n !== expectedPoint(id).n) {
    throw new Error(`Asked for row ${id} and got ${JSON.stringify(rows)}`);
  }
}

module.exports = { selectPoint };
