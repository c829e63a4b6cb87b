'use strict';

// Which settings matter, which values are worth a word, and what the driver does about each.

/**
 * @typedef {import('./findings').Level} Level
 *
 * @typedef {object} Setting
 * @property {string} name
 * @property {(value: string, all: Record<string, string>) => [Level, string] | undefined} judge nothing: as usual
 */

/** The pool's idleTimeoutMillis, where nobody sets it. */
const IDLE_MILLIS = 10_000;

/** @param {string} value such as "5000 ms" @returns {number} */
const millisOf = (value) => Number.parseInt(value, 10) || 0;

/** @param {string} what @returns {Setting['judge']} */
const limit = (what) => (value) => (millisOf(value) > 0 ? ['note', what] : undefined);

/**
 * @param {string} usual
 * @param {Level} level
 * @param {string} text
 * @returns {Setting['judge']}
 */
const unless = (usual, level, text) => (value) =>
  value.toLowerCase() === usual ? undefined : [level, text];

/** @type {Setting[]} */
const SETTINGS = [
  {
    name: 'DateStyle',
    judge(value) {
      if (/^ISO, MDY$/i.test(value)) return undefined;
      if (/^ISO\b/i.test(value)) {
        return [
          'note',
          'dates are written as always; input such as 01/02/2024 is read in that order',
        ];
      }
      return [
        'note',
        'the driver sets ISO in each session; the order of day and month in input stays',
      ];
    },
  },
  {
    name: 'IntervalStyle',
    judge: unless(
      'postgres',
      'warning',
      'values of type interval are parsed in the style postgres only: set it for the role, or ask for interval::text',
    ),
  },
  {
    name: 'TimeZone',
    judge(value) {
      const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
      if (
        value === own ||
        [value, own].every((zone) => /^(?:Etc\/)?(?:UTC|GMT|UCT|Zulu)$/.test(zone))
      ) {
        return undefined;
      }
      return [
        'note',
        `this process is in ${own}: timestamptz is right in both; date and timestamp are read in the zone of the process`,
      ];
    },
  },
  {
    name: 'bytea_output',
    judge: unless('hex', 'note', 'read all the same, only slower'),
  },
  {
    name: 'extra_float_digits',
    judge: (value) =>
      Number(value) < 1
        ? [
            'note',
            'float4 and float8 arrive rounded, as with pg: SET extra_float_digits = 1 for all digits',
          ]
        : undefined,
  },
  {
    name: 'server_encoding',
    judge(value) {
      if (value === 'UTF8') return undefined;
      if (value === 'SQL_ASCII') {
        return [
          'warning',
          'the server does not know what its texts are: bytes that are no UTF-8 are errors or U+FFFD',
        ];
      }
      return ['note', 'the server converts; characters that it has not are refused (22P05)'];
    },
  },
  {
    name: 'standard_conforming_strings',
    judge: unless(
      'on',
      'warning',
      'a backslash in a literal escapes: pass values as parameters, or escapeLiteral()',
    ),
  },
  {
    name: 'statement_timeout',
    judge: limit('the server cancels what takes longer (57014)'),
  },
  {
    name: 'lock_timeout',
    judge: limit('the server cancels what waits longer for a lock (55P03)'),
  },
  {
    name: 'transaction_timeout',
    judge: limit('the server ends sessions whose transaction takes longer'),
  },
  {
    name: 'idle_in_transaction_session_timeout',
    judge: limit('the server ends sessions that wait longer within a transaction (25P03)'),
  },
  {
    name: 'idle_session_timeout',
    judge(value) {
      const millis = millisOf(value);
      if (millis === 0) return undefined;
      if (millis > IDLE_MILLIS) {
        return ['note', 'the server ends idle sessions; the pool does so before'];
      }
      return [
        'warning',
        'the server ends idle sessions before the pool does, under queries that are just sent',
      ];
    },
  },
  {
    name: 'default_transaction_isolation',
    judge: unless(
      'read committed',
      'note',
      'transactions may fail with 40001: transaction(fn, { retry: { serialization: 3 } })',
    ),
  },
  {
    name: 'default_transaction_read_only',
    judge: unless('off', 'warning', 'writes are refused (25006)'),
  },
  {
    name: 'row_security',
    judge: unless('on', 'note', 'queries that a policy would filter are errors'),
  },
  {
    name: 'search_path',
    judge: (value) =>
      ['"$user", public', '"$user",public', 'public'].includes(value)
        ? undefined
        : ['note', 'names without a schema are looked up there'],
  },
  {
    name: 'synchronous_commit',
    judge(value) {
      if (value === 'on' || value === 'remote_apply') return undefined;
      const what = value === 'off' ? 'a crash of the server' : 'a failover';
      return ['warning', `what was told as committed may be lost in ${what}`];
    },
  },
];

module.exports = { SETTINGS };
