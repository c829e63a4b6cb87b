'use strict';

// The PgBouncers that tests run against: the distribution's, and a newer one that is built once, with and
// without prepared statements; each before a server of the test's own. Used by test/fleet/.

const { buildPgBouncer } = require('../../scripts/build-pgbouncer');
const { startDatabase } = require('../../scripts/database');
const { findPgBouncer, startPgBouncer } = require('../../scripts/pgbouncer');
const { SCHEMA } = require('./connect');

/**
 * @typedef {object} Kind
 * @property {string} name
 * @property {() => string} find its program
 * @property {Record<string, number>} settings
 */

/** @type {Record<string, Kind>} */
const KINDS = {
  old: {
    name: "the distribution's PgBouncer",
    find: () => findPgBouncer().program,
    settings: {},
  },
  newer: {
    name: 'a newer PgBouncer',
    find: buildPgBouncer,
    settings: { max_prepared_statements: 100 },
  },
  forgetful: {
    name: 'a newer PgBouncer without prepared statements',
    find: buildPgBouncer,
    settings: { max_prepared_statements: 0 },
  },
};

/** Where the newer one knows prepared statements, since 1.21. @param {string} version */
function knowsStatements(version) {
  return version.localeCompare('1.21', 'en', { numeric: true }) >= 0;
}

/** A server whose sessions find the tables of the tests without being told at their start. */
function startServerBehind() {
  return startDatabase({
    own: true,
    settings: { max_connections: 200, log_min_messages: 'fatal', search_path: `${SCHEMA},public` },
  });
}

/**
 * @param {{ config: import('../../scripts/database').ConnectionConfig }} server
 * @param {Kind} kind
 * @param {import('../../scripts/pgbouncer').PgBouncerOptions} options
 */
function startPooler({ config }, kind, options) {
  return startPgBouncer(config, {
    ...options,
    program: kind.find(),
    settings: { ...kind.settings, ...options.settings },
  });
}

module.exports = { KINDS, knowsStatements, startPooler, startServerBehind };
