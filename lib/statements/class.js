'use strict';

// Says where an SQL text may run: on a shared connection, on a shared connection without neighbours
// in its pipeline, or on an exclusive connection only. Called once for each text, when registry.js
// first sees it.
//
// It goes by the leading keywords and, where these cannot tell, by what session-state.js finds. A
// statement that certainly leaves something behind in the session is refused on a shared
// connection. One that may do so runs alone, and the session is reset after it. What functions and
// procedures do inside is not seen.

const { Scanner, readCopyTarget } = require('./scanner');
const {
  SCAN_LIMIT,
  findSessionState,
  isCreateTemporary,
  mentionsSessionState,
} = require('./session-state');

/**
 * Where statements may run:
 * - plain: on a shared connection, among neighbours
 * - alone: on a shared connection without neighbours (long by nature, strong locks, or not allowed
 *   in a transaction block)
 * - transaction, session, copy: on an exclusive connection only, since it opens or ends a
 *   transaction, leaves something behind in the session, or speaks the COPY protocol
 * @typedef {'plain' | 'alone' | 'transaction' | 'session' | 'copy'} Kind
 */

/**
 * @typedef {object} StatementClass
 * @property {Kind} kind
 * @property {string} keyword the leading keyword(s) in upper case, '' for an empty statement
 * @property {string | null} refusal what to tell a caller who tries it on a shared connection
 * @property {boolean} touchesSession whether it may leave something behind in the session
 * @property {boolean} outlastsRollback whether it takes, or may take, what no rollback gives back:
 *   session locks, connections of dblink
 */

const EXCLUSIVE =
  'Use pool.connect() to get a client of your own, run it there, and release() that client';

/** Why a family of statements is refused, and what to use instead. */
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
  remote: { why: 'the connection that it opens belongs to one session', instead: EXCLUSIVE },
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
  const touchesSession = kind === 'session';
  const outlastsRollback = reason === 'advisory' || reason === 'remote';
  return Object.freeze({ kind, keyword, refusal, touchesSession, outlastsRollback });
}

/** The same, with a reset of the session after it. @param {StatementClass} statementClass */
function touching(statementClass) {
  return Object.freeze({ ...statementClass, touchesSession: true, outlastsRollback: true });
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

/** Classes by the first keyword. For some of them SECOND_LOOK may choose another one. */
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
// These two finish what another session prepared, and must not run in a transaction block.
const COMMIT_PREPARED = define('alone', 'COMMIT PREPARED');
const ROLLBACK_PREPARED = define('alone', 'ROLLBACK PREPARED');
const CREATE_TEMPORARY = define('session', 'CREATE TEMPORARY', 'temporary');
const COPY_SERVER_SIDE = define('plain', 'COPY');
const COPY_TOUCHING = touching(
  define('copy', 'COPY', 'copy', 'COPY FROM STDIN and COPY TO STDOUT'),
);

/** Classes of plain statements by what was found in their text. */
const BY_FINDING = {
  advisory: perPlainKeyword((keyword) =>
    define('session', keyword, 'advisory', 'a session advisory lock'),
  ),
  setting: perPlainKeyword((keyword) =>
    define('session', keyword, 'setting', 'set_config() for the session'),
  ),
  seed: perPlainKeyword((keyword) =>
    define('session', keyword, 'setting', 'setseed() or set_limit()'),
  ),
  temporary: perPlainKeyword((keyword) =>
    define('session', keyword, 'temporary', 'SELECT INTO TEMPORARY'),
  ),
  remote: perPlainKeyword((keyword) => define('session', keyword, 'remote', 'dblink_connect()')),
  maybe: perPlainKeyword((keyword) => touching(define('alone', keyword))),
};

/** The same for statements that run alone anyway. */
const ALONE_TOUCHING = new Map(
  ALONE.map((keyword) => [keyword, touching(define('alone', keyword))]),
);

/** EXPLAIN ANALYZE of these. @type {Map<StatementClass, StatementClass>} */
const EXPLAINED = new Map();

/** @param {(keyword: string) => StatementClass} make */
function perPlainKeyword(make) {
  return new Map([...PLAIN, 'COPY'].map((keyword) => [keyword, make(keyword)]));
}

/** @param {Scanner} scanner behind COPY */
function isServerSideCopy(scanner) {
  scanner.end = Math.min(scanner.end, scanner.position + SCAN_LIMIT);
  const { target } = readCopyTarget(scanner);
  // The name of a file is a literal.
  return target === "'" || target === 'PROGRAM';
}

/**
 * Without ANALYZE the statement that is explained does not run.
 * @param {Scanner} scanner behind EXPLAIN
 * @returns {StatementClass | null}
 */
function classifyExplained(scanner) {
  let isRun = false;
  let { position } = scanner;
  let token = scanner.next();
  if (token === '(') {
    // Options, or the query itself, which begins with a keyword that is not an option.
    while (token !== '' && token !== ')') {
      token = scanner.nextName();
      if (/^ANALY[SZ]E$/.test(token)) isRun = true;
      else if (BY_KEYWORD.has(token)) return null;
    }
    ({ position } = scanner);
    isRun ||= scanner.isDoubtful;
  } else {
    while (/^(?:ANALY[SZ]E|VERBOSE)$/.test(token)) {
      isRun ||= token !== 'VERBOSE';
      ({ position } = scanner);
      token = scanner.next();
    }
  }
  if (!isRun) return null;
  return explain(classifyStatement(scanner.text.slice(position, scanner.end)));
}

/** @param {StatementClass} inner @returns {StatementClass | null} */
function explain(inner) {
  const isOfSession = inner.kind === 'session' || inner.kind === 'alone';
  if (!isOfSession) return null;
  let outer = EXPLAINED.get(inner);
  if (outer === undefined) {
    outer = Object.freeze({ ...inner, keyword: 'EXPLAIN' });
    EXPLAINED.set(inner, outer);
  }
  return outer;
}

/**
 * @param {Scanner} scanner behind COPY
 * @returns {StatementClass | null}
 */
function classifyCopy(scanner) {
  const finding = findSessionState(scanner.text, 'COPY');
  if (!isServerSideCopy(scanner)) return finding === null ? null : COPY_TOUCHING;
  return finding === null ? COPY_SERVER_SIDE : (BY_FINDING[finding].get('COPY') ?? null);
}

/**
 * Second looks, for keywords that do not decide by themselves; null keeps the first result.
 * @type {Record<string, (scanner: Scanner) => StatementClass | null>}
 */
const SECOND_LOOK = {
  COMMIT: (scanner) => (scanner.nextWord() === 'PREPARED' ? COMMIT_PREPARED : null),
  COPY: classifyCopy,
  CREATE: (scanner) => (isCreateTemporary(scanner) ? CREATE_TEMPORARY : null),
  EXPLAIN: classifyExplained,
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
 * Only the first statement of a text is classified: the extended protocol takes no second one.
 * Never throws. An unknown statement is plain, and the server decides about it. What functions do
 * inside is not seen.
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
  const second = SECOND_LOOK[keyword]?.(scanner);
  if (second) return second;
  if (first.kind === 'alone' && mentionsSessionState(text)) {
    return ALONE_TOUCHING.get(keyword) ?? first;
  }
  if (first.kind !== 'plain' || keyword === 'EXPLAIN') return first;
  const finding = findSessionState(text, keyword);
  return (finding && BY_FINDING[finding].get(keyword)) ?? first;
}

module.exports = { classifyStatement };
