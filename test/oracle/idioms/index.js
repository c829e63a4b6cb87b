'use strict';

// What programs and tools do in several statements: a block of a script each. A block whose statements say nothing
// without each other is `isWhole`: it is neither changed nor cut. Used by script.js.

const { SESSIONS } = require('./session');
const { TRANSACTIONS } = require('./transactions');

const IDIOMS = [...TRANSACTIONS, ...SESSIONS];

module.exports = { IDIOMS };
