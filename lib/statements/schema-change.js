'use strict';

// What a text does to the schema that prepared statements were made against, and whether its own
// columns follow those of a table. Judged by the text, since the tag of CREATE TABLE AS and of
// SELECT INTO is `SELECT n`. What is not known to leave the schema alone counts as a change: that
// costs a Parse, while the opposite mistake would use the wrong table. Called by registry.js, once
// for each text.

const { Scanner, isWordStart } = require('./scanner');
const { IntoFinder } = require('./select-into');

/**
 * - none: prepared statements mean what they meant
 * - session: they may mean something else on this connection alone (temporary tables, settings)
 * - schema: on all connections
 * @typedef {'none' | 'session' | 'schema'} SchemaChange
 */

/**
 * Statements that the planner takes: their parse analysis is complete before anything of them runs.
 * Only for these the server makes sure that a prepared statement keeps its columns
 * (RevalidateCachedQuery). The columns of FETCH, EXECUTE or CALL are those of the cursor, statement
 * or procedure that has the name at that time.
 */
const PLANNED = new Set([
  ...['SELECT', 'WITH', 'VALUES', 'TABLE', 'INSERT', 'UPDATE', 'DELETE', 'MERGE'],
]);

/**
 * Statements that leave the schema alone. CALL is among them although a procedure may do anything,
 * as may any function: neither shows it, and to prepare everything anew behind each of them would
 * cost more than it gains.
 */
const HARMLESS = new Set([
  ...['', 'UPSERT', 'CALL', 'COPY', 'EXECUTE', 'PREPARE', 'DEALLOCATE', 'DECLARE', 'FETCH', 'MOVE'],
  ...['CLOSE', 'BEGIN', 'START', 'COMMIT', 'END', 'ROLLBACK', 'ABORT', 'SAVEPOINT', 'RELEASE'],
  ...[
    'LOCK',
    'SHOW',
    'LISTEN',
    'UNLISTEN',
    'NOTIFY',
    'ANALYZE',
    'ANALYSE',
    'CHECKPOINT',
    'CLUSTER',
  ],
  ...['COMMENT', 'GRANT', 'REVOKE', 'REASSIGN', 'REFRESH', 'REINDEX', 'REPACK', 'SECURITY'],
  ...['TRUNCATE', 'VACUUM'],
]);

/** Settings that change neither what a name stands for nor what a literal means. */
const HARMLESS_SETTING =
  /^(?:[^.]+\..+|\w+_timeout|application_name|client_min_messages|work_mem|synchronous_commit)$/i;

/** Behind INTO TEMP these show that `temp` is the name of the table. */
const BEHIND_TABLE = new Set([
  ...['FROM', 'WHERE', 'GROUP', 'HAVING', 'WINDOW', 'UNION', 'INTERSECT', 'EXCEPT', 'ORDER'],
  ...['LIMIT', 'OFFSET', 'FETCH', 'FOR'],
]);

const CODE_CHANGES_SCHEMA = /\b(?:create|alter|drop|import|execute)\b/i;
const CODE_CHANGES_SESSION = /\b(?:set|reset|discard|load|set_config)\b/i;

/** In front of a `*` that stands for columns; elsewhere it multiplies, or belongs to count(*). */
const BEFORE_STAR = new Set([
  ...['SELECT', 'ALL', 'DISTINCT', 'RETURNING', ',', '.', ')', 'NEW', 'OLD'],
]);

/** @param {Scanner} scanner at the beginning of a text @returns {string} */
function firstKeyword(scanner) {
  scanner.skipBlank();
  for (let code = scanner.peek(); code === 40 || code === 59; code = scanner.peek()) {
    scanner.position += 1;
    scanner.skipBlank();
  }
  return scanner.word();
}

/** @param {Scanner} scanner behind CREATE @returns {SchemaChange} */
function changeOfCreate(scanner) {
  let token = scanner.next();
  if (token === 'OR') {
    scanner.next();
    token = scanner.next();
  }
  if (token === 'LOCAL' || token === 'GLOBAL') token = scanner.next();
  return token === 'TEMP' || token === 'TEMPORARY' ? 'session' : 'schema';
}

/** @param {Scanner} scanner behind INTO @returns {SchemaChange} */
function changeOfInto(scanner) {
  let token = scanner.next();
  if (token === 'LOCAL' || token === 'GLOBAL') token = scanner.next();
  if (token !== 'TEMP' && token !== 'TEMPORARY') return 'schema';
  const name = scanner.next();
  const isName = name === '"' || (isWordStart(name.charCodeAt(0)) && !BEHIND_TABLE.has(name));
  return isName ? 'session' : 'schema';
}

/** @param {string} text @returns {SchemaChange} of set_config(), anywhere in the text */
function changeOfCalls(text) {
  const calls = text.match(/set_config/gi);
  if (calls === null) return /\bpg_settings\b/i.test(text) ? 'session' : 'none';
  const named = [...text.matchAll(/set_config"?\s*\(\s*'([^']*)'/gi)];
  const isHarmless =
    named.length === calls.length && named.every(([, name]) => HARMLESS_SETTING.test(name));
  return isHarmless ? 'none' : 'session';
}

/**
 * @param {Scanner} scanner behind the keyword of a statement that the planner takes
 * @param {string} keyword
 * @returns {SchemaChange}
 */
function changeOfPlanned(scanner, keyword) {
  const { text } = scanner;
  if ((keyword === 'SELECT' || keyword === 'WITH') && /\binto\b/i.test(text)) {
    const into = new IntoFinder(keyword);
    for (let token = scanner.next(); token !== ''; token = scanner.next()) {
      if (into.add(token)) return changeOfInto(scanner);
    }
  }
  return changeOfCalls(text);
}

/** @param {Scanner} scanner behind SET or RESET @returns {SchemaChange} */
function changeOfSetting(scanner) {
  let name = scanner.next();
  if (name === 'TRANSACTION' || name === 'CONSTRAINTS') return 'none';
  if (name === 'SESSION' || name === 'LOCAL') name = scanner.next();
  if (name === 'CHARACTERISTICS') return 'none';
  scanner.skipBlank();
  if (scanner.peek() === 46) return 'none';
  return HARMLESS_SETTING.test(name) ? 'none' : 'session';
}

/** @param {Scanner} scanner behind EXPLAIN, which may be told to execute what it explains */
function changeOfExplain(scanner) {
  scanner.skipBlank();
  if (scanner.peek() === 40) {
    for (let token = scanner.next(); token !== '' && token !== ')';) token = scanner.next();
  }
  for (;;) {
    const { position } = scanner;
    const word = scanner.next();
    if (word === 'ANALYZE' || word === 'ANALYSE' || word === 'VERBOSE') continue;
    scanner.position = position;
    return changeOf(scanner);
  }
}

/** @type {Record<string, (scanner: Scanner) => SchemaChange>} */
const SECOND_LOOK = {
  CREATE: changeOfCreate,
  EXPLAIN: changeOfExplain,
  SET: changeOfSetting,
  RESET: changeOfSetting,
  // What another session prepared may contain DDL.
  COMMIT: (scanner) => (scanner.nextWord() === 'PREPARED' ? 'schema' : 'none'),
  DISCARD: (scanner) => (/^(?:PLANS|SEQUENCES)$/.test(scanner.nextWord()) ? 'none' : 'session'),
  DO: ({ text }) => {
    if (CODE_CHANGES_SCHEMA.test(text)) return 'schema';
    return CODE_CHANGES_SESSION.test(text) ? 'session' : 'none';
  },
  LOAD: () => 'session',
};

/** @param {Scanner} scanner before a statement @returns {SchemaChange} */
function changeOf(scanner) {
  const keyword = firstKeyword(scanner);
  if (PLANNED.has(keyword)) return changeOfPlanned(scanner, keyword);
  const look = SECOND_LOOK[keyword];
  if (look !== undefined) return look(scanner);
  return HARMLESS.has(keyword) ? 'none' : 'schema';
}

/**
 * @param {readonly string[]} statements of one text
 * @returns {SchemaChange} the farthest-reaching change
 */
function findSchemaChange(statements) {
  /** @type {SchemaChange} */
  let farthest = 'none';
  for (const statement of statements) {
    const change = changeOf(new Scanner(statement));
    if (change === 'schema') return change;
    if (change === 'session') farthest = change;
  }
  // DISCARD ALL and DEALLOCATE ALL among other statements: the last tag does not show them.
  if (statements.length > 1 && farthest === 'none' && statements.some(isDeallocate)) {
    return 'session';
  }
  return farthest;
}

/** @param {string} statement */
function isDeallocate(statement) {
  return firstKeyword(new Scanner(statement)) === 'DEALLOCATE';
}

/** @param {string} tag a full command tag, which may show what the text did not */
function isTagOfDdl(tag) {
  return /^(?:ALTER|CREATE|DROP|IMPORT) /.test(tag);
}

/**
 * Whether the columns of its result are whatever a table has, so that ADD COLUMN changes them.
 * @param {string} text
 */
function hasOpenColumns(text) {
  if (!text.includes('*')) return /\btable\b/i.test(text);
  const scanner = new Scanner(text);
  let previous = '';
  for (let token = scanner.next(); token !== ''; previous = token, token = scanner.next()) {
    if (token === '*' && BEFORE_STAR.has(previous)) return true;
  }
  return /\btable\b/i.test(text);
}

module.exports = { PLANNED, findSchemaChange, hasOpenColumns, isTagOfDdl };
