'use strict';

// Whether a statement that only returns rows can be trusted to do nothing else. A function may do
// anything, and only of PostgreSQL's own functions it is known what they do. In a Sync group the
// next member would notice, for instance a setting of the transaction. Called by registry.js.

const { ColumnLists } = require('./column-lists');
const { Scanner, upperCase } = require('./scanner');

/** Longer texts are not worth reading. */
const SCAN_LIMIT = 16 * 1024;

/** Functions of pg_catalog that change nothing (apart from nextval(), which no rollback undoes). */
const FUNCTIONS = new Set(
  `ABS ACOS AGE ARRAY_AGG ARRAY_APPEND ARRAY_CAT ARRAY_DIMS ARRAY_LENGTH ARRAY_LOWER ARRAY_NDIMS
  ARRAY_POSITION ARRAY_POSITIONS ARRAY_PREPEND ARRAY_REMOVE ARRAY_REPLACE ARRAY_TO_JSON
  ARRAY_TO_STRING ARRAY_UPPER ASCII ASIN ATAN ATAN2 AVG BIT_AND BIT_LENGTH BIT_OR BOOL_AND BOOL_OR
  BTRIM CARDINALITY CBRT CEIL CEILING CHAR_LENGTH CHARACTER_LENGTH CHR CLOCK_TIMESTAMP CONCAT
  CONCAT_WS CORR COS COT COUNT CUME_DIST CURRENT_SETTING DATE_BIN DATE_PART DATE_TRUNC DECODE DEGREES DENSE_RANK DIV
  ENCODE EVERY EXP FACTORIAL FIRST_VALUE FLOOR FORMAT FORMAT_TYPE GCD GEN_RANDOM_UUID
  GENERATE_SERIES GENERATE_SUBSCRIPTS HEIGHT INITCAP ISEMPTY ISFINITE JSON_AGG JSON_ARRAY_ELEMENTS
  JSON_ARRAY_ELEMENTS_TEXT JSON_ARRAY_LENGTH JSON_BUILD_ARRAY JSON_BUILD_OBJECT JSON_EACH
  JSON_EACH_TEXT JSON_EXTRACT_PATH JSON_EXTRACT_PATH_TEXT JSON_OBJECT JSON_OBJECT_AGG
  JSON_OBJECT_KEYS JSON_POPULATE_RECORD JSON_POPULATE_RECORDSET JSON_STRIP_NULLS JSON_TO_RECORD
  JSON_TO_RECORDSET JSON_TYPEOF JSONB_AGG JSONB_ARRAY_ELEMENTS JSONB_ARRAY_ELEMENTS_TEXT
  JSONB_ARRAY_LENGTH JSONB_BUILD_ARRAY JSONB_BUILD_OBJECT JSONB_EACH JSONB_EACH_TEXT
  JSONB_EXTRACT_PATH JSONB_EXTRACT_PATH_TEXT JSONB_INSERT JSONB_OBJECT JSONB_OBJECT_AGG
  JSONB_OBJECT_KEYS JSONB_PATH_EXISTS JSONB_PATH_MATCH JSONB_PATH_QUERY JSONB_PATH_QUERY_ARRAY
  JSONB_PATH_QUERY_FIRST JSONB_POPULATE_RECORD JSONB_POPULATE_RECORDSET JSONB_PRETTY JSONB_SET
  JSONB_STRIP_NULLS JSONB_TO_RECORD JSONB_TO_RECORDSET JSONB_TYPEOF JUSTIFY_DAYS JUSTIFY_HOURS
  JUSTIFY_INTERVAL LAG LAST_VALUE LCM LEAD LEFT LENGTH LN LOG LOG10 LOWER LOWER_INC LOWER_INF LPAD
  LTRIM MAKE_DATE MAKE_INTERVAL MAKE_TIME MAKE_TIMESTAMP MAKE_TIMESTAMPTZ MAX MD5 MIN MOD MODE
  NEXTVAL NOW NTH_VALUE NTILE NUM_NONNULLS NUM_NULLS NUMNODE OCTET_LENGTH PARSE_IDENT PERCENT_RANK
  PERCENTILE_CONT PERCENTILE_DISC PG_BACKEND_PID PG_TYPEOF PHRASETO_TSQUERY PI PLAINTO_TSQUERY POWER
  QUOTE_IDENT QUOTE_LITERAL QUOTE_NULLABLE RADIANS RANDOM RANK REGEXP_COUNT REGEXP_INSTR REGEXP_LIKE
  REGEXP_MATCH REGEXP_MATCHES REGEXP_REPLACE REGEXP_SPLIT_TO_ARRAY REGEXP_SPLIT_TO_TABLE
  REGEXP_SUBSTR REGR_SLOPE REPEAT REPLACE REVERSE RIGHT ROUND ROW_NUMBER ROW_TO_JSON RPAD RTRIM SCALE
  SETWEIGHT SHA224 SHA256 SHA384 SHA512 SIGN SIN SPLIT_PART SQRT STARTS_WITH STATEMENT_TIMESTAMP
  STDDEV STDDEV_POP STDDEV_SAMP STRING_AGG STRING_TO_ARRAY STRING_TO_TABLE STRPOS SUBSTR SUM TAN
  TIMEOFDAY TO_CHAR TO_DATE TO_HEX TO_JSON TO_JSONB TO_NUMBER TO_TIMESTAMP TO_TSQUERY TO_TSVECTOR
  TRANSACTION_TIMESTAMP TRANSLATE TRUNC TS_HEADLINE TS_RANK TS_RANK_CD UNNEST UPPER UPPER_INC
  UPPER_INF VAR_POP VAR_SAMP VARIANCE VERSION WEBSEARCH_TO_TSQUERY WIDTH_BUCKET`.split(/\s+/),
);

/** Words before a parenthesis that are not functions, or whose functions belong to the grammar. */
const WORDS = new Set(
  `ALL AND ANY ARRAY AS BETWEEN BIT BY CASE CAST CHAR CHARACTER COALESCE CUBE DATE DECIMAL DISTINCT
  ELSE EXCEPT EXISTS EXTRACT FETCH FILTER FLOAT FROM GREATEST GROUPING HAVING ILIKE IN INNER INTERSECT
  INTERVAL IS JOIN LATERAL LEAST LIKE LIMIT MATERIALIZED NOT NULLIF NUMERIC OFFSET ON OR OVER OVERLAY
  POSITION PRECISION ROLLUP ROW SELECT SETS SIMILAR SOME SUBSTRING SYMMETRIC THEN TIME TIMESTAMP
  TIMESTAMPTZ TO TRIM UNION USING VALUES VARCHAR VARYING WHEN WHERE WINDOW WITH WITHIN XMLELEMENT`.split(
    /\s+/,
  ),
);

/** The same in statements that write. */
const WRITE_WORDS = new Set(['CONFLICT', 'INSERT', 'RETURNING', 'SET']);

/** All names on the lists. */
const KNOWN_NAMES = [...FUNCTIONS, ...WORDS, ...WRITE_WORDS];

/** Those of FUNCTIONS whose answer depends on the session, or is remembered by it (currval()). */
const SESSION_FUNCTIONS = new Set(['CURRENT_SETTING', 'NEXTVAL', 'PG_BACKEND_PID']);

/** Those that answer what nextval() was in the session. */
const LAST_VALUE_FUNCTIONS = ['LASTVAL', 'CURRVAL'];

/**
 * What names mean in a database, besides their meaning in PostgreSQL itself; in upper case.
 * @typedef {object} CatalogNames
 * @property {boolean} isStrange whether operators and casts, which call functions without naming
 *   them, cannot be trusted either
 * @property {ReadonlySet<string>} calls names of functions that hide one on our list
 * @property {ReadonlySet<string>} attributes names of functions that `t.f` may call, and that are
 *   not known
 * @property {ReadonlySet<string>} relations names of relations that do more when they are read, or
 *   whose locks depend on values
 * @property {boolean} isSessionBound whether an operator, a cast or a type asks the session
 * @property {ReadonlySet<string>} sessionRelations names of relations whose content depends on the session that reads
 *   them, besides those whose names begin with pg_
 * @property {ReadonlySet<string>} writeRelations names of relations for which a write does more than to change their
 *   rows, or not the same in each session; and of sequences whose sessions keep numbers in stock
 * @property {ReadonlySet<string>} sequenceRelations names of tables for which a write may call nextval()
 * @property {boolean} asksSequences whether something in the database calls lastval() or currval()
 */

/** @type {CatalogNames} */
const NO_NAMES = {
  isStrange: false,
  calls: new Set(),
  attributes: new Set(),
  relations: new Set(),
  isSessionBound: false,
  sessionRelations: new Set(),
  writeRelations: new Set(),
  sequenceRelations: new Set(),
  asksSequences: false,
};

/** NAMEDATALEN: PostgreSQL truncates a longer name, by bytes. */
const NAME_LIMIT = 63;
const MAX_BYTES_OF_UNIT = 3;

/** A literal in which no character stands for another one, and the names in it. */
const PLAIN_LITERAL = /^\s*'[^'\\]*'$/;
const NAMES = /[^\s'".]+/g;

/** @param {string} token */
function isName(token) {
  return token === '"' || /^[^\W\d]|^[^ -~]/.test(token);
}

/** @param {string} name that PostgreSQL may truncate */
function mayBeCut(name) {
  if (name.length >= NAME_LIMIT) return true;
  return name.length * MAX_BYTES_OF_UNIT >= NAME_LIMIT && /[^ -~]/.test(name);
}

/** The name in a token, as the catalog has it in upper case. @param {Scanner} scanner @param {string} token */
function nameOf(scanner, token) {
  return token === '"' ? upperCase(scanner.quotedName.replaceAll('""', '"')) : token;
}

/**
 * Whether the text of a read calls only functions that are known to do nothing else, and reads only
 * relations that take the same locks each time.
 * @param {string} text of a statement whose command tag is SELECT
 * @param {CatalogNames} [names] of the database. Without them, names that mean something else there
 *   are not seen, nor what is behind views, operators and casts
 */
function callsKnownFunctionsOnly(text, names = NO_NAMES) {
  return isKnown(text, names, names.relations);
}

/**
 * Whether the text of a write calls only functions that are known to do nothing else, and names only relations for
 * which a write does nothing else.
 * @param {string} text
 * @param {CatalogNames} names of the database
 */
function writesKnownRelationsOnly(text, names) {
  return isKnown(text, names, names.writeRelations, new ColumnLists());
}

/**
 * @param {string} text
 * @param {CatalogNames} names
 * @param {ReadonlySet<string>} relations that it may not name
 * @param {ColumnLists} [lists] of a write
 */
function isKnown(text, names, relations, lists) {
  if (text.length > SCAN_LIMIT || names.isStrange) return false;
  const scanner = new Scanner(text);
  let previous = '';
  let beforePrevious = '';
  for (let token = scanner.next(); token !== ''; token = scanner.next()) {
    const isList = lists?.add(token) === true;
    if (token === '(' && isName(previous) && !isList) {
      const isListed = FUNCTIONS.has(previous) || WORDS.has(previous);
      const isWord = lists !== undefined && WRITE_WORDS.has(previous);
      if (!(isListed || isWord) || beforePrevious === '.' || names.calls.has(previous)) {
        return false;
      }
      if (previous === 'NEXTVAL') {
        if (!hasLiteralArgument(scanner, lists === undefined ? undefined : relations)) return false;
        lists?.add(')');
      }
    } else if (isName(token)) {
      const name = nameOf(scanner, token);
      if (mayBeCut(name) || relations.has(name)) return false;
      // A cursor belongs to its session.
      if (lists !== undefined && name === 'OF' && previous === 'CURRENT') return false;
      // `t.f` may call f(t).
      if (previous === '.' && (name === 'NEXTVAL' || names.attributes.has(name))) return false;
    }
    beforePrevious = previous;
    previous = token;
  }
  // In doubt: names written as U&"…", and literals that may end elsewhere.
  return !scanner.isDoubtful;
}

/**
 * Whether nextval() always locks the same sequence.
 * @param {Scanner} scanner behind the parenthesis
 * @param {ReadonlySet<string>} [refused] names that the literal may not have in it
 */
function hasLiteralArgument(scanner, refused) {
  const from = scanner.position;
  if (scanner.next() !== "'") return false;
  if (refused !== undefined) {
    const literal = scanner.text.slice(from, scanner.position);
    if (!PLAIN_LITERAL.test(literal)) return false;
    if (literal.match(NAMES)?.some((name) => refused.has(upperCase(name)))) return false;
  }
  let token = scanner.next();
  if (token === ':' && scanner.next() === ':' && scanner.next() === 'REGCLASS') {
    token = scanner.next();
  }
  return token === ')';
}

/** A literal that cannot be the name of a parameter of somebody's own, which has a dot. */
const BUILT_IN_SETTING = /^\s*'\w+'$/;

/**
 * Whether each session that nobody has changed gives the same answer to a read: it asks for nothing that belongs to
 * one of them, such as its process id, temporary tables or the last value of a sequence.
 * @param {string} text for which callsKnownFunctionsOnly() or writesKnownRelationsOnly() holds
 * @param {CatalogNames} names of the database
 * @param {boolean} [mayAdvance] whether it may call nextval()
 */
function isSameInEachSession(text, names, mayAdvance = false) {
  if (names.isSessionBound) return false;
  const scanner = new Scanner(text);
  let previous = '';
  for (let token = scanner.next(); token !== ''; token = scanner.next()) {
    const mayCall = mayAdvance && previous === 'NEXTVAL';
    if (token === '(' && SESSION_FUNCTIONS.has(previous) && !mayCall) {
      const from = scanner.position;
      const isSetting = previous === 'CURRENT_SETTING' && scanner.next() === "'";
      if (!isSetting || !BUILT_IN_SETTING.test(text.slice(from, scanner.position))) return false;
      token = scanner.next();
      if (token !== ')' && token !== ',') return false;
    } else if (isName(token)) {
      const name = nameOf(scanner, token);
      // System catalogs and their views, and pg_temp.
      if (name !== 'PG_TYPEOF' && name.startsWith('PG_')) return false;
      if (previous === '.' && SESSION_FUNCTIONS.has(name)) return false;
      if (name === 'INFORMATION_SCHEMA' || names.sessionRelations.has(name)) return false;
    }
    previous = token;
  }
  return !scanner.isDoubtful;
}

/**
 * Whether a text has one of these names in it.
 * @param {string} text
 * @param {ReadonlySet<string>} names in upper case
 */
function mentions(text, names) {
  if (names.size === 0) return false;
  const scanner = new Scanner(text);
  for (let token = scanner.next(); token !== ''; token = scanner.next()) {
    if (isName(token) && names.has(nameOf(scanner, token))) return true;
  }
  return scanner.isDoubtful;
}

module.exports = {
  callsKnownFunctionsOnly,
  isSameInEachSession,
  KNOWN_NAMES,
  LAST_VALUE_FUNCTIONS,
  mentions,
  SESSION_FUNCTIONS,
  writesKnownRelationsOnly,
};
