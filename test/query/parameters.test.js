'use strict';

// What the server receives for each kind of JavaScript value, compared with `pg`, and for many in one
// tick. Values that cannot be sent: parameters-refused.test.js.

const assert = require('node:assert/strict');
const fc = require('fast-check');
const { Client } = require('../..');
const { endAll, newClient, newPool, options, resetSchema } = require('../support/connect');
const { EXECUTIONS, closeReference, openReference } = require('../support/like-pg');
const { errorOf } = require('../support/outcomes');
const { holds } = require('../support/property');
const { assertRefused, refusesOnly } = require('../support/refusals');

/** @type {import('pg').Client} */
let reference;

/** What became of a query, in a form that is equal for both drivers. */
async function outcome(client, query) {
  try {
    return (await client.query(query)).rows;
  } catch (error) {
    return { code: error.code, message: error.message };
  }
}

async function sameOutcomeAsPg(client, query) {
  const expected = await outcome(reference, query);
  for (let execution = 1; execution <= EXECUTIONS; ++execution) {
    assert.deepStrictEqual(await outcome(client, query), expected, `execution ${execution}`);
  }
  return expected;
}

describe('parameters', () => {
  before(async () => {
    await resetSchema();
    reference = await openReference();
  });
  after(closeReference);
  afterEach(endAll);

  describe('arrive as pg sends them:', () => {
    const bytes = Uint8Array.from({ length: 16 }, (_, n) => n * 17);
    const nested = { a: [1, { b: null }], ключ: 'é😀"\\', '': '', __proto__: null };
    const date = new Date('2024-02-29T12:34:56.789Z');
    class Money {
      constructor(cents) {
        this.cents = cents;
      }
      toPostgres(prepareValue) {
        return prepareValue(this.cents / 100);
      }
    }

    const VALUES = {
      numbers: [
        ...[0, -0, 1, -1, 0.1, 1.5, -2.25, 1e21, 1e-7, 5e-324, 1.7976931348623157e308],
        ...[NaN, Infinity, -Infinity, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), -(2 ** 31) - 1],
        ...[2 ** 32, 2 ** 53, -(2 ** 53), 2 ** 53 + 2, 123456789012, 4294967295],
      ],
      strings: [
        ...['', ' ', 'text', "it's", '"', '\\', '\\x41', '\\000', 'NULL', 'null', '$1', '{a,b}'],
        ...['\n\r\t\b\f\v\u0001\u007f', 'é', 'ÿ', 'Ā', '漢字', '😀', 'a😀é', '\ufeff', '\uffff'],
        ...['\u2028\u2029', 'e\u0301', '\u{10ffff}', 'x'.repeat(100000), 'é'.repeat(100000)],
      ],
      'strings with half of a surrogate pair': [
        ...['\ud83d', '\ude00', 'a\ud83d', '\ud83da', '\ude00\ud83d', '\ud83d\ud83d\ude00'],
        ...['\ud83dé', 'é\ude00', '\ud83d\u0800'],
      ],
      bigints: [0n, -1n, 2n ** 31n, 2n ** 63n - 1n, -(2n ** 63n), 10n ** 50n],
      booleans: [true, false],
      'null and undefined': [null, undefined],
      dates: [
        ...[date, new Date(0), new Date(-1), new Date('0001-01-01T00:00:00Z')],
        ...[new Date('-000043-03-15T12:00:00Z'), new Date('+010000-01-01T00:00:00Z')],
        ...[new Date('1890-06-01T00:00:00Z'), new Date('+275760-09-13T00:00:00Z')],
      ],
      arrays: [
        ...[[], [1, 2, 3], [null], [undefined, 1], ['a', 'b"c', 'd\\e', '', 'null', '{}', ' f ']],
        [
          [1, 2],
          [3, null],
        ],
        [[[['deep']]]],
        ...[[true, false], [1.5, NaN], [date], [Buffer.from([1, 255])], [10n], ['é', '漢', '😀']],
        // eslint-disable-next-line no-sparse-arrays
        [1, , 3],
        [{ a: 1 }, { b: ['"', '\\'] }],
        [new Money(150)],
        [[], []],
      ],
      objects: [
        ...[{}, nested, Object.create(null), new Money(250), /x/, new Error('x')],
        ...[
          { toJSON: () => ({ json: 1 }) },
          { toPostgres: () => 'plain' },
          { toPostgres: () => null },
        ],
        ...[{ toPostgres: () => [1, [2]].flat() }, { toPostgres: () => ({ toPostgres: () => 5 }) }],
        ...[new String('boxed'), new Number(5), new Boolean(false)],
      ],
      bytes: [
        ...[Buffer.from(bytes), Buffer.alloc(0), Buffer.from('text'), bytes, bytes.subarray(3, 7)],
        ...[new Uint16Array(bytes.buffer, 4, 3), new Float64Array(bytes.buffer, 8, 1)],
        ...[new DataView(bytes.buffer, 5, 4), new BigInt64Array(bytes.buffer), new Int8Array(0)],
        ...[Buffer.from(bytes.buffer, 2, 3), new Uint8ClampedArray([1, 2, 300])],
      ],
    };

    for (const [kind, values] of Object.entries(VALUES)) {
      it(kind, async () => {
        const client = await newClient();
        for (const value of values) {
          if (kind === 'bytes') {
            await sameOutcomeAsPg(client, { text: 'select $1::bytea as v', values: [value] });
            continue;
          }
          await sameOutcomeAsPg(client, { text: 'select $1::text as v', values: [value] });
          await sameOutcomeAsPg(client, {
            text: 'select $1 as v, $2::text as w',
            values: [value, 'end'],
          });
        }
        if (kind === 'bytes') return;
        await sameOutcomeAsPg(client, {
          text: `select ${values.map((_, n) => `$${n + 1}::text as v${n}`).join(', ')}`,
          values,
        });
      });
    }

    it('in queries for many types, with the same results or errors', async () => {
      const client = await newClient();
      const types = [
        ...['int2', 'int4', 'int8', 'float4', 'float8', 'numeric', 'bool', 'text', 'bytea', 'json'],
        ...[
          'jsonb',
          'date',
          'timestamp',
          'timestamptz',
          'int4[]',
          'text[]',
          'float8[]',
          'varchar(3)',
        ],
      ];
      const values = [
        ...[0, -0, 1.5, NaN, -Infinity, 2 ** 31, 2 ** 53, 1e21, '', '1', 'text', '{1,2}', '"json"'],
        ...[
          10n,
          2n ** 63n,
          true,
          null,
          undefined,
          date,
          [1, 2],
          [[1], [null]],
          ['a'],
          {},
          { a: [1] },
        ],
        ...[Buffer.from('1'), Buffer.from([1, 2]), new Uint8Array([49]), new Money(300)],
      ];
      for (const type of types) {
        const text = `select $1::${type} as v, pg_typeof($1)::text as type`;
        for (const value of values) await sameOutcomeAsPg(client, { text, values: [value] });
      }
    });

    it('in the columns of an INSERT, whose types the server infers', async () => {
      const client = await newClient();
      await client.query(
        'create table given (id int4, t text, n numeric, b bytea, j jsonb, a int4[], ts timestamptz, f float8)',
      );
      const rows = [
        [1, 'é', 1.5, Buffer.from([0, 255]), nested, [1, null], date, -0],
        ['2', 5, '0.10', null, [1], [], '2020-01-01', NaN],
        [3n, null, 10n ** 30n, Buffer.alloc(0), 'null', null, null, Infinity],
      ];
      // Arrays are PostgreSQL's arrays, also where the column is json: as in pg.
      rows[1][4] = JSON.stringify(rows[1][4]);
      const insert = 'insert into given values ($1, $2, $3, $4, $5, $6, $7, $8) returning *';
      for (const values of rows) await sameOutcomeAsPg(client, { text: insert, values });
    });

    it('too few or too many, with the error of the server', async () => {
      const client = await newClient();
      const text = 'select $1::int as a, $2::int as b';
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        for (const values of [[1], [1, 2, 3]]) {
          const expected = await outcome(reference, { text, values });
          assert.equal(expected.code, '08P01');
          assert.deepEqual(await outcome(client, { text, values }), expected);
        }
        assert.deepStrictEqual((await client.query(text, [1, 2])).rows, [{ a: 1, b: 2 }]);
      }
    });

    it('too few or too many, with a hint that has both numbers', async () => {
      const client = await newClient();
      const pool = newPool({ max: 1 });
      const two = 'select $1::int as a, $2::int as b';
      for (const [n, [text, values, hint]] of [
        [two, undefined, 'the text has $1 to $2, and no value was given'],
        [`${two}, 1`, [1], 'the text has $1 to $2, and 1 value was given'],
        [`${two}, 2`, [1, 2, 3], 'the text has $1 to $2, and 3 values were given'],
        ['select $1::int', [1, 2], 'the text has $1 alone, and 2 values were given'],
        ['select 1', [1], 'the text has no $1, and 1 value was given'],
      ].entries()) {
        const ownName = `one of the ${n}`;
        const faces = {
          'client.query()': () => client.query(text, values),
          'pool.query()': () => pool.query(text, values),
          'in a name': () => client.query({ text, values, name: ownName }),
          unprepared: () => client.query({ text, values, prepare: false }),
          'client.stream()': () => client.stream(text, values).toArray(),
          'client.cursor()': () => client.cursor(text, values).read(1),
          'a batch': () => pool.batch(['select 1', { text, values }]),
          'a transaction': () => pool.transaction((tx) => tx.query(text, values)),
        };
        for (const [face, ask] of Object.entries(faces)) {
          for (let execution = 1; execution <= EXECUTIONS; ++execution) {
            const error = await errorOf(ask());
            assert.equal(error.code, '08P01', face);
            assert.equal(error.hint, hint, face);
            assert.equal(error.outcome, 'not-run', face);
            const name = face === 'in a name' ? ownName : '';
            const given = values?.length ?? 0;
            const wanted = text.split('$').length - 1;
            assert.equal(
              error.message,
              `bind message supplies ${given} parameters, but prepared statement "${name}" requires ${wanted}`,
              face,
            );
          }
        }
      }
    });
  });

  it('are sent as they were when query() was called', async () => {
    const client = await newClient({});
    const other = new Client(options());
    const connected = other.connect();
    try {
      for (const one of [client, other]) {
        const values = ['text', [1, 2], { a: 1 }, new Date(0)];
        const query = one.query(
          'select $1::text as t, $2::int[] as a, $3::json as j, $4::timestamptz as d',
          values,
        );
        values[1].push(3);
        values[2].a = 2;
        values[3].setTime(1e12);
        values[0] = 'changed';
        assert.deepStrictEqual((await query).rows, [
          { t: 'text', a: [1, 2], j: { a: 1 }, d: new Date(0) },
        ]);
      }
    } finally {
      await connected;
      await other.end();
    }
  });

  describe('in great number', () => {
    const MAX = 65535;
    const numbered = (count) => Array.from({ length: count }, (_, n) => `$${n + 1}`).join(',');

    it('are sent, up to 65,535', async () => {
      const client = await newClient();
      const text = `select cardinality(a) as n, a[1] as first, a[65535] as last from (select array[${numbered(MAX)}]::int[] as a) given`;
      const values = Array.from({ length: MAX }, (_, n) => n * 3 - 5);
      for (let execution = 1; execution <= 3; ++execution) {
        const { rows } = await client.query(text, values);
        assert.deepEqual(rows, [{ n: MAX, first: -5, last: (MAX - 1) * 3 - 5 }]);
      }
    });

    it('are sent as text and as bytes', async () => {
      const client = await newClient();
      const count = 20000;
      const texts = Array.from({ length: count }, (_, n) => (n % 3 === 0 ? `é${n}` : `e${n}`));
      const bytes = texts.map((text) => Buffer.from(text));
      const text = (type) =>
        `select md5(string_agg(v, '' order by n)) as v from unnest(array[${numbered(count)}]::${type}[]) with ordinality as given (v, n)`;
      for (let execution = 1; execution <= 3; ++execution) {
        const [a, b] = await Promise.all([
          client.query(text('text'), texts),
          client.query(text('bytea'), bytes),
        ]);
        assert.equal(a.rows[0].v, b.rows[0].v);
      }
    });

    it('are refused from 65,536 on, and other queries succeed', async () => {
      const client = await newClient();
      const values = new Array(MAX + 1).fill(1);
      await refusesOnly(client, 'select coalesce($1::int, 5) as v', [7], values, /65535 .*65536/);
    });
  });

  describe('of many queries in one tick', () => {
    // By UTF-16 units: most of them not ASCII, some halves of surrogate pairs.
    const units = fc
      .array(
        fc.oneof(
          fc.integer({ min: 1, max: 0x7f }),
          fc.integer({ min: 0x80, max: 0x7ff }),
          fc.integer({ min: 0x800, max: 0xffff }),
          fc.integer({ min: 0xd800, max: 0xdfff }),
        ),
        { maxLength: 30 },
      )
      .map((codes) => String.fromCharCode(...codes));
    const anyText = fc.oneof(
      { weight: 2, arbitrary: fc.string() },
      {
        weight: 3,
        arbitrary: fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', '')),
      },
      { weight: 3, arbitrary: units },
      {
        weight: 1,
        arbitrary: fc.constantFrom('x'.repeat(5000), 'é'.repeat(5000), '😀'.repeat(3000)),
      },
    );
    /** What UTF-8 makes of it. */
    const wellFormed = (text) => Buffer.from(text).toString();

    it('are not mixed up, ASCII or not', async () => {
      const client = await newClient();
      const pool = newPool({ max: 2 });
      const query = fc.record({
        a: anyText,
        b: fc.option(anyText),
        bytes: fc.uint8Array({ maxLength: 20 }),
        n: fc.integer(),
        comment: fc.constantFrom('', ' /* é */', ' /* 漢😀 */', ' /* ascii */'),
        onPool: fc.boolean(),
      });
      await holds(
        fc.asyncProperty(fc.array(query, { minLength: 1, maxLength: 60 }), async (queries) => {
          await Promise.all(
            queries.map(async ({ a, b, bytes, n, comment, onPool }) => {
              const text = `select $1::text as a, $2::int as n, $3::text as b, $4::bytea as bytes${comment}`;
              const { rows } = await (onPool ? pool : client).query(text, [a, n, b, bytes]);
              assert.deepStrictEqual(rows, [
                {
                  a: wellFormed(a),
                  n,
                  b: b === null ? null : wellFormed(b),
                  bytes: Buffer.from(bytes),
                },
              ]);
            }),
          );
        }),
        150,
      );
    });

    it('are not mixed up when some are refused', async () => {
      const client = await newClient();
      const value = fc.oneof(
        { weight: 6, arbitrary: anyText },
        { weight: 1, arbitrary: anyText.map((text) => `${text}\0${text}`) },
        { weight: 1, arbitrary: fc.constant(Symbol.iterator) },
      );
      const isBad = (one) => typeof one === 'symbol' || one.includes('\0');
      await holds(
        fc.asyncProperty(
          fc.array(fc.tuple(value, value, value), { minLength: 1, maxLength: 40 }),
          async (queries) => {
            const outcomes = await Promise.allSettled(
              queries.map((values) =>
                client.query('select $1::text as a, $2::text as b, $3::text as c', values),
              ),
            );
            for (const [n, { value: result, reason }] of outcomes.entries()) {
              if (queries[n].some(isBad)) {
                // A symbol is found before anything is written, whatever stands before it.
                const found = queries[n].findIndex((one) => typeof one === 'symbol');
                const index = found >= 0 ? found : queries[n].findIndex(isBad);
                assertRefused(reason, new RegExp(`\\$${index + 1}`));
              } else {
                const [a, b, c] = queries[n].map(wellFormed);
                assert.deepStrictEqual(result.rows, [{ a, b, c }]);
              }
            }
          },
        ),
        150,
      );
    });
  });
});
