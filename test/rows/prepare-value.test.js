'use strict';

// lib/rows/types/prepare-value.js and lib/base/escape.js, whose results must be those of `pg`.

const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const vm = require('node:vm');
const fc = require('fast-check');
const pgDefaults = require('pg/lib/defaults');
const pgUtils = require('pg/lib/utils');
const { escapeIdentifier, escapeLiteral } = require('../../lib/base/escape');
const { prepareValue } = require('../../lib/rows/types/prepare-value');
const { holds } = require('../support/property');

function sameAsPg(value, options) {
  const expected = pgUtils.prepareValue(value);
  assert.deepStrictEqual(prepareValue(value, options), expected);
  return expected;
}

function circularObject() {
  const object = {};
  object.self = object;
  return object;
}

describe('prepareValue', () => {
  it('agrees with pg about values that are no objects', () => {
    const values = [null, undefined, '', 'text', "it's", '\\', 'ü€😀', 0, -0, 1.5, 1e21, 1e-7, NaN];
    for (const value of [...values, Infinity, -Infinity, 12345678901234567890n, -1n, true, false]) {
      sameAsPg(value);
    }
  });

  it('agrees with pg about dates in local time, before Christ and after the year 9999', () => {
    const dates = [
      new Date(0),
      new Date(2024, 1, 29, 13, 5, 9, 7),
      new Date('2024-07-01T12:00:00Z'),
      new Date(10000, 0, 1),
      new Date(8.64e15),
      new Date(-8.64e15),
    ];
    for (const year of [-4712, -1, 0, 1, 99]) {
      const date = new Date(2000, 5, 15, 1, 2, 3, 4);
      date.setFullYear(year);
      dates.push(date);
    }
    for (const date of dates) sameAsPg(date);
    assert.match(prepareValue(dates[7]), /^0002-06-15T01:02:03\.004[+-]\d\d:\d\d BC$/);
    assert.match(prepareValue(dates[8]), / BC$/);
    assert.match(prepareValue(dates[3]), /^10000-01-01T00:00:00\.000[+-]\d\d:\d\d$/);
  });

  it('agrees with pg in time zones east and west of Greenwich and with half hours', () => {
    const script = `
      const assert = require('node:assert');
      const { prepareValue } = require(${JSON.stringify(require.resolve('../../lib/rows/types/prepare-value'))});
      const pg = require(${JSON.stringify(require.resolve('pg/lib/utils'))});
      for (let time = -9e12; time < 9e12; time += 123456789012) {
        const text = prepareValue(new Date(time));
        // Offsets from before there were time zones have seconds, which pg leaves out.
        assert.strictEqual(text.replace(/([+-]..:..):..$/, '$1'), pg.prepareValue(new Date(time)));
        assert.strictEqual(new Date(text.slice(0, 23) + 'Z') - time, offsetMillis(text));
      }
      function offsetMillis(text) {
        const [, sign, hours, minutes, seconds = 0] = /([+-])(..):(..)(?::(..))?$/.exec(text);
        return (sign === '-' ? -1000 : 1000) * (hours * 3600 + minutes * 60 + Number(seconds));
      }
      console.log(prepareValue(new Date(0)).slice(-6));`;
    const zones = [
      ['UTC', '+00:00'],
      ['America/St_Johns', '-03:30'],
      ['Asia/Kathmandu', '+05:30'],
      ['Pacific/Kiritimati', '-10:40'],
      ['Europe/Amsterdam', '+01:00'],
    ];
    for (const [zone, offset] of zones) {
      const printed = execFileSync(process.execPath, ['-e', script], {
        encoding: 'utf8',
        env: { ...process.env, TZ: zone },
      });
      assert.strictEqual(printed.trim(), offset, zone);
    }
  }).timeout(20_000);

  it('agrees with pg about dates sent as UTC, also inside of arrays', () => {
    const options = { parseInputDatesAsUTC: true };
    pgDefaults.parseInputDatesAsUTC = true;
    try {
      const beforeChrist = new Date(Date.UTC(2000, 0, 1));
      beforeChrist.setUTCFullYear(-43);
      for (const date of [new Date(0), new Date(1e12), beforeChrist, new Date(8.64e15)]) {
        assert.match(sameAsPg(date, options), /\+00:00( BC)?$/);
        sameAsPg([date, [date]], options);
        sameAsPg({ toPostgres: (prepare) => prepare(date) }, options);
      }
    } finally {
      pgDefaults.parseInputDatesAsUTC = false;
    }
  });

  it('recognizes dates of another realm', () => {
    sameAsPg(vm.runInNewContext('new Date(1e12)'));
  });

  it('returns bytes as a Buffer over the same memory', () => {
    const memory = new ArrayBuffer(16);
    const views = [
      Buffer.from(memory, 2, 4),
      new Uint8Array(memory, 2, 4),
      new DataView(memory, 2, 4),
      new Uint16Array(memory, 2, 2),
    ];
    for (const view of views) {
      const prepared = sameAsPg(view) && prepareValue(view);
      assert.ok(Buffer.isBuffer(prepared));
      assert.strictEqual(prepared.buffer, memory);
      assert.strictEqual(prepared.byteOffset, 2);
      assert.strictEqual(prepared.length, 4);
    }
    const whole = prepareValue(memory);
    assert.strictEqual(whole.buffer, memory);
    assert.strictEqual(whole.length, 16);
    assert.strictEqual(prepareValue(new SharedArrayBuffer(3)).length, 3);
  });

  it('agrees with pg about arrays', () => {
    const arrays = [
      [],
      [[]],
      [[], []],
      [1, 2.5, -3n, true],
      ['a', 'b c', '', 'NULL', '{}', ',', '"', '\\', '\\"', "'", 'a\nb'],
      [null, undefined],
      new Array(3),
      [
        [1, [2, [3]]],
        [4, [5, [null]]],
      ],
      [Buffer.from([0, 255]), new Uint8Array([1, 2]), new Uint16Array([1])],
      [[Buffer.from('x')]],
      [new Date(0), [new Date(1e12)]],
      [{ a: 'x"y\\z' }, { b: [1] }],
      [{ toPostgres: () => 'from "toPostgres"' }],
      [{ toPostgres: () => [1, 2] }],
    ];
    for (const array of arrays) sameAsPg(array);
    assert.strictEqual(prepareValue(['a"b', null, [1]]), '{"a\\"b",NULL,{"1"}}');
    assert.strictEqual(prepareValue([Buffer.from([0, 255])]), '{\\\\x00ff}');
  });

  it('takes in arrays what pg cannot: ArrayBuffers, and toPostgres() that returns null or bytes', () => {
    assert.strictEqual(prepareValue([new Uint8Array([1, 2]).buffer]), '{\\\\x0102}');
    assert.strictEqual(prepareValue([{ toPostgres: () => null }]), '{NULL}');
    assert.strictEqual(prepareValue([{ toPostgres: () => Buffer.from([7]) }]), '{\\\\x07}');
  });

  it('agrees with pg about objects', () => {
    class Point {
      constructor() {
        this.x = 1;
      }

      toPostgres(prepare) {
        return prepare([this.x, 'y']);
      }
    }
    const objects = [
      {},
      { a: 1, b: [null, 'x'], c: { d: new Date(0) } },
      { toJSON: () => ({ other: true }) },
      Object.create(null),
      /x/,
      new String('boxed'),
      new Point(),
      { toPostgres: () => null },
      { toPostgres: () => undefined },
      { toPostgres: () => 12n },
      { toPostgres: () => Buffer.from('x') },
      { toPostgres: () => ({ toPostgres: () => new Date(0) }) },
      { toPostgres: 'no function' },
    ];
    for (const object of objects) sameAsPg(object);
  });

  it('agrees with pg about any JSON-like value', async () => {
    const leaf = fc.oneof(
      ...[fc.string(), fc.string({ unit: 'binary' }), fc.double(), fc.integer(), fc.bigInt()],
      ...[fc.boolean(), fc.constant(null), fc.constant(undefined), fc.uint8Array()],
      fc.date({ noInvalidDate: true }),
    );
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        leaf,
        tie('array'),
        fc.jsonValue().map((json) => ({ json })),
      ),
      array: fc.array(tie('any'), { maxLength: 6 }),
    })).any;
    await holds(fc.property(value, (any) => void sameAsPg(any)));
  });

  it('can be passed to map(), as in pg', () => {
    assert.deepStrictEqual([new Date(0), 'x', 1].map(prepareValue), [
      ...[new Date(0), 'x', 1].map((value) => pgUtils.prepareValue(value)),
    ]);
  });

  it('refuses functions, symbols and invalid dates, with a message that says what to do', () => {
    const cases = [
      [() => 1, /^TypeError: a function cannot be sent as a query parameter: call it/],
      [class {}, /^TypeError: a function cannot be sent as a query parameter: /],
      [Symbol('x'), /^TypeError: a symbol cannot be sent as a query parameter: /],
      [new Date(NaN), /^TypeError: an invalid Date cannot be sent as a query parameter: check/],
    ];
    for (const [value, message] of cases) {
      assert.throws(() => prepareValue(value), message);
      assert.throws(() => prepareValue([[value]]), message);
      assert.throws(() => prepareValue({ toPostgres: () => value }), message);
    }
  });

  it('refuses objects without JSON, with the cause', () => {
    assert.throws(
      () => prepareValue(circularObject()),
      (error) =>
        error instanceof TypeError &&
        /circular/.test(error.message) &&
        error.cause instanceof TypeError,
    );
    assert.throws(() => prepareValue({ big: 1n }), /^TypeError: an object cannot be sent .*BigInt/);
    assert.throws(() => prepareValue({ toJSON: () => undefined }), /toJSON\(\) returned nothing/);
    assert.throws(() => prepareValue([{ toJSON: () => undefined }]), /toJSON\(\) returned nothing/);
  });

  it('refuses circular arrays and circular toPostgres()', () => {
    const array = [1];
    array.push([array]);
    assert.throws(() => prepareValue(array), /circular reference detected/);
    const direct = { toPostgres: () => direct };
    assert.throws(() => prepareValue(direct), /circular reference detected/);
    assert.throws(() => pgUtils.prepareValue(direct), /circular reference detected/);
    const nested = { toPostgres: (prepare) => prepare([nested]) };
    assert.throws(() => prepareValue(nested), /circular reference detected/);
    const pair = { toPostgres: () => ({ toPostgres: () => pair }) };
    assert.throws(() => prepareValue([pair]), /circular reference detected/);
  });

  it('allows the same object twice where there is no cycle', () => {
    const inner = { toPostgres: () => 'x' };
    const shared = ['y'];
    sameAsPg([inner, inner, shared, shared]);
    assert.strictEqual(
      prepareValue({ toPostgres: (prepare) => prepare(inner) + prepare(inner) }),
      'xx',
    );
    const forgiving = {
      toPostgres(prepare) {
        const failing = { toPostgres: (inside) => (this.failed ? 'z' : inside(Symbol('bad'))) };
        assert.throws(() => prepare(failing));
        this.failed = true;
        return prepare(failing);
      },
    };
    assert.strictEqual(prepareValue(forgiving), 'z');
  });
});

describe('escapeIdentifier and escapeLiteral', () => {
  const samples = ['', 'a', 'A b', '"', "'", '\\', `"'\\`, "''", '\\\\', '$&', 'ü😀', '\n\t'];

  it('agree with pg about any string', async () => {
    for (const sample of samples) {
      assert.strictEqual(escapeIdentifier(sample), pgUtils.escapeIdentifier(sample));
      assert.strictEqual(escapeLiteral(sample), pgUtils.escapeLiteral(sample));
    }
    const tricky = fc.string({ unit: fc.constantFrom(...`"'\\$&ab `) });
    await holds(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), tricky), (text) => {
        assert.strictEqual(escapeIdentifier(text), pgUtils.escapeIdentifier(text));
        assert.strictEqual(escapeLiteral(text), pgUtils.escapeLiteral(text));
      }),
    );
  });

  it('return the empty literal for values that are not strings, as pg does', () => {
    for (const value of [null, undefined, 1, {}]) {
      assert.strictEqual(escapeLiteral(value), pgUtils.escapeLiteral(value));
    }
  });
});
