'use strict';

// What arrives at the server of each kind of JavaScript value, beside `pg`; and that a parameter
// which cannot be sent is refused without harm to the queries around it.

const assert = require('node:assert/strict');
const fc = require('fast-check');
const pg = require('pg');
const { ParameterError } = require('..');
const { endAll, newClient, newPool, options, resetSchema } = require('./support/connect');

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

/** The unprepared, the preparing and the prepared execution, and one in binary. */
const EXECUTIONS = 4;

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

async function sameAsPg(client, query) {
  const expected = await outcome(reference, query);
  for (let execution = 1; execution <= EXECUTIONS; ++execution) {
    assert.deepStrictEqual(await outcome(client, query), expected, `execution ${execution}`);
  }
  return expected;
}

/** @param {unknown} error @param {RegExp} message */
function assertRefused(error, message) {
  assert.ok(error instanceof ParameterError, String(error));
  assert.equal(error.name, 'ParameterError');
  assert.equal(error.code, 'ERR_PG_CONDUIT_PARAMETER');
  assert.equal(error.outcome, 'not-run');
  assert.match(error.message, message);
}

/**
 * Runs a query that must be refused between two others of the same text and two of another one, all
 * in one tick, in each phase of preparing that text.
 */
async function refusesOnly(client, text, good, bad, message) {
  const expected = (await client.query({ text, values: good, prepare: false })).rows;
  for (let execution = 1; execution <= EXECUTIONS; ++execution) {
    const outcomes = await Promise.allSettled([
      client.query('select $1::int as n, $2::text as t', [execution, 'before é']),
      client.query(text, good),
      client.query(text, bad),
      client.query(text, good),
      client.query('select $1::int as n, $2::text as t', [execution, 'after 😀']),
    ]);
    assert.deepStrictEqual(outcomes[0].value?.rows, [{ n: execution, t: 'before é' }]);
    assert.deepStrictEqual(outcomes[1].value?.rows, expected);
    assertRefused(outcomes[2].reason, message);
    assert.deepStrictEqual(outcomes[3].value?.rows, expected);
    assert.deepStrictEqual(outcomes[4].value?.rows, [{ n: execution, t: 'after 😀' }]);
    assert.deepStrictEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
  }
}

describe('parameters', () => {
  before(async () => {
    await resetSchema();
    reference = new pg.Client(options());
    await reference.connect();
  });
  after(() => reference.end());
  afterEach(endAll);

  describe('arrive as pg sends them', () => {
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
      nothing: [null, undefined],
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
        ...[{}, nested, Object.create(null), new Map(), new Money(250), /x/, new Error('x')],
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
            await sameAsPg(client, { text: 'select $1::bytea as v', values: [value] });
            continue;
          }
          await sameAsPg(client, { text: 'select $1::text as v', values: [value] });
          await sameAsPg(client, { text: 'select $1 as v, $2::text as w', values: [value, 'end'] });
        }
        if (kind === 'bytes') return;
        await sameAsPg(client, {
          text: `select ${values.map((_, n) => `$${n + 1}::text as v${n}`).join(', ')}`,
          values,
        });
      });
    }

    it('to columns of many types, or are refused by the server as those of pg', async () => {
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
        for (const value of values) await sameAsPg(client, { text, values: [value] });
      }
    });

    it('to the columns of an insert, whose types the server infers', async () => {
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
      for (const values of rows) await sameAsPg(client, { text: insert, values });
    });

    it('where there are too few or too many, as an error of the server', async () => {
      const client = await newClient();
      const text = 'select $1::int as a, $2::int as b';
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        for (const values of [[1], [1, 2, 3]]) {
          // Its message names the prepared statement, which pg has none of.
          const expected = await outcome(reference, { text, values });
          assert.equal(expected.code, '08P01');
          assert.equal((await outcome(client, { text, values })).code, expected.code);
        }
        assert.deepStrictEqual((await client.query(text, [1, 2])).rows, [{ a: 1, b: 2 }]);
      }
    });
  });

  it('are those of the moment when query() was called', async () => {
    const client = await newClient({});
    const other = new (require('..').Client)(options());
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

    it('are sent as text and bytes, too', async () => {
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

    it('are refused from 65,536 on, and neighbours are not', async () => {
      const client = await newClient();
      const values = new Array(MAX + 1).fill(1);
      await refusesOnly(client, 'select coalesce($1::int, 5) as v', [7], values, /65535 .*65536/);
    });
  });

  describe('with a NUL character are refused alone', () => {
    const text = 'select $1::text as a, $2::text as b, $3::text as c';
    const good = ['1', 'é', '3'];

    it('as the first, the middle and the last one', async () => {
      for (const [index, name] of ['$1', '$2', '$3'].entries()) {
        for (const nul of ['\0', 'a\0', '\0b', 'a\0b', 'é\0', '\0😀', 'x'.repeat(70000) + '\0']) {
          const client = await newClient();
          const bad = good.map((v, n) => (n === index ? nul : v));
          await refusesOnly(client, text, good, bad, new RegExp(`\\${name}.*NUL`));
          await client.end();
        }
      }
    });

    it('in an element of an array, and in json that is sent as text', async () => {
      const client = await newClient();
      await refusesOnly(client, 'select $1::text[] as a', [['x']], [['x', 'a\0b']], /\$1.*NUL/);
      // JSON has an escape for it: it is the server that refuses it in jsonb, and takes it in json.
      const { rows } = await client.query('select $1::json as j', [{ a: 'b\0c' }]);
      assert.deepEqual(rows, [{ j: { a: 'b\0c' } }]);
      await assert.rejects(client.query('select $1::jsonb', [{ a: 'b\0c' }]), { code: '22P05' });
    });

    it('but bytes may hold it', async () => {
      const client = await newClient();
      const value = Buffer.from('a\0b\0');
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        const { rows } = await client.query('select $1::bytea as v, $2::text as t', [value, 'end']);
        assert.deepEqual(rows, [{ v: value, t: 'end' }]);
      }
    });

    it('in the text of the query', async () => {
      const client = await newClient();
      for (const [n, nul] of [
        "select '\0'",
        '\0',
        'select 1 -- \0',
        "select 'é' \0",
        'select $1::text\0',
      ].entries()) {
        for (let execution = 1; execution <= EXECUTIONS; ++execution) {
          const outcomes = await Promise.allSettled([
            client.query(`select ${n} as n, $1::text as t`, ['é']),
            client.query(nul, nul.includes('$1') ? ['x'] : []),
            client.query(nul, nul.includes('$1') ? ['x'] : []),
            client.query(`select ${n} as n, $1::text as t`, ['漢']),
          ]);
          assert.deepEqual(outcomes[0].value.rows, [{ n, t: 'é' }]);
          assertRefused(outcomes[1].reason, /text of the query.*NUL/);
          assertRefused(outcomes[2].reason, /text of the query.*NUL/);
          assert.deepEqual(outcomes[3].value.rows, [{ n, t: '漢' }]);
        }
      }
      const left = await client.query({
        text: "select count(*)::int as n from pg_prepared_statements where statement like '%''%'",
        prepare: false,
      });
      assert.deepEqual(left.rows, [{ n: 0 }]);
    });

    it('also in a transaction, which goes on', async () => {
      const client = await newClient();
      await client.query('create table kept (v text)');
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        const outcomes = await Promise.allSettled([
          client.query('begin'),
          client.query('insert into kept values ($1)', [`a${execution}`]),
          client.query('insert into kept values ($1)', ['\0']),
          client.query('insert into kept values ($1)', [Symbol('s')]),
          client.query("select '\0'"),
          client.query('insert into kept values ($1)', [`b${execution}`]),
          client.query('commit'),
        ]);
        assert.deepEqual(
          outcomes.map(({ status }) => status),
          ['fulfilled', 'fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled', 'fulfilled'],
          `execution ${execution}: ${outcomes.map(({ reason }) => reason?.message)}`,
        );
        for (const { reason } of outcomes.slice(2, 5)) assertRefused(reason, /./);
        assert.equal(outcomes[6].value.command, 'COMMIT');
      }
      const { rows } = await client.query('select count(*)::int as n from kept');
      assert.deepEqual(rows, [{ n: 2 * EXECUTIONS }]);
    });

    it('on a shared connection, where others use the same statement', async () => {
      const pool = newPool({ max: 1 });
      for (let round = 0; round < 5; ++round) {
        const outcomes = await Promise.allSettled(
          Array.from({ length: 300 }, (_, n) =>
            pool.query('select $1::int as n, $2::text as t', [
              n,
              n % 7 === 3 ? `a\0${n}` : `é${n}`,
            ]),
          ),
        );
        for (const [n, { value, reason }] of outcomes.entries()) {
          if (n % 7 === 3) assertRefused(reason, /\$2.*NUL/);
          else assert.deepEqual(value.rows, [{ n, t: `é${n}` }]);
        }
      }
    });
  });

  describe('that cannot be sent are refused alone', () => {
    const text = 'select $1::text as a, $2::text as b, $3::text as c';
    const good = ['é', '2', '3'];
    const circular = { name: 'a' };
    circular.self = circular;
    const circularArray = [1];
    circularArray.push(circularArray);
    const failing = {
      toPostgres() {
        throw new RangeError('not today');
      },
    };
    const BAD = {
      'a function': [() => 1, /function/],
      'a symbol': [Symbol('s'), /symbol/],
      'a circular object': [circular, /circular/i],
      'a circular array': [circularArray, /circular/i],
      'an invalid Date': [new Date(NaN), /invalid Date/],
      'an object whose toPostgres() throws': [failing, /not today/],
      'an array of which one element cannot be sent': [['a', failing], /not today/],
      'an object with a bigint, which JSON has not': [{ a: 1n }, /BigInt/],
    };

    for (const [name, [value, message]] of Object.entries(BAD)) {
      it(name, async () => {
        const client = await newClient();
        const pattern = new RegExp(`\\$2.*${message.source}`, message.flags);
        await refusesOnly(client, text, good, ['long é text', value, 'x'], pattern);
        // Also when the neighbours' parameters are bytes, and many.
        const bytes = Buffer.alloc(5000, 7);
        const outcomes = await Promise.allSettled([
          client.query('select $1::bytea as v', [bytes]),
          client.query('select $1::bytea, $2::text, $3::text', [bytes, value, 'x']),
          client.query('select $1::bytea as v', [bytes.subarray(0, 10)]),
        ]);
        assert.ok(outcomes[0].value.rows[0].v.equals(bytes));
        assertRefused(outcomes[1].reason, pattern);
        assert.ok(outcomes[2].value.rows[0].v.equals(bytes.subarray(0, 10)));
      });
    }

    it('with the error that toPostgres() has thrown as its cause', async () => {
      const client = await newClient();
      const cause = new RangeError('mine');
      const value = {
        toPostgres() {
          throw cause;
        },
      };
      const error = await client.query('select $1', [value]).catch((reason) => reason);
      assertRefused(error, /^parameter \$1: mine$/);
      assert.equal(error.cause, cause);
    });

    it('before the client is connected, and when it is the only query', async () => {
      const { Client } = require('..');
      const client = new Client(options());
      const connected = client.connect();
      const early = client.query('select $1::text', [Symbol('s')]).catch((error) => error);
      await connected;
      assertRefused(await early, /symbol/);
      await client.end();
    });

    it('and on a pool, whose first query it is', async () => {
      const pool = newPool({ max: 1 });
      const error = await pool.query('select $1::text', [() => 1]).catch((reason) => reason);
      assertRefused(error, /function/);
      assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
    });

    it('and toPostgres() may send queries itself', async () => {
      const client = await newClient();
      const inner = [];
      const busy = (n) => ({
        toPostgres() {
          inner.push(client.query('select $1::int as n, $2::text as t', [n, `inner é${n}`]));
          return `outer ${n}`;
        },
      });
      for (let round = 0; round < EXECUTIONS; ++round) {
        const outer = await Promise.all(
          Array.from({ length: 10 }, (_, n) =>
            client.query('select $1::text as a, $2::text as b, $3::int as c', ['é', busy(n), n]),
          ),
        );
        for (const [n, { rows }] of outer.entries()) {
          assert.deepEqual(rows, [{ a: 'é', b: `outer ${n}`, c: n }]);
        }
        const answers = await Promise.all(inner.splice(0));
        for (const [n, { rows }] of answers.entries()) {
          assert.deepEqual(rows, [{ n, t: `inner é${n}` }]);
        }
      }
    });
  });

  it('must be an array', async () => {
    const client = await newClient();
    for (const values of ['text', 5, true, {}, new Set([1]), Buffer.from('x')]) {
      for (const query of [['select $1::text', values], [{ text: 'select $1::text', values }]]) {
        const outcomes = await Promise.allSettled([
          client.query(...query),
          client.query('select 1 as one'),
        ]);
        assertRefused(outcomes[0].reason, /must be an array/);
        assert.deepEqual(outcomes[1].value.rows, [{ one: 1 }]);
      }
    }
    for (const values of [null, undefined, []]) {
      const { rows } = await client.query('select 1 as one', values);
      assert.deepEqual(rows, [{ one: 1 }]);
    }
  });

  it('come with a text, and not with something else', async () => {
    const client = await newClient();
    for (const text of [null, undefined, 5, true, Symbol('s'), {}, { text: 5 }, { values: [1] }]) {
      const error = await client.query(text).catch((reason) => reason);
      assertRefused(error, /text/);
    }
    for (const wrong of [{ rowMode: 'object' }, { types: {} }, { name: 5 }]) {
      const error = await client.query({ text: 'select 1', ...wrong }).catch((reason) => reason);
      assertRefused(error, new RegExp(Object.keys(wrong)[0]));
    }
    assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
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

    it('keep their texts apart, ASCII or not', async () => {
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

    it('keep them apart when some are refused', async () => {
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
