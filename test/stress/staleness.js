'use strict';

// What callers may be told after somebody has changed the tables under statements that are prepared.
// Used by actions/migrations.js.

/**
 * A pool's option that bounds for how long a prepared statement may store what `pg` would not, and its
 * value here.
 */
const MAX_AGE = { option: 'statementMaxAgeSeconds', value: 1, millis: 1000 };

/** What is later than the bound. */
const SLACK_MILLIS = 300;

/** Parameters are read at Bind, and plans made again there: nothing has run, and nobody needs to know. */
const RAISED_AT_BIND = new Set(['0A000', '22003', '22007', '22008', '22P02', '22P03']);
/** A plan that is made again may also fail by these, which a statement that runs may raise, too. */
const STALE = new Set([...RAISED_AT_BIND, '42804', '42883', '42703', '42P01', '42P18']);

/** @param {any} error */
function isStale(error) {
  return STALE.has(String(error?.code));
}

/**
 * How many callers may be told of one text, in the whole pool.
 * @param {any} error
 * @param {{ isForeign: boolean, isInTransaction: boolean }} how
 */
function allowedErrors(error, { isForeign, isInTransaction }) {
  if (!isForeign) return 0;
  return isInTransaction || !RAISED_AT_BIND.has(String(error.code)) ? 1 : 0;
}

/** Options of a pool whose prepared statements are soon too old. */
function shortLived() {
  return { [MAX_AGE.option]: MAX_AGE.value };
}

module.exports = { MAX_AGE, SLACK_MILLIS, allowedErrors, isStale, shortLived };
