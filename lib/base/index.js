'use strict';

// What all other folders use: the error classes, and how an error names a line of the caller's code
// (caller-stack.js); how user code is called (user-code.js), and postponed while answers are read
// (after-delivery.js); bytes that callers pass; the numbers that are shared with the addon
// (wire-format.js).

const { afterDelivery, runDelivery } = require('./after-delivery');
const { Backoff } = require('./backoff');
const { BytesGoneError, assertThere, isBytes, lengthOf, partOf, toBytes } = require('./bytes');
const { CallSite, Deferred, duringCall, rejection } = require('./caller-stack');
const {
  ConduitError,
  ConnectionError,
  DatabaseError,
  OptionError,
  ParameterError,
  PoolError,
  QUERY_CANCELED,
  QueryAbortedError,
  ReplicationError,
  ResultError,
  StatementRefusedError,
  TransactionError,
  copyError,
  isFatal,
  messageLength,
  nameFields,
} = require('./errors');
const { escapeIdentifier, escapeLiteral } = require('./escape');
const { HOOK_CODE, toConnectFailure, toFailure } = require('./hook-failure');
const { TimeLimit } = require('./time-limit');
const {
  apart,
  callApart,
  callLocked,
  causeOf,
  emitApart,
  lock,
  messageOf,
  throwLater,
} = require('./user-code');
const { standFor, toldError } = require('./user-failure');
const {
  cellKind,
  command,
  commandTags,
  event,
  fieldBinaryDecodable,
  flag,
  header,
  int8Mode,
  knownColumns,
  notSentReason,
  nullHigh,
  paramKind,
  phase,
  shapeFieldInts,
  unsafeIntegerHigh,
} = require('./wire-format');

/**
 * @typedef {import('./errors').Outcome} Outcome
 */

module.exports = {
  afterDelivery,
  apart,
  assertThere,
  Backoff,
  BytesGoneError,
  callApart,
  callLocked,
  CallSite,
  causeOf,
  cellKind,
  command,
  commandTags,
  ConduitError,
  ConnectionError,
  copyError,
  DatabaseError,
  Deferred,
  duringCall,
  emitApart,
  escapeIdentifier,
  escapeLiteral,
  event,
  fieldBinaryDecodable,
  flag,
  header,
  HOOK_CODE,
  int8Mode,
  isBytes,
  isFatal,
  knownColumns,
  lengthOf,
  lock,
  messageLength,
  messageOf,
  nameFields,
  notSentReason,
  nullHigh,
  OptionError,
  ParameterError,
  paramKind,
  partOf,
  phase,
  PoolError,
  QUERY_CANCELED,
  QueryAbortedError,
  rejection,
  ReplicationError,
  ResultError,
  runDelivery,
  shapeFieldInts,
  standFor,
  StatementRefusedError,
  throwLater,
  TimeLimit,
  toBytes,
  toConnectFailure,
  toFailure,
  toldError,
  TransactionError,
  unsafeIntegerHigh,
};
