'use strict';

// W7, rows: what one row costs as results grow. Run by child.js.

const { SELECT_INTEGERS, expectedPoint } = require('../tables');
const { newRowsCase } = require('./rows');

/** @type {import('.').Workload} */
module.exports = {
  id: 'w7-rows',
  title: 'W7: results of growing size (2 integers a row), one query at a time, one connection',
  unit: 'row',
  cases: [1, 10, 100, 1000, 10_000, 100_000].map((count) =>
    newRowsCase({
      name: `${count.toLocaleString('en')} row${count === 1 ? '' : 's'}`,
      series: 'rows of a result',
      x: count,
      full: true,
      count,
      text: SELECT_INTEGERS,
      expected: expectedPoint,
    }),
  ),
};
