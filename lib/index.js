'use strict';

// What `require('pg-conduit')` gives. Exports only.

const { EventEmitter } = require('node:events');
const {
  ConduitError,
  ConnectionError,
  DatabaseError,
  escapeIdentifier,
  escapeLiteral,
  OptionError,
  ParameterError,
  PoolError,
  QueryAbortedError,
  ReplicationError,
  ResultError,
  StatementRefusedError,
  TransactionError,
} = require('./base');
const { Client } = require('./client');
const { defaults } = require('./options');
const { PgConnection, PgQuery: Query, utils } = require('./pg');
const { Pool } = require('./pool');
const { Result, TypeOverrides, types } = require('./rows');

module.exports = {
  Client,
  Pool,
  Query,
  Connection: PgConnection,
  // Only in the types of `pg`.
  Events: EventEmitter,
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
  ReplicationError,
  ResultError,
  StatementRefusedError,
  TransactionError,
};

// `pg` has a second driver there, by libpq; ORMs take it if they are told to.
Object.defineProperty(module.exports, 'native', { value: module.exports, enumerable: false });
