'use strict';

// Finds in the text of a statement what stays behind in the session when the statement is done:
// settings, session locks, temporary tables. It tells what certainly stays from what may stay.
// Called by class.js.
//
// A function is called by its name. So a text without any of the names below is harmless. With such
// a name it is harmless only if the tokens show that the name is in a literal or a comment, or is
// not called.

const { Scanner, isWordStart } = require('./scanner');
const { IntoFinder } = require('./select-into');

/**
 * The kind of session state that a statement certainly leaves behind.
 * @typedef {'advisory' | 'setting' | 'seed' | 'temporary' | 'remote'} Finding
 */

/**
 * Far more than anyone writes by hand. A list of a million literals is not worth cutting into
 * tokens.
 */
const SCAN_LIMIT = 64 * 1024;

const ADVISORY_FUNCTIONS = new Set([
  ...['PG_ADVISORY_LOCK', 'PG_ADVISORY_LOCK_SHARED'],
  ...['PG_TRY_ADVISORY_LOCK', 'PG_TRY_ADVISORY_LOCK_SHARED'],
  ...['PG_ADVISORY_UNLOCK', 'PG_ADVISORY_UNLOCK_SHARED', 'PG_ADVISORY_UNLOCK_ALL'],
]);

/** Connections that dblink keeps for the session. Not even DISCARD ALL closes them. */
const REMOTE_FUNCTIONS = new Set(['DBLINK_CONNECT', 'DBLINK_CONNECT_U', 'DBLINK_OPEN']);

/** Settings by another name: of random(), and of pg_trgm. Not even DISCARD ALL resets the first. */
const SEED_FUNCTIONS = new Set(['SETSEED', 'SET_LIMIT']);

/**
 * A cheap test before any token is cut, which most texts fail. A name as U&"…" may be any of them.
 */
const NAMES =
  /pg_(?:try_)?advisory_(?:un)?lock|set_config|setseed|set_limit|pg_settings|dblink_(?:connect|open)|u&"/i;
const MAY_BE_INTO = /\binto\b/i;
const MAY_BE_TEMPORARY = /temp/i;

/** These execute a text, which may be assembled, or passed as a parameter. */
const EXECUTES_TEXT = /query_to_xml|ts_stat|ts_rewrite|crosstab|connectby|xpath_table/i;

/**
 * What code in a DO block may do to the session. EXECUTE takes any text; a U&'' or E'' literal may
 * contain any word.
 */
const IN_CODE =
  /\b(?:set|reset|temp|temporary|pg_temp\w*|listen|unlisten|prepare|deallocate|discard|load|execute|setseed|set_limit)\b|advisory|set_config|dblink|\b(?:u&|e)['"]/i;
/** A literal that continues on the next line may contain any word in two pieces. */
const CONTINUES = /'\s*(?:--[^\n\r]*)?[\n\r]\s*'/;
const OTHER_LANGUAGE = /\blanguage\b(?!\s+'?plpgsql\b)/i;

/** The schema of the session's temporary tables: pg_temp, or one with a number. */
const TEMPORARY_SCHEMA = /^PG_TEMP(?:_\d+)?$/;

/** A pair of parentheses that is open. */
class Frame {
  /** Tokens of the current argument, as many as are needed to recognize it. @type {string[]} */
  #argument = [];
  #index = 0;
  /** Whether the third argument of set_config() is the word true. */
  isLocal = false;

  /** @param {boolean} isSetConfig whether they enclose its arguments */
  constructor(isSetConfig) {
    this.isSetConfig = isSetConfig;
  }

  /** @param {string} token */
  add(token) {
    if (!this.isSetConfig) return;
    if (token === ',') this.endArgument();
    else if (this.#argument.length < 6) this.#argument.push(token);
  }

  endArgument() {
    const argument = this.#argument.join(' ');
    if (this.#index === 2 && argument === 'TRUE') this.isLocal = true;
    if (/^IS_LOCAL (?:= >|: =) TRUE$/.test(argument)) this.isLocal = true;
    this.#argument = [];
    this.#index += 1;
  }
}

/**
 * @param {string} text of a statement that returns rows or changes data, DO and CALL included
 * @param {string} keyword its first one
 * @returns {Finding | 'maybe' | null}
 */
function findSessionState(text, keyword) {
  const head = text.length > SCAN_LIMIT ? text.slice(0, SCAN_LIMIT) : text;
  const isCode = keyword === 'DO';
  const mayBeInto =
    (keyword === 'SELECT' || keyword === 'WITH') &&
    MAY_BE_INTO.test(head) &&
    MAY_BE_TEMPORARY.test(head);
  const hasName = NAMES.test(text);
  const into = mayBeInto ? new IntoFinder(keyword) : undefined;
  const found = hasName || mayBeInto ? findInTokens(head, isCode, into) : null;
  if (found !== null) return found;
  if (EXECUTES_TEXT.test(text)) return 'maybe';
  if (isCode) return isSuspicious(text) ? 'maybe' : null;
  if (text.length <= SCAN_LIMIT) return null;
  // The rest was not cut into tokens; a name may cross the boundary.
  const rest = text.slice(SCAN_LIMIT - 64);
  if (hasName && NAMES.test(rest)) return 'maybe';
  const isQuery = keyword === 'SELECT' || keyword === 'WITH';
  return isQuery && MAY_BE_INTO.test(text) && MAY_BE_TEMPORARY.test(rest) ? 'maybe' : null;
}

/** @param {string} code of a DO block, with what is around it */
function isSuspicious(code) {
  return IN_CODE.test(code) || OTHER_LANGUAGE.test(code) || CONTINUES.test(code);
}

/**
 * @param {string} text
 * @param {boolean} isCode whether the body in dollar quotes is code; in other statements it is data
 * @param {IntoFinder | undefined} into
 * @returns {Finding | 'maybe' | null}
 */
function findInTokens(text, isCode, into) {
  const scanner = new Scanner(text);
  const outside = new Frame(false);
  /** @type {Frame[]} */
  const frames = [];
  let frame = outside;
  let previous = '';
  /** Whether the table of an UPDATE, or its schema, comes next. */
  let isTarget = false;
  for (let name = scanner.nextName(isCode); name !== ''; name = scanner.nextName(isCode)) {
    // A word never ends in a quote.
    const isQuoted = text[scanner.position - 1] === '"';
    if (isTarget && name !== 'ONLY' && name !== '(' && name !== '.') {
      isTarget = isBeforeDot(scanner);
      // A rule turns this into set_config(…, false).
      if (!isTarget && name === 'PG_SETTINGS') return 'setting';
    }
    if (name === 'UPDATE') isTarget = true;
    if (into?.add(isQuoted ? '"' : name) && isIntoTemporary(scanner)) return 'temporary';
    if (name === '(' || name === '[') {
      if (name === '(' && ADVISORY_FUNCTIONS.has(previous)) return 'advisory';
      if (name === '(' && REMOTE_FUNCTIONS.has(previous)) return 'remote';
      if (name === '(' && SEED_FUNCTIONS.has(previous)) return 'seed';
      frame.add(name);
      frames.push(frame);
      frame = new Frame(name === '(' && previous === 'SET_CONFIG');
    } else if (name === ')' || name === ']') {
      frame.endArgument();
      if (frame.isSetConfig && !frame.isLocal) return 'setting';
      frame = frames.pop() ?? outside;
    } else {
      // In quotes, "true" is a name.
      frame.add(isQuoted ? '"' : name);
    }
    previous = name;
  }
  if (frame.isSetConfig || frames.some(({ isSetConfig }) => isSetConfig)) return 'setting';
  return scanner.isDoubtful ? 'maybe' : null;
}

/** Leaves the position of the scanner unchanged. @param {Scanner} scanner behind INTO */
function isIntoTemporary(scanner) {
  const { position } = scanner;
  const answer = readsTemporary(scanner);
  scanner.position = position;
  return answer;
}

/** @param {Scanner} scanner */
function readsTemporary(scanner) {
  let token = scanner.nextName();
  if (token === 'LOCAL' || token === 'GLOBAL') token = scanner.next();
  if (token === 'TABLE') token = scanner.nextName();
  // The name of a database may be in front of the schema.
  for (let name = token; isBeforeDot(scanner); name = scanner.nextName()) {
    if (TEMPORARY_SCHEMA.test(name)) return true;
    scanner.position += 1;
  }
  if (token !== 'TEMP' && token !== 'TEMPORARY') return false;
  // `temp` may be the name of the table itself.
  const name = scanner.next();
  return name === '"' || (isWordStart(name.charCodeAt(0)) && name !== 'FROM');
}

/** @param {Scanner} scanner */
function isBeforeDot(scanner) {
  scanner.skipBlank();
  return scanner.peek() === 46;
}

/** @param {Scanner} scanner behind CREATE */
function isCreateTemporary(scanner) {
  scanner.end = Math.min(scanner.end, scanner.position + SCAN_LIMIT);
  let token = scanner.next();
  if (token === 'OR') {
    scanner.next();
    token = scanner.next();
  }
  if (token === 'LOCAL' || token === 'GLOBAL') token = scanner.next();
  if (token === 'TEMP' || token === 'TEMPORARY') return true;
  // Or the name is in the schema pg_temp, which comes before any parenthesis.
  for (; token !== '' && token !== '(' && token !== 'AS'; token = scanner.nextName()) {
    if (TEMPORARY_SCHEMA.test(token)) return isBeforeDot(scanner);
  }
  return false;
}

/**
 * Whether a statement that runs alone may touch the session. A guess by words, since a wrong one
 * costs no more than a reset.
 * @param {string} text
 */
function mentionsSessionState(text) {
  return NAMES.test(text) || /pg_temp/i.test(text);
}

module.exports = { SCAN_LIMIT, findSessionState, isCreateTemporary, mentionsSessionState };
