'use strict';

// Values and names that a driver must not trust: bytes that are not what their type says, text that is
// no UTF-8, JSON that would swallow its neighbours, columns called __proto__. By a scripted server, and
// the names on a real one.

const assert = require('node:assert/strict');
const { ResultError } = require('../..');
const { endAll, newClient } = require('../support/connect');
const { driverError } = require('../support/driver-error');
const { EXECUTIONS } = require('../support/like-pg');
const m = require('../support/messages');
const { errorOf } = require('../support/outcomes');
const { until } = require('../support/outside');
const { ScriptedServer } = require('../support/scripted-server');
const { allInTime, assertOwn, echo, inTime, useScript } = require('../support/scripts');

const UNREADABLE = Symbol('an error, for this query alone');
const INVALID_DATE = Symbol('an invalid date');

const hex = (...parts) => Buffer.from(parts.join(''), 'hex');
const numeric = (digits, weight, sign, scale, ...groups) =>
  Buffer.concat([digits, weight, sign, scale, ...groups].map(m.int16));
const jsonb = (text, version = 1) => Buffer.concat([Buffer.from([version]), Buffer.from(text)]);
const NUMERIC_INFINITY = 0xd000;

/** Type, bytes, what is made of them. */
const BINARY = [
  ['bool', '', UNREADABLE],
  ['bool', hex('02'), true],
  ['bool', hex('0001'), UNREADABLE],
  ['int2', hex('00'), UNREADABLE],
  ['int2', hex('8000'), -32768],
  ['int2', hex('000000'), UNREADABLE],
  ['int4', '', UNREADABLE],
  ['int4', hex('000000'), UNREADABLE],
  ['int4', hex('80000000'), -(2 ** 31)],
  ['int4', hex('0000000000'), UNREADABLE],
  ['int8', hex('00000000'), UNREADABLE],
  ['int8', hex('8000000000000000'), '-9223372036854775808'],
  ['int8', hex('000000000000000000'), UNREADABLE],
  ['oid', hex('ffffffff'), 2 ** 32 - 1],
  ['oid', hex('ff'), UNREADABLE],
  ['float8', hex('00000000'), UNREADABLE],
  // What stands for NULL, and for an int8 that is no number, is a NaN of ours.
  ['float8', hex('ffffffffffffffff'), NaN],
  ['float8', hex('7ff80badffffffff'), NaN],
  ['float8', hex('fff0000000000000'), -Infinity],
  ['timestamptz', hex('7fffffffffffffff'), Infinity],
  ['timestamptz', hex('8000000000000000'), -Infinity],
  ['timestamptz', hex('7ffffffffffffffe'), INVALID_DATE],
  ['timestamptz', hex('8000000000000001'), INVALID_DATE],
  ['timestamptz', hex('00'), UNREADABLE],
  ['timestamp', hex('7ffffffffffffffe'), INVALID_DATE],
  ['timestamp', hex('8000000000000001'), INVALID_DATE],
  ['timestamp', hex('000000000000000000'), UNREADABLE],
  ['date', hex('7fffffff'), Infinity],
  ['date', hex('7ffffffe'), INVALID_DATE],
  ['date', hex('80000001'), INVALID_DATE],
  ['date', hex('0000000000000000'), UNREADABLE],
  ['time', hex('000000141dd76000'), '24:00:00'],
  ['time', hex('000000141dd76001'), UNREADABLE],
  ['time', hex('ffffffffffffffff'), UNREADABLE],
  ['time', hex('00'), UNREADABLE],
  ['uuid', '', UNREADABLE],
  ['uuid', hex('00'.repeat(15)), UNREADABLE],
  ['uuid', hex('00'.repeat(17)), UNREADABLE],
  ['jsonb', '', UNREADABLE],
  ['jsonb', jsonb(''), UNREADABLE],
  ['jsonb', jsonb('{}', 0), UNREADABLE],
  ['jsonb', jsonb('{}', 2), UNREADABLE],
  ['jsonb', jsonb('{'), UNREADABLE],
  ['jsonb', jsonb('1,2'), UNREADABLE],
  ['jsonb', jsonb('1]'), UNREADABLE],
  ['jsonb', jsonb('{"a":null}'), { a: null }],
  ['json', 'nope', UNREADABLE],
  ['json', Buffer.concat([Buffer.from('"'), hex('ff'), Buffer.from('"')]), '\ufffd'],
  ['numeric', '', UNREADABLE],
  ['numeric', hex('00'), UNREADABLE],
  ['numeric', numeric(0xffff, 0, 0, 0), UNREADABLE],
  ['numeric', numeric(1, 0, 0, 0), UNREADABLE],
  ['numeric', numeric(1, 0, 0, 0, 1, 2), UNREADABLE],
  ['numeric', numeric(1, 0, 0, 0, 9999), '9999'],
  ['numeric', numeric(1, 0, 0, 0, 10000), UNREADABLE],
  ['numeric', numeric(2, 1, 0, 0, 1, 65535), UNREADABLE],
  ['numeric', numeric(0, 0, 0x1234, 0), UNREADABLE],
  ['numeric', numeric(0, 0, 0, 0x4000), UNREADABLE],
  ['numeric', numeric(0, 0, NUMERIC_INFINITY, 0), 'Infinity'],
  ['numeric', numeric(1, 0x7fff, 0, 0, 1), `1${'0'.repeat(4 * 0x7fff)}`],
  ['numeric', numeric(1, -0x8000, 0, 0x3fff, 1), `0.${'0'.repeat(0x3fff)}`],
  ['bytea', '', Buffer.alloc(0)],
  ['bytea', hex('00ff'), Buffer.from([0, 255])],
];

const TEXT = [
  ['bool', 'x', UNREADABLE],
  ['bool', '', UNREADABLE],
  ['bool', 'true', UNREADABLE],
  ['int4', '', UNREADABLE],
  ['int4', '2147483648', UNREADABLE],
  ['int4', '1 ', UNREADABLE],
  ['int4', '1\0', UNREADABLE],
  ['oid', '-1', UNREADABLE],
  ['float8', '1e999', UNREADABLE],
  ['float8', '1x', UNREADABLE],
  ['float8', '', UNREADABLE],
  ['json', '', UNREADABLE],
  ['json', '1,2', UNREADABLE],
  ['json', '{"__proto__":{"polluted":1}}', JSON.parse('{"__proto__":{"polluted":1}}')],
  ['text', hex('c3'), '\ufffd'],
  ['text', hex('61ff62'), 'a\ufffdb'],
  ['text', hex('eda080'), '\ufffd\ufffd\ufffd'],
  ['text', hex('f4908080'), '\ufffd\ufffd\ufffd\ufffd'],
  ['text', hex('f09f9880'), '😀'],
  ['text', hex('610062'), 'a\0b'],
];

const INVALID_UTF8 = hex('61ff62');
const READ_AS = 'a\ufffdb';

/** @param {any} reason */
function unreadable(reason) {
  const error = driverError(reason);
  assert.ok(error instanceof ResultError, String(reason));
  return error;
}

describe('A value that is invalid for its type', () => {
  const script = useScript();
  const text = 'select a value';

  /** @param {string} type @param {any} value */
  function answerWith(type, value) {
    script.server.statements[text] = () => ({
      columns: [{ name: 'v', oid: m.OID[type] }],
      rows: [[value]],
      tag: 'SELECT 1',
    });
  }

  for (const [format, values, uses] of [
    ['binary', BINARY, EXECUTIONS],
    ['text', TEXT, 0],
  ]) {
    for (const [type, bytes, expected] of values) {
      const shown = JSON.stringify(Buffer.from(bytes).toString(format === 'text' ? 'utf8' : 'hex'));
      it(`makes only its own query fail, or is returned: ${type} of ${format} ${shown}`, async () => {
        const pool = script.newPool({ syncGroup: 'off' });
        answerWith(type, null);
        for (let use = 0; use < uses; ++use) await pool.query(text);
        answerWith(type, bytes);
        const queries = [echo(pool, 1), pool.query(text), echo(pool, 2)];
        const [before, outcome, behind] = await allInTime(queries);
        assertOwn(before.value, 1);
        assertOwn(behind.value, 2);
        if (expected === UNREADABLE) {
          const { reason } = outcome;
          assert.equal(reason.outcome, 'unknown');
          const { message } = unreadable(reason);
          assert.match(message, /column "v" of the result|a value of the result cannot be parsed/);
        } else {
          const [{ v }] = outcome.value.rows;
          if (expected === INVALID_DATE) assert.ok(Number.isNaN(v.getTime()));
          else assert.deepStrictEqual(v, expected);
        }
        assert.equal({}.polluted, undefined);
        await script.recovers(pool);
      });
    }
  }

  it('is not taken for its neighbour, where a row has the length of a good one', async () => {
    const int4 = m.OID.int4;
    const columns = ['a', 'b'].map((name) => ({ name, oid: int4 }));
    const good = [hex('00000001'), hex('00000002')];
    const pool = script.newPool({ syncGroup: 'off' });
    const answerRows = (rows) => {
      script.server.statements[text] = () => ({ columns, rows, tag: `SELECT ${rows.length}` });
    };
    answerRows([]);
    for (let use = 0; use < EXECUTIONS; ++use) await pool.query(text);
    for (const rowMode of [undefined, 'array', 'columns']) {
      for (const bad of [
        [hex('0001'), hex('000000000002')],
        [hex('0000000100000002'), ''],
        [null, hex('0000000100000002')],
      ]) {
        answerRows([good, good, bad, good]);
        const queries = [echo(pool, 1), pool.query({ text, rowMode }), echo(pool, 2)];
        const [before, outcome, behind] = await allInTime(queries);
        assertOwn(before.value, 1);
        assertOwn(behind.value, 2);
        assert.match(unreadable(outcome.reason).message, /column "[ab]" of the result/);
      }
      answerRows([good, [null, hex('00000003')], good]);
      const result = await pool.query({ text, rowMode });
      const [first, second] = rowMode === 'columns' ? result.columns : [];
      if (rowMode === 'columns') {
        assert.deepEqual(
          [first.values, second.values],
          [Int32Array.of(1, 0, 1), Int32Array.of(2, 3, 2)],
        );
        assert.deepEqual([first.nulls, second.nulls], [Uint8Array.of(0, 1, 0), null]);
      } else {
        assert.deepEqual(result.rows.map(Object.values), [
          [1, 2],
          [null, 3],
          [1, 2],
        ]);
      }
    }
    await script.recovers(pool);
  });

  it("is not trusted in answers to the driver's own queries, and affects no caller", async () => {
    const asked = "SELECT pg_catalog.current_setting('extra_float_digits')";
    const float = { columns: [{ name: 'v', oid: m.OID.float8 }], tag: 'SELECT 1' };
    script.server.statements[text] = (values, isBinary) => ({
      ...float,
      rows: [[isBinary ? hex('4000000000000000') : '1']],
    });
    const { json, int4, int8, text: textType, jsonb: jsonbType } = m.OID;
    for (const [rows, columns] of [
      [[['nope']], [{ name: 'v', oid: json }]],
      [[['nope']], [{ name: 'v', oid: int4 }]],
      [[['1e9']], [{ name: 'v', oid: int8 }]],
      [[['']], [{ name: 'v', oid: jsonbType }]],
      [[[null]], [{ name: 'v', oid: textType }]],
      [[], [{ name: 'v', oid: textType }]],
      [[[]], []],
      [
        [['0', '1']],
        [
          { name: 'a', oid: textType },
          { name: 'b', oid: textType },
        ],
      ],
    ]) {
      script.server.statements[asked] = () => ({ columns, rows, tag: `SELECT ${rows.length}` });
      const pool = script.newPool({ syncGroup: 'off' });
      for (let use = 0; use < 10; ++use) {
        const queries = [echo(pool, 1), pool.query(text), echo(pool, 2)];
        const [before, outcome, behind] = await allInTime(queries);
        assertOwn(before.value, 1);
        assertOwn(behind.value, 2);
        assert.deepEqual(outcome.value.rows, [{ v: 1 }]);
      }
    }
  });

  it('is reported with its column, also after valid rows', async () => {
    const client = await script.connect();
    script.server.statements[text] = () => ({
      columns: [
        { name: 'i', oid: m.OID.int4 },
        { name: 'flag', oid: m.OID.bool },
      ],
      rows: [
        ['1', 't'],
        ['2', 'f'],
        ['3', 'maybe'],
        ['4', 't'],
      ],
      tag: 'SELECT 4',
    });
    const error = await errorOf(inTime('the query', client.query(text)));
    assert.match(error.message, /column "flag"/);
  });

  describe('of JSON', () => {
    const { json } = m.OID;
    const JSON_TEXT = 'select json';

    /** Servers whose answers to one query each are received together. */
    async function answerTogether(servers, texts) {
      /** @type {(() => void)[]} */
      const held = [];
      servers.forEach((server, index) => {
        server.statements[JSON_TEXT] = () => ({
          columns: [{ name: 'v', oid: json }],
          rows: texts[index].map((value) => [value]),
          tag: 'SELECT 1',
        });
        server.reply = (sane, { texts: asked, session }) => {
          if (asked.length === 0) return sane;
          held.push(() => session.say(sane));
          if (held.length === servers.length) for (const answer of held) answer();
          return undefined;
        };
      });
    }

    it('does not include a value that another server has sent', async () => {
      const servers = [script.server, await ScriptedServer.open(), await ScriptedServer.open()];
      try {
        const pools = servers.map((server) => script.newPool(server.options()));
        for (const pool of pools) await echo(pool, 1);
        for (let round = 0; round < 20; ++round) {
          await answerTogether(servers, [['[1'], ['{"secret":1}'], ['2],7,8,0']]);
          const queries = pools.map((pool) => pool.query(JSON_TEXT));
          const [first, second, third] = await allInTime(queries);
          assert.ok(unreadable(first.reason), JSON.stringify(first.value?.rows));
          assert.deepEqual(second.value.rows, [{ v: { secret: 1 } }]);
          assert.ok(unreadable(third.reason), JSON.stringify(third.value?.rows));
        }
      } finally {
        for (const server of servers.slice(1)) await server.close();
      }
    });

    it('does not include a value of another query, wherever it is', async () => {
      const pool = script.newPool({ syncGroup: 'off' });
      const good = 'select good json';
      const bad = 'select bad json';
      /** @type {string[]} */
      let pieces = [];
      const answer = (values) => ({
        columns: [{ name: 'v', oid: json }],
        rows: values.map((value) => [value]),
        tag: 'SELECT 1',
      });
      script.server.statements[good] = () => answer(['{"mine":"é"}', 'null', '"x"']);
      script.server.statements[bad] = ([number]) => answer([pieces[Number(number)]]);
      for (const attempt of [
        ['[1', '2]'],
        ['[1', '2],3'],
        ['[1', '2],3,4,5'],
        ['{"a":1', '"b":2}'],
        ['"open', 'close"'],
        ['[', ']'],
        ['1,2', ''],
        ['', '1,2,3'],
      ]) {
        pieces = attempt;
        const queries = [
          pool.query(good),
          pool.query(bad, [0]),
          pool.query(good),
          pool.query(bad, [1]),
          pool.query(good),
        ];
        const outcomes = await allInTime(queries);
        for (const [index, { value, reason }] of outcomes.entries()) {
          if (index % 2 === 1) {
            assert.ok(unreadable(reason), JSON.stringify(value?.rows));
            continue;
          }
          assert.deepEqual(value?.rows, [{ v: { mine: 'é' } }, { v: null }, { v: 'x' }]);
        }
      }
    });
  });
});

describe('Text that is not valid UTF-8', () => {
  const script = useScript();

  it('is read with U+FFFD, as in Node: names of columns, errors, notices, notifications', async () => {
    const client = await script.connect();
    const told = { notice: [], notification: [] };
    for (const [event, list] of Object.entries(told)) client.on(event, (one) => list.push(one));
    const text = 'select something';
    script.server.statements[text] = () => ({
      columns: [{ name: INVALID_UTF8, oid: m.OID.text }],
      rows: [[INVALID_UTF8]],
      tag: 'SELECT 1',
    });
    script.server.say(
      Buffer.concat([
        m.notice({ S: 'NOTICE', C: '00000', M: INVALID_UTF8 }),
        m.parameterStatus('application_name', INVALID_UTF8),
        m.notification(7, INVALID_UTF8, INVALID_UTF8),
      ]),
    );
    await until('both have come', () => told.notice.length + told.notification.length === 2);
    assert.equal(told.notice[0].message, READ_AS);
    assert.equal(told.notification[0].channel, READ_AS);
    assert.equal(told.notification[0].payload, READ_AS);
    assert.deepEqual((await client.query(text)).rows, [{ [READ_AS]: READ_AS }]);
    const fields = { S: 'ERROR', V: 'ERROR', C: '22012', M: INVALID_UTF8, D: INVALID_UTF8 };
    script.server.reply = () => [m.errorMessage(fields), m.ready()];
    const error = await errorOf(inTime('the query', client.query(text)));
    assert.equal(error.message, READ_AS);
    assert.equal(error.detail, READ_AS);
  });

  it('and unknown command tags are passed on', async () => {
    const client = await script.connect();
    const text = 'select something';
    for (const [tag, command] of [
      [INVALID_UTF8, 'a'],
      ['', null],
      ['SELECT', 'SELECT'],
      ['SELECT x', 'SELECT'],
      ['SELECT 99999999999999999999999', 'SELECT'],
      ['SELECT -1', 'SELECT'],
      [`X${'Y'.repeat(10000)}`, /^XY+$/],
    ]) {
      script.server.statements[text] = () => ({ columns: [], rows: [], tag });
      const result = await client.query(text);
      if (command instanceof RegExp) assert.match(result.command, command);
      else assert.equal(result.command, command);
      assert.deepEqual(result.rows, []);
    }
  });
});

describe('A column of a real server', () => {
  afterEach(endAll);

  const quote = (name) => `"${name.replaceAll('"', '""')}"`;
  const NAMES = [
    ...['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty', 'then'],
    ...[
      '"',
      "'",
      '`',
      '\\',
      '\n',
      '\r',
      '\u2028',
      '\u2029',
      '\t',
      '\u007f',
      ' ',
      '$' + '{1}',
      '*/',
      '/*',
    ],
    ...['//', '<!--', '-->', '"]:1,["', '}]);process.exit(1);([{', '\\u0022', '😀', 'ä', '0', '-1'],
    ...['a'.repeat(63), 'é'.repeat(31), '__defineGetter__', 'get x', 'async', '...rows', 'rows'],
  ];

  async function check(client, query, names) {
    for (let execution = 0; execution <= EXECUTIONS; ++execution) {
      const { rows, fields } = await client.query(query);
      assert.deepEqual(
        fields.map(({ name }) => name),
        names,
      );
      const [row] = rows;
      assert.equal(Object.getPrototypeOf(row), Object.prototype);
      assert.deepEqual(Object.keys(row).sort(), [...new Set(names)].sort());
      for (const name of names) {
        const { value, get } = Object.getOwnPropertyDescriptor(row, name) ?? {};
        assert.equal(get, undefined);
        assert.equal(value, names.lastIndexOf(name), name);
      }
      const asArrays = await client.query({ ...query, rowMode: 'array' });
      assert.deepEqual(asArrays.rows, [names.map((_, index) => index)]);
    }
    assert.deepEqual(
      Object.keys(Object.prototype),
      [],
      'nothing has been added to all objects of the process',
    );
  }

  const select = (names, more = '') =>
    `select ${names.map((name, index) => `${index} as ${quote(name)}`).join(', ')}${more}`;

  for (const int8 of ['string', 'bigint']) {
    it(`may have any name, with int8: '${int8}'`, async () => {
      const client = await newClient({ int8 });
      await check(client, { text: select(NAMES) }, NAMES);
      const twice = [...NAMES, ...NAMES];
      await check(client, { text: select(twice) }, twice);
    });
  }

  it('may be one of 1,600', async () => {
    const client = await newClient();
    const names = Array.from({ length: 1600 }, (_, index) => NAMES[index] ?? `c${index}`);
    await check(client, { text: select(names) }, names);
  });

  it('may have a type parser that gets only the text', async () => {
    const client = await newClient();
    const types = { getTypeParser: () => Number };
    await check(client, { text: select(NAMES), types }, NAMES);
  });

  it('is read only in UTF-8: a session in another encoding is closed', async () => {
    for (const text of [
      "set client_encoding to 'latin1'",
      "set names 'sql_ascii'",
      "select set_config('client_encoding', 'latin1', false)",
      "select 1; set client_encoding to 'latin1'",
    ]) {
      const client = await newClient();
      const error = await errorOf(client.query(text));
      assert.match(error.detail, /client_encoding is not UTF8/);
      assert.equal(error.code, 'ECONNRESET');
      assert.equal(error.outcome, 'unknown');
    }
    const client = await newClient();
    for (const text of ["set client_encoding to 'utf-8'", 'reset client_encoding', 'discard all']) {
      await client.query(text);
    }
    assert.deepEqual((await client.query("select 'é' as e, $1 as p", ['ü'])).rows, [
      { e: 'é', p: 'ü' },
    ]);
  });
});
