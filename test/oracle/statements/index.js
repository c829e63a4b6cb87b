'use strict';

// The single statements of random scripts: what each may be, and how likely it is. In the texts `{h}`, `{x}` and
// `{s}` stand for the schemas of the place (nothing where the script sets a search_path), `{app:name}` for how a
// custom parameter is read, `{channel}` and `{lock}` for what is the place's alone. Used by script.js and
// the idioms.

const { EFFECTS } = require('./effects');
const { ERRORS, READS } = require('./reads');
const { NAMED, SESSION, TRANSACTIONS } = require('./session');
const { NAMES, PROFILE, id, n, numbered } = require('./values');
const { DDL, WRITES } = require('./writes');

/** Weights of the kinds among single statements. */
const KINDS = /** @type {const} */ ([
  [READS, 10],
  [WRITES, 5],
  [EFFECTS, 3],
  [SESSION, 3],
  [TRANSACTIONS, 1.5],
  [DDL, 1.7],
  [NAMED, 1],
  [ERRORS, 1.2],
]);

module.exports = {
  DDL,
  EFFECTS,
  ERRORS,
  KINDS,
  NAMES,
  PROFILE,
  READS,
  SESSION,
  WRITES,
  id,
  n,
  numbered,
};
