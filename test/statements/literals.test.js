'use strict';

// Texts that differ in their literals only: what is found out about one of them holds for all.

const assert = require('node:assert/strict');
const fc = require('fast-check');
const { withoutLiterals } = require('../../lib/statements/literals');
const { StatementRegistry } = require('../../lib/statements');
const { Scanner } = require('../../lib/statements/scanner');
const { Traits } = require('../../lib/statements/traits');
const { holds } = require('../support/property');

/** Numbers as one token, whatever digits they have. @param {string} text */
function tokensOf(text) {
  const scanner = new Scanner(text);
  const tokens = [];
  for (let token = scanner.next(); token !== ''; token = scanner.next()) {
    if (token === '"') tokens.push(`"${scanner.quotedName}"`);
    else tokens.push(/^\d/.test(token) ? '0' : token);
  }
  return { tokens, isDoubtful: scanner.isDoubtful };
}

/** What a text tells, without the text itself. @param {string} text */
function traitsOf(text) {
  const traits = { ...new Traits(text), text: '' };
  return traits;
}

/** @param {string} text */
function countWords(text) {
  return text.match(/[a-z]\w*/gi)?.length;
}

describe('A text without its literals', () => {
  for (const [one, other] of [
    ["select a from t where b = 'x' and c = 5", "select a from t where b = 'it''s 7' and c = 123"],
    ['select "id" from "t" where "id" = 5 - -6', 'select "id" from "t" where "id" = 77 - -8'],
    ['insert into t (a) values (1, 2.5)', 'insert into t (a) values (345, 0.125)'],
    ['update t set a1 = \'é\' where "b 2" = 7', 'update t set a1 = \'--\' where "b 2" = 8'],
    [
      "delete from t where a = '/*' or b = $1 or c = 31",
      "delete from t where a = '$$' or b = $1 or c = 2",
    ],
  ]) {
    it(`is the same of ${one} and ${other}`, () => {
      assert.equal(withoutLiterals(one), withoutLiterals(other));
      assert.notEqual(withoutLiterals(one), undefined);
      const registry = new StatementRegistry({ names: undefined, onSchemaChange() {} });
      registry.find(one).learnEffect('SELECT');
      assert.notEqual(registry.find(other).effect, 'unknown');
    });
  }

  for (const [one, other] of [
    ['select a1 from t', 'select a2 from t'],
    ['select "a" from "t" where "b" = 5', 'select "b" from "t" where "b" = 5'],
    ['select $1', 'select $2'],
    ['select "a 1" from t where b = 1', 'select "a 2" from t where b = 1'],
    ["select a from t where b = 'x'", 'select a from t where b = 5'],
    ["select a from t where b = 'x' or c = 1", "select a from t where b = 'x or c = 1'"],
  ]) {
    it(`is another one of ${one} and ${other}`, () => {
      assert.notEqual(withoutLiterals(one), withoutLiterals(other));
    });
  }

  for (const text of [
    "select nextval('a')",
    "select current_setting('a.b')",
    "select set_config('a', 'b', true)",
    "select E'\\'', 5",
    "select 'a\\', 5",
    "select e'a'",
    "select U&'a'",
    'select U&"a"',
    'select $$5$$',
    'select 5 -- 6',
    'select 5 /* 6 */',
    'select é5',
    "select 'a",
    'select 1; select 2',
    "do 'begin end'",
    "prepare a as select 'b'",
    "set a = 'b'",
    'lock table a5',
  ]) {
    it(`is not known of ${text}`, () => {
      const rest = withoutLiterals(text);
      // What is not closed stays as it is: the server refuses it.
      if (rest !== undefined) assert.equal(rest, text);
    });
  }

  it('has the same tokens, and tells the same', () => {
    const piece = fc.constantFrom(
      ...[
        'select',
        'insert into',
        'update',
        'delete from',
        'with',
        'a',
        'a1',
        't.b2',
        '"c 3"',
        '"id"',
        '"now"',
        'x-1',
        '5-',
        '"it\'s"',
        '""',
      ],
      ...[
        "'x'",
        "'it''s 4'",
        "''",
        "'--'",
        "'/* 5'",
        "'\"'",
        "'$$'",
        "'\\'",
        "E'\\''",
        "U&'x'",
        'U&"y"',
        "n'z'",
      ],
      ...[
        '5',
        '1.5',
        '.5',
        '1e5',
        '1_000',
        '0x1F',
        '5a',
        '$1',
        '$2',
        '$$6$$',
        '$q$7$q$',
        '$',
        "'",
        '"',
        '\\',
      ],
      ...[
        '--',
        '/*',
        '*/',
        '\n',
        ';',
        '(',
        ')',
        ',',
        '=',
        '?',
        '::',
        'é',
        'é5',
        'ſ',
        'now',
        "'now'",
        'into temp',
      ],
      ...[
        'nextval',
        'lastval()',
        'set_config',
        'f(',
        'count(',
        'for update',
        'date',
        'pg_notify(',
        'temp',
        'copy',
      ],
    );
    const gap = fc.constantFrom('', ' ', ' ', ' ', '\t');
    const texts = fc
      .tuple(
        fc.constantFrom(
          'select ',
          'insert into ',
          'update ',
          'delete from ',
          'with ',
          'values ',
          '',
        ),
        fc.array(fc.tuple(piece, gap), { maxLength: 12 }),
      )
      .map(([first, pieces]) => first + pieces.flat().join(''));
    return holds(
      fc.property(texts, (text) => {
        const rest = withoutLiterals(text);
        if (rest === undefined) return;
        assert.deepEqual(tokensOf(rest), tokensOf(text), text);
        assert.equal(withoutLiterals(rest), rest);
        // A word in a literal is taken for one that does something.
        if (countWords(rest) !== countWords(text)) return;
        assert.deepEqual(traitsOf(rest), traitsOf(text), text);
      }),
      2000,
    );
  });
});

describe('What is known of a text', () => {
  /** @param {number} i */
  const textOf = (i) => `insert into t (a, b) values (${i}, 'b ${i}')`;

  it('is kept from its first use on, or from the second on where many texts differ in their literals only', () => {
    const registry = new StatementRegistry({ names: undefined, onSchemaChange() {} });
    const first = registry.find(textOf(0));
    assert.equal(registry.find(textOf(0)), first);
    for (let i = 1; i < 100; ++i) registry.find(textOf(i));
    assert.equal(registry.find(textOf(0)), first);

    const once = registry.find(textOf(200));
    assert.equal(once.isOneOfMany, true);
    const again = registry.find(textOf(200));
    assert.notEqual(again, once);
    assert.equal(again.uses, 1);
    assert.equal(registry.find(textOf(200)), again);
    // Another kind of text.
    const parameters = 'insert into t (a, b) values ($1, $2)';
    assert.equal(registry.find(parameters), registry.find(parameters));
  });

  it('is doubted in all of its uses, whichever was the first to be kept', () => {
    const registry = new StatementRegistry({ names: undefined, onSchemaChange() {} });
    for (let i = 0; i < 100; ++i) registry.find(textOf(i));
    const once = registry.find(textOf(200));
    const again = registry.find(textOf(200));
    const { epoch } = again;
    registry.renew(once);
    assert.notEqual(again.epoch, epoch);
    assert.equal(again.epoch, once.epoch);
    registry.neverPrepare(once);
    assert.equal(again.isNeverPrepared, true);

    const other = registry.find(textOf(201));
    registry.neverPrepare(other);
    assert.equal(registry.find(textOf(201)), other);
  });

  it('is kept of each of thousands that come again in turn', () => {
    const registry = new StatementRegistry({ names: undefined, onSchemaChange() {} });
    const texts = Array.from({ length: 3000 }, (_, i) => textOf(i));
    for (let round = 0; round < 2; ++round) for (const text of texts) registry.find(text);
    const kept = texts.map((text) => registry.find(text));
    assert.deepEqual(
      kept.filter((info, i) => registry.find(texts[i]) !== info),
      [],
    );
  });

  it('is seldom kept of those that never come again', () => {
    const registry = new StatementRegistry({ names: undefined, onSchemaChange() {} });
    let kept = 0;
    for (let i = 0; i < 50_000; ++i) if (registry.find(textOf(i)).uses > 0) ++kept;
    assert.ok(kept < 5000, String(kept));
  });
});
