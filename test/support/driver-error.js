'use strict';

// The driver's own word on a query that has failed in the code of its caller, who is told what that code has thrown.

const { ParameterError, ResultError } = require('../..');

/** @param {any} error that a query was rejected with @returns {any} its cause, if that is the driver's; else the error */
function driverError(error) {
  const cause = error instanceof Error ? error.cause : undefined;
  const isOurs = cause instanceof ParameterError || cause instanceof ResultError;
  return isOurs ? cause : error;
}

module.exports = { driverError };
