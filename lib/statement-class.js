'use strict';

// Says what an SQL text may be run on: a shared connection, such a connection but without
// neighbours in its pipeline, or an exclusive connection only. Called once for each text, when
// statement-registry.js first sees it.
//
// It goes by the leading keywords, and for what these cannot tell by a look at the first SCAN_LIMIT
// characters. It is a courtesy, not a wall: a function or a DO block may still change the session.

const { Scanner, isWordStart } = require('./sql-scanner');

/**
 * What may run where:
 * - plain: on a shared connection, among neighbours
 * - alone: on a shared connection without neighbours (long by nature, strong locks, or no
 *   transaction block allowed)
 * - transaction, session, copy: on an exclusive connection only, since it opens or ends a
 *   transaction, leaves something behind in the session, or speaks the COPY protocol
 * @typedef {'plain' | 'alone' | 'transaction' | 'session' | 'copy'} Kind
 */

/**
 * @typedef {object} StatementClass
 * @property {Kind} kind
 * @property {string} keyword the leading keyword(s) in upper case, '' for an empty statement
 * @property {string | null} refusal what to tell someone who tries it on a shared connection
 */

/** Far more than anyone writes by hand; a list of a million literals is not worth reading. */
const SCAN_LIMIT = 64 * 1024;
const EXCLUSIVE =
  'Use pool.connect() to get a client of your own, run it there, and release() that client';

/** Why a family of statements is refused, and what to call instead. */
const REASONS = {
  transaction: {
    why: 'the statements of other callers would become part of the transaction',
    instead: `Use pool.transaction(). Or: ${EXCLUSIVE}`,
  },
  transactionOnly: { why: 'it works inside a transaction only', instead: EXCLUSIVE },
  setting: { why: 'it would change the session of other callers too', instead: EXCLUSIVE },
  listen: {
    why: 'the pool may close the connection or lend it to others at any time',
    instead: `Use pool.listen(channel, handler), which has a connection for it. Or: ${EXCLUSIVE}`,
  },
  cursor: { why: 'a cursor belongs to one session', instead: EXCLUSIVE },
  prepare: {
    why: 'a prepared statement belongs to one session',
    instead: `Pass { name, text, values } to pool.query(), which prepares it as needed. Or: ${EXCLUSIVE}`,
  },
  discard: { why: 'it would take away what other callers rely on', instead: EXCLUSIVE },
  temporary: { why: 'what is temporary belongs to one session', instead: EXCLUSIVE },
  advisory: {
    why: 'the lock belongs to the session, which other callers use too',
    instead: `Take pg_advisory_xact_lock(), which ends with the transaction. Or: ${EXCLUSIVE}`,
  },
  copy: {
    why: 'it speaks a protocol of its own',
    instead: 'Use copyFrom() or copyTo()',
  },
};

/**
 * @param {Kind} kind
 * @param {string} keyword
 * @param {keyof typeof REASONS} [reason]
 * @param {string} [what] when the keyword alone would not tell the user what is meant
 * @returns {StatementClass}
 */
function define(kind, keyword, reason, what = keyword) {
  const refusal = reason
    ? `${what} cannot run ${kind === 'copy' ? 'here' : 'on a shared connection'}: ` +
      `${REASONS[reason].why}. ${REASONS[reason].instead}.`
    : null;
  return Object.freeze({ kind, keyword, refusal });
}

const EMPTY = define('plain', '');

const PLAIN = [
  ...['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'MERGE', 'WITH', 'VALUES', 'TABLE'],
  ...['CALL', 'DO', 'EXPLAIN', 'SHOW', 'NOTIFY'],
];

const ALONE = [
  ...['ALTER', 'ANALYSE', 'ANALYZE', 'CHECKPOINT', 'CLUSTER', 'COMMENT', 'CREATE', 'DROP', 'GRANT'],
  ...['IMPORT', 'REASSIGN', 'REFRESH', 'REINDEX', 'REPACK', 'REVOKE', 'SECURITY', 'TRUNCATE'],
  ...['VACUUM'],
];

/** Classes by the first keyword; SECOND_LOOK has the last word about some of them. */
const BY_KEYWORD = new Map(
  [
    ...PLAIN.map((keyword) => define('plain', keyword)),
    ...ALONE.map((keyword) => define('alone', keyword)),
    define('transaction', 'BEGIN', 'transaction'),
    define('transaction', 'START', 'transaction', 'START TRANSACTION'),
    define('transaction', 'COMMIT', 'transaction'),
    define('transaction', 'END', 'transaction'),
    define('transaction', 'ROLLBACK', 'transaction'),
    define('transaction', 'ABORT', 'transaction'),
    define('transaction', 'SAVEPOINT', 'transactionOnly'),
    define('transaction', 'RELEASE', 'transactionOnly'),
    define('session', 'LOCK', 'transactionOnly'),
    define('session', 'SET', 'setting'),
    define('session', 'RESET', 'setting'),
    define('session', 'LOAD', 'setting'),
    define('session', 'LISTEN', 'listen'),
    define('session', 'UNLISTEN', 'listen'),
    define('session', 'DECLARE', 'cursor'),
    define('session', 'FETCH', 'cursor'),
    define('session', 'MOVE', 'cursor'),
    define('session', 'CLOSE', 'cursor'),
    define('session', 'PREPARE', 'prepare'),
    define('session', 'EXECUTE', 'prepare'),
    define('session', 'DEALLOCATE', 'prepare'),
    define('session', 'DISCARD', 'discard'),
    define('copy', 'COPY', 'copy', 'COPY FROM STDIN and COPY TO STDOUT'),
  ].map((statementClass) => [statementClass.keyword, statementClass]),
);

const SET_LOCAL = define('transaction', 'SET LOCAL', 'transactionOnly');
const SET_TRANSACTION = define('transaction', 'SET TRANSACTION', 'transactionOnly');
const SET_CONSTRAINTS = define('transaction', 'SET CONSTRAINTS', 'transactionOnly');
const PREPARE_TRANSACTION = define('transaction', 'PREPARE TRANSACTION', 'transaction');
// These two finish what another session prepared, and no transaction block may be open.
const COMMIT_PREPARED = define('alone', 'COMMIT PREPARED');
const ROLLBACK_PREPARED = define('alone', 'ROLLBACK PREPARED');
const CREATE_TEMPORARY = define('session', 'CREATE TEMPORARY', 'temporary');
const COPY_SERVER_SIDE = define('plain', 'COPY');

/** Classes of plain statements whose text holds what a shared connection cannot have. */
const BY_FINDING = {
  advisory: perPlainKeyword((keyword) =>
    define('session', keyword, 'advisory', 'a session advisory lock'),
  ),
  setting: perPlainKeyword((keyword) =>
    define('session', keyword, 'setting', 'set_config() for the session'),
  ),
  temporary: perPlainKeyword((keyword) =>
    define('session', keyword, 'temporary', 'SELECT INTO TEMPORARY'),
  ),
};

/** @param {(keyword: string) => StatementClass} make */
function perPlainKeyword(make) {
  return new Map(PLAIN.map((keyword) => [keyword, make(keyword)]));
}

/** @param {Scanner} scanner behind CREATE */
function isCreateTemporary(scanner) {
  let token = scanner.next();
  if (token === 'OR') {
    scanner.next();
    token = scanner.next();
  }
  if (token === 'LOCAL' || token === 'GLOBAL') token = scanner.next();
  if (token === 'TEMP' || token === 'TEMPORARY') return true;
  // Or a name in the schema pg_temp, which comes before any parenthesis.
  for (let words = 0; words < 10; words += 1) {
    token = scanner.nextName();
    if (token === 'PG_TEMP') return scanner.peek() === 46;
    if (token === '' || token === '(' || token === 'AS') return false;
  }
  return false;
}

/** @param {Scanner} scanner behind COPY */
function isServerSideCopy(scanner) {
  scanner.end = Math.min(scanner.end, scanner.position + SCAN_LIMIT);
  let depth = 0;
  for (let token = scanner.next(); token !== ''; token = scanner.next()) {
    if (token === '(') {
      depth += 1;
    } else if (token === ')') {
      depth -= 1;
    } else if (depth === 0 && (token === 'FROM' || token === 'TO')) {
      const target = scanner.next();
      // A file's name is a literal.
      return target === "'" || target === 'PROGRAM';
    }
  }
  return false;
}

const ADVISORY_FUNCTIONS = new Set([
  'PG_ADVISORY_LOCK',
  'PG_ADVISORY_LOCK_SHARED',
  'PG_TRY_ADVISORY_LOCK',
  'PG_TRY_ADVISORY_LOCK_SHARED',
  'PG_ADVISORY_UNLOCK',
  'PG_ADVISORY_UNLOCK_SHARED',
  'PG_ADVISORY_UNLOCK_ALL',
]);

// Cheap tests that most texts fail, before any token is cut.
const MAY_LOCK_OR_SET = /pg_(?:try_)?advisory_(?:un)?lock|set_config/i;
const MAY_BE_INTO = /into/i;
const MAY_BE_TEMPORARY = /temp/i;
const MAY_ANALYZE = /analy[sz]e/i;

/**
 * Whether the arguments of set_config(), behind the parenthesis, end with a literal false.
 * @param {Scanner} scanner
 */
function endsWithFalse(scanner) {
  let depth = 1;
  let last = '';
  for (let token = scanner.next(); token !== ''; token = scanner.next()) {
    if (token === '(') depth += 1;
    if (token === ')') depth -= 1;
    if (depth === 0) return last === 'FALSE';
    last = token;
  }
  return false;
}

/**
 * Looks for calls and clauses in the head of a plain statement that outlive it.
 * @param {string} text
 * @param {string} keyword
 * @returns {keyof typeof BY_FINDING | null}
 */
function findSessionState(text, keyword) {
  const head = text.length > SCAN_LIMIT ? text.slice(0, SCAN_LIMIT) : text;
  const calls = MAY_LOCK_OR_SET.test(head);
  const into =
    (keyword === 'SELECT' || keyword === 'WITH') &&
    MAY_BE_INTO.test(head) &&
    MAY_BE_TEMPORARY.test(head);
  if (!calls && !into) return null;
  // Without ANALYZE nothing of it runs.
  if (keyword === 'EXPLAIN' && !MAY_ANALYZE.test(head)) return null;
  const scanner = new Scanner(head);
  // The body of DO is code; any other dollar-quoted text is data.
  const intoDollars = keyword === 'DO';
  let previous = '';
  for (let name = '-'; name !== ''; previous = name) {
    name = scanner.nextName(intoDollars);
    if (ADVISORY_FUNCTIONS.has(name) || name === 'SET_CONFIG') {
      scanner.skipBlank();
      if (scanner.peek() !== 40) continue;
      if (name !== 'SET_CONFIG') return 'advisory';
      scanner.position += 1;
      if (endsWithFalse(scanner)) return 'setting';
    } else if (into && name === 'INTO' && previous !== 'INSERT' && previous !== 'MERGE') {
      if (isIntoTemporary(scanner)) return 'temporary';
    }
  }
  return null;
}

/** @param {Scanner} scanner behind INTO */
function isIntoTemporary(scanner) {
  let token = scanner.nextName();
  if (token === 'LOCAL' || token === 'GLOBAL') token = scanner.next();
  if (token === 'PG_TEMP') return scanner.peek() === 46;
  if (token !== 'TEMP' && token !== 'TEMPORARY') return false;
  // `temp` may be the name of the table itself.
  const name = scanner.next();
  return name === '"' || (isWordStart(name.charCodeAt(0)) && name !== 'FROM');
}

/**
 * Second looks, for keywords that do not decide by themselves; null leaves it at the first.
 * @type {Record<string, (scanner: Scanner) => StatementClass | null>}
 */
const SECOND_LOOK = {
  COMMIT: (scanner) => (scanner.nextWord() === 'PREPARED' ? COMMIT_PREPARED : null),
  COPY: (scanner) => (isServerSideCopy(scanner) ? COPY_SERVER_SIDE : null),
  CREATE: (scanner) => (isCreateTemporary(scanner) ? CREATE_TEMPORARY : null),
  PREPARE: (scanner) => (scanner.nextWord() === 'TRANSACTION' ? PREPARE_TRANSACTION : null),
  ROLLBACK: (scanner) => (scanner.nextWord() === 'PREPARED' ? ROLLBACK_PREPARED : null),
  SET: (scanner) => {
    const word = scanner.nextWord();
    if (word === 'LOCAL') return SET_LOCAL;
    if (word === 'TRANSACTION') return SET_TRANSACTION;
    return word === 'CONSTRAINTS' ? SET_CONSTRAINTS : null;
  },
};

/**
 * Only the first statement of a text is judged: the extended protocol takes no second one. Never
 * throws; what it does not know is plain, and the server has the last word. Not seen: string
 * literals under standard_conforming_strings = off, `SELECT ... INTO TEMP`, advisory locks and
 * set_config(..., false) past the first 64 KiB, set_config() with its third argument a parameter,
 * and whatever functions do inside.
 * @param {string} text
 * @returns {StatementClass} frozen, and the same object for the same keywords
 */
function classifyStatement(text) {
  if (typeof text !== 'string') return EMPTY;
  const scanner = new Scanner(text);
  scanner.skipBlank();
  // Empty statements and the parentheses of (SELECT ...) UNION ... come before the keyword.
  for (let code = scanner.peek(); code === 40 || code === 59; code = scanner.peek()) {
    scanner.position += 1;
    scanner.skipBlank();
  }
  const keyword = scanner.word();
  const first = BY_KEYWORD.get(keyword);
  if (first === undefined) return keyword === '' ? EMPTY : define('plain', keyword);
  if (first.kind !== 'plain') return SECOND_LOOK[keyword]?.(scanner) ?? first;
  const finding = findSessionState(text, keyword);
  return (finding && BY_FINDING[finding].get(keyword)) ?? first;
}

module.exports = { classifyStatement };
