'use strict';

// transaction(): what a client lets through while one is open (gate.js), one attempt at it (attempt.js), what it and
// its savepoints have in common (scope.js), and what its function gets (transaction.js).

const { TransactionGate } = require('./gate');
const { looseError } = require('./errors');
const { readTransaction } = require('./options');

/**
 * @template [T=any]
 * @typedef {import('./transaction').Body<T>} Body
 */

module.exports = { looseError, readTransaction, TransactionGate };
