'use strict';

// `defaults` of `pg`: what counts for connections that neither say otherwise nor have an
// environment variable that does. Read by options.js whenever options are.

const { types } = require('../rows');

/** @type {Record<string, any>} */
const defaults = {
  host: 'localhost',
  user: process.env.USER,
  database: undefined,
  password: null,
  connectionString: undefined,
  port: 5432,
  rows: 0,
  binary: false,
  max: 10,
  idleTimeoutMillis: 10000,
  client_encoding: '',
  ssl: false,
  sslnegotiation: undefined,
  application_name: undefined,
  fallback_application_name: undefined,
  options: undefined,
  parseInputDatesAsUTC: false,
  statement_timeout: false,
  lock_timeout: false,
  idle_in_transaction_session_timeout: false,
  query_timeout: false,
  connect_timeout: 0,
  keepalives: 1,
  keepalives_idle: 0,
};

const INT8 = 20;
const INT8_ARRAY = 1016;
const INT4 = 23;
const INT4_ARRAY = 1007;
const asTexts = new Map([INT8, INT8_ARRAY].map((oid) => [oid, types.getTypeParser(oid, 'text')]));

// Only to be set, as in `pg`: int8 as numbers for everybody.
Object.defineProperty(defaults, 'parseInt8', {
  set(wanted) {
    for (const [oid, like] of [
      [INT8, INT4],
      [INT8_ARRAY, INT4_ARRAY],
    ]) {
      const parser = wanted ? types.getTypeParser(like, 'text') : asTexts.get(oid);
      types.setTypeParser(oid, 'text', parser);
    }
  },
  enumerable: false,
});

/** As they are without anybody's doing. */
const initial = { ...defaults };

/** Those that stand behind an environment variable. @type {Record<string, string>} */
const VARIABLES = {
  host: 'PGHOST',
  port: 'PGPORT',
  user: 'PGUSER',
  database: 'PGDATABASE',
  password: 'PGPASSWORD',
  ssl: 'PGSSLMODE',
  sslnegotiation: 'PGSSLNEGOTIATION',
  application_name: 'PGAPPNAME',
  options: 'PGOPTIONS',
  connect_timeout: 'PGCONNECT_TIMEOUT',
};

/** Those that are no options: here as there they have no effect, or are read by whom they concern. */
const NO_OPTIONS = new Set(['connectionString', 'rows', 'parseInputDatesAsUTC']);

/** @returns {Record<string, any>} those that somebody has changed or added, and that count */
function changedDefaults() {
  return Object.fromEntries(
    Object.entries(defaults).filter(
      ([name, value]) =>
        value !== initial[name] && !NO_OPTIONS.has(name) && !process.env[VARIABLES[name]],
    ),
  );
}

module.exports = { defaults, changedDefaults };
