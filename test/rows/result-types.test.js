'use strict';

// The values of each type, compared with those of `pg` on the same server. The first result of a query
// is text from an unprepared statement, the second text from a prepared one, and from the third
// on binary if the addon can decode all columns: each query runs often enough for all.

const assert = require('node:assert/strict');
const fc = require('fast-check');
const { connectionOf } = require('../../lib/client/client');
const { flag } = require('../../lib/base/wire-format');
const { SCHEMA, endAll, newClient, resetSchema } = require('../support/connect');
const {
  closeReference,
  describeResult,
  openReference,
  sameAsPg,
  withPg,
} = require('../support/like-pg');
const { holds } = require('../support/property');
const { ITEMS, selectArrays, selectEach } = require('../support/sql');

/** @type {import('pg').Client} */
let reference;

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
  uuid: [
    '00112233-4455-6677-8899-aabbccddeeff',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    '00000000-0000-0000-0000-000000000000',
  ],
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

describe('results', () => {
  before(async () => {
    await resetSchema();
    reference = await openReference();
    await reference.query(`
      ${ITEMS}
      create type mood as enum ('sad', 'très heureux', '{"quoted, braced"}');
      create domain positive as int4 check (value > 0);
      create domain short_text as varchar(3);
      create type pair as (a int4, b text);
      create type nested_pair as (p pair, d date);
    `);
  });
  after(closeReference);
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

    it('float4 values whose shortest decimal differs from that of PostgreSQL', async () => {
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

    it('bytea, also with bytea_output = escape', async () => {
      const bytes = Buffer.from(Array.from({ length: 512 }, (_, n) => n));
      const values = [
        bytes,
        Buffer.from('\\x00'),
        Buffer.from('\\\\\\'),
        Buffer.from('é\\'),
        Buffer.alloc(0),
      ];
      const query = {
        text: "select v, convert_from('aé', 'UTF8') as t from unnest($1::bytea[]) v",
        values: [values],
      };
      await withPg(async (like) => {
        const client = await newClient();
        for (const output of ['escape', 'hex']) {
          for (const one of [client, like]) await one.query(`set bytea_output = ${output}`);
          const rows = await sameAsPg(client, query, { like });
          assert.deepEqual(
            rows.map(({ v }) => v),
            values,
          );
          await sameAsPg(client, { ...query, prepare: false }, { like });
        }
      });
    });

    it('text of every length, with NULLs in between', async () => {
      const client = await newClient();
      await sameAsPg(
        client,
        "select case when g % 5 > 0 then repeat(chr(96 + g % 27), g) end as a, repeat('é', g % 7) " +
          "as b, left('aé漢😀', g % 5) as c from generate_series(0, 600) g",
      );
    });
  });

  it('are binary from the third execution on, if all columns can be decoded', async () => {
    const client = await newClient();
    const isBinary = (text) =>
      (connectionOf(client).statements.find(text).flags & flag.binary) !== 0;
    const decodable = [
      ...['bool', 'bytea', 'int2', 'int4', 'int8', 'oid', 'json', 'jsonb', 'date'],
      ...['time', 'timestamp', 'timestamptz', 'numeric', 'uuid', 'text', 'varchar', 'name'],
    ];
    const text = `select ${decodable.map((type) => `null::${type} as ${type}`).join(', ')}`;
    for (let execution = 1; execution <= 3; ++execution) await client.query(text);
    assert.ok(isBinary(text));
    // Behind the third one it is asked what the text of these would be: before the fourth is answered.
    const floats = 'select 1::float8 as f, 2 as i';
    for (let execution = 1; execution <= 3; ++execution) await client.query(floats);
    assert.ok(!isBinary(floats));
    for (let execution = 4; execution <= 5; ++execution) await client.query(floats);
    assert.ok(isBinary(floats));
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

    it('whichever driver has inserted them', async () => {
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
});
