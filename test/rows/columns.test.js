'use strict';

// rowMode: 'columns': the same values as in the rows of `pg`, one array for each column, whatever the
// format in which they come: unprepared, preparing, and from the third execution on in binary.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const fc = require('fast-check');
const { ConnectionError, ParameterError, ResultError, TypeOverrides, types } = require('../..');
const { SCHEMA, endAll, newClient, newPool, resetSchema } = require('../support/connect');
const { closeReference, openReference } = require('../support/like-pg');
const { errorOf } = require('../support/outcomes');
const { until } = require('../support/outside');
const { withEnvironment } = require('../support/process');
const { Proxy } = require('../support/proxy');
const { IS_LONG, holds } = require('../support/property');

const EXECUTIONS = 5;

/** By type: the array of a column, and what it has for a value of `pg`. */
const ARRAYS = {
  bool: [Uint8Array, (value) => (value ? 1 : 0)],
  int2: [Int32Array],
  int4: [Int32Array],
  oid: [Uint32Array],
  int8: [BigInt64Array, BigInt],
  float4: [Float64Array],
  float8: [Float64Array],
  date: [Float64Array, Number],
  timestamp: [Float64Array, Number],
  timestamptz: [Float64Array, Number],
  numeric: [Array],
  text: [Array],
  uuid: [Array],
  time: [Array],
  interval: [Array],
  json: [Array],
  jsonb: [Array],
  bytea: [Array],
  'int4[]': [Array],
};

const VALUES = {
  bool: ['t', 'f'],
  int2: ['0', '-32768', '32767'],
  int4: ['0', '-1', '2147483647', '-2147483648'],
  oid: ['0', '4294967295'],
  int8: ['0', '-1', '9223372036854775807', '-9223372036854775808'],
  float4: ['0.1', 'NaN', '-0', '1e-45'],
  float8: ['0.1', 'NaN', '-0', 'Infinity', '-Infinity', '5e-324'],
  date: ['2024-02-29', 'infinity', '-infinity', '0099-01-01', '0001-01-01 BC'],
  timestamp: ['2024-03-31 02:30:00.123', 'infinity', '1890-01-01 12:00', '2024-10-27 02:30'],
  timestamptz: ['2024-03-31 02:30:00.123456+00', '-infinity', '0044-03-15 12:00+00 BC'],
  numeric: ['0', '-1.50', 'NaN', '12345678901234567890.5'],
  text: ['', 'a', 'grüße 😀', 'x'.repeat(300)],
  uuid: ['00112233-4455-6677-8899-aabbccddeeff'],
  time: ['12:34:56.700', '24:00:00'],
  interval: ['1 year 2 days 00:00:03.5'],
  json: ['{"a":[1,null]}', '"é"'],
  jsonb: ['{"a":[1,null]}', '[]'],
  bytea: ['\\x', '\\x00ff'],
  'int4[]': ['{1,NULL,3}', '{}'],
};

/** What the column of these values is, as pg has them in its rows. */
function expectedColumn(type, name, values) {
  const [Kind, convert = (value) => value] = ARRAYS[type];
  const nulls = values.map((value) => (value === null ? 1 : 0));
  const inTypedArray = Kind === BigInt64Array ? 0n : Kind === Float64Array ? NaN : 0;
  const empty = Kind === Array ? null : inTypedArray;
  return {
    name,
    values: Kind.from(values, (value) => (value === null ? empty : convert(value))),
    nulls: nulls.includes(1) ? Uint8Array.from(nulls) : null,
  };
}

const inColumns = (text, values = []) => ({ text, values, rowMode: 'columns' });

describe("rowMode: 'columns'", () => {
  /** @type {import('pg').Client} */
  let reference;

  before(async () => {
    await resetSchema();
    reference = await openReference();
  });
  after(closeReference);
  afterEach(endAll);

  async function sameValues(client, text, values, typesOfColumns) {
    const { rows, fields } = await reference.query({ text, values, rowMode: 'array' });
    const expected = fields.map(({ name }, index) => {
      const column = rows.map((row) => row[index]);
      return expectedColumn(typesOfColumns[index], name, column);
    });
    for (let execution = 1; execution <= EXECUTIONS; ++execution) {
      const result = await client.query(inColumns(text, values));
      assert.deepStrictEqual(result.columns, expected);
      assert.deepEqual(result.rows, []);
      assert.equal(result.rowCount, rows.length);
      assert.deepEqual(
        result.fields.map(({ name }) => name),
        fields.map(({ name }) => name),
      );
    }
  }

  for (const [type, values] of Object.entries(VALUES)) {
    it(`has the values of ${type} that pg has, with and without NULLs`, async () => {
      const client = await newClient();
      const text = `select v::${type} as v from unnest($1::text[]) with ordinality as u(v, n) order by n`;
      await sameValues(client, text, [values], [type]);
      await sameValues(client, text, [[null, ...values, null, null]], [type]);
      await sameValues(client, text, [[null]], [type]);
      await sameValues(client, text, [[]], [type]);
    });
  }

  it('tells the null of JSON from NULL', async () => {
    const client = await newClient();
    for (let execution = 1; execution <= EXECUTIONS; ++execution) {
      const { columns } = await client.query(
        inColumns("select 'null'::jsonb as a union all select null"),
      );
      assert.deepEqual(columns, [{ name: 'a', values: [null, null], nulls: Uint8Array.of(0, 1) }]);
    }
  });

  it('has random values as pg has them', async () => {
    const client = await newClient();
    const columns = {
      bool: fc.boolean(),
      int4: fc.integer(),
      int8: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      float8: fc.double(),
      timestamp: fc.date({ min: new Date(-2e14), max: new Date(8e15), noInvalidDate: true }),
      timestamptz: fc.date({ min: new Date(-6e13), max: new Date(8e15), noInvalidDate: true }),
      date: fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }),
      text: fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', '')),
      jsonb: fc.json({ maxDepth: 2 }).map((json) => `[${json.replaceAll('\\u0000', '')}]`),
    };
    const names = Object.keys(columns);
    const text = `select ${names.map((name) => `${name}_`)} from unnest(${names.map(
      (name, index) => `$${index + 1}::${name}[]`,
    )}) as u(${names.map((name) => `${name}_`)})`;
    const row = fc.tuple(...Object.values(columns).map((of) => fc.option(of, { freq: 6 })));
    await holds(
      fc.asyncProperty(fc.array(row, { maxLength: 30 }), async (rows) => {
        await sameValues(
          client,
          text,
          names.map((_, index) => rows.map((values) => values[index])),
          names,
        );
      }),
      IS_LONG ? 120 : 30,
    );
  });

  it('has large results, in arrays whose memory is their own', async () => {
    const client = await newClient();
    const text = `select i, i / 2.0::float8 as half, case when i % 1000 > 0 then i::int8 end as big,
      case when i % 3 > 0 then 'text number ' || i end as t, timestamp '2024-01-01' + i * interval '1 minute' as at
      from generate_series(1, $1::int) i`;
    for (const count of [1, 63, 64, 65, 256, 257, 5000, 20_000, 300, 5000]) {
      await sameValues(client, text, [count], ['int4', 'float8', 'int8', 'text', 'timestamp']);
      const { columns } = await client.query(inColumns(text, [count]));
      for (const { values, nulls } of columns) {
        if (!Array.isArray(values)) assert.equal(values.buffer.byteLength, values.byteLength);
        if (nulls !== null) assert.equal(nulls.buffer.byteLength, count);
      }
    }
  });

  it('holds back a part of a result, and nothing else: not the answers of others, an error or a loss', async () => {
    const proxy = await Proxy.open();
    try {
      const [behind, other] = [await newClient(proxy.options()), await newClient()];
      const text = 'select i, 1 / (i - $2::int) as j from generate_series(1, $1::int) i';
      for (let use = 0; use < EXECUTIONS; ++use) await behind.query(inColumns(text, [10, 0]));
      proxy.pieceBytes = 900;
      const { columns } = await behind.query(inColumns(text, [3000, 0]));
      assert.deepEqual(
        columns[0].values,
        Int32Array.from({ length: 3000 }, (_, index) => index + 1),
      );
      assert.equal((await errorOf(behind.query(inColumns(text, [3000, 2500])))).code, '22012');

      // A part has come then: all of it would take more than a second.
      const holdMidway = async () => {
        const { toDriver } = proxy.bytes;
        await until('the server answers', () => proxy.bytes.toDriver > toDriver);
        await delay(100);
        proxy.hold();
      };
      proxy.bytesPerSecond = 50_000;
      const running = behind.query(inColumns(text, [3000, 0]));
      await holdMidway();
      const before = performance.eventLoopUtilization();
      await delay(200);
      assert.ok(performance.eventLoopUtilization(before).idle > 0, 'the loop did not sleep');
      assert.deepEqual((await other.query('select 1 as one')).rows, [{ one: 1 }]);
      proxy.release();
      assert.deepEqual((await running).columns, columns);

      const lost = errorOf(behind.query(inColumns(text, [3000, 0])));
      await holdMidway();
      await proxy.close();
      assert.ok((await lost) instanceof ConnectionError);
    } finally {
      await proxy.close();
    }
  });

  it('has times in the time zone of the process, which may change', async () => {
    const client = await newClient();
    const text = `select t::timestamp as t, t::date as d from generate_series(
      timestamp '2024-03-29', timestamp '2024-11-05', interval '5 hours 7 minutes') t`;
    for (const TZ of ['Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe', 'UTC']) {
      await withEnvironment({ TZ }, () => sameValues(client, text, [], ['timestamp', 'date']));
    }
  });

  it('has no columns where a statement has none', async () => {
    const client = await newClient();
    const created = await client.query(inColumns('create table empty_one (a int)'));
    assert.deepEqual(created.columns, []);
    const inserted = await client.query(inColumns('insert into empty_one values (1), (2)'));
    assert.deepEqual([inserted.columns, inserted.rowCount], [[], 2]);
    assert.deepEqual((await client.query(inColumns(''))).columns, []);
    const all = await client.query({ text: 'select 1 as a; select', rowMode: 'columns' });
    assert.deepEqual(
      all.map(({ columns, rowCount }) => [columns.map(({ name }) => name), rowCount]),
      [
        [['a'], 1],
        [[], 1],
      ],
    );
  });

  it('has a column for each field, also if two have one name, and the keys of rowKeys', async () => {
    const client = await newClient({ rowKeys: 'camel' });
    for (let execution = 1; execution <= EXECUTIONS; ++execution) {
      const { columns } = await client.query(inColumns('select 1 as user_id, 2 as user_id'));
      assert.deepEqual(columns, [
        { name: 'userId', values: Int32Array.of(1), nulls: null },
        { name: 'userId', values: Int32Array.of(2), nulls: null },
      ]);
    }
  });

  it('has int8 as the option int8 says, and never as text', async () => {
    const text = 'select v::int8 as v, array[v]::int8[] as a from unnest($1::text[]) v';
    for (const [int8, values, item] of [
      ['string', BigInt64Array.of(9007199254740993n), '9007199254740993'],
      ['bigint', BigInt64Array.of(9007199254740993n), 9007199254740993n],
      ['number', Float64Array.of(9007199254740991), 9007199254740991],
    ]) {
      const client = await newClient({ int8 });
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        const { columns } = await client.query(inColumns(text, [[String(values[0])]]));
        assert.deepStrictEqual(columns[0].values, values);
        assert.deepStrictEqual(columns[1].values, [[item]]);
        // The rows of the same text are as ever.
        const { rows } = await client.query(text, [[String(values[0])]]);
        const plain = int8 === 'string' ? String(values[0]) : values[0];
        assert.deepStrictEqual(rows, [{ v: plain, a: [item] }]);
      }
      if (int8 !== 'number') continue;
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        const tooLarge = client.query({ ...inColumns('select 9007199254740993::int8 as v') });
        assert.ok((await errorOf(tooLarge)) instanceof ResultError);
      }
    }
  });

  it('has an ordinary array of what a parser of the user returns', async () => {
    const client = await newClient();
    const own = new TypeOverrides();
    own.setTypeParser(types.builtins.INT4, (text) => `<${text}>`);
    const text = 'select 1 as a, null::int4 as b, 2::int2 as c, 1.5::float8 as d, now() as e';
    for (let execution = 1; execution <= EXECUTIONS; ++execution) {
      const { columns } = await client.query({ ...inColumns(text), types: own });
      assert.deepEqual(columns.slice(0, 4), [
        { name: 'a', values: ['<1>'], nulls: null },
        { name: 'b', values: [null], nulls: Uint8Array.of(1) },
        { name: 'c', values: Int32Array.of(2), nulls: null },
        { name: 'd', values: Float64Array.of(1.5), nulls: null },
      ]);
      assert.ok(columns[4].values instanceof Float64Array);
      assert.ok(Math.abs(columns[4].values[0] - Date.now()) < 600_000);
    }
    const texts = await newClient({ timestamp: 'string' });
    const { columns } = await texts.query(inColumns("select timestamp '2024-01-01 00:00' as t"));
    assert.deepEqual(columns[0].values, ['2024-01-01 00:00:00']);
  });

  it('rejects with what a parser throws, and other queries are as ever', async () => {
    const client = await newClient();
    const own = new TypeOverrides();
    own.setTypeParser(types.builtins.NUMERIC, () => {
      throw new Error('not this one');
    });
    const text = 'select 1.5 as a from generate_series(1, 3)';
    for (let execution = 1; execution <= EXECUTIONS; ++execution) {
      const failing = client.query({ ...inColumns(text), types: own });
      const other = client.query(inColumns(text));
      assert.match((await errorOf(failing)).message, /not this one/);
      assert.deepEqual((await other).columns[0].values, ['1.5', '1.5', '1.5']);
    }
  });

  it('works on pools, in batches, in transactions and with borrowed clients', async () => {
    const pool = newPool({ max: 2 });
    const query = inColumns('select $1::int as a', [7]);
    const check = ({ columns }) => assert.deepEqual(columns[0].values, Int32Array.of(7));
    for (let execution = 1; execution <= EXECUTIONS; ++execution) {
      (await Promise.all(Array.from({ length: 20 }, () => pool.query(query)))).forEach(check);
      (await pool.batch([query, query])).forEach(check);
      await pool.transaction(async (transaction) => check(await transaction.query(query)));
      const client = await pool.connect();
      check(await client.query(query));
      client.release();
    }
  });

  it('has the arrays of enums that fetchTypes knows', async () => {
    const client = await newClient();
    await client.query(`drop type if exists hue; create type hue as enum ('red', 'blue')`);
    const fetching = await newClient({ fetchTypes: true });
    const text = `select array['red', null]::${SCHEMA}.hue[] as hues`;
    const { columns } = await fetching.query(inColumns(text));
    assert.deepEqual(columns[0].values, [['red', null]]);
    await client.query(`create type shade as enum ('dark')`);
    const later = await fetching.query(inColumns(`select array['dark']::${SCHEMA}.shade[] as s`));
    assert.deepEqual(later.columns[0].values, [['dark']]);
  });

  it('is refused by streams and cursors, and every other word by all', async () => {
    const client = await newClient();
    const refused = (error) =>
      error instanceof ParameterError && /rowMode: 'columns' is for query\(\)/.test(error.message);
    await assert.rejects(client.stream(inColumns('select 1')).toArray(), refused);
    await assert.rejects((await client.cursor(inColumns('select 1'))).read(1), refused);
    const wrong = client.query({ text: 'select 1', rowMode: 'column' });
    await assert.rejects(wrong, {
      message: "rowMode must be 'array', 'columns' or nothing, not column",
    });
  });
});
