'use strict';

// What each statement of a text does to the transaction of its session (PostgreSQL documentation, "BEGIN", "COMMIT",
// "ROLLBACK", "PREPARE TRANSACTION"). Used by pool/refused-begin.js.

const { Scanner } = require('./scanner');
const { splitStatements } = require('./split');

/** @typedef {'begins' | 'commits' | 'rolls back' | 'chains' | 'none'} TransactionChange */

/** @param {string} text of one statement @returns {TransactionChange} */
function changeOf(text) {
  const scanner = new Scanner(text);
  switch (scanner.nextWord()) {
    case 'BEGIN':
      return 'begins';
    case 'START':
      return scanner.nextWord() === 'TRANSACTION' ? 'begins' : 'none';
    case 'PREPARE':
      return scanner.nextWord() === 'TRANSACTION' ? 'commits' : 'none';
    case 'COMMIT':
    case 'END':
      return endOf(scanner, 'commits');
    case 'ROLLBACK':
    case 'ABORT':
      return endOf(scanner, 'rolls back');
    default:
      return 'none';
  }
}

/** @param {Scanner} scanner behind the keyword @param {TransactionChange} change */
function endOf(scanner, change) {
  let word = scanner.nextWord();
  if (word === 'WORK' || word === 'TRANSACTION') word = scanner.nextWord();
  if (word === 'TO' || word === 'PREPARED') return 'none';
  return word === 'AND' && scanner.nextWord() === 'CHAIN' ? 'chains' : change;
}

/** @param {string} text @returns {TransactionChange[]} of its statements, in their order */
function transactionChanges(text) {
  return splitStatements(text).map(changeOf);
}

module.exports = { transactionChanges };
