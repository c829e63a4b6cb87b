'use strict';

// What is known of an SQL text: what it does (class.js), what it leaves behind in the session, what
// of it a rollback does not undo, what it does to the schema, and what errors say about it. The
// server is not asked here.

const { StatementCache } = require('./cache');
const { classifyStatement } = require('./class');
const {
  isOfAnalysis,
  isOfChangedResult,
  isOfDroppedType,
  isOfExecution,
  isOfParameter,
  toDatabaseError,
} = require('./errors');
const { KNOWN_NAMES, LAST_VALUE_FUNCTIONS, SESSION_FUNCTIONS } = require('./known-functions');
const { StatementInfo, StatementRegistry } = require('./registry');
const { Scanner, isWordPart, isWordStart, readCopyTarget } = require('./scanner');
const { isTagOfDdl } = require('./schema-change');
const { splitStatements } = require('./split');

/**
 * @typedef {import('./cache').Statement} Statement
 * @typedef {import('./known-functions').CatalogNames} CatalogNames
 */

module.exports = {
  classifyStatement,
  isOfAnalysis,
  isOfChangedResult,
  isOfDroppedType,
  isOfExecution,
  isOfParameter,
  isTagOfDdl,
  isWordPart,
  isWordStart,
  KNOWN_NAMES,
  LAST_VALUE_FUNCTIONS,
  readCopyTarget,
  Scanner,
  SESSION_FUNCTIONS,
  splitStatements,
  StatementCache,
  StatementInfo,
  StatementRegistry,
  toDatabaseError,
};
