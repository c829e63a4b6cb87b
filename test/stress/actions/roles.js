'use strict';

// Pools that log in as roles with settings of their own. What they read is compared with `pg` on a client
// that has logged in the same way, and must not depend on how often a text has run.

const assert = require('node:assert/strict');
const { inspect, isDeepStrictEqual } = require('node:util');
const { outcomeOf } = require('../../support/outcomes');
const { SCHEMA, calmOptions, loginAs, withPgClient, withPool } = require('../calm');

/** A role has some of these. */
const SETTINGS = [
  ['datestyle', ["'SQL, DMY'", "'German'", "'Postgres, MDY'", "'ISO, DMY'"]],
  ['extra_float_digits', ['0', '-4', '3']],
  ['intervalstyle', ['iso_8601', 'sql_standard', 'postgres_verbose']],
  ['timezone', ["'Asia/Tokyo'", "'America/St_Johns'", "'UTC'", "'+05:30'"]],
  ['bytea_output', ['escape']],
  ['lc_monetary', ["'C'"]],
  ['default_transaction_isolation', ["'serializable'", "'repeatable read'"]],
  ['default_transaction_read_only', ['on']],
  ['statement_timeout', ["'20s'", "'40ms'"]],
  ['plan_cache_mode', ['force_generic_plan', 'force_custom_plan']],
  ['search_path', [`pg_catalog, ${SCHEMA}`, SCHEMA]],
  ['standard_conforming_strings', ['off']],
  ['backslash_quote', ['on']],
  ['xmlbinary', ['hex']],
  ['array_nulls', ['off']],
  ['jit', ['off']],
  ['row_security', ['off']],
  ['client_min_messages', ['error', 'debug1']],
];

/** Values of types whose text depends on settings, and of some whose text does not. */
const VALUES = [
  "date '2024-02-29'",
  "date '0044-03-15 BC'",
  "'infinity'::date",
  "timestamp '2024-02-03 04:05:06.789'",
  "timestamptz '2024-02-03 04:05:06.789+03'",
  "array[date '2024-02-03', null]",
  "array[timestamptz '2024-02-03 04:05:06+00']",
  "tstzrange('2024-02-03 04:05+00', '2024-03-04 05:06+00')",
  "(date '2024-02-03', 1.5::float8)",
  '0.1::float8 + 0.2::float8',
  '(1 / 3.0)::real',
  "'-0'::float8",
  'array[0.1::float8 + 0.2::float8, 1e300]',
  'point(0.1 + 0.2, 1.0 / 3)',
  "interval '1 year 2 mons 3 days 04:05:06.789'",
  "interval '-1 day +02:03'",
  "array[interval '1 day']",
  "'\\x00ff7e5c'::bytea",
  "array['\\x00ff'::bytea]",
  "jsonb_build_object('d', date '2024-02-03', 'f', 0.1::float8 + 0.2::float8)",
  "row_to_json(row(timestamptz '2024-02-03 04:05:06+00'))::jsonb",
  '12.345::numeric(9, 4)',
  "time '04:05:06.789'",
  "timetz '04:05:06+02'",
  '9007199254740993::bigint',
  'current_user::text',
  "'a\\\\b'::text",
  "'{a,NULL}'::text[]",
  "to_char(date '2024-02-03', 'TMDay')",
  "date '2024-02-03'::text",
  "current_setting('datestyle')",
];

/** Statements whose outcome depends on them. */
const STATEMENTS = [
  'insert into counters values (-1, 0) on conflict do nothing',
  'select pg_sleep(0.08)::text as slept',
  'show transaction_isolation',
  'select id as n from counters where id = $1::int',
  "select $1::text = '{NULL}' as same",
  'select $1::text::date as d',
  'select $1::text::bytea as b',
];
const PARAMETERS = { d: '01/02/2024', b: 'a\\134b', n: 1 };

const RUNS = 10;

/** @param {any} outcome with what two drivers may say differently left out */
function comparable({ value, error }) {
  if (error !== undefined) return { code: error.code };
  return {
    rows: value.rows,
    columns: value.fields.map(({ name, dataTypeID }) => [name, dataTypeID]),
  };
}

/** A value that `pg` cannot read in this style. @param {any} value */
function isUnread(value) {
  return value === null || (value instanceof Date && Number.isNaN(value.getTime()));
}

async function roles(action) {
  const { random } = action;
  const role = `conduit_role_${process.pid}_${action.ledger.newId()}`;
  const chosen = SETTINGS.filter(() => random.chance(0.25));
  const settings = chosen.map(([name, values]) => [name, random.pick(values)]);
  for (const [name] of settings) action.round.journal.count('role', name);
  action.log(settings.map((pair) => pair.join(' = ')).join(', '));
  const { outside } = action.round;
  // A superuser needs no grants: these would change rows of the catalog that DDL of others changes too.
  await outside.ask(`create role ${role} login superuser`);
  for (const [name, value] of settings) {
    await outside.ask(`alter role ${role} set ${name} to ${value}`);
  }
  // Else the search_path of the tests comes first.
  const hasSearchPath = settings.some(([name]) => name === 'search_path');
  const login = loginAs(role, { ...(hasSearchPath && { options: '' }) });
  await withPgClient(action, login, (reference) =>
    withPgClient(action, login, async (iso) => {
      await iso.ask('set datestyle to ISO');
      await compare(action, reference, iso, login);
    }),
  );
  await outside.ask(`drop role ${role}`);
}

/** @param {import('../action').Action} action */
async function compare(action, reference, iso, login) {
  const { random } = action;
  const options = { ...calmOptions(random), ...login, prepare: random.chance(0.85) };
  await withPool(action, 'pool of a role', options, async (place) => {
    const isBorrowed = random.chance(0.3);
    const client = isBorrowed ? await place.on.connect() : undefined;
    const on = client ?? place.on;
    const values = VALUES.filter(() => random.chance(0.4));
    const columns = values.map((value, index) => `${value} as c${index}`);
    const texts = columns.length > 0 ? [`select ${columns.join(', ')}`] : [];
    texts.push(...STATEMENTS.filter(() => random.chance(0.4)));
    for (const text of texts) {
      const parameter = PARAMETERS[text.slice(-1)] ?? '{NULL}';
      const given = text.includes('$1') ? [text.includes(' n ') ? 1 : parameter] : undefined;
      const theirs = comparable(await outcomeOf(reference.ask(text, given)));
      const readable = comparable(await outcomeOf(iso.ask(text, given)));
      let first;
      for (let run = 1; run <= RUNS; ++run) {
        const ours = comparable(await outcomeOf(on.query(text, given)));
        first ??= ours;
        action.check(`run ${run} of ${text}`, () => {
          assert.deepStrictEqual(ours, first, 'it differs from the first run');
        });
        checkLikePg(action, run, text, ours, theirs, readable);
        // The other runs would say the same.
        if (action.entry.hasFault) break;
      }
    }
    client?.release();
  });
}

/** As `pg`; or as `pg` with dates in a style that it can read. */
function checkLikePg(action, run, text, ours, theirs, readable) {
  const what = `run ${run} of ${text}`;
  if (ours.rows === undefined || theirs.rows === undefined) {
    action.check(what, () => assert.deepStrictEqual(ours, theirs));
    return;
  }
  action.check(what, () => assert.deepStrictEqual(ours.columns, theirs.columns));
  for (const [index, row] of theirs.rows.entries()) {
    for (const [name, their] of Object.entries(row)) {
      const our = ours.rows[index]?.[name];
      const other = readable.rows?.[index]?.[name];
      const isSame = isDeepStrictEqual(our, their) || isDeepStrictEqual(our, other);
      if (!isSame && !isUnread(their)) {
        const said = [our, their, other].map((value) => inspect(value)).join(', in pg ');
        action.fault(`run ${run}: ${name} is ${said} with ISO dates, of ${text}`);
      }
    }
  }
}

module.exports = { roles };
