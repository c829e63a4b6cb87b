'use strict';

// What the drivers do besides point selects in W10. Read by those that take part.

const ROW_COUNT = 50;

module.exports = {
  table: 'create temp table bench_others (i int) on commit drop',
  rows: `select 1 as one from generate_series(1, ${ROW_COUNT})`,
  rowCount: ROW_COUNT,
  batch: ['select 1 as one', 'select 2 as two'],
  setting: 'set statement_timeout = 0',
};
