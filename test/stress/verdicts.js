'use strict';

// Which errors an action may end in, where it ran, and what its promise then tells the ledger.
// Called by the actions.

const {
  ConduitError,
  ConnectionError,
  DatabaseError,
  ParameterError,
  PoolError,
  QueryAbortedError,
  ResultError,
  StatementRefusedError,
  TransactionError,
} = require('../..');
const { driverError } = require('../support/driver-error');
const { toldBy } = require('./ledger');

const ADMIN_SHUTDOWN = '57P01';
const CANCELED = '57014';

/**
 * What an action may be rejected with, besides what may happen to anybody.
 * @typedef {object} Allowance
 * @property {readonly string[]} [codes] SQLSTATEs
 * @property {boolean} [aborts] its own signal, cancel() or destroy()
 * @property {boolean} [timesOut] it has a time limit
 * @property {boolean} [refused] it asks for what cannot be
 * @property {boolean} [fails] a transaction in which something has failed
 * @property {boolean} [commitsInside] the server's errors are unknown
 */

/**
 * @param {any} rejection
 * @param {import('./places').Place} place
 * @param {Allowance} [allowance]
 * @returns {string | undefined} what is wrong with it
 */
function objection(rejection, place, allowance = {}) {
  const error = driverError(rejection);
  if (!(error instanceof ConduitError)) return `a foreign error: ${describe(error)}`;
  const { outcome } = error;
  if (outcome !== 'not-run' && outcome !== 'unknown') return `no outcome: ${describe(error)}`;
  return isAllowed(error, place, allowance) ? undefined : `unexpected: ${describe(error)}`;
}

/**
 * @param {any} error
 * @param {import('./places').Place} place
 * @param {Allowance} allowance
 */
function isAllowed(error, place, allowance) {
  const { options } = place;
  const isSure = error.outcome === 'not-run';
  if (error instanceof DatabaseError) {
    // Another server may have committed what was cancelled.
    const mayLast = allowance.commitsInside || (options.distributed && error.code === CANCELED);
    if (!isSure && !mayLast) return false;
    if (allowance.codes?.includes(String(error.code)) || place.codes.has(String(error.code))) {
      return true;
    }
    if (error.code === CANCELED) return Boolean(allowance.aborts) || options.statement_timeout > 0;
    return error.code === ADMIN_SHUTDOWN && place.mayBeLost;
  }
  if (error instanceof ConnectionError) {
    const isLate = error.code === 'ETIMEDOUT' && options.connectionTimeoutMillis > 0;
    return place.mayBeLost || (isLate && isSure);
  }
  if (error instanceof QueryAbortedError) {
    if (error.code === 'ABORT_ERR') return Boolean(allowance.aborts);
    return Boolean(allowance.timesOut) || options.query_timeout > 0;
  }
  if (error instanceof PoolError) {
    if (!isSure) return false;
    if (error.code === 'ERR_PG_CONDUIT_POOL_TIMEOUT') return options.connectionTimeoutMillis > 0;
    if (error.code === 'ERR_PG_CONDUIT_POOL_FULL') return options.maxWaiting < Infinity;
    return error.code === 'ERR_PG_CONDUIT_POOL_ENDED' && place.isEnding;
  }
  if (error instanceof TransactionError) {
    if (!isSure) {
      return place.mayBeLost || options.query_timeout > 0 || options.statement_timeout > 0;
    }
    return Boolean(allowance.fails) || (place.mayBeLost && error.cause !== undefined);
  }
  const isRefusal = error instanceof ParameterError || error instanceof StatementRefusedError;
  return isRefusal && isSure && Boolean(allowance.refused);
}

/** What an error tells of the rows. A value that cannot be read was sent after the commit. @param {any} error */
function toldByError(error) {
  return driverError(error) instanceof ResultError ? 'committed' : toldBy(error);
}

/** A word for the summary. @param {any} error */
function nameOutcome(error) {
  if (error === undefined) return 'fulfilled';
  return `${error.code ?? error.name ?? error} ${error.outcome ?? ''}`.trim();
}

/** @param {any} error */
function describe(error) {
  if (!(error instanceof Error)) return String(error);
  const { code, outcome, cause } = /** @type {any} */ (error);
  const why = cause === undefined ? '' : `, caused by ${describe(cause)}`;
  return `${error.name} ${code} ${outcome} "${error.message.slice(0, 300)}"${why}`;
}

module.exports = { describe, nameOutcome, objection, toldByError };
