'use strict';

// One query, or a batch, from submission to settlement: its values, its deadline, its streamed
// rows, its trace, and the one place that decides whether an error is 'not-run' or 'unknown'
// (outcome.js). Nothing here knows how it is sent.

const { Batch, membersOf, readCommitted } = require('./batch');
const { Cursor } = require('./cursor');
const { isAbortSignal, isTimeout, watch } = require('./deadline');
const { beginTraced, traceConnect, traceTransaction } = require('./diagnostics');
const { DescriptionRole } = require('./description-role');
const outcome = require('./outcome');
const {
  MAX_SIZE,
  Measure,
  batchTooLargeError,
  findUnsendable,
  prepareParameters,
  tooLargeError,
} = require('./parameters');
const { OWN_DEFAULTS, Query } = require('./query');
const { openStream } = require('./row-stream');
const { Role } = require('./role');

/**
 * @typedef {import('./parameters').Parameter} Parameter
 * @typedef {import('./work').Callback} Callback
 * @typedef {import('./work').Carrier} Carrier
 * @typedef {import('./work').Limits} Limits
 * @typedef {import('./distribution').Kind} Kind
 * @typedef {import('./distribution').Place} Place
 * @typedef {import('../base').Outcome} Outcome
 * @typedef {import('./query').Pace} Pace
 * @typedef {import('./query').QueryDefaults} QueryDefaults
 * @typedef {import('./work').QueryObserver} QueryObserver
 * @typedef {import('./row-stream').RowStream} RowStream
 * @typedef {import('./row-stream').StreamOptions} StreamOptions
 */

module.exports = {
  Batch,
  batchTooLargeError,
  beginTraced,
  Cursor,
  DescriptionRole,
  findUnsendable,
  isAbortSignal,
  isTimeout,
  MAX_SIZE,
  Measure,
  membersOf,
  openStream,
  outcome,
  OWN_DEFAULTS,
  prepareParameters,
  Query,
  readCommitted,
  Role,
  tooLargeError,
  traceConnect,
  traceTransaction,
  watch,
};
