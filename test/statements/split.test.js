'use strict';

// Where one statement of a text ends and the next one begins. The server decides in the end:
// see test/connection/several-statements.test.js.

const assert = require('node:assert/strict');
const fc = require('fast-check');
const { splitStatements } = require('../../lib/statements/split');
const { holds } = require('../support/property');

const trimmed = (text) => splitStatements(text).map((statement) => statement.trim());

describe('splitStatements()', () => {
  for (const [text, expected] of [
    ['select 1', ['select 1']],
    ['select 1;', ['select 1;']],
    ['select 1; \n ;', ['select 1; \n ;']],
    ['select 1; select 2', ['select 1', 'select 2']],
    [';; select 1 ;; select 2 ;;', ['select 1', 'select 2']],
    ['select 1; -- select 2', ['select 1']],
    [
      'select 1; /* select 2; /* */ ; */ select 3',
      ['select 1', '/* select 2; /* */ ; */ select 3'],
    ],
    ["select ';'; select 2", ["select ';'", 'select 2']],
    ["select E'\\';'; select 2", ["select E'\\';'", 'select 2']],
    ["select '\\'; select 2", ["select '\\'", 'select 2']],
    ['select ";"""; select 2', ['select ";"""', 'select 2']],
    ['select $$;$$; select $a$;$$;$a$', ['select $$;$$', 'select $a$;$$;$a$']],
    ['select a$b$c; select 2', ['select a$b$c', 'select 2']],
    ['select $1; select $2', ['select $1', 'select $2']],
    [
      'create function f() returns int begin atomic select 1; select 2; end; select 3',
      ['create function f() returns int begin atomic select 1; select 2; end', 'select 3'],
    ],
    [
      'create function f() returns int begin atomic select case when true then 1 end; select 2; end; select 3',
      [
        'create function f() returns int begin atomic select case when true then 1 end; select 2; end',
        'select 3',
      ],
    ],
    [
      'begin; select case when true then 1 end; end',
      ['begin', 'select case when true then 1 end', 'end'],
    ],
    ['begin; end; begin; end', ['begin', 'end', 'begin', 'end']],
    ['select 1 as atomic; select 2', ['select 1 as atomic', 'select 2']],
    ["select 'open; select 2", ["select 'open; select 2"]],
    ['select $a$open; select 2', ['select $a$open; select 2']],
    ['select /* open; select 2', ['select /* open; select 2']],
  ]) {
    it(JSON.stringify(text), () => {
      assert.deepEqual(trimmed(text), expected);
    });
  }

  it('finds the statements of a joined text, whatever they contain', async () => {
    const part = fc.constantFrom(
      'select',
      '1',
      'a$b',
      '$1',
      "';'",
      "'it''s;'",
      "e'\\';'",
      '";"',
      '$$;$$',
      '$q$;$$;$q$',
      '/* ; */',
      '/* /* ; */ ; */',
      '-- ;\n',
      'case when x then y end',
      '(',
      ')',
      '1e5',
      '*',
    );
    const statement = fc
      .array(part, { minLength: 1, maxLength: 6 })
      .map((parts) => ['select', ...parts].join(' '));
    await holds(
      fc.property(fc.array(statement, { minLength: 2, maxLength: 5 }), (statements) => {
        assert.deepEqual(
          trimmed(statements.join(';')),
          statements.map((text) => text.trim()),
        );
      }),
    );
  });

  it('returns parts of the text in order, for any text, and never throws', async () => {
    const piece = fc.constantFrom(
      ...[';', "'", '"', '$$', '$a$', '/*', '*/', '--', '\n', '\\', "e'", 'begin', 'atomic'],
      ...['case', 'end', 'x', ' ', '(', ')', 'é', '1'],
    );
    await holds(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = pieces.join('');
        let at = 0;
        for (const statement of splitStatements(text)) {
          const found = text.indexOf(statement, at);
          assert.ok(found >= at);
          assert.ok(
            /^[\s;]*$/.test(text.slice(at, found).replace(/\/\*[^]*?\*\/|--.*/g, '')) || at > 0,
          );
          at = found + statement.length;
        }
      }),
    );
  });

  it('splits a megabyte of each opening token', () => {
    for (const piece of ["';", '$a$;', '/*;', '";', '--;', '$;', ';', "e'\\", '/**/;', 'case;']) {
      const text = piece.repeat((1 << 20) / piece.length);
      assert.ok(splitStatements(`select 1; ${text}`).length >= 1);
    }
  });
});
