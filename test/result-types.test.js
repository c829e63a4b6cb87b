'use strict';

// Values, fields and command tags, beside those of `pg` on the same server. The first execution of
// a text comes as text from an unprepared statement, the second from a prepared one, and from the
// third on in binary if the addon can decode all columns: each query runs often enough for all.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const path = require('node:path');
const { promisify } = require('node:util');
const fc = require('fast-check');
const pg = require('pg');
const { ResultError, TypeOverrides, types } = require('..');
const { connectionOf } = require('../lib/client');
const { flag } = require('../lib/wire-format');
const { SCHEMA, endAll, newClient, options, resetSchema } = require('./support/connect');

const { BOOL, BYTEA, DATE, FLOAT8, INT4, INT8, NUMERIC, TEXT, TIMESTAMPTZ } = types.builtins;
const INT8_ARRAY = 1016;
const JSON_OIDS = [114, 3802];

const EXECUTIONS = 5;
/** Set in the process that runs this file again where code generation is disallowed. */
const NO_CODE_GENERATION = 'PG_CONDUIT_TEST_NO_CODE_GENERATION';

const SEED = Number(process.env.FAST_CHECK_SEED || Date.now() % 0x7fffffff);

/** Runs a property; a failure prints FAST_CHECK_SEED, which repeats it. */
async function holds(property, runs) {
  try {
    await fc.assert(property, { seed: SEED, numRuns: runs });
  } catch (error) {
    error.message = `FAST_CHECK_SEED=${SEED}\n${error.message}`;
    throw error;
  }
}

/** @type {import('pg').Client} the one to be like; connected for the whole file */
let reference;

/** Invalid dates are not equal to each other, for deepStrictEqual. */
function comparable(value) {
  if (value instanceof Date && Number.isNaN(value.getTime())) return 'Invalid Date';
  return Array.isArray(value) ? value.map(comparable) : value;
}

function comparableRow(row) {
  if (Array.isArray(row)) return comparable(row);
  for (const key of Object.keys(row)) row[key] = comparable(row[key]);
  return row;
}

/** What both drivers say of a result; their classes differ. */
function describeResult({ command, rowCount, oid, rows, fields }) {
  return {
    command,
    rowCount,
    oid,
    rows: rows.map(comparableRow),
    fields: fields.map((field) => ({
      name: field.name,
      tableID: field.tableID,
      columnID: field.columnID,
      dataTypeID: field.dataTypeID,
      dataTypeSize: field.dataTypeSize,
      dataTypeModifier: field.dataTypeModifier,
      format: field.format,
    })),
  };
}

/**
 * Runs a query in all the ways that we have, and compares each with `pg`.
 * @returns the rows
 */
async function sameAsPg(client, query, { executions = EXECUTIONS, like = reference } = {}) {
  const expected = describeResult(await like.query(query));
  for (let execution = 1; execution <= executions; ++execution) {
    const actual = describeResult(await client.query(query));
    assert.deepStrictEqual(actual, expected, `execution ${execution} differs`);
    assert.deepStrictEqual(actual.rows.map(Object.keys), expected.rows.map(Object.keys));
  }
  return expected.rows;
}

const quote = (text) => (text === null ? 'null' : `'${text.replaceAll("'", "''")}'`);

/** A row for each text, with the text as a value of the type. */
function selectEach(type, texts) {
  const rows = [...texts, null].map((text, index) => `(${index}, ${quote(text)}::text)`);
  return `select n, v::${type} as v from (values ${rows.join(', ')}) as given (n, v) order by n`;
}

/** The same values as arrays: flat, nested, empty, with a lower bound of their own. */
function selectArrays(type, texts) {
  const values = [...texts, null].map((text) => `${quote(text)}::text::${type}`).join(', ');
  const first = `${quote(texts[0])}::text::${type}`;
  return `select array[${values}] as flat, array[[${values}], [${values}]] as nested,
    array[[[${first}], [null::${type}]], [[null::${type}], [${first}]]] as deep, array[]::${type}[] as empty,
    array_fill(${first}, array[2], array[-3]) as bounds, null::${type}[] as none`;
}

const JSON_TEXTS = [
  'null',
  'true',
  '0',
  '-0',
  '1e400',
  '12345678901234567890',
  '0.1000000000000000055511151231257827',
  '""',
  '"text"',
  '[]',
  '{}',
  '[1,[2,[3,{"a":[null]}]]]',
  '{"__proto__":{"polluted":true},"constructor":1,"a":1}',
  '"\\u00e9\\ud83d\\ude00\\n\\t\\"\\\\"',
  '"é漢字😀"',
  '{"ключ":"значение","":0,"1":1,"a b":[false]}',
  ` [ 1 , { "b" : 2 } ] `,
  `[${'[],'.repeat(200)}"]", "[", ","]`,
];

const UUID = '00112233-4455-6677-8899-aabbccddeeff';

const FLOATS = [
  ...['0', '-0', '1', '-1', '0.1', '1.1', '3.14159265358979', '1e10', '1e-10', '123456789'],
  ...['NaN', 'Infinity', '-Infinity', '1e37', '-1e37', '16777216', '16777217', '8589934592'],
];

/** Each type with values that its input function takes. */
const TYPES = {
  bool: ['t', 'f'],
  int2: ['0', '1', '-1', '32767', '-32768'],
  int4: ['0', '1', '-1', '2147483647', '-2147483648'],
  int8: ['0', '-1', '9007199254740993', '9223372036854775807', '-9223372036854775808'],
  oid: ['0', '1', '2147483648', '4294967295'],
  xid: ['0', '4294967295'],
  cid: ['1'],
  tid: ['(0,1)'],
  float4: [...FLOATS, '1e-45', '-1e-45', '1.1754944e-38', '3.4028235e38', '-3.4028235e38'],
  float8: [
    ...[...FLOATS, '5e-324', '-5e-324', '2.2250738585072014e-308', '2.225073858507201e-308'],
    ...['1.7976931348623157e308', '-1.7976931348623157e308', '9007199254740993', '1e21', '1e-7'],
    ...['0.30000000000000004', '123456.789e3'],
  ],
  numeric: [
    ...['0', '-0', '0.0', '0.000000', '1', '-1', '10', '10000', '9999', '10001', '100000000'],
    ...['0.1', '0.0001', '0.00001', '-0.00001', '1.10', '1.100000', '-12345.678900', '1e-20'],
    ...['NaN', 'Infinity', '-Infinity', '12345678901234567890.12345678901234567890', '1e100'],
    ...['0.00000000000000000000000000000000000000000000000123', '99999999.99999999', '1.00001'],
    ...['10000.0001', '100010001.00010001', '-0.5', '0.05', '0.005', '0.0005', '0.00005'],
  ],
  'numeric(10,3)': ['0', '1', '1.5', '-1.5555', '9999999.999', 'NaN'],
  text: [
    '',
    'a',
    ' a ',
    'NULL',
    "it's",
    '"',
    '\\',
    '\n\r\t\b\f\v',
    'é',
    '漢字',
    '😀',
    'a😀é',
    '\u2028',
  ],
  varchar: ['', 'text', 'ü'],
  'varchar(3)': ['', 'abc', 'üüü', 'abcdef'],
  'char(5)': ['', 'a', 'abcde', 'é', 'a  '],
  name: ['a', 'ünï', 'x'.repeat(63)],
  '"char"': ['a', '', '~'],
  bytea: ['', '\\x', '\\x00', '\\xdeadbeef', '\\x5c5c', '\\x' + '00ff'.repeat(300)],
  uuid: [UUID, 'ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-000000000000'],
  json: [...JSON_TEXTS, '{"a":1,"a":2}', '"\\ud800"', '"\\u0000"'],
  jsonb: [...JSON_TEXTS.filter((text) => text !== '-0'), '{"a":1,"a":2}'],
  jsonpath: ['$."a"[*]'],
  time: ['00:00:00', '23:59:59.999999', '24:00:00', '12:34:56.1', '00:00:00.000001', '01:00:00.10'],
  'time(2)': ['12:34:56.789'],
  timetz: ['00:00:00+00', '23:59:59.999999-15:59', '12:00:00+05:30', '12:00:00.5+00:00:01'],
  interval: [
    ...['0', '1 second', '-1 second', '1.5 seconds', '1 day', '1 month -1 day', '-1 year 2 months'],
    ...['1 year 2 months 3 days 04:05:06.789', '-00:00:00.000001', '100000 hours', '1 week'],
  ],
  point: ['(0,0)', '(1.5,-2.5)', '(1e300,-1e-300)', '(Infinity,NaN)'],
  circle: ['<(0,0),0>', '<(1.5,-2),3.25>'],
  box: ['((1,2),(3,4))'],
  line: ['{1,2,3}'],
  lseg: ['[(1,2),(3,4)]'],
  path: ['((1,2),(3,4))', '[(1,2),(3,4)]'],
  polygon: ['((1,2),(3,4),(5,6))'],
  inet: ['127.0.0.1', '10.0.0.1/8', '::1', 'fe80::1/64'],
  cidr: ['10.0.0.0/8', '2001:db8::/32'],
  macaddr: ['08:00:2b:01:02:03'],
  macaddr8: ['08:00:2b:01:02:03:04:05'],
  money: ['0', '1.5', '-1234.56', '92233720368547758.07'],
  bit: ['1', '0'],
  'bit(8)': ['10101010'],
  varbit: ['', '1', '101010101'],
  xml: [
    ...['<a/>', '<a b="c">é&amp;</a>', 'text only', ''],
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?><a/>',
  ],
  int4range: ['[1,5)', 'empty', '(,)', '[,7)'],
  int8range: ['[1,9223372036854775806)'],
  numrange: ['[1.10,2.20]', '(,)'],
  daterange: ['[2020-01-01,2020-02-01)'],
  tsrange: ['["2020-01-01 00:00:00","2020-01-02 00:00:00")'],
  tstzrange: ['["2020-01-01 00:00:00+00",)'],
  int4multirange: ['{}', '{[1,3),[5,7)}'],
  tsvector: ['', "'a':1 'b':2,3A"],
  tsquery: ["'a' & 'b'"],
  regclass: ['pg_catalog.pg_class'],
  regtype: ['integer', 'text[]'],
  regproc: ['pg_catalog.now'],
  regnamespace: ['pg_catalog'],
  pg_lsn: ['0/0', '16/B374D848'],
  pg_snapshot: ['10:20:10,14,15'],
  int2vector: ['1 2 3', ''],
  oidvector: ['1 4294967295'],
  [`${SCHEMA}.mood`]: ['sad', 'très heureux', '{"quoted, braced"}'],
  [`${SCHEMA}.positive`]: ['1', '2147483647'],
  [`${SCHEMA}.short_text`]: ['', 'abc'],
  [`${SCHEMA}.pair`]: ['(1,text)', '(,)', '(-5,"with ""quotes"", commas and \\\\")'],
  [`${SCHEMA}.nested_pair`]: ['("(1,a)",2020-01-01)'],
};

const DATES = [
  ...['2020-01-01', '1970-01-01', '1969-12-31', '0001-01-01', '0004-02-29', '0050-06-15'],
  ...['0099-12-31', '0100-01-01', '1883-11-18', '9999-12-31', '10000-01-01', '100000-02-03'],
  ...['0001-12-31 BC', '0002-02-28 BC', '0044-03-15 BC', '4713-01-01 BC', '2021-03-28'],
  ...['2018-11-04', '2020-02-29', '1900-03-01', 'infinity', '-infinity', '275760-09-12'],
  // After the last day of JavaScript.
  ...['275761-01-01', '294276-12-31'],
];

const TIMES = ['00:00:00', '23:59:59.999999', '12:34:56.789', '02:30:00', '00:00:00.0005'];

const MOMENTS = [
  ...DATES.filter((date) => date.endsWith('infinity')),
  ...DATES.filter((date) => !date.endsWith('infinity')).flatMap((date) =>
    TIMES.map((time) => date.replace(/^\S+/, `$& ${time}`)),
  ),
  // Clocks that skip or repeat this hour, in one of the zones below.
  ...['2021-03-14 02:00:00', '2021-03-14 02:59:59.999', '2021-11-07 01:30:00'],
  ...['2021-10-03 02:00:00', '2021-10-03 02:15:00', '2021-04-04 01:45:00'],
  ...['1883-11-18 12:03:57', '1883-11-18 12:04:00', '1945-10-14 23:59:59', '1941-10-01 00:00:00'],
  ...['1969-12-31 23:59:59.9999', '1969-12-31 23:59:59.000001', '1970-01-01 00:00:00.000999'],
  // 2000-01-01 is zero in PostgreSQL's binary format.
  ...['2000-01-01 00:00:00', '1999-12-31 23:59:59.999999', '2000-01-01 00:00:00.000001'],
];

describe('results', () => {
  before(async () => {
    await resetSchema();
    reference = new pg.Client(options());
    await reference.connect();
    await reference.query(`
      create type mood as enum ('sad', 'très heureux', '{"quoted, braced"}');
      create domain positive as int4 check (value > 0);
      create domain short_text as varchar(3);
      create type pair as (a int4, b text);
      create type nested_pair as (p pair, d date);
      create table items (id int4 primary key, label varchar(20), price numeric(10, 2));
      insert into items values (1, 'one', 1.10), (2, 'zwei – ü', null), (3, null, 3);
    `);
  });
  after(() => reference.end());
  afterEach(endAll);

  describe('of each type are those of pg', () => {
    for (const [type, texts] of Object.entries(TYPES)) {
      it(type.replace(`${SCHEMA}.`, ''), async () => {
        const client = await newClient();
        const rows = await sameAsPg(client, selectEach(type, texts));
        assert.equal(rows.length, texts.length + 1);
        await sameAsPg(client, { text: selectEach(type, texts), rowMode: 'array' });
        await sameAsPg(client, selectArrays(type, texts));
      });
    }

    it('void', async () => {
      const client = await newClient();
      await sameAsPg(client, 'select pg_sleep(0), pg_sleep(0) as v, 1 as one');
    });

    it('record, and an unnamed row', async () => {
      const client = await newClient();
      await sameAsPg(client, "select row(1, 'a', null, row(2)) as r, i from items i order by id");
    });

    it('a numeric with more digits than any other type has', async () => {
      const client = await newClient();
      await sameAsPg(
        client,
        'select 1e131000::numeric as large, -1e131000::numeric - 1 as odd, ' +
          '(1e-16000)::numeric as small, repeat($1, 100000)::numeric / 7 as long'.replace(
            '$1',
            "'9'",
          ),
      );
    });

    it('float4, for which a decimal on the edge of its interval is too short', async () => {
      const client = await newClient();
      // PostgreSQL's text of these is longer than the shortest one that other libraries find.
      const texts = [
        '63514248',
        '152942210',
        '-117257136',
        '246284190',
        '4.1009528e7',
        '156687010',
      ];
      await sameAsPg(client, selectEach('float4', texts));
      await sameAsPg(
        client,
        'select (16777216::float8 * (1 + g / 997.0))::float4 as v, ' +
          '(2::float8 ^ (g % 120))::float4 as power from generate_series(1, 5000) g',
      );
    });

    it('text in a database column of every length, with NULL between', async () => {
      const client = await newClient();
      await sameAsPg(
        client,
        "select case when g % 5 > 0 then repeat(chr(96 + g % 27), g) end as a, repeat('é', g % 7) " +
          "as b, left('aé漢😀', g % 5) as c from generate_series(0, 600) g",
      );
    });
  });

  describe('of dates and times are those of pg', () => {
    it('timestamptz', async () => {
      const client = await newClient();
      await sameAsPg(client, selectEach('timestamptz', MOMENTS));
      await sameAsPg(client, selectArrays('timestamptz', MOMENTS));
    });

    it('timestamp', async () => {
      const client = await newClient();
      await sameAsPg(client, selectEach('timestamp', MOMENTS));
      await sameAsPg(client, selectArrays('timestamp', MOMENTS));
    });

    it('date', async () => {
      const client = await newClient();
      const dates = [...DATES, '275760-09-13', '5874897-12-31'];
      await sameAsPg(client, selectEach('date', dates));
      await sameAsPg(client, selectArrays('date', dates));
    });

    it('timestamps with a precision', async () => {
      const client = await newClient();
      for (const type of ['timestamp(0)', 'timestamp(3)', 'timestamptz(0)', 'timestamptz(4)']) {
        await sameAsPg(client, selectEach(type, ['2020-01-01 12:34:56.789765']));
      }
    });

    it('every half of an hour of a year, and every fifth day of four centuries', async () => {
      const client = await newClient();
      await sameAsPg(
        client,
        "select t, t at time zone 'UTC' as local from generate_series('2020-12-31'::timestamptz, " +
          "'2022-01-02', '30 minutes') t",
        { executions: 3 },
      );
      await sameAsPg(
        client,
        "select '1800-01-01'::date + g as d, '1800-01-01'::timestamptz + g * interval '1 day' as t " +
          'from generate_series(0, 400 * 366, 5) g',
        { executions: 3 },
      );
    });

    it("the last hours of JavaScript's calendar", async () => {
      const texts = [
        '275760-09-12 12:00',
        '275760-09-13',
        '275760-09-13 03:00',
        '275760-09-13 12:00',
      ];
      // East of Greenwich pg reads the last hours of a timestamptz as invalid.
      const settings = { options: '-c timezone=UTC' };
      const client = await newClient(settings);
      const like = new pg.Client(options(settings));
      await like.connect();
      try {
        for (const type of ['timestamp', 'timestamptz', 'date']) {
          await sameAsPg(client, selectEach(type, texts), { like });
        }
      } finally {
        await like.end();
      }
    });

    it("in whatever time zone the server's session is", async () => {
      // Before 1900 or so they have offsets with seconds.
      for (const zone of ['America/New_York', 'Asia/Kolkata', 'Africa/Monrovia']) {
        const settings = { options: `-c timezone=${zone}` };
        const client = await newClient(settings);
        const like = new pg.Client(options(settings));
        await like.connect();
        try {
          const moments = MOMENTS.filter((text) => !text.startsWith('294276'));
          await sameAsPg(client, selectEach('timestamptz', moments), { like });
          await sameAsPg(client, selectEach('timestamp', moments), { like });
        } finally {
          await like.end();
        }
      }
    });
  });

  describe('say what pg says of the statement', () => {
    it('for each kind of command', async () => {
      const client = await newClient();
      await client.query('create table counted (id int)');
      const texts = [
        'insert into counted select generate_series(1, 3)',
        'insert into counted values (4) returning id, id as again',
        'update counted set id = id + 0 where id > 2',
        'update counted set id = id where false',
        'update counted set id = id returning *',
        'delete from counted where id = 99',
        'delete from counted where id = 99 returning *',
        'values (1, 2), (3, 4)',
        'table items',
        'with x as (select 1 as one) select * from x',
        'explain (costs off) select 1',
        'show server_version_num',
        'select 1 where false',
        'select null as nothing',
        'create table if not exists counted (id int)',
        'alter table counted add column if not exists id int',
        "comment on table counted is 'é'",
        'truncate counted',
        'begin',
        'savepoint a',
        'release a',
        'commit',
        "set application_name to 'x'",
        'reset application_name',
        'lock table counted in access share mode',
        'do $$ begin null; end $$',
        'listen channel',
        'unlisten *',
        'notify channel',
        'analyze counted',
        'vacuum counted',
        'discard temp',
        '',
        ' -- nothing but a comment',
        ';',
      ];
      await reference.query("set client_min_messages to 'error'");
      await client.query("set client_min_messages to 'error'");
      for (const text of texts) {
        if (text.startsWith('lock')) {
          // Needs a transaction; both drivers get one.
          for (const one of [reference, client]) await one.query('begin');
        }
        await sameAsPg(client, text);
        if (text.startsWith('lock')) {
          for (const one of [reference, client]) await one.query('rollback');
        }
      }
      await reference.query('reset client_min_messages');
    });

    it('for merge, and for rows counted in an insert of many', async function () {
      if (
        Number((await reference.query('show server_version_num')).rows[0].server_version_num) <
        150000
      ) {
        this.skip();
      }
      const client = await newClient();
      await client.query('create table merged (id int)');
      await sameAsPg(
        client,
        'merge into merged using generate_series(1, 2) g on id = g when not matched and g < 0 then insert values (g)',
      );
      await sameAsPg(client, 'insert into merged select 1 from generate_series(1, 12345)');
    });

    it('of fields: table, column and type with its modifier', async () => {
      const client = await newClient();
      await sameAsPg(client, 'select *, id + 1 as next, label as other from items order by id');
      await sameAsPg(
        client,
        'select oid, relname, relkind, reloptions from pg_class where oid = 1259',
      );
    });

    it('of fields when there are no rows', async () => {
      const client = await newClient();
      await sameAsPg(client, 'select * from items where false');
      await sameAsPg(client, { text: 'select * from items where false', rowMode: 'array' });
    });
  });

  describe('have the rows of pg', () => {
    it('for columns of the same name, of which the last one stays', async () => {
      const client = await newClient();
      const text = "select 1 as a, 2 as b, 'x' as a, null as b, 3 as c, 4.5::float8 as c";
      await sameAsPg(client, text);
      const rows = await sameAsPg(client, { text, rowMode: 'array' });
      assert.deepEqual(rows, [[1, 2, 'x', null, 3, 4.5]]);
    });

    it('for column names that mean something to JavaScript', async () => {
      const client = await newClient();
      const names = [
        ...['constructor', 'prototype', 'toString', 'hasOwnProperty', 'length', 'then', 'rows'],
        ...['arguments', 'await', 'this', 'new', 'get', 'async', '__defineGetter__', '_', '$'],
        ...[
          '"',
          "'",
          '`',
          '\\',
          '\\"',
          '\\u0041',
          '$' + '{x}',
          '*/',
          '//',
          '/*',
          ']',
          '}',
          '"]:1,["a',
        ],
        ...['\n', '\r', '\t', '\u2028', '\u2029', '\u0001', '\u007f', ' ', 'a b', '-', '?column?'],
        ...['é', '漢字', '😀', '\ufeff', '\u202e', 'ﬀ', 'İ'],
      ];
      const columns = names.map((name, n) => `${n} as ${client.escapeIdentifier(name)}`);
      const text = `select ${columns.join(', ')}`;
      const [row] = await sameAsPg(client, text);
      assert.deepEqual(Object.keys(row), names);
      await sameAsPg(client, { text, rowMode: 'array' });
      for (const [n, name] of names.entries()) {
        await sameAsPg(
          client,
          `select ${columns[n]}, '${n}' as ${client.escapeIdentifier(`${name}.`)}`,
          { executions: 3 },
        );
      }
    });

    it('for column names that are integers', async () => {
      const client = await newClient();
      const names = ['2', '10', '1', '0', '-1', '01', '4294967294', '4294967295', '1.5', '1e3'];
      const columns = names.map((name, n) => `${n} as "${name}"`);
      await sameAsPg(client, `select ${columns.join(', ')}, 'last' as a`);
    });

    it('for names that the server has cut', async () => {
      const client = await newClient();
      await sameAsPg(client, `select 1 as ${'x'.repeat(100)}, 2 as ${'é'.repeat(50)}`);
    });

    it('for 1,600 columns of many types', async () => {
      const client = await newClient();
      const samples = [
        ...['g', 'g::int8', "g || 'é'", "g || 'e'", 'g % 2 = 0', 'g / 3.0::float8', 'null::text'],
        ...["'2020-01-01'::timestamptz + g * interval '1 day'", 'g::numeric / 8', "'{}'::jsonb"],
        ...["decode('00ff', 'hex')", 'null::int4'],
      ];
      const columns = Array.from(
        { length: 1600 },
        (_, n) => `${samples[n % samples.length]} as c${n}`,
      );
      const text = `select ${columns.join(', ')} from generate_series(1, 5) g`;
      await sameAsPg(client, text);
      await sameAsPg(client, { text, rowMode: 'array' });
    });

    it('for no columns at all', async () => {
      const client = await newClient();
      await sameAsPg(client, 'select');
      await sameAsPg(client, 'select from generate_series(1, 100)');
      await sameAsPg(client, { text: 'select from generate_series(1, 3)', rowMode: 'array' });
      await sameAsPg(client, 'select where false');
    });

    it('but keep a column named __proto__, which pg loses', async () => {
      const client = await newClient();
      for (const type of ['int4', 'text', 'jsonb', 'point']) {
        const text = `select 1 as a, '${{ text: 'x', jsonb: '{"b": 1}', point: '(1,2)' }[type] ?? 7}'::${type} as "__proto__", 2 as c`;
        for (let execution = 1; execution <= EXECUTIONS; ++execution) {
          const { rows } = await client.query(text);
          const [row] = rows;
          assert.equal(Object.getPrototypeOf(row), Object.prototype);
          assert.deepEqual(Object.keys(row), ['a', '__proto__', 'c']);
          const expected = { int4: 7, text: 'x', jsonb: { b: 1 }, point: { x: 1, y: 2 } }[type];
          assert.deepEqual(Object.getOwnPropertyDescriptor(row, '__proto__'), {
            value: expected,
            writable: true,
            enumerable: true,
            configurable: true,
          });
          assert.deepEqual([row.a, row.c], [1, 2]);
        }
      }
      const { rows } = await client.query('select null as "__proto__", 1 as "__proto__"');
      assert.deepEqual(Object.entries(rows[0]), [['__proto__', 1]]);
    });
  });

  describe('have text as it is', () => {
    const SIZES = [0, 1, 7, 8, 12, 13, 14, 32766, 32767, 32768, 32769, 65535, 65536, 65537, 131072];

    it('when a string ends where a chunk of text ends', async () => {
      const client = await newClient();
      for (const letters of ['x', 'é', '漢', '😀']) {
        const text = `select n, repeat('${letters}', n) as v, 'end ' || n as a, 'ende é' || n as b
          from unnest(array[${SIZES}]) n`;
        for (let execution = 1; execution <= EXECUTIONS; ++execution) {
          const { rows } = await client.query(text);
          assert.equal(rows.length, SIZES.length);
          for (const [index, n] of SIZES.entries()) {
            const { v, ...rest } = rows[index];
            assert.deepEqual(rest, { n, a: `end ${n}`, b: `ende é${n}` });
            assert.ok(v === letters.repeat(n), `${n} times ${letters}`);
          }
        }
      }
    });

    it('when rows add up to the size of a chunk exactly', async () => {
      const client = await newClient();
      for (const each of [1, 16, 1024, 4096, 16384, 32768, 65536]) {
        const count = (65536 / each) * 2 + 1;
        const text = `select lpad(g::text, ${each}, '.') as a, lpad(g::text, ${each}, 'é') as b
          from generate_series(1, ${count}) g`;
        for (let execution = 1; execution <= 4; ++execution) {
          const { rows } = await client.query(text);
          assert.equal(rows.length, count);
          for (const [index, { a, b }] of rows.entries()) {
            const number = String(index + 1).slice(0, each);
            assert.ok(a === number.padStart(each, '.') && b === number.padStart(each, 'é'));
          }
        }
      }
    });

    it('when results of one delivery share chunks', async () => {
      const client = await newClient();
      const queries = Array.from({ length: 400 }, (_, n) => ({
        text: 'select repeat($1, $2) as v, $1 as letter, $2::int as n, to_jsonb($1::text) as j',
        values: [['x', 'é', '😀', 'ab', 'ß-ẞ'][n % 5], (n * 331) % 2000],
      }));
      for (let round = 0; round < 3; ++round) {
        const answers = await Promise.all(queries.map((query) => client.query(query)));
        for (const [n, { rows }] of answers.entries()) {
          const [letter, count] = queries[n].values;
          assert.deepEqual(rows, [{ v: letter.repeat(count), letter, n: count, j: letter }]);
        }
      }
    });

    it('when it is very long', async () => {
      const client = await newClient();
      for (let execution = 1; execution <= 4; ++execution) {
        const { rows } = await client.query(
          "select repeat('0123456789', 2000000) as a, repeat('é漢😀', 1000000) as b, 'after' as c, " +
            "to_jsonb(repeat('é', 2000000)) as j, decode(repeat('00ff', 1000000), 'hex') as bytes",
        );
        const [row] = rows;
        assert.ok(row.a === '0123456789'.repeat(2000000));
        assert.ok(row.b === 'é漢😀'.repeat(1000000));
        assert.equal(row.c, 'after');
        assert.ok(row.j === 'é'.repeat(2000000));
        assert.ok(row.bytes.equals(Buffer.alloc(2000000, Buffer.from([0, 255]))));
      }
    });

    it('when json and bytea pass the size of a chunk', async () => {
      const client = await newClient();
      const text = `select g, json_build_object('g', g, 't', repeat('é', 200)) as j,
        jsonb_build_array(g, null, repeat('e', 200)) as b, decode(repeat(to_hex(g % 16) || '0', 300), 'hex') as bytes
        from generate_series(1, 6000) g`;
      await sameAsPg(client, text);
    });

    it('also for values that are kept while later results come', async () => {
      const client = await newClient();
      const kept = [];
      for (let n = 0; n < 200; ++n) {
        const { rows } = await client.query(
          "select decode(lpad(to_hex($1::int), 8, '0'), 'hex') as bytes, repeat($1::text, 5) as a, " +
            "repeat('é' || $1, 5) as b",
          [n],
        );
        kept.push(rows[0]);
      }
      for (const [n, row] of kept.entries()) {
        const bytes = Buffer.alloc(4);
        bytes.writeUInt32BE(n);
        assert.deepEqual(row, { bytes, a: `${n}`.repeat(5), b: `é${n}`.repeat(5) });
      }
    });
  });

  it('come in binary from the third execution on, where all columns can be decoded', async () => {
    const client = await newClient();
    const isBinary = (text) =>
      (connectionOf(client).statements.find(text).flags & flag.binary) !== 0;
    const decodable = [
      ...['bool', 'bytea', 'int2', 'int4', 'int8', 'oid', 'float8', 'json', 'jsonb', 'date'],
      ...['time', 'timestamp', 'timestamptz', 'numeric', 'uuid', 'text', 'varchar', 'name'],
    ];
    const text = `select ${decodable.map((type) => `null::${type} as ${type}`).join(', ')}`;
    for (let execution = 1; execution <= 3; ++execution) await client.query(text);
    assert.ok(isBinary(text));
    const mixed = 'select 1 as one, point(1, 2) as p';
    for (let execution = 1; execution <= 3; ++execution) await client.query(mixed);
    assert.ok(!isBinary(mixed));
  });

  describe('of random values are those of pg', () => {
    const COLUMNS = {
      b: ['bool', fc.boolean()],
      i2: ['int2', fc.integer({ min: -32768, max: 32767 })],
      i4: ['int4', fc.integer()],
      i8: ['int8', fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })],
      f4: ['float4', fc.float()],
      f8: ['float8', fc.double()],
      num: [
        'numeric',
        fc
          .tuple(fc.bigInt({ min: -(10n ** 60n), max: 10n ** 60n }), fc.nat(80))
          .map(([digits, scale]) => `${digits}e-${scale}`),
      ],
      t: ['text', fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', ''))],
      a: ['text', fc.string()],
      by: ['bytea', fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes))],
      u: ['uuid', fc.uuid()],
      js: ['json', fc.json({ stringUnit: 'binary' })],
      jb: ['jsonb', fc.json({ maxDepth: 3 }).map((json) => json.replaceAll('\\u0000', ''))],
      d: [
        'date',
        fc.date({
          min: new Date('0000-03-02T00:00Z'),
          max: new Date('9999-12-30T00:00Z'),
          noInvalidDate: true,
        }),
      ],
      ts: [
        'timestamp',
        fc.date({ min: new Date(-2e14), max: new Date(8e15), noInvalidDate: true }),
      ],
      tz: [
        'timestamptz',
        fc.date({ min: new Date(-6e13), max: new Date(8e15), noInvalidDate: true }),
      ],
      i4s: ['int4[]', fc.array(fc.option(fc.integer()), { maxLength: 5 })],
      ts4: ['text[]', fc.array(fc.option(fc.string()), { maxLength: 5 })],
      f8s: ['float8[]', fc.array(fc.double(), { maxLength: 5 })],
    };
    const names = Object.keys(COLUMNS);
    const row = fc.tuple(
      ...Object.values(COLUMNS).map(([, arbitrary]) => fc.option(arbitrary, { freq: 6 })),
    );

    it('whichever driver has written them', async () => {
      const client = await newClient();
      const columns = Object.entries(COLUMNS).map(([name, [type]]) => `${name} ${type}`);
      await client.query(`create table random_values (driver text, n int, ${columns.join(', ')})`);
      const insert = `insert into random_values values ($1, $2, ${names.map((_, n) => `$${n + 3}`).join(', ')})`;
      const select = `select n, ${names.join(', ')} from random_values where driver = $1 order by n`;
      await holds(
        fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 12 }), async (rows) => {
          await client.query('delete from random_values');
          for (const [n, values] of rows.entries()) {
            await reference.query(insert, ['pg', n, ...values]);
          }
          await Promise.all(rows.map((values, n) => client.query(insert, ['ours', n, ...values])));
          const expected = describeResult(await reference.query(select, ['pg']));
          assert.equal(expected.rowCount, rows.length);
          const results = [await reference.query(select, ['ours'])];
          results.push(...(await Promise.all([1, 2].map(() => client.query(select, ['ours'])))));
          results.push(await client.query({ text: select, values: ['pg'], prepare: false }));
          for (const result of results) assert.deepStrictEqual(describeResult(result), expected);
        }),
        60,
      );
    });

    it('for float4, by its bits', async () => {
      const client = await newClient();
      const text = 'select v from unnest($1::float4[]) v';
      const word = fc.integer({ min: 0, max: 0xffffffff });
      await holds(
        fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 400 }), async (words) => {
          const floats = [...new Float32Array(new Uint32Array(words).buffer)];
          const expected = await reference.query(text, [floats]);
          for (let execution = 1; execution <= 3; ++execution) {
            const { rows } = await client.query(text, [floats]);
            for (const [n, { v }] of rows.entries()) assert.deepEqual(v, expected.rows[n].v);
          }
        }),
        100,
      );
    });
  });

  describe('of int8 are what the option int8 says', () => {
    const SAFE = ['0', '1', '-1', '2147483648', '9007199254740991', '-9007199254740991'];
    const UNSAFE = [
      '9007199254740992',
      '-9007199254740992',
      '9223372036854775807',
      '-9223372036854775808',
    ];
    const CONVERT = { string: String, number: Number, bigint: BigInt };

    for (const int8 of ['string', 'number', 'bigint']) {
      it(`${int8}, for values and arrays`, async () => {
        const client = await newClient({ int8 });
        const texts = int8 === 'number' ? SAFE : [...SAFE, ...UNSAFE];
        const values = [...texts.map(CONVERT[int8]), null];
        for (let execution = 1; execution <= EXECUTIONS; ++execution) {
          const each = await client.query(selectEach('int8', texts));
          assert.deepStrictEqual(
            each.rows.map(({ v }) => v),
            values,
          );
          const { rows } = await client.query({
            text: selectEach('int8', texts),
            rowMode: 'array',
          });
          assert.deepStrictEqual(
            rows.map(([, v]) => v),
            values,
          );
          const arrays = await client.query(selectArrays('int8', texts));
          assert.deepStrictEqual(arrays.rows, [
            {
              flat: values,
              nested: [values, values],
              deep: [
                [[values[0]], [null]],
                [[null], [values[0]]],
              ],
              empty: [],
              bounds: [values[0], values[0]],
              none: null,
            },
          ]);
        }
      });
    }

    it('with other columns beside and behind them', async () => {
      for (const int8 of ['string', 'number', 'bigint']) {
        const client = await newClient({ int8 });
        const convert = CONVERT[int8];
        for (let execution = 1; execution <= EXECUTIONS; ++execution) {
          const { rows } = await client.query(
            "select g::int4 as a, g::int8 as b, g || 'é' as c, (-g)::int8 as d, g::float8 / 2 as e, " +
              "case when g % 2 = 0 then g::int8 end as f, json_build_array(g) as j, g::int8 as h, 'end' as i " +
              'from generate_series(1, 50) g',
          );
          assert.deepStrictEqual(
            rows,
            Array.from({ length: 50 }, (_, n) => {
              const g = n + 1;
              return {
                ...{ a: g, b: convert(g), c: `${g}é`, d: convert(-g), e: g / 2 },
                ...{ f: g % 2 === 0 ? convert(g) : null, j: [g], h: convert(g), i: 'end' },
              };
            }),
          );
        }
      }
    });

    it('where a number would not be exact its query rejects, and the others go on', async () => {
      const client = await newClient({ int8: 'number' });
      for (const unsafe of UNSAFE) {
        for (const column of [
          `${quote(unsafe)}::int8`,
          `array[1, null, ${quote(unsafe)}]::int8[]`,
        ]) {
          const text = `select g, case when g = 700 then ${column} end as v from generate_series(1, 1000) g`;
          for (let execution = 1; execution <= EXECUTIONS; ++execution) {
            const outcomes = await Promise.allSettled([
              client.query('select 1::int8 as v'),
              client.query(text),
              client.query('select $1::int8 as v', [execution]),
            ]);
            assert.deepStrictEqual(outcomes[0].value.rows, [{ v: 1 }]);
            assert.ok(outcomes[1].reason instanceof ResultError);
            assert.equal(outcomes[1].reason.code, 'ERR_PG_CONDUIT_RESULT');
            assert.match(outcomes[1].reason.message, /int8: 'bigint'/);
            assert.deepStrictEqual(outcomes[2].value.rows, [{ v: execution }]);
          }
        }
      }
    });

    it('except that a parser for int8 goes first', async () => {
      const client = await newClient({ int8: 'bigint' });
      client.setTypeParser(INT8, (text) => `parsed ${text}`);
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        const { rows } = await client.query('select 5::int8 as v, array[5::int8] as a');
        assert.deepStrictEqual(rows, [{ v: 'parsed 5', a: [5n] }]);
      }
      client.setTypeParser(INT8_ARRAY, (text) => text);
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        const { rows } = await client.query('select 5::int8 as v, array[5::int8] as a');
        assert.deepStrictEqual(rows, [{ v: 'parsed 5', a: '{5}' }]);
      }
    });
  });

  describe('go through the parsers of the user', () => {
    const ALL = `select 1 as i4, 2::int2 as i2, 3::int8 as i8, 1.5::float8 as f8, 1.5::float4 as f4,
      1.50::numeric as n, true as b, 'é'::text as t, '\\x00ff'::bytea as by, '2020-01-01'::date as d,
      '2020-01-01 12:00'::timestamp as ts, '2020-01-01 12:00+00'::timestamptz as tz, '12:00'::time as ti,
      '{"a": 1}'::json as j, '[1]'::jsonb as jb, '${UUID}'::uuid as u, 4::oid as o, array[1, 2] as a`;
    const shout = (value) => `parsed ${typeof value} ${value}`;

    /** @type {[number, Function][]} */
    let replaced = [];
    function setGlobally(oid, parser) {
      replaced.push([oid, types.getTypeParser(oid, 'text')]);
      types.setTypeParser(oid, parser);
    }
    afterEach(() => {
      for (const [oid, parser] of replaced.reverse()) types.setTypeParser(oid, parser);
      replaced = [];
    });

    const OIDS = [BOOL, BYTEA, DATE, FLOAT8, INT4, INT8, NUMERIC, TEXT, TIMESTAMPTZ, ...JSON_OIDS];

    it('set for everybody, as pg does', async () => {
      const client = await newClient();
      for (const oid of OIDS) {
        setGlobally(oid, shout);
        const rows = await sameAsPg(client, ALL);
        assert.ok(
          Object.values(rows[0]).some((value) => String(value).startsWith('parsed string')),
        );
      }
    });

    it('set and restored between executions of a prepared statement', async () => {
      const client = await newClient();
      await sameAsPg(client, ALL);
      for (const oid of OIDS) {
        const before = types.getTypeParser(oid, 'text');
        setGlobally(oid, shout);
        await sameAsPg(client, ALL, { executions: 2 });
        types.setTypeParser(oid, before);
        await sameAsPg(client, ALL, { executions: 2 });
      }
    });

    it('set for one client, and not for another', async () => {
      const client = await newClient();
      const other = await newClient();
      const plain = describeResult(await reference.query(ALL));
      const likeIt = new pg.Client(options());
      await likeIt.connect();
      try {
        await client.query(ALL);
        for (const oid of OIDS) {
          client.setTypeParser(oid, shout);
          likeIt.setTypeParser(oid, 'text', shout);
          const expected = describeResult(await likeIt.query(ALL));
          for (let execution = 1; execution <= 4; ++execution) {
            assert.deepStrictEqual(describeResult(await client.query(ALL)), expected);
            assert.deepStrictEqual(describeResult(await other.query(ALL)), plain);
          }
        }
      } finally {
        await likeIt.end();
      }
    });

    it('given in the options of the client', async () => {
      const overrides = new TypeOverrides();
      overrides.setTypeParser(INT4, shout);
      const client = await newClient({ types: overrides });
      for (let execution = 1; execution <= 4; ++execution) {
        assert.deepStrictEqual((await client.query('select 1 as i, 2::int8 as b')).rows, [
          { i: 'parsed string 1', b: '2' },
        ]);
      }
      client.setTypeParser(INT8, shout);
      for (let execution = 1; execution <= 4; ++execution) {
        assert.deepStrictEqual((await client.query('select 1 as i, 2::int8 as b')).rows, [
          { i: 'parsed string 1', b: 'parsed string 2' },
        ]);
      }
      // The client's own do not leak into the object that it was given.
      assert.equal(overrides.getTypeParser(INT8), types.getTypeParser(INT8));
    });

    it('given with a query, also alternately with others', async () => {
      const client = await newClient();
      const raw = { getTypeParser: () => (value) => value };
      const overrides = new TypeOverrides();
      overrides.setTypeParser(TIMESTAMPTZ, (value) => value);
      for (let round = 0; round < 3; ++round) {
        await sameAsPg(client, ALL, { executions: 1 });
        await sameAsPg(client, { text: ALL, types: raw }, { executions: 1 });
        await sameAsPg(
          client,
          { text: ALL, types: overrides, rowMode: 'array' },
          { executions: 1 },
        );
        await sameAsPg(client, { text: ALL, types: overrides }, { executions: 2 });
      }
      const expected = [];
      for (const one of [{}, { types: raw }, { types: overrides }, { rowMode: 'array' }]) {
        const query = { text: ALL, ...one };
        expected.push({ query, result: describeResult(await reference.query(query)) });
      }
      // Pipelined: several ways to read one statement in one delivery.
      await Promise.all(
        Array.from({ length: 40 }, async (_, n) => {
          const { query, result } = expected[n % expected.length];
          assert.deepStrictEqual(describeResult(await client.query(query)), result);
        }),
      );
    });

    it('from an object that changes its mind', async () => {
      const client = await newClient();
      let parser = (value) => `first ${value}`;
      const moody = { getTypeParser: () => parser };
      for (const word of ['first', 'second', 'third', 'fourth', 'fifth']) {
        parser = (value) => `${word} ${value}`;
        const { rows } = await client.query({ text: 'select 1 as i, true as b', types: moody });
        assert.deepStrictEqual(rows, [{ i: `${word} 1`, b: `${word} t` }]);
      }
    });

    it('which are not asked about NULL', async () => {
      setGlobally(INT4, () => assert.fail('asked'));
      setGlobally(TEXT, () => assert.fail('asked'));
      const client = await newClient();
      await sameAsPg(client, 'select null::int4 as a, null::text as b, 1::int8 as c');
    });

    it('and a parser that throws rejects its query only', async () => {
      const client = await newClient();
      const failure = new RangeError('no such thing');
      const overrides = new TypeOverrides();
      overrides.setTypeParser(INT4, (text) => {
        if (text === '13') throw failure;
        return Number(text);
      });
      const text = 'select g from generate_series($1::int, $2::int) g';
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        const query = (...values) => client.query({ text, values, types: overrides });
        const outcomes = await Promise.allSettled([query(1, 3), query(10, 15), query(14, 16)]);
        assert.deepStrictEqual(outcomes[0].value.rows, [{ g: 1 }, { g: 2 }, { g: 3 }]);
        const { reason } = outcomes[1];
        assert.ok(reason instanceof ResultError);
        assert.equal(reason.code, 'ERR_PG_CONDUIT_RESULT');
        assert.equal(reason.cause, failure);
        assert.match(reason.message, /no such thing/);
        assert.deepStrictEqual(outcomes[2].value.rows, [{ g: 14 }, { g: 15 }, { g: 16 }]);
      }
    });

    it('and a parser that throws something else than an error does so too', async () => {
      const client = await newClient();
      for (const thrown of [undefined, null, 'text', 0]) {
        const throwing = {
          getTypeParser: () => () => {
            throw thrown;
          },
        };
        const outcomes = await Promise.allSettled([
          client.query({ text: 'select 1 as one', types: throwing }),
          client.query('select 1 as one'),
        ]);
        assert.ok(outcomes[0].reason instanceof ResultError);
        assert.deepStrictEqual(outcomes[1].value.rows, [{ one: 1 }]);
      }
    });

    it('and a parser may send a query itself', async () => {
      const client = await newClient();
      const inner = [];
      const overrides = new TypeOverrides();
      overrides.setTypeParser(INT4, (text) => {
        inner.push(client.query('select $1::text as t', [`inner ${text}`]));
        return Number(text);
      });
      const outer = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          client.query({ text: 'select $1::int4 as n', values: [n], types: overrides }),
        ),
      );
      assert.deepStrictEqual(
        outer.map(({ rows }) => rows[0].n),
        [...Array(20).keys()],
      );
      const answers = await Promise.all(inner);
      assert.deepStrictEqual(
        answers.map(({ rows }) => rows[0].t),
        Array.from({ length: 20 }, (_, n) => `inner ${n}`),
      );
    });
  });

  if (process.env[NO_CODE_GENERATION]) {
    it('are made where code generation from strings is disallowed', () => {
      assert.throws(() => new Function('return 1'), EvalError);
    });
    return;
  }

  if (process.env.PG_CONDUIT_TEST_TZ) return;

  it('have the leap day of the year 1 BC in timestamptz, for which pg gives the next day', async () => {
    // Date.UTC() takes the year 0 for 1900; the binary format has no such gap, and both must agree.
    const client = await newClient();
    const leapDay = '0001-02-29 12:00:00 BC';
    for (let execution = 1; execution <= EXECUTIONS; ++execution) {
      const { rows } = await client.query(`select '${leapDay}+00'::timestamptz as v`);
      assert.equal(rows[0].v.toISOString(), '0000-02-29T12:00:00.000Z');
    }
    const others = ['0001-03-01 00:00:00 BC', '0001-02-28 23:59:59 BC', '0005-02-29 12:00:00 BC'];
    await sameAsPg(client, selectEach('timestamptz', others));
    for (const type of ['timestamp', 'date']) {
      await sameAsPg(client, selectEach(type, [leapDay, ...others]));
    }
  });

  // These run this file anew, and make its schema anew: they stay at the end.

  describe('are the same', () => {
    const ZONES = [
      ...['UTC', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe'],
      'America/Sao_Paulo',
    ];
    for (const zone of ZONES) {
      it(`for dates and times in a process whose TZ is ${zone}`, async () => {
        await runThisFile(['--grep', 'of dates and times'], [], {
          TZ: zone,
          PG_CONDUIT_TEST_TZ: '1',
        });
      });
    }

    it('where code generation from strings is disallowed', async () => {
      const passed = await runThisFile([], ['--disallow-code-generation-from-strings'], {
        [NO_CODE_GENERATION]: '1',
        FAST_CHECK_SEED: String(SEED),
      });
      assert.match(passed, /are made where code generation from strings is disallowed/);
    });
  });
});

/** @returns {Promise<string>} what mocha has printed */
async function runThisFile(mochaOptions, nodeOptions, env) {
  const root = path.join(__dirname, '..');
  const mocha = path.join(path.dirname(require.resolve('mocha/package.json')), 'bin', 'mocha.js');
  const { ...inherited } = process.env;
  delete inherited.NODE_OPTIONS;
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [...nodeOptions, mocha, '--no-config', '--timeout', '60000', ...mochaOptions, __filename],
      { cwd: root, env: { ...inherited, ...env }, maxBuffer: 64 << 20 },
    );
    return stdout;
  } catch (error) {
    throw new Error(`tests have failed there:\n${error.stdout ?? error.message}`, { cause: error });
  }
}
