'use strict';

// What statements are filled with. Used by the files of this folder and by idioms.

/** @typedef {import('../../stress/random').Random} Random */
/** @typedef {{ text: string, values?: any[], isStrict?: boolean }} Statement */
/** @typedef {readonly [make: (random: Random) => string | Statement, weight: number]} Entry */

/** Custom parameters, behind `app.` */
const NAMES = ['x', 'tenant', 'touched', 'trace', 'local'];

/** Settings that borrowers may well share a connection with. */
const PROFILE = [
  "timezone = 'Asia/Tokyo'",
  "timezone to 'UTC'",
  "datestyle = 'ISO, DMY'",
  "intervalstyle = 'iso_8601'",
  'client_min_messages = warning',
  'client_min_messages to notice',
  'statement_timeout = 60000',
  "lock_timeout = '61s'",
  "application_name = 'app %n'",
  'extra_float_digits = 0',
  "work_mem = '%n00kB'",
  "client_encoding = 'UTF8'",
];

const READ_SETTINGS = [
  ...[
    'work_mem',
    'timezone',
    'datestyle',
    'intervalstyle',
    'client_min_messages',
    'statement_timeout',
  ],
  ...[
    'lock_timeout',
    'application_name',
    'extra_float_digits',
    'enable_seqscan',
    'role',
    'search_path',
  ],
  ...[
    'transaction_isolation',
    'transaction_read_only',
    'default_transaction_isolation',
    'bytea_output',
  ],
  ...['session_replication_role', 'plan_cache_mode', 'client_encoding', 'row_security'],
];

/** @param {Random} random */
const n = (random) => random.int(1, 9);
/** @param {Random} random */
const id = (random) => random.int(1, 3);
/** `%n` is a small number. @param {string} text @param {Random} random */
const numbered = (text, random) => text.replaceAll('%n', () => String(n(random)));

module.exports = { NAMES, PROFILE, READ_SETTINGS, id, n, numbered };
