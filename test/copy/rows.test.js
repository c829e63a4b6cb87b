'use strict';

// copyRows(): rows of values into a table, in the binary and the text format of COPY.

const assert = require('node:assert/strict');
const { Readable } = require('node:stream');
const { setTimeout: delay } = require('node:timers/promises');
const { isAnyArrayBuffer } = require('node:util/types');
const fc = require('fast-check');
const { ParameterError } = require('../..');
const { newClient } = require('../support/connect');
const { errorOf } = require('../support/outcomes');
const { newPool, usePools } = require('../support/pools');
const { IS_LONG, holds } = require('../support/property');
const { Proxy } = require('../support/proxy');

describe('copyRows()', () => {
  const observer = usePools();
  const rowsOf = (table) => observer.rowsOf(table);
  const makeTable = (name, columns) => observer.makeTable(name, columns);
  const works = async (db) =>
    assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);

  for (const [face, open] of [
    ['of a pool', async (given) => newPool({ max: 1, ...given })],
    ['of a client', (given) => newClient(given)],
  ]) {
    describe(face, () => {
      const COLUMNS = ['id', 'T "x"', 'b', 'j', 'a', 'd', 'f'];
      const makeMixed = () =>
        makeTable(
          'mixed',
          'id int, "T ""x""" text, b bytea, j jsonb, a text[], d timestamptz, f float8',
        );

      it('stores what an INSERT with the same values stores', async () => {
        const db = await open();
        await makeMixed();
        const when = new Date('2024-02-29T12:34:56.789Z');
        const rows = [
          [
            1,
            'a\tb\nc\rd\\e\\N',
            Buffer.from([0, 1, 255]),
            { t: '\\\n' },
            ['a\\', null],
            when,
            0.1,
          ],
          [2, '', Buffer.alloc(0), [], [], null, NaN],
          [3, '\\N', undefined, null, undefined, undefined, -Infinity],
          [4, '\\.', new Uint8Array([92, 46]), { a: 'é😀' }, ['{"\t'], when, 1e300],
          [5, '😀 é \u0001 \v\f\b', null, '"json"', ['\\.'], null, -0],
          [6n, true, null, 'null', null, null, '1.5'],
        ];
        const { rowCount } = await db.copyRows('mixed', COLUMNS, rows);
        assert.equal(rowCount, rows.length);
        const copied = await rowsOf('mixed');
        await makeMixed();
        for (const row of rows) {
          await db.query('insert into mixed values ($1, $2, $3, $4, $5, $6, $7)', row);
        }
        assert.deepEqual(copied, await rowsOf('mixed'));
      });

      it('stores any text, whatever it contains', async () => {
        const db = await open();
        await makeTable('texts', 'n int, t text');
        const text = fc.oneof(
          fc.string({
            unit: fc.constantFrom('\\', '\n', '\r', '\t', 'N', '.', 'x', ',', '"', 'é'),
          }),
          fc.string({ unit: 'grapheme' }).filter((one) => !one.includes('\0')),
        );
        await holds(
          fc.asyncProperty(fc.array(fc.option(text), { maxLength: 40 }), async (texts) => {
            await observer.ask('truncate conduit_test.texts');
            await db.copyRows(
              'texts',
              ['n', 't'],
              texts.map((one, n) => [n, one]),
            );
            assert.deepEqual(
              await rowsOf('texts'),
              texts.map((t, n) => ({ n, t })),
            );
          }),
          40,
        );
      });

      it('takes arrays, iterables and async iterables, and names with quotes and schemas', async () => {
        const db = await open();
        await makeTable('"Ta""ble"', '"Co""l" int');
        const target = [['conduit_test', 'Ta"ble'], ['Co"l']];
        const three = [[1], [2], [3]];
        async function* later() {
          for (const row of three) {
            await delay(1);
            yield row;
          }
        }
        for (const rows of [three, new Set(three), three.values(), later(), Readable.from(three)]) {
          assert.deepEqual(await db.copyRows(...target, rows), { rowCount: 3 });
        }
        assert.deepEqual(await db.copyRows('Ta"ble', ['Co"l'], []), { rowCount: 0 });
        assert.equal((await rowsOf('"Ta""ble"')).length, 15);
      });

      it('takes a name with its schema, and names with dots in an array', async () => {
        const db = await open();
        await makeTable('Dotted', 'n int');
        await makeTable('"dotted.name"', 'n int');
        const rows = [[1], [2]];
        for (const table of [
          ...['dotted', 'conduit_test.dotted', ['dotted'], ['conduit_test', 'dotted']],
          ...[['dotted.name'], ['conduit_test', 'dotted.name']],
        ]) {
          assert.deepEqual(await db.copyRows(table, ['n'], rows), { rowCount: 2 });
        }
        assert.equal((await rowsOf('dotted')).length, 8);
        assert.equal((await rowsOf('"dotted.name"')).length, 4);
        // As they are: no quotes, and no lower case.
        for (const table of ['conduit_test.Dotted', 'conduit_test."dotted"']) {
          await assert.rejects(db.copyRows(table, ['n'], rows), { code: '42P01' });
        }
      });

      it('rejects with the error of an iterable that throws, and leaves the table unchanged', async () => {
        const db = await open();
        await makeTable('thrown', 'n int');
        for (const [count, thrown] of [
          [0, new Error('mine')],
          [1, new Error('mine')],
          [500_000, new Error('mine')],
          [1, 'no error'],
        ]) {
          let isClosed = false;
          const rows = (function* () {
            try {
              for (let n = 0; n < count; ++n) yield [n];
              throw thrown;
            } finally {
              isClosed = true;
            }
          })();
          const caught = await db.copyRows('thrown', ['n'], rows).then(
            () => assert.fail(),
            (error) => error,
          );
          assert.equal(caught, thrown);
          assert.ok(isClosed);
          assert.deepEqual(await rowsOf('thrown'), []);
          await works(db);
        }
      });

      it('closes the iterable when the server reports an error', async () => {
        const db = await open();
        let isClosed = false;
        const endless = (async function* () {
          try {
            for (;;) yield ['x'.repeat(1000)];
          } finally {
            isClosed = true;
          }
        })();
        await assert.rejects(db.copyRows('nowhere', ['n'], endless), { code: '42P01' });
        assert.ok(isClosed);
        await works(db);
      });

      for (const [what, ...parameters] of [
        ['no table', undefined, ['n'], []],
        ['an empty name', '', ['n'], []],
        ['three names', ['a', 'b', 'c'], ['n'], []],
        ['two dots', 'postgres.conduit_test.refused', ['n'], []],
        ['a dot and no name', 'conduit_test.', ['n'], []],
        ['a dot and no schema', '.refused', ['n'], []],
        ['no columns', 'refused', [], []],
        ['columns that are not an array', 'refused', 'n', []],
        ['a column without a name', 'refused', [null], []],
        ['no rows', 'refused', ['n'], undefined],
        ['a string as rows', 'refused', ['n'], 'abc'],
        ['a row that is not an array', 'refused', ['n'], [[1], 2]],
        ['a row with too many values', 'refused', ['n'], [[1], [1, 2]]],
        ['a row with too few', 'refused', ['n', 't'], [[1]]],
        ['a function as a value', 'refused', ['n'], [[1], [() => 1]]],
        ['an invalid Date', 'refused', ['t'], [['1'], [new Date(NaN)]]],
        ['a NUL character', 'refused', ['t'], [['1'], ['a\0']]],
      ]) {
        it(`refuses ${what}`, async () => {
          const db = await open();
          await makeTable('refused', 'n int, t text');
          const error = await errorOf(db.copyRows(...parameters));
          assert.ok(error instanceof ParameterError, String(error));
          assert.equal(error.outcome, 'not-run');
          assert.deepEqual(await rowsOf('refused'), []);
          await works(db);
        });
      }

      it('refuses options, since it does not support a signal', async () => {
        const db = await open();
        await makeTable('plain', 'id int');
        const options = { signal: AbortSignal.abort() };
        const error = await errorOf(db.copyRows('plain', ['id'], [[1]], options));
        assert.ok(error instanceof ParameterError);
        assert.deepEqual(await rowsOf('plain'), []);
      });

      it('rejects with the error of the server, whose line is the number of the row, from 1', async () => {
        const db = await open();
        await makeTable('numbered', 'id int, name text');
        for (const text of [undefined, 300, 3000]) {
          const rows = Array.from({ length: 5000 }, (_, i) => [i, `n${i}`]);
          // From there on they go in the text format.
          if (text !== undefined) rows[text][0] = String(text);
          rows[4000][0] = 'oops';
          const { code, where } = await errorOf(db.copyRows('numbered', ['id', 'name'], rows));
          assert.equal(code, '22P02');
          assert.equal(where, 'COPY numbered, line 4001, column id: "oops"');
        }
      });

      it('rejects with the error of the server, for a check constraint', async () => {
        const db = await open();
        await makeTable('checked', 'n int check (n < 3)');
        const error = await errorOf(db.copyRows('checked', ['n'], [[1], [2], [3]]));
        assert.deepEqual([error.code, error.outcome], ['23514', 'not-run']);
        assert.deepEqual(await rowsOf('checked'), []);
      });
    });
  }

  describe('in the binary format', () => {
    /** Of types that have one; each generator makes values that the text format takes, too. */
    const COLUMNS = [
      ['i2', 'int2', fc.oneof(fc.integer({ min: -32768, max: 32767 }), whole(-9, 9))],
      ['i4', 'int4', fc.oneof(fc.integer(), fc.constant(-0), whole(-(2 ** 31), 2 ** 31 - 1))],
      ['i8', 'int8', fc.oneof(fc.maxSafeInteger(), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n))],
      ['o', 'oid', fc.integer({ min: 0, max: 2 ** 32 - 1 })],
      ['f4', 'float4', fc.float().map(Math.fround)],
      ['f8', 'float8', fc.oneof(fc.double(), fc.double({ noNaN: true }).map(String))],
      ['n', 'numeric', fc.oneof(decimal(), fc.double(), fc.maxSafeInteger(), fc.bigInt())],
      ['n2', 'numeric(12,2)', fc.oneof(fc.integer(), fc.constantFrom('1.005', '-0.001', 1.5))],
      ['b', 'bool', fc.oneof(fc.boolean(), fc.constantFrom('t', 'f', 'true', 'false'))],
      ['t', 'text', fc.oneof(text(), fc.integer(), fc.boolean(), anyDate(), json())],
      ['v', 'varchar(9)', text(3)],
      ['c', 'char(9)', text(3)],
      ['e', 'mood', fc.constantFrom('sad', 'it\'s "ok"', 'glücklich')],
      ['p', 'positive', fc.integer({ min: 1, max: 9 })],
      ['j', 'json', json()],
      ['jb', 'jsonb', json()],
      ['y', 'bytea', fc.uint8Array().map((bytes) => Buffer.from(bytes))],
      [
        'u',
        'uuid',
        fc.oneof(
          fc.uuid(),
          fc.uuid().map((id) => id.toUpperCase()),
        ),
      ],
      ['d', 'date', anyDate()],
      ['ts', 'timestamp', anyDate()],
      ['tz', 'timestamptz', anyDate()],
    ];
    const names = COLUMNS.map(([name]) => name);

    function whole(min, max) {
      return fc.integer({ min, max }).map(String);
    }

    function decimal() {
      return fc
        .tuple(
          fc.constantFrom('', '-', '+'),
          fc.maxSafeNat(),
          fc.maxSafeNat(),
          fc.integer({ min: -20, max: 20 }),
        )
        .map(
          ([sign, before, behind, exponent]) =>
            `${sign}${before % 10 ** (behind % 16)}.${behind}e${exponent}`,
        );
    }

    function text(maxLength = 60) {
      return fc.string({
        unit: fc.oneof(
          fc.constantFrom('a', '\\', '\n', 'é', '😀'),
          fc.char?.() ?? fc.constant('x'),
        ),
        maxLength,
      });
    }

    function json() {
      return fc
        .dictionary(fc.string({ maxLength: 3 }), fc.oneof(text(5), fc.integer()), { maxKeys: 3 })
        .filter((value) => !JSON.stringify(value).includes('\\u0000'));
    }

    function anyDate() {
      return fc.date({
        min: new Date('0001-01-02'),
        max: new Date('9999-12-30'),
        noInvalidDate: true,
      });
    }

    async function makeTables() {
      await observer.ask(`set search_path = conduit_test; drop table if exists binaries, texts;
        drop type if exists mood; drop domain if exists positive;
        create type mood as enum ('sad', 'it''s "ok"', 'glücklich');
        create domain positive as int check (value > 0)`);
      const columns = COLUMNS.map(([name, type]) => `${name} ${type}`).join(', ');
      for (const table of ['binaries', 'texts']) await makeTable(table, `at int, ${columns}`);
      // Which would be called for each of two COPYs: so there is one.
      await observer.ask(`create or replace function conduit_test.nothing() returns trigger language plpgsql
        as 'begin return null; end';
        create trigger once after insert on conduit_test.texts execute function conduit_test.nothing()`);
    }

    it('stores what the text format stores, of each type', async () => {
      await makeTables();
      const db = await newClient();
      const row = fc.tuple(...COLUMNS.map(([, , values]) => fc.option(values, { freq: 9 })));
      const asText = 'select whole::text from conduit_test.';
      await holds(
        fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 20 }), async (rows) => {
          await observer.ask('truncate conduit_test.binaries, conduit_test.texts');
          for (const table of ['binaries', 'texts']) {
            const numbered = rows.map((values, at) => [at, ...values]);
            await db.copyRows(table, ['at', ...names], numbered);
          }
          const [binaries, texts] = await Promise.all(
            ['binaries', 'texts'].map((table) =>
              observer.ask(`${asText}${table} as whole order by at`),
            ),
          );
          assert.deepEqual(binaries, texts);
        }),
        100,
      );
    });

    describe('and in the text format stores what a query with the same values stores', () => {
      const FLOATS = fc.oneof(
        fc.double(),
        fc.float().map(Math.fround),
        // In the middle between two float4, or next to it.
        fc
          .tuple(
            fc.float({ noNaN: true, noDefaultInfinity: true }),
            fc.integer({ min: -1, max: 1 }),
          )
          .map(([one, step]) => nextDouble(midway(Math.fround(one)), step)),
        fc.constantFrom(
          ...[0, -0, '-0', '0', '-0.0', '+0', '-.0e5', '-0e-400', 1 + 2 ** -24, -1 - 2 ** -24],
          ...[1 + 3 * 2 ** -24, 2 ** -149, 2 ** -150, 3 * 2 ** -150, 1.5 * 2 ** -149, 2 ** -1074],
          ...['1.00000005960464477539', '1.0000000596046448', '1e-46', '1e39', '1e400', '-1e-400'],
          ...[3.4028234663852886e38, 3.4028235677973366e38, 3.4028235e38, NaN, -NaN, Infinity],
          ...['NaN', '-inf', ' 1 ', '0x10', '1_0', 10n ** 30n, -0n, true, 1e21, -1e-7, '', '.'],
        ),
      );
      const NUMBERS = fc.oneof(
        FLOATS,
        fc.integer(),
        fc.bigInt(),
        fc.integer({ min: -40000, max: 40000 }).map((n) => BigInt(n)),
        fc.constantFrom(...[2 ** 31 - 1, -(2 ** 31), 2 ** 31, 2 ** 53, -(2 ** 63), 2n ** 63n - 1n]),
      );
      const BYTES = fc.oneof(
        fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
        fc.uint8Array({ minLength: 4, maxLength: 4 }),
        fc
          .constantFrom('a', 'é\\\t', '\ufeffb', '1', '{}', '\\N', '\\x41')
          .map((one) => Buffer.from(one)),
        fc.constant(new Float64Array([1.5])),
        fc.constant(new ArrayBuffer(8)),
      );
      const DATES = fc.oneof(
        fc.date({ noInvalidDate: true }),
        fc.constantFrom(
          ...[new Date(0), new Date(-1), new Date(-62135596800001), new Date(-62167219200000)],
          ...[new Date(-210866803200000), new Date(-210866803200001), new Date(8.64e15)],
          ...['infinity', '-infinity', '2024-01-01 24:00', 'epoch', '0001-01-01 BC', 0],
        ),
      );
      const ANY = fc.oneof(
        NUMBERS,
        DATES,
        BYTES,
        fc.boolean(),
        fc.constantFrom(...[[1], ['a'], {}, 't']),
      );
      const TYPES = [
        ...[
          'int2',
          'int4',
          'int8',
          'oid',
          'float4',
          'float8',
          'numeric',
          'numeric(5,2)',
          'bool',
        ].map((type) => [type, fc.oneof({ arbitrary: NUMBERS, weight: 9 }, ANY)]),
        ...['date', 'timestamp', 'timestamptz', 'timestamptz(0)', 'time', 'interval'].map(
          (type) => [type, fc.oneof({ arbitrary: DATES, weight: 9 }, ANY)],
        ),
        ...[
          'text',
          'varchar(3)',
          'char(3)',
          'bytea',
          'json',
          'jsonb',
          'uuid',
          'mood',
          'positive',
        ].map((type) => [type, ANY]),
        ...['float4[]', 'bytea[]', 'inet'].map((type) => [type, ANY]),
      ];

      /** @param {number} one a float4 @returns {number} halfway to the next one */
      function midway(one) {
        const view = new DataView(new ArrayBuffer(4));
        view.setFloat32(0, one);
        view.setInt32(0, view.getInt32(0) ^ 1);
        const other = view.getFloat32(0);
        return Number.isFinite(other) ? (one + other) / 2 : one;
      }

      /** @param {number} one @param {number} step */
      function nextDouble(one, step) {
        const view = new DataView(new ArrayBuffer(8));
        view.setFloat64(0, one);
        view.setBigInt64(0, view.getBigInt64(0) + BigInt(step));
        const other = view.getFloat64(0);
        return Number.isFinite(other) ? other : one;
      }

      it('for the midpoint of two real numbers, and for a negative zero as text', async () => {
        await makeTable('middles', 'r real, d float8');
        const db = await newClient();
        const rows = [
          [1 + 2 ** -24, '-0'],
          [-1 - 2 ** -24, -0],
          [1 + 3 * 2 ** -24, '-0.0e7'],
        ];
        await db.copyRows('middles', ['r', 'd'], rows);
        const seen = 'select r::text as r, d::text as d from conduit_test.middles';
        const copied = await observer.ask(seen);
        await observer.ask('truncate conduit_test.middles');
        for (const row of rows) await db.query('insert into middles values ($1, $2)', row);
        assert.deepEqual(copied, await observer.ask(seen));
        assert.deepEqual(copied, [
          { r: '1.0000001', d: '-0' },
          { r: '-1.0000001', d: '0' },
          { r: '1.0000001', d: '-0' },
        ]);
      });

      for (const [type, values] of TYPES) {
        it(`in a column of type ${type}`, async () => {
          await observer.ask('drop table if exists conduit_test.by_query, conduit_test.by_copy');
          await makeTables();
          await makeTable('by_query', `id int, v ${type}`);
          await makeTable('by_copy', `id int, v ${type}, again int`);
          const db = await newClient();
          const seen = (table) =>
            observer.ask(`select v::text as v from conduit_test.${table} order by id`);
          await holds(
            fc.asyncProperty(values, async (value) => {
              await observer.ask('truncate conduit_test.by_query, conduit_test.by_copy');
              const failure = await db.query('insert into by_query values (0, $1)', [value]).then(
                () => undefined,
                (error) => error,
              );
              // Alone, and behind a value that only the server can read.
              for (const rows of [
                [[0, value, 0]],
                [[0, value, ' 1 ']],
                [
                  [-1, null, ' 1 '],
                  [0, value, 0],
                ],
              ]) {
                await observer.ask('truncate conduit_test.by_copy');
                const error = await db.copyRows('by_copy', ['id', 'v', 'again'], rows).then(
                  () => undefined,
                  (reason) => reason,
                );
                if (failure !== undefined) {
                  assert.notEqual(error, undefined, failure.message);
                } else if (error !== undefined) {
                  // Refused, instead of storing something else: bytes where values go as text, which they do
                  // for types without a binary encoding of ours, and beside texts.
                  assert.ok(error instanceof ParameterError, String(error));
                  assert.ok(isAnyArrayBuffer(value) || ArrayBuffer.isView(value));
                } else {
                  const stored = await seen('by_copy');
                  assert.deepEqual(stored.slice(-1), await seen('by_query'));
                }
              }
            }),
            IS_LONG ? 40 : 10,
          );
        });
      }
    });

    it('is used where the types of all columns support it', async () => {
      const proxy = await Proxy.open();
      let texts = '';
      proxy.changeRequest = (bytes) => {
        texts += bytes.toString('latin1');
        return bytes;
      };
      await makeTables();
      await makeTable('mixed', 'n int, i interval');
      await observer.ask('create view conduit_test.seen as select n, i from conduit_test.mixed');
      for (const [table, columns, isBinary] of [
        ['binaries', names, true],
        // A trigger of the statement, which would be called for each COPY.
        ['texts', names, false],
        ['mixed', ['n'], true],
        ['mixed', ['n', 'i'], false],
      ]) {
        texts = '';
        const client = await newClient(proxy.options());
        await client.copyRows(table, columns, []);
        assert.equal(/copy [^;]* binary/.test(texts), isBinary, `${table} ${columns}`);
      }
      const client = await newClient();
      await assert.rejects(client.copyRows('seen', ['n'], []), { code: '42809' });
      await proxy.close();
    });

    it('is continued in the text format from the first value that only the server can parse', async () => {
      await makeTable('switched', 'n int, at timestamptz, x numeric');
      const client = await newClient({ options: '-c timezone=UTC -c search_path=conduit_test' });
      const when = new Date('2024-05-06T07:08:09Z');
      for (const turn of [0, 1, 2, 30_000]) {
        await observer.ask('truncate conduit_test.switched');
        const rows = (function* () {
          for (let n = 0; n < turn; ++n) yield [n, when, 0.5];
          yield [turn, '2024-05-06 07:08:09', 'NaN'];
          for (let n = turn + 1; n < turn + 3; ++n) yield [n, when, null];
        })();
        assert.deepEqual(await client.copyRows('switched', ['n', 'at', 'x'], rows), {
          rowCount: turn + 3,
        });
        const [{ count, ats, last, xs }] = await observer.ask(
          `select count(distinct n)::int as count, count(distinct at)::int as ats, max(n) as last,
           array_agg(distinct x::text order by x::text) as xs from conduit_test.switched`,
        );
        assert.deepEqual([count, ats, last], [turn + 3, 1, turn + 2]);
        assert.deepEqual(xs, turn === 0 ? ['NaN', null] : ['0.5', 'NaN', null]);
      }
    });

    it('is rolled back together with the rows in the text format', async () => {
      await makeTable('undone', 'n int');
      const client = await newClient();
      for (const [wrong, check] of [
        ['no number', { code: '22P02', outcome: 'not-run' }],
        [1.5, { code: '22P02', outcome: 'not-run' }],
        [2 ** 31, { code: '22003', outcome: 'not-run' }],
        [() => 1, ParameterError],
        ['\0', ParameterError],
      ]) {
        const rows = [[1], [2], [wrong], [3]];
        await assert.rejects(client.copyRows('undone', ['n'], rows), check);
        assert.deepEqual(await rowsOf('undone'), []);
        await works(client);
      }
    });

    it('needs no more privileges than COPY', async () => {
      await makeTable('granted', 'n int, m int');
      await observer.ask(`drop role if exists conduit_writer; create role conduit_writer;
        grant usage on schema conduit_test to conduit_writer;
        grant insert (n) on conduit_test.granted to conduit_writer`);
      try {
        const client = await newClient();
        await client.query('set role conduit_writer');
        assert.deepEqual(await client.copyRows('granted', ['n'], [[1]]), { rowCount: 1 });
        await assert.rejects(client.copyRows('granted', ['m'], [[1]]), { code: '42501' });
        await observer.ask('grant insert on conduit_test.granted to conduit_writer');
        assert.deepEqual(await client.copyRows('granted', ['m'], [[1]]), { rowCount: 1 });
      } finally {
        await observer.ask('drop owned by conduit_writer; drop role conduit_writer');
      }
    });
  });
});
