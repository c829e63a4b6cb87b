'use strict';

// lib/rows/types/index.js and type-overrides.js: the registry shared with pg-types, and the assumptions of the
// driver about its parsers.

const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const pgTypes = require('pg-types');
const PgTypeOverrides = require('pg/lib/type-overrides');
const { types, getTypesEpoch, isDefaultParser, isIdentityParser } = require('../../lib/rows/types');
const { TypeOverrides } = require('../../lib/rows/types/type-overrides');

const ENTRY = require.resolve('../../lib/rows/types');
const PG_TYPES = require.resolve('pg-types');
const { INT4, INT8, JSON: JSON_OID, NUMERIC, TEXT, TIMESTAMPTZ } = types.builtins;
const JSONB = 3802;
const MADE_UP_OID = 987_654;

/** Evaluates an expression where `pgTypes`, not yet touched by anyone, is loaded before our module. */
function inFreshProcess(prepare, expression) {
  const script = `
    const pgTypes = require(${JSON.stringify(PG_TYPES)});
    ${prepare};
    const ours = require(${JSON.stringify(ENTRY)});
    console.log(JSON.stringify(${expression}));`;
  return JSON.parse(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' }));
}

/** Sets a parser through `set` and puts the old one back when `use` is done. */
function withParser(set, oid, parser, use) {
  const before = pgTypes.getTypeParser(oid);
  set(oid, parser);
  try {
    use();
  } finally {
    pgTypes.setTypeParser(oid, before);
  }
}

describe('types', () => {
  it('has the API of pg-types', () => {
    assert.deepStrictEqual(Object.keys(types).sort(), Object.keys(pgTypes).sort());
    assert.strictEqual(types.builtins, pgTypes.builtins);
    assert.strictEqual(types.arrayParser, pgTypes.arrayParser);
    assert.strictEqual(types.getTypeParser(INT4)('12'), 12);
    assert.strictEqual(types.getTypeParser(INT4, 'binary')(Buffer.from([0, 0, 0, 12])), 12);
    assert.strictEqual(types.getTypeParser(MADE_UP_OID)('x'), 'x');
    assert.strictEqual(types.getTypeParser(INT4, 'nonsense')('12'), '12');
  });

  it('shares its registry with pg-types in both directions', () => {
    const parser = () => 'mine';
    withParser(pgTypes.setTypeParser, INT8, parser, () => {
      assert.strictEqual(types.getTypeParser(INT8), parser);
    });
    withParser(types.setTypeParser, INT8, parser, () => {
      assert.strictEqual(pgTypes.getTypeParser(INT8), parser);
      assert.strictEqual(require('pg').types.getTypeParser(INT8), parser);
    });
  });

  it('sets parsers for the binary format too', () => {
    const before = pgTypes.getTypeParser(INT4, 'binary');
    const parser = () => 'mine';
    types.setTypeParser(INT4, 'binary', parser);
    try {
      assert.strictEqual(types.getTypeParser(INT4, 'binary'), parser);
      assert.ok(!isDefaultParser(INT4, parser, 'binary'));
      assert.ok(isDefaultParser(INT4, types.getTypeParser(INT4)));
    } finally {
      types.setTypeParser(INT4, 'binary', before);
    }
  });

  it('takes null to remove a parser', () => {
    withParser(types.setTypeParser, INT4, null, () => {
      assert.strictEqual(types.getTypeParser(INT4)('1'), '1');
    });
  });

  it('increments the epoch with every parser that is set', () => {
    const before = getTypesEpoch();
    withParser(types.setTypeParser, INT8, Number, () => {
      assert.strictEqual(getTypesEpoch(), before + 1);
      new TypeOverrides().setTypeParser(INT8, Number);
      assert.strictEqual(getTypesEpoch(), before + 2);
    });
    // Put back in pg-types itself.
    assert.strictEqual(getTypesEpoch(), before + 3);
    assert.throws(() => types.setTypeParser(undefined, Number));
    assert.strictEqual(getTypesEpoch(), before + 3);
  });

  it('refuses a missing oid, an unknown format and a parser that is not a function', () => {
    for (const target of [types, new TypeOverrides()]) {
      assert.throws(() => target.setTypeParser(undefined, Number), /needs the oid of a type/);
      assert.throws(() => target.setTypeParser(NaN, Number), /needs the oid of a type/);
      assert.throws(() => target.setTypeParser(INT8, 'json', Number), /'text' and 'binary'/);
      assert.throws(() => target.setTypeParser(INT8, 'text', 'Number'), /needs a function/);
    }
  });
});

describe('isDefaultParser', () => {
  it('is true for every parser that pg-types comes with', () => {
    const oids = [...Object.values(types.builtins), 1000, 1007, 1016, 1115, 1185, MADE_UP_OID];
    for (const oid of oids) {
      assert.ok(isDefaultParser(oid, types.getTypeParser(oid)), `text ${oid}`);
      assert.ok(
        isDefaultParser(oid, types.getTypeParser(oid, 'binary'), 'binary'),
        `binary ${oid}`,
      );
    }
  });

  it('is false for a parser set by this module or by pg-types', () => {
    for (const set of [types.setTypeParser, pgTypes.setTypeParser]) {
      for (const oid of [INT4, TEXT, JSON_OID, TIMESTAMPTZ, MADE_UP_OID]) {
        withParser(
          set,
          oid,
          (value) => value,
          () => assert.ok(!isDefaultParser(oid, types.getTypeParser(oid)), String(oid)),
        );
        assert.ok(isDefaultParser(oid, types.getTypeParser(oid)));
      }
    }
  });

  it('is false for the default parser of another type, and for the parser of unknown types', () => {
    assert.ok(!isDefaultParser(TIMESTAMPTZ, types.getTypeParser(INT4)));
    assert.ok(!isDefaultParser(INT4, types.getTypeParser(MADE_UP_OID)));
  });

  it('is false for a parser that was set before this module was loaded', () => {
    const oids = [INT4, TEXT, JSON_OID, JSONB];
    for (const parser of ['(value) => value', 'Number', '(value) => JSON.parse(value)']) {
      const prepare = `for (const oid of ${JSON.stringify(oids)}) pgTypes.setTypeParser(oid, ${parser})`;
      const answers = inFreshProcess(
        prepare,
        `${JSON.stringify(oids)}.map((oid) => ours.isDefaultParser(oid, ours.types.getTypeParser(oid)))`,
      );
      assert.deepStrictEqual(answers, [false, false, false, false], parser);
    }
  });

  it('is false for the bound parse() of another JSON library', () => {
    const libraries = [
      '{ parse: (text, reviver) => JSON.parse(text.replace(/(\\d{16,})/g, \'"$1"\')) }',
      '{ parse: (text) => JSON.parse(text, (key, value) => value === null ? undefined : value) }',
      '{ parse(text) { try { return JSON.parse(text) } catch { return null } } }',
    ];
    const answer = (prepare) =>
      inFreshProcess(prepare, `ours.isDefaultParser(${JSONB}, ours.types.getTypeParser(${JSONB}))`);
    assert.strictEqual(answer(''), true);
    for (const library of libraries) {
      const prepare = `const lib = ${library}; pgTypes.setTypeParser(${JSONB}, lib.parse.bind(lib))`;
      assert.strictEqual(answer(prepare), false, library);
    }
  });
});

describe('isIdentityParser', () => {
  it('is true where the default parser returns the text as it is', () => {
    for (const oid of [INT8, NUMERIC, TEXT, MADE_UP_OID]) assert.ok(isIdentityParser(oid));
    for (const text of ['1', '-9223372036854775808', '0.10']) {
      for (const oid of [INT8, NUMERIC]) assert.strictEqual(types.getTypeParser(oid)(text), text);
    }
  });

  it('is false for types whose parser changes the text', () => {
    for (const oid of [INT4, JSON_OID, JSONB, TIMESTAMPTZ, 16, 17, 1007, 1016]) {
      assert.ok(!isIdentityParser(oid), String(oid));
    }
  });
});

describe('TypeOverrides', () => {
  it('answers as the class in pg does', () => {
    const parser = (text) => `parsed ${text}`;
    for (const Overrides of [PgTypeOverrides, TypeOverrides]) {
      const overrides = new Overrides();
      assert.strictEqual(overrides.getTypeParser(INT4), pgTypes.getTypeParser(INT4));
      overrides.setTypeParser(INT4, parser);
      overrides.setTypeParser(INT8, 'binary', parser);
      assert.strictEqual(overrides.getTypeParser(INT4), parser);
      assert.strictEqual(overrides.getTypeParser(INT4, 'text'), parser);
      assert.strictEqual(
        overrides.getTypeParser(INT4, 'binary'),
        pgTypes.getTypeParser(INT4, 'binary'),
      );
      assert.strictEqual(overrides.getTypeParser(INT8), pgTypes.getTypeParser(INT8));
      assert.strictEqual(overrides.getTypeParser(INT8, 'binary'), parser);
      assert.notStrictEqual(new Overrides().getTypeParser(INT4), parser);
    }
  });

  it('uses the types that it was given before those of the module, with the format', () => {
    const asked = [];
    const overrides = new TypeOverrides({
      getTypeParser(oid, format) {
        asked.push([oid, format]);
        return String;
      },
    });
    assert.strictEqual(overrides.getTypeParser(INT4), String);
    overrides.getTypeParser(TEXT, 'binary');
    assert.deepStrictEqual(asked, [
      [INT4, 'text'],
      [TEXT, 'binary'],
    ]);
  });

  it('returns to the parser underneath when given null', () => {
    const overrides = new TypeOverrides();
    overrides.setTypeParser(INT4, () => 'mine');
    overrides.setTypeParser(INT4, null);
    assert.strictEqual(overrides.getTypeParser(INT4), types.getTypeParser(INT4));
  });
});
