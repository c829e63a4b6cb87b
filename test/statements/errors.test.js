'use strict';

// lib/statements/errors.js: what the fields of an error prove about a prepared statement. The contexts are from
// PostgreSQL's own translations.

const assert = require('node:assert/strict');
const { DatabaseError } = require('../../lib/base/errors');
const {
  isOfAnalysis,
  isOfDroppedType,
  isOfExecution,
  isOfParameter,
  toDatabaseError,
} = require('../../lib/statements/errors');
const { StatementInfo } = require('../../lib/statements/registry');

/** @param {Record<string, string>} fields */
const make = (fields) => new DatabaseError({ C: '22P02', M: 'wrong', ...fields });

describe('An error', () => {
  const PARAMETER = [
    'unnamed portal parameter $%',
    'unbenanntes Portal Parameter $%',
    'paramètre de portail non nommé $%',
    'parametro portale senza nome $%',
    '無名ポータルパラメータ $%',
    'უსახელო პორტალის პარამეტრი $%',
    '이름없는 포탈 $% 매개 변수',
    'неименованный портал, параметр $%',
    'ej namngiven portalparameter $%',
    'параметр порталу без назви $%',
  ];
  const VALUES = ["'...'", "'30000...'", "'it''s'", "'a\nb'", "'$1 = ''5'''", "'a: b'", "''"];

  it('is about a parameter if its context is a parameter and nothing else', () => {
    for (const context of PARAMETER) {
      assert.ok(isOfParameter(make({ W: context.replace('%', '12') })), context);
      for (const value of VALUES) {
        const where = `${context.replace('%', '1')} = ${value}`;
        assert.ok(isOfParameter(make({ W: where })), where);
      }
    }
  });

  it('is about the execution if its context has several parameters or a function', () => {
    const portals = [
      'unnamed portal with parameters: %',
      'unbenanntes Portal mit Parametern: %',
      'portail non nommé avec les paramètres : « % »',
      'パラメータを持つ無名ポータル: %',
      'неименованный портал с параметрами: %',
    ];
    for (const portal of portals) {
      for (const value of VALUES) {
        assert.ok(!isOfParameter(make({ W: portal.replace('%', () => `$1 = ${value}`) })), portal);
      }
    }
    for (const where of [
      'PL/pgSQL function f(integer) line 3 at RETURN',
      'PL/pgSQL function "f $1"(integer) line 3 at RETURN',
      'SQL function "f" statement 1',
      'SQL statement "select $1"',
      "unnamed portal parameter $1 = '5'\nPL/pgSQL function f() line 1 at RETURN",
      "unnamed portal parameter $1 = '5', $2 = '6'",
      'COPY t, line 1, column a: "$1"',
      '',
    ]) {
      assert.ok(!isOfParameter(make({ W: where })), where);
    }
    assert.ok(!isOfParameter(make({})));
  });

  it('with a position is about the analysis of the text, for plannable statements and outside of functions', () => {
    const query = new StatementInfo('select a from t');
    const is = (fields, info = query) => isOfAnalysis(make({ C: '42703', ...fields }), info);
    assert.ok(is({ P: '8' }));
    assert.ok(is({ P: '8', W: "unnamed portal with parameters: $1 = '5'" }));
    assert.ok(is({ P: '8', W: "portail non nommé avec les paramètres : « $1 = '5' »" }));
    assert.ok(!is({}));
    assert.ok(!is({ p: '8', q: 'select nowhere', W: 'SQL statement "select nowhere"' }));
    assert.ok(!is({ P: '8', W: 'PL/pgSQL function f(integer) line 3 at EXECUTE' }));
    assert.ok(!is({ P: '8', C: '0A000' }), 'which the executor may say');
    for (const text of [
      ...['call p($1)', 'explain select a', 'create table t (a int)', 'do $$ $$', 'vacuum t'],
      ...['select 1; select a', 'execute a', 'declare c cursor for select a', 'copy t from stdin'],
    ]) {
      assert.ok(!is({ P: '8' }, new StatementInfo(text)), text);
    }
    for (const text of [
      'with a as (select 1) select b',
      '(select 1) union select b',
      'update t set b = 1',
    ]) {
      assert.ok(is({ P: '8' }, new StatementInfo(text)), text);
    }
  });

  it('is about a dropped type if its routine says so, in Bind only', () => {
    const fields = { C: 'XX000', R: 'getTypeInputInfo', W: 'unnamed portal parameter $1' };
    assert.ok(isOfDroppedType(make(fields)));
    assert.ok(!isOfDroppedType(make({ ...fields, W: 'PL/pgSQL function f() line 1 at RETURN' })));
    assert.ok(!isOfDroppedType(make({ ...fields, R: 'printtup' })));
  });

  it('about a wrong number of values hides the internal statement name and has a hint with both counts, in any language', () => {
    const fields = { C: '08P01', R: 'exec_bind_message' };
    const tell = (M, name, count = 1, other = fields) =>
      toDatabaseError({ ...other, M }, { name, parameters: Array(count).fill(null) });
    const own = 'pgc_abcdefg234_17';
    const german = `Binden-Nachricht enthält 1 Parameter, aber vorbereitete Anweisung »${own}« erfordert 12`;
    const told = tell(german);
    assert.equal(told.message, german.replace(own, ''));
    assert.equal(told.hint, 'the text has $1 to $12, and 1 value was given');
    // Written the other way round.
    assert.equal(
      tell(`needs 3, "${own}", has 2`, undefined, 2).hint.slice(0, 21),
      'the text has $1 to $3',
    );
    assert.equal(
      tell(german, '$& 5').message,
      german.replace(own, () => '$& 5'),
    );
    assert.equal(tell(german, '$& 5').hint, told.hint);
    for (const [M, count] of [
      [german, 5],
      ['bind message has 2 parameter formats but 3 parameters', 1],
      ['something else', 1],
      [undefined, 1],
    ]) {
      assert.equal(tell(M, undefined, count).hint, undefined, M);
    }
    // Where the name matters.
    const lost = { C: '26000', R: 'FetchPreparedStatement' };
    assert.match(tell(`prepared statement "${own}" does not exist`, '', 1, lost).message, /pgc_/);
  });

  it('is about the execution only, if its code cannot depend on a type', () => {
    for (const code of [
      '23505',
      '40001',
      '25P02',
      '57014',
      '53100',
      '55P03',
      'P0001',
      '22012',
      '26000',
    ]) {
      assert.ok(isOfExecution(make({ C: code })), code);
    }
    for (const code of ['22003', '22P02', '42883', '42804', '0A000', 'XX000', '22001', '45000']) {
      assert.ok(!isOfExecution(make({ C: code })), code);
    }
  });
});
