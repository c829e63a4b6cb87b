'use strict';

// What `require('pg-conduit')` gives. Exports only.

const { Client } = require('./client');
const {
  ConduitError,
  ConnectionError,
  DatabaseError,
  OptionError,
  ParameterError,
  PoolError,
  QueryAbortedError,
  ResultError,
  StatementRefusedError,
  TransactionError,
} = require('./errors');
const { escapeIdentifier, escapeLiteral } = require('./escape');
const { Pool } = require('./pool');
const { Result } = require('./result');
const { types } = require('./types');
const { TypeOverrides } = require('./types/type-overrides');

module.exports = {
  Client,
  Pool,
  Result,
  types,
  TypeOverrides,
  escapeIdentifier,
  escapeLiteral,
  ConduitError,
  ConnectionError,
  DatabaseError,
  OptionError,
  ParameterError,
  PoolError,
  QueryAbortedError,
  ResultError,
  StatementRefusedError,
  TransactionError,
};
