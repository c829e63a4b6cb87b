'use strict';

// The tools that people use with `pg`: `npm run test:compat`.

module.exports = {
  ...require('../../.mocharc.json'),
  require: [
    ...(process.env.PG_CONDUIT_COMPAT_DRIVER === 'pg' ? ['test/compat/support/stock.js'] : []),
    'test/compat/support/global.js',
  ],
  spec: ['test/compat/*.test.js'],
};
