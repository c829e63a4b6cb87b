'use strict';

// Whether all that a statement does is undone when it fails, or when its transaction is never
// committed. A closed list: a statement that is not on it may commit on its way, or act outside of
// transactions. Called by registry.js; outcome.js draws the conclusions.

const { Scanner, readCopyTarget } = require('./scanner');

/**
 * Each of them works inside its transaction, whatever follows the keyword. Not on the list, since
 * they commit on their way or at once (PreventInTransactionBlock in PostgreSQL): CALL, DO, VACUUM,
 * CLUSTER, REINDEX, REPACK, ANALYZE of several tables, COMMIT PREPARED, ALTER SYSTEM, databases,
 * tablespaces, subscriptions. Nor, since no rollback undoes what they do: PREPARE and DEALLOCATE,
 * FETCH, MOVE and CLOSE of a cursor WITH HOLD, DISCARD, LOAD, CHECKPOINT, COPY with files.
 */
const TRANSACTIONAL = new Set([
  ...[
    'SELECT',
    'INSERT',
    'UPDATE',
    'DELETE',
    'MERGE',
    'WITH',
    'VALUES',
    'TABLE',
    'EXPLAIN',
    'SHOW',
  ],
  ...['EXECUTE', 'DECLARE', 'TRUNCATE', 'LOCK', 'COMMENT', 'GRANT', 'REVOKE', 'REASSIGN', 'IMPORT'],
  ...['REFRESH', 'SECURITY', 'NOTIFY', 'LISTEN', 'UNLISTEN', 'SET', 'RESET', 'BEGIN', 'START'],
  ...['SAVEPOINT', 'RELEASE'],
]);

/** CREATE, ALTER and DROP of these are undone; listed by the last word of the kind. */
const OBJECTS = new Set([
  ...['AGGREGATE', 'CAST', 'COLLATION', 'CONVERSION', 'DOMAIN', 'EXTENSION', 'FUNCTION', 'GROUP'],
  ...['LANGUAGE', 'MAPPING', 'METHOD', 'OBJECT', 'OPERATOR', 'OWNED', 'POLICY', 'PRIVILEGES'],
  ...['PROCEDURE', 'PUBLICATION', 'ROLE', 'ROUTINE', 'RULE', 'SCHEMA', 'SEARCH', 'SEQUENCE'],
  ...['SERVER', 'STATISTICS', 'TABLE', 'TRANSFORM', 'TRIGGER', 'TYPE', 'USER', 'VIEW', 'WRAPPER'],
]);

/** Words between the verb and the kind of the object. */
const MODIFIERS = new Set([
  ...['OR', 'REPLACE', 'GLOBAL', 'LOCAL', 'TEMP', 'TEMPORARY', 'UNLOGGED', 'UNIQUE', 'RECURSIVE'],
  ...['MATERIALIZED', 'FOREIGN', 'DATA', 'EVENT', 'CONSTRAINT', 'TRUSTED', 'PROCEDURAL', 'DEFAULT'],
  ...['ACCESS', 'TEXT', 'LARGE'],
]);

/** @param {Scanner} scanner behind CREATE, ALTER or DROP @param {string} verb */
function isTransactionalObject(scanner, verb) {
  let word = scanner.nextWord();
  for (let words = 0; words < 6 && MODIFIERS.has(word); ++words) word = scanner.nextWord();
  if (word === 'INDEX') return scanner.nextWord() !== 'CONCURRENTLY';
  if (!OBJECTS.has(word)) return false;
  return verb !== 'ALTER' || word !== 'TABLE' || !mentionsConcurrently(scanner);
}

/** DETACH PARTITION … CONCURRENTLY, anywhere in the text. @param {Scanner} scanner */
function mentionsConcurrently(scanner) {
  for (let token = scanner.next(); token !== ''; token = scanner.next()) {
    if (token === 'CONCURRENTLY') return true;
  }
  return scanner.isDoubtful;
}

/**
 * Files and programs of the server keep what they have received.
 * @param {Scanner} scanner behind COPY
 */
function isCopyWithClient(scanner) {
  const { target } = readCopyTarget(scanner);
  return (target === 'STDIN' || target === 'STDOUT') && !scanner.isDoubtful;
}

/** @param {Scanner} scanner */
function readKeyword(scanner) {
  scanner.skipBlank();
  for (let code = scanner.peek(); code === 40 || code === 59; code = scanner.peek()) {
    scanner.position += 1;
    scanner.skipBlank();
  }
  return scanner.word();
}

/**
 * @param {string} text of one statement
 * @param {boolean} isAlone whether it is the only statement of its text
 */
function isTransactional(text, isAlone) {
  const scanner = new Scanner(text);
  const keyword = readKeyword(scanner);
  switch (keyword) {
    case '':
      return scanner.peek() === -1;
    case 'CREATE':
    case 'ALTER':
    case 'DROP':
      return isTransactionalObject(scanner, keyword);
    case 'COPY':
      return isCopyWithClient(scanner);
    case 'ROLLBACK':
    case 'ABORT':
      return scanner.nextWord() !== 'PREPARED';
    case 'COMMIT':
    case 'END':
      // It fails, or it commits. But in a text of several, what comes before it is committed with
      // it.
      return isAlone && scanner.nextWord() !== 'PREPARED';
    default:
      return TRANSACTIONAL.has(keyword);
  }
}

module.exports = { isTransactional };
