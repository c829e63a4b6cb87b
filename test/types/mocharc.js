'use strict';

// What the declarations are to users' compilers, after tsd: `npm run test:types`. No server is needed.

module.exports = {
  timeout: 120_000,
  spec: ['test/types/*.test.js'],
};
