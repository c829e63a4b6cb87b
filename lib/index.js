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
const PgConnection = require('./pg/connection');
const { defaults } = require('./pg/defaults');
const Query = require('./pg/query');
const utils = require('./pg/utils');
const { Pool } = require('./pool');
const { Result } = require('./result');
const { types } = require('./types');
const { TypeOverrides } = require('./types/type-overrides');

module.exports = {
  Client,
  Pool,
  Query,
  Connection: PgConnection,
  Result,
  defaults,
  utils,
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

// `pg` has a second driver there, by libpq; ORMs take it if they are told to.
Object.defineProperty(module.exports, 'native', { value: module.exports, enumerable: false });
