'use strict';

// The driver's own word on a query that has failed in the code of its caller, who is told what that code has thrown.

const { ConduitError, ParameterError, ResultError } = require('../..');

/** @param {any} error that a query was rejected with @returns {any} its cause, if that is the driver's; else the error */
function driverError(error) {
  // An error of the driver may have another one as its cause: that of a connection that is lost has.
  if (!(error instanceof Error) || error instanceof ConduitError) return error;
  const { cause } = error;
  const isOurs = cause instanceof ParameterError || cause instanceof ResultError;
  return isOurs ? cause : error;
}

module.exports = { driverError };
