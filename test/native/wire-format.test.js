'use strict';

// src/wire_format.h and lib/base/wire-format.js define the same numbers: once
// for C++, once for JavaScript.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const javaScript = require('../../lib/base/wire-format');

const HEADER = path.join(__dirname, '..', '..', 'src', 'wire_format.h');

/** An enum of the header: its table in JavaScript, and what its names start with. */
const TABLES = {
  CommandHeader: { table: 'header', prefix: 'kHeader' },
  Command: { table: 'command' },
  ParamKind: { table: 'paramKind' },
  ExecuteFlags: { table: 'flag', prefix: 'kFlag' },
  Int8Mode: { table: 'int8Mode' },
  Event: { table: 'event' },
  KnownColumns: { table: 'knownColumns', prefix: 'kColumns' },
  Phase: { table: 'phase' },
  NotSentReason: { table: 'notSentReason' },
  CellKind: { table: 'cellKind' },
};
/** What C++ alone needs. */
const NATIVE_ONLY = ['kFlagInt8Mask', 'kFlagDecodeMask', 'kCanonicalNanHigh'];
/** Options of users are named otherwise than C++ constants. */
const OTHER_NAMES = { 'Int8Mode.kBigInt': 'bigint' };

/**
 * @param {string} text of integers, names, `<<` and `|`
 * @param {Map<string, number>} known
 */
function evaluate(text, known) {
  return text
    .split('|')
    .map((term) =>
      term
        .split('<<')
        .map((factor) => {
          const token = factor.trim();
          const value = known.get(token) ?? Number(token.replace(/u$/i, ''));
          assert.ok(Number.isInteger(value), `cannot read "${token}" in "${text}"`);
          return value;
        })
        .reduce((value, shift) => value << shift),
    )
    .reduce((all, value) => all | value);
}

/** @returns {{ enums: Map<string, Map<string, number>>, constants: Map<string, number> }} */
function readHeader() {
  const text = fs.readFileSync(HEADER, 'utf8').replace(/\/\/.*$/gm, '');
  const known = new Map();
  const enums = new Map();
  for (const [, name, body] of text.matchAll(/enum(?: class)? (\w+)[^{;]*\{([^}]*)\}/g)) {
    const values = new Map();
    let next = 0;
    for (const entry of body.split(',')) {
      if (entry.trim() === '') continue;
      const [key, value] = entry.split('=').map((part) => part.trim());
      const number = value === undefined ? next : evaluate(value, new Map([...known, ...values]));
      values.set(key, number);
      next = number + 1;
    }
    assert.equal(enums.has(name), false);
    enums.set(name, values);
  }
  const constants = new Map();
  for (const [, name, value] of text.matchAll(/constexpr \w+ (\w+)\s*=\s*([^;]+);/g)) {
    const number = evaluate(value, new Map([...known, ...constants]));
    constants.set(name, number);
  }
  return { enums, constants };
}

/** @param {string} name kFooBar @param {string} prefix @returns {string} fooBar */
function plainName(name, prefix = 'k') {
  assert.ok(name.startsWith(prefix), `${name} does not start with ${prefix}`);
  const rest = name.slice(prefix.length);
  return rest[0].toLowerCase() + rest.slice(1);
}

describe('the wire format between C++ and JavaScript', () => {
  const { enums, constants } = readHeader();

  it('is read completely from the header', () => {
    const text = fs.readFileSync(HEADER, 'utf8').replace(/\/\/.*$/gm, '');
    assert.deepEqual(
      [...enums.keys()].sort(),
      [...Object.keys(TABLES), 'CommandTag'].sort(),
      'an enum without a table in JavaScript, or the reverse',
    );
    const named = new Set([
      ...constants.keys(),
      ...[...enums.values()].flatMap((e) => [...e.keys()]),
    ]);
    for (const [name] of text.matchAll(/\bk[A-Z]\w*/g)) assert.ok(named.has(name), name);
  });

  for (const [name, { table, prefix }] of Object.entries(TABLES)) {
    it(`has ${name} as ${table}`, () => {
      const expected = {};
      for (const [key, value] of enums.get(name)) {
        if (NATIVE_ONLY.includes(key)) continue;
        expected[OTHER_NAMES[`${name}.${key}`] ?? plainName(key, prefix)] = value;
      }
      assert.deepEqual({ ...javaScript[table] }, expected);
    });
  }

  it('has CommandTag as the index into commandTags', () => {
    const tags = [''];
    for (const [key, value] of enums.get('CommandTag')) tags[value] = key.slice(1).toUpperCase();
    assert.deepEqual([...javaScript.commandTags], tags);
  });

  it('has the same constants on both sides', () => {
    const expected = {};
    for (const [key, value] of constants) {
      if (!NATIVE_ONLY.includes(key)) expected[plainName(key)] = value;
    }
    const given = Object.fromEntries(
      Object.entries(javaScript).filter(([, value]) => typeof value === 'number'),
    );
    assert.deepEqual(given, expected);
  });

  it('has no table in JavaScript without an enum in C++', () => {
    const tables = Object.entries(javaScript)
      .filter(([, value]) => typeof value === 'object')
      .map(([key]) => key);
    assert.deepEqual(
      tables.sort(),
      [...Object.values(TABLES).map(({ table }) => table), 'commandTags'].sort(),
    );
  });

  it('has no number twice in an enum', () => {
    for (const name of ['Command', 'Event', 'ParamKind', 'CellKind', 'Phase', 'NotSentReason']) {
      const values = [...enums.get(name).values()];
      assert.equal(new Set(values).size, values.length, name);
    }
  });
});
