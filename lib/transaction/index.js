'use strict';

// transaction(): what a client lets through while one is open (gate.js), one attempt at it and its
// savepoints (scope.js), and what its function receives (transaction.js).

const { TransactionGate } = require('./gate');
const { readTransaction } = require('./options');

/**
 * @template [T=any]
 * @typedef {import('./transaction').Body<T>} Body
 */

module.exports = { readTransaction, TransactionGate };
