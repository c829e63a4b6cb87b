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
const { Profile, readResetAll, readSettings } = require('./profile');
const { StatementInfo, StatementRegistry } = require('./registry');
const { Scanner, isWordPart, isWordStart, readCopyTarget, upperCase } = require('./scanner');
const { isTagOfDdl } = require('./schema-change');
const { splitStatements } = require('./split');
const { endsTransaction, isTraceless } = require('./traceless');
const { WAKE_MILLIS } = require('./traits');
const { transactionChanges } = require('./transaction-change');

/**
 * @typedef {import('./cache').Statement} Statement
 * @typedef {import('./known-functions').CatalogNames} CatalogNames
 * @typedef {import('./profile').Setting} Setting
 */

module.exports = {
  classifyStatement,
  endsTransaction,
  isOfAnalysis,
  isOfChangedResult,
  isOfDroppedType,
  isOfExecution,
  isOfParameter,
  isTagOfDdl,
  isTraceless,
  isWordPart,
  isWordStart,
  KNOWN_NAMES,
  LAST_VALUE_FUNCTIONS,
  Profile,
  readCopyTarget,
  readResetAll,
  readSettings,
  Scanner,
  SESSION_FUNCTIONS,
  splitStatements,
  StatementCache,
  StatementInfo,
  StatementRegistry,
  toDatabaseError,
  transactionChanges,
  WAKE_MILLIS,
  upperCase,
};
