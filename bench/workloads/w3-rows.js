'use strict';

// W3: results of many rows, one query at a time, and how long the largest ones keep the event loop from
// anything else. Run by child.js.

const {
  MAX_ROWS,
  ROWS,
  SELECT_INTEGERS,
  SELECT_MIXED,
  expectedMixed,
  expectedPoint,
} = require('../tables');
const { newRowsCase } = require('./rows');

/**
 * @param {number} count
 * @param {'9 mixed columns' | '2 integers'} columns
 */
function newCase(count, columns) {
  const [text, expected] =
    columns === '2 integers' ? [SELECT_INTEGERS, expectedPoint] : [SELECT_MIXED, expectedMixed];
  return newRowsCase({
    name: `${count.toLocaleString('en')} rows x ${columns}`,
    count,
    text,
    expected,
    stalls: count >= ROWS,
    full: count > ROWS,
  });
}

/** @type {import('.').Workload} */
module.exports = {
  id: 'w3',
  title: 'W3: results of many rows, one query at a time, one connection',
  unit: 'row',
  cases: [
    newCase(ROWS, '9 mixed columns'),
    newCase(100, '9 mixed columns'),
    newCase(ROWS, '2 integers'),
    newCase(MAX_ROWS, '2 integers'),
  ],
};
