'use strict';

// lib/rows/shape.js and row-builder.js: generated code and the plain loop must build the same
// rows, whatever the names of the columns. Cells are written by hand here, in the format of
// src/wire_format.h.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { types } = require('../..');
const { Field, Shape } = require('../../lib/rows');
const {
  cellKind,
  fieldBinaryDecodable,
  nullHigh,
  unsafeIntegerHigh,
} = require('../../lib/base/wire-format');

const TEXT_OID = 25;
const INT8_OID = 20;
/** Asked at every result, which takes the plain loop. */
const foreignTypes = { getTypeParser: (oid, format) => types.getTypeParser(oid, format) };

const ASCII = 'hello world';
const WIDE = 'grüße 😀';
const JSON_VALUES = [{ a: [1, null] }, 'text'];
/** In memory of their own, not in a piece of the pool that Node.js makes copies in. */
const BYTES = Buffer.from(Uint8Array.of(1, 2, 3, 0, 255).buffer);

/** One cell of each kind: kind, how it is written, what it is. */
const CELLS = [
  [cellKind.text, (w) => w.ints(6, 5), 'world'],
  [cellKind.text, (w) => w.ints(0, 0), ''],
  [cellKind.text, (w) => w.ints(~0, 5), 'grüße'],
  [cellKind.text, (w) => w.ints(~6, 2), '😀'],
  [cellKind.int32, (w) => w.ints(-5, 0), -5],
  [cellKind.uint32, (w) => w.ints(-1, 0), 4294967295],
  [cellKind.bool, (w) => w.ints(1, 0), true],
  [cellKind.bool, (w) => w.ints(0, 0), false],
  [cellKind.float64, (w) => w.double(-0.5), -0.5],
  [cellKind.float64, (w) => w.double(NaN), NaN],
  [cellKind.float64, (w) => w.double(-0), -0],
  [cellKind.int8Number, (w) => w.double(2 ** 53 - 1), 2 ** 53 - 1],
  [cellKind.bigInt, (w) => (w.ints(0, 0), w.bigInt(-(2n ** 63n))), -(2n ** 63n)],
  [cellKind.bigInt, (w) => (w.ints(0, 0), w.bigInt(-1n)), -1n],
  [cellKind.timestampTz, (w) => w.double(86400000), new Date(86400000)],
  [cellKind.timestampTz, (w) => w.double(-Infinity), -Infinity],
  [cellKind.timestamp, (w) => w.double(Date.UTC(2020, 5, 1, 12, 30)), new Date(2020, 5, 1, 12, 30)],
  [cellKind.timestamp, (w) => w.double(Infinity), Infinity],
  [cellKind.date, (w) => w.double(Date.UTC(1999, 11, 31)), new Date(1999, 11, 31)],
  [cellKind.json, (w) => (w.ints(0, 0), w.ints(0, 0)), JSON_VALUES[0]],
  [cellKind.json, (w) => (w.ints(1, 0), w.ints(0, 0)), JSON_VALUES[1]],
  [cellKind.bytes, (w) => w.ints(1, 3), Buffer.from([2, 3, 0])],
];
const EXPECTED = CELLS.map(([, , value]) => value);

class Writer {
  at = 0;
  constructor(size) {
    const memory = new ArrayBuffer(size * 8);
    this.int32 = new Int32Array(memory);
    this.float64 = new Float64Array(memory);
    this.bigInt64 = new BigInt64Array(memory);
  }
  ints(low, high) {
    this.int32[2 * this.at] = low;
    this.int32[2 * this.at++ + 1] = high;
  }
  double(value) {
    this.float64[this.at++] = value;
  }
  bigInt(value) {
    this.bigInt64[this.at++] = value;
  }
}

const chunk = {
  ascii: ASCII,
  wide: WIDE,
  bytes: BYTES,
  json: (index) => JSON_VALUES[index],
};

const field = (name, oid = TEXT_OID) => new Field(name, 0, 0, oid, -1, -1);

/** Two rows after `skip` cells that belong to others: the values, and NULLs. */
function writeRows(shape, skip) {
  const writer = new Writer(skip + 2 * shape.cellsPerRow);
  writer.at = skip;
  for (const [, write] of CELLS) write(writer);
  for (let n = 0; n < shape.cellsPerRow; ++n) writer.ints(0, nullHigh);
  return writer;
}

describe('Shape', () => {
  it('builds few rows that come once without generated code, and then the same ones with it', () => {
    const shape = new Shape(
      CELLS.map((_, index) => field(`c${index}`)),
      CELLS.map(([kind]) => kind),
    );
    const builders = [1, 1, 1].map((count) => shape.builder(false, types, 'string', count));
    assert.notEqual(builders[0], builders[1]);
    assert.equal(builders[1], builders[2]);
    const built = builders.map((build) => {
      const rows = [];
      build(rows, writeRows(shape, 0), chunk, 0, 2);
      return rows;
    });
    assert.deepEqual(built[0], built[1]);
    // For other parsers, and for many rows at once.
    const array = shape.builder(true, types, 'string', 1000);
    assert.equal(shape.builder(true, types, 'string', 1), array);
    assert.notEqual(shape.builder(false, types, 'string', 1), builders[2]);
  });

  for (const [what, source] of [
    ['generated code', types],
    ['the plain loop', foreignTypes],
  ]) {
    describe(`with ${what}`, () => {
      const fields = CELLS.map((_, index) => field(`c${index}`));
      const kinds = CELLS.map(([kind]) => kind);

      it('builds objects of cells of every kind, and NULLs', () => {
        const shape = new Shape(fields, kinds);
        assert.equal(shape.cellsPerRow, CELLS.length + 4);
        const rows = [{ earlier: true }];
        const writer = writeRows(shape, 3);
        shape.builder(false, source, 'string')(rows, writer, chunk, 3, 2);
        assert.equal(rows.length, 3);
        assert.deepEqual(
          Object.keys(rows[1]),
          fields.map(({ name }) => name),
        );
        assert.deepEqual(Object.values(rows[1]), EXPECTED);
        assert.deepEqual(
          Object.values(rows[2]),
          EXPECTED.map(() => null),
        );
      });

      it('builds arrays of cells of every kind, and NULLs', () => {
        const shape = new Shape(fields, kinds);
        const rows = [];
        const writer = writeRows(shape, 0);
        shape.builder(true, source, 'string')(rows, writer, chunk, 0, 2);
        assert.deepEqual(rows, [EXPECTED, EXPECTED.map(() => null)]);
      });

      it('copies bytes, so that a kept value does not keep its chunk', () => {
        const shape = new Shape([field('b', 17)], [cellKind.bytes]);
        const writer = new Writer(1);
        writer.ints(1, 3);
        const rows = [];
        shape.builder(false, source, 'string')(rows, writer, chunk, 0, 1);
        assert.notEqual(rows[0].b.buffer, BYTES.buffer);
      });

      it('takes any name for a column', () => {
        const names = [
          ...['', ' ', 'a b', '0', '-1', "it's", '"', '`', '\\', '\n', '\u2028', '\u2029', '\0'],
          ...['$' + '{x}', '*/', '//', '__proto__', 'constructor', 'toString', 'hasOwnProperty'],
          ...['i', 'p', 'rows', 'cells', 'größe', '😀', '];process.exit(1);[', '?column?'],
        ];
        const shape = new Shape(
          names.map((name) => field(name)),
          names.map(() => cellKind.int32),
        );
        const writer = new Writer(names.length);
        names.forEach((_, index) => writer.ints(index, 0));
        const rows = [];
        shape.builder(false, source, 'string')(rows, writer, chunk, 0, 1);
        const [row] = rows;
        assert.equal(Object.getPrototypeOf(row), Object.prototype);
        assert.deepEqual(Object.keys(row).sort(), [...names].sort());
        for (const [index, name] of names.entries()) {
          assert.equal(Object.getOwnPropertyDescriptor(row, name).value, index, name);
        }
        assert.equal({}.polluted, undefined);
      });

      for (const count of [256, 257, 1100]) {
        it(`builds rows of ${count} columns`, () => {
          const columns = Array.from({ length: count }, (_, index) => field(`c${index}`));
          const shape = new Shape(columns, Array(count).fill(cellKind.int32));
          const writer = new Writer(2 * count);
          for (let n = 0; n < 2 * count; ++n) writer.ints(n, 0);
          for (const isArray of [true, false]) {
            const rows = [];
            shape.builder(isArray, source, 'string')(rows, writer, chunk, 0, 2);
            const expected = [0, count].map((first) => columns.map((_, index) => first + index));
            const names = isArray ? undefined : columns.map(({ name }) => name);
            for (const [n, row] of rows.entries()) {
              if (names !== undefined) assert.deepEqual(Object.keys(row), names);
              assert.equal(Object.getPrototypeOf(row), (isArray ? Array : Object).prototype);
              assert.deepEqual(Object.values(row), expected[n]);
            }
          }
        });
      }

      it('keeps the last of several columns with the same name, as pg does', () => {
        const shape = new Shape(
          [field('a'), field('b'), field('a')],
          Array(3).fill(cellKind.int32),
        );
        const writer = new Writer(3);
        [1, 2, 3].forEach((value) => writer.ints(value, 0));
        const rows = [];
        shape.builder(false, source, 'string')(rows, writer, chunk, 0, 1);
        assert.deepEqual(rows, [{ a: 3, b: 2 }]);
      });

      it('builds rows without columns', () => {
        const shape = new Shape([], []);
        const rows = [];
        shape.builder(false, source, 'string')(rows, new Writer(0), chunk, 0, 2);
        shape.builder(true, source, 'string')(rows, new Writer(0), chunk, 0, 1);
        assert.deepEqual(rows, [{}, {}, []]);
      });

      it('refuses an int8 that is not exact as a number', () => {
        const shape = new Shape([field('n', INT8_OID)], [cellKind.int8Number]);
        const writer = new Writer(1);
        writer.ints(0, unsafeIntegerHigh);
        const build = shape.builder(false, source, 'number');
        assert.throws(() => build([], writer, chunk, 0, 1), { code: 'ERR_PG_CONDUIT_RESULT' });
      });

      it('parses the text of int8 as the option says', () => {
        const shape = new Shape([field('n', INT8_OID)], [cellKind.text]);
        const digits = { ...chunk, ascii: '9007199254740993' };
        const build = (int8, length) => {
          const writer = new Writer(1);
          writer.ints(0, length);
          const rows = [];
          shape.builder(true, source, int8)(rows, writer, digits, 0, 1);
          return rows[0][0];
        };
        assert.equal(build('string', 16), '9007199254740993');
        assert.equal(build('bigint', 16), 9007199254740993n);
        assert.equal(build('number', 15), 900719925474099);
        assert.throws(() => build('number', 16), { code: 'ERR_PG_CONDUIT_RESULT' });
      });
    });
  }

  it('calls getTypeParser() of an object of the user for each result', () => {
    let parser = (text) => `first ${text}`;
    const source = { getTypeParser: () => parser };
    const shape = new Shape([field('a')], [cellKind.text]);
    const build = () => {
      const writer = new Writer(1);
      writer.ints(0, 5);
      const rows = [];
      shape.builder(true, source, 'string')(rows, writer, chunk, 0, 1);
      return rows[0][0];
    };
    assert.equal(build(), 'first hello');
    parser = (text) => `second ${text}`;
    assert.equal(build(), 'second hello');
  });

  it('generates code once for the same conditions', () => {
    const shape = new Shape([field('a')], [cellKind.text]);
    const builder = shape.builder(false, types, 'string');
    assert.equal(shape.builder(false, types, 'string'), builder);
    assert.notEqual(shape.builder(true, types, 'string'), builder);
  });

  it('knows whether every column can be decoded from binary', () => {
    const binary = cellKind.int32 | fieldBinaryDecodable;
    const shape = new Shape([field('a'), field('b')], [binary, cellKind.text]);
    assert.equal(shape.isBinaryDecodable, false);
    assert.deepEqual(shape.kinds, [cellKind.int32, cellKind.text]);
    assert.equal(new Shape([field('a')], [binary]).isBinaryDecodable, true);
  });

  it('works where code may not be generated from strings', () => {
    const script = `
      const { newPool, endAll } = require(${JSON.stringify(path.join(__dirname, '..', 'support', 'connect'))});
      newPool().query("select 1 as one, 'two' as two, '{3}'::int[] as three")
        .then(({ rows }) => console.log(JSON.stringify(rows))).then(endAll);`;
    const output = execFileSync(process.execPath, [
      '--disallow-code-generation-from-strings',
      '-e',
      script,
    ]);
    assert.deepEqual(JSON.parse(output), [{ one: 1, two: 'two', three: [3] }]);
  });
});
