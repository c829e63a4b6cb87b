'use strict';

// The parsers of result values: `pg-types`, as in `pg`, and what the rest of the driver needs to
// know about it. The registry is the one in pg-types itself, so that a parser that was set through
// another copy of `pg` counts here, too. Row builders ask isDefaultParser() whether the addon's
// decoding may replace a parser, and getTypesEpoch() whether to ask again.

const pgTypes = require('pg-types');

/** @typedef {'text' | 'binary'} Format */
/** @typedef {(value: any) => any} Parser */
/**
 * @typedef {object} Initializer
 * @property {(register: (oid: number, parser: Parser) => void) => void} init
 */

const INT8_OID = 20;

/**
 * pg-types 2.2.0 with its API untyped: its own types know neither our formats nor `arrayParser`.
 * @type {{
 *   getTypeParser(oid: number, format?: string): Parser,
 *   setTypeParser(oid: number, format: string, parser: Parser | null | undefined): void,
 *   builtins: Record<string, number>,
 *   arrayParser: { create(text: string, transform?: Parser): { parse(): any[] } },
 * }}
 */
const registry = /** @type {any} */ (pgTypes);

// No parser belongs to an unknown format, so this is always pg-types' own `String`.
const noParser = registry.getTypeParser(0, 'none');

let epoch = 0;

/**
 * @returns {number} incremented by every parser that is set, in pg-types by any code, or in a
 *   TypeOverrides
 */
function getTypesEpoch() {
  return epoch;
}

function raiseTypesEpoch() {
  epoch += 1;
}

/**
 * Applications also set parsers in pg-types itself (`require('pg').types`, `require('pg-types')`),
 * which would go unnoticed: its function is replaced by one that raises the epoch. Where the
 * module's object is frozen it stays as it is.
 */
const { setTypeParser: setInRegistry } = registry;
Reflect.set(
  registry,
  'setTypeParser',
  /** @this {unknown} @param {Parameters<typeof setInRegistry>} parameters */
  function setAndTell(...parameters) {
    try {
      Reflect.apply(setInRegistry, this, parameters);
    } finally {
      raiseTypesEpoch();
    }
  },
);

/**
 * A value as text, including what JSON.stringify() would hide: classes, -0, Infinity, invalid
 * dates.
 * @param {unknown} value
 * @returns {unknown}
 */
function describe(value) {
  if (Array.isArray(value)) return value.map(describe);
  if (typeof value !== 'object' || value === null) {
    return `${typeof value} ${Object.is(value, -0) ? '-0' : String(value)}`;
  }
  if (value instanceof Date) return `Date ${value.getTime()}`;
  const name = Object.getPrototypeOf(value) === Object.prototype ? 'Object' : 'other';
  return [name, ...Object.entries(value).map(([key, item]) => [key, describe(item)])];
}

/**
 * @param {Parser} parser
 * @param {unknown} probe
 */
function outcome(parser, probe) {
  try {
    return JSON.stringify(describe(parser(probe)));
  } catch (error) {
    return String(error);
  }
}

/**
 * Texts and bytes that substitutes for JSON.parse, or for the parser of dates, are made to treat
 * differently.
 */
const PROBES = {
  text: [
    '[12345678901234567890, 0.1000000000000000055511151231257827, -0, 1e400]',
    '{"date":"2020-01-02T03:04:05.678Z","__proto__":{"a":1},"n":null,"b":1,"b":2}',
    '" \\u2028\\ud800"',
    '{x',
  ],
  binary: ['0002e0b3d9a1c3e7', '0000000000000000', '7fffffffffffffff', '8000000000000000'].map(
    (hex) => Buffer.from(hex, 'hex'),
  ),
};

/**
 * The parsers that pg-types comes with, whatever has been set since. Its init() registers functions
 * of its module scope, so a second call gives the very same functions, except for those that it
 * binds anew: JSON.parse, and parseDate for binary. Neither identity nor name identifies these (any
 * library's bound `parse` has the same name). So what is registered when this file is loaded is
 * tried beside a fresh one.
 * @param {Format} format
 * @param {Initializer} initializer
 * @returns {Map<number, Parser>}
 */
function pristineParsers(format, initializer) {
  /** @type {Map<number, Parser>} */
  const parsers = new Map();
  initializer.init((oid, parser) => parsers.set(oid, parser));
  initializer.init((oid, fresh) => {
    if (parsers.get(oid) === fresh) return;
    const current = registry.getTypeParser(oid, format);
    const isSame =
      current.name === fresh.name &&
      PROBES[format].every((probe) => outcome(current, probe) === outcome(fresh, probe));
    // If not, the fresh parser stays. Nobody else has it, so isDefaultParser() returns false.
    if (isSame) parsers.set(oid, current);
  });
  return parsers;
}

const pristine = {
  // @ts-expect-error not declared by pg-types, whose version package.json pins for these two files
  text: pristineParsers('text', require('pg-types/lib/textParsers')),
  // @ts-expect-error as above
  binary: pristineParsers('binary', require('pg-types/lib/binaryParsers')),
};

/** For the driver's own queries, which parsers that users set must not affect. */
const ownTypes = Object.freeze({
  /**
   * @param {number} oid
   * @param {Format} [format]
   * @returns {Parser}
   */
  getTypeParser: (oid, format = 'text') => pristine[format].get(Number(oid)) ?? noParser,
});

/**
 * @param {number} oid
 * @param {Parser} parser as getTypeParser() has returned it
 * @param {Format} [format]
 * @returns {boolean} whether the parser is the one that pg-types comes with
 */
function isDefaultParser(oid, parser, format = 'text') {
  return parser === (pristine[format].get(Number(oid)) ?? noParser);
}

/**
 * @param {number} oid
 * @returns {boolean} whether the parser that pg-types comes with leaves the text of this type as it
 *   is
 */
function isIdentityParser(oid) {
  return Number(oid) === INT8_OID || !pristine.text.has(Number(oid));
}

/**
 * Checks the arguments of setTypeParser(), whose middle one may be missing.
 * @param {number} oid
 * @param {Format | Parser | null} format
 * @param {Parser | null} [parser]
 * @returns {{ format: Format, parser: Parser | null | undefined }}
 */
function checkSetTypeParser(oid, format, parser) {
  if (typeof format === 'function' || format === null) {
    return checkSetTypeParser(oid, 'text', format);
  }
  if (oid === null || !Number.isInteger(Number(oid))) {
    throw new TypeError(
      `setTypeParser() needs the oid of a type, not ${String(oid)}: take it from types.builtins, ` +
        "or from select 'name'::regtype::oid",
    );
  }
  if (format !== 'text' && format !== 'binary') {
    throw new TypeError(
      `setTypeParser() knows the formats 'text' and 'binary', not ${String(format)}`,
    );
  }
  if (parser !== null && parser !== undefined && typeof parser !== 'function') {
    throw new TypeError(
      `setTypeParser() needs a function as parser for oid ${oid}, not ${typeof parser}: ` +
        'pass value => ..., or null to get the text itself',
    );
  }
  return { format, parser };
}

/**
 * @param {number} oid
 * @param {Format | Parser | null} format 'text' by default
 * @param {Parser | null} [parser] null for none
 */
function setTypeParser(oid, format, parser) {
  const checked = checkSetTypeParser(oid, format, parser);
  setInRegistry(oid, checked.format, checked.parser);
  raiseTypesEpoch();
}

/**
 * @param {number} oid
 * @param {Format} [format]
 * @returns {Parser}
 */
function getTypeParser(oid, format) {
  return registry.getTypeParser(oid, format);
}

/** What users see as `types`; its functions need no `this`. */
const types = {
  setTypeParser,
  getTypeParser,
  builtins: registry.builtins,
  arrayParser: registry.arrayParser,
};

module.exports = {
  types,
  checkSetTypeParser,
  getTypesEpoch,
  isDefaultParser,
  isIdentityParser,
  ownTypes,
  raiseTypesEpoch,
};
