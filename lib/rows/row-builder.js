'use strict';

// Builds rows from the cells of a delivery. A Shape is what the addon announces once: names, types
// and kinds of cells. For each shape, row mode and set of parsers one function is generated, whose
// loop makes all objects with one hidden class. Where code generation from strings is disallowed, a
// plain loop does the same. Shapes are made by delivery.js, their builders called by query.js.

const {
  cellKind,
  fieldBinaryDecodable,
  nullHigh,
  ResultError,
  unsafeIntegerHigh,
} = require('../base');
const { Field } = require('./result');
const {
  types: defaultTypes,
  getTypesEpoch,
  isDefaultParser,
  isIdentityParser,
  ownTypes,
} = require('./types');
const { TypeOverrides } = require('./types/type-overrides');

/**
 * The text, JSON and bytes that the cells of one chunk point into.
 * @typedef {object} Chunk
 * @property {string} ascii
 * @property {string} wide
 * @property {(index: number, offset: number, length: number) => unknown} json
 * @property {Buffer} bytes
 *
 * @typedef {object} Cells
 * @property {Int32Array} int32
 * @property {Float64Array} float64
 * @property {BigInt64Array} bigInt64
 *
 * @typedef {(value: any) => any} Parser
 * @typedef {import('./types/type-overrides').TypeSource} TypeSource
 * @typedef {(rows: any[], cells: Cells, chunk: Chunk, cell: number, count: number) => void} Builder
 * @typedef {'string' | 'number' | 'bigint'} Int8
 */

const INT8_OID = 20;
const INT8_ARRAY_OID = 1016;
const TIMESTAMPTZ_OID = 1184;
const FLOAT8_OID = 701;
/** date, timestamp, timestamptz */
const DATE_OIDS = new Set([1082, 1114, 1184]);

const MILLIS_PER_DAY = 86400000;
/** The last millisecond of a Date. */
const MAX_MILLIS = 8.64e15;
/** After this many years the calendar repeats itself. */
const CALENDAR_CYCLE_YEARS = 400;
const CALENDAR_CYCLE_MILLIS = 146097 * MILLIS_PER_DAY;

const canGenerateCode = (() => {
  try {
    return new Function('return true')() === true;
  } catch {
    return false;
  }
})();

/**
 * A time without a time zone is in the process's own time zone, as in `pg`.
 * @param {number} millis the local fields, as if they were UTC
 * @returns {Date | number} a number for infinity
 */
function toLocalDate(millis) {
  if (millis === Infinity || millis === -Infinity) return millis;
  // The last local hours of JavaScript's calendar may be past its end in UTC.
  const isPastEnd = millis > MAX_MILLIS;
  const utc = new Date(isPastEnd ? millis - CALENDAR_CYCLE_MILLIS : millis);
  const year = utc.getUTCFullYear() + (isPastEnd ? CALENDAR_CYCLE_YEARS : 0);
  const date = new Date(
    year,
    utc.getUTCMonth(),
    utc.getUTCDate(),
    utc.getUTCHours(),
    utc.getUTCMinutes(),
    utc.getUTCSeconds(),
    utc.getUTCMilliseconds(),
  );
  // The constructor takes 0 to 99 as 1900 to 1999.
  if (year >= 0 && year < 100) date.setFullYear(year);
  return date;
}

/**
 * @param {number} millis
 * @returns {Date | number} a number for infinity
 */
function toDate(millis) {
  return millis === Infinity || millis === -Infinity ? millis : new Date(millis);
}

/** @returns {never} */
function rejectUnsafeInteger() {
  throw new ResultError(
    "an int8 value is beyond 2^53 and has no exact number: use int8: 'bigint' or int8: 'string'",
  );
}

/** @param {Cells} cells @param {number} at @param {Chunk} chunk */
function readText(cells, at, chunk) {
  const offset = cells.int32[at];
  const length = cells.int32[at + 1];
  return offset >= 0
    ? chunk.ascii.substring(offset, offset + length)
    : chunk.wide.substring(~offset, ~offset + length);
}

/**
 * One cell that is not NULL, for the plain loop.
 * @param {number} kind
 * @param {Cells} cells
 * @param {number} at index into `int32`
 * @param {Chunk} chunk
 */
function readCell(kind, cells, at, chunk) {
  const { int32, float64 } = cells;
  switch (kind) {
    case cellKind.int32:
      return int32[at];
    case cellKind.uint32:
      return int32[at] >>> 0;
    case cellKind.bool:
      return int32[at] !== 0;
    case cellKind.float64:
      return float64[at >> 1];
    case cellKind.int8Number:
      if (int32[at + 1] === unsafeIntegerHigh) rejectUnsafeInteger();
      return float64[at >> 1];
    case cellKind.bigInt:
      return cells.bigInt64[(at >> 1) + 1];
    case cellKind.timestampTz:
      return toDate(float64[at >> 1]);
    case cellKind.timestamp:
    case cellKind.date:
      return toLocalDate(float64[at >> 1]);
    case cellKind.json:
      return chunk.json(int32[at], int32[at + 2], int32[at + 3]);
    case cellKind.bytes:
      return Buffer.from(chunk.bytes.subarray(int32[at], int32[at] + int32[at + 1]));
    default:
      return readText(cells, at, chunk);
  }
}

/**
 * The source of an expression for one cell that is not NULL.
 * @param {number} kind
 * @param {string} at index into `i` (int32)
 * @param {string} half index into `f` and `b`
 */
function cellSource(kind, at, half) {
  switch (kind) {
    case cellKind.int32:
      return `i[${at}]`;
    case cellKind.uint32:
      return `i[${at}]>>>0`;
    case cellKind.bool:
      return `i[${at}]!==0`;
    case cellKind.float64:
      return `f[${half}]`;
    case cellKind.int8Number:
      return `i[${at}+1]===${unsafeIntegerHigh}?unsafe():f[${half}]`;
    case cellKind.bigInt:
      return `b[${half}+1]`;
    case cellKind.timestampTz:
      return `toDate(f[${half}])`;
    case cellKind.timestamp:
    case cellKind.date:
      return `toLocalDate(f[${half}])`;
    case cellKind.json:
      return `chunk.json(i[${at}],i[${at}+2],i[${at}+3])`;
    case cellKind.bytes:
      return `Buffer.from(chunk.bytes.subarray(i[${at}],i[${at}]+i[${at}+1]))`;
    default:
      return (
        `(t=i[${at}])>=0?ascii.substring(t,t+i[${at}+1])` + `:wide.substring(~t,~t+i[${at}+1])`
      );
  }
}

/** @param {number} kind */
function cellsOf(kind) {
  return kind === cellKind.bigInt || kind === cellKind.json ? 2 : 1;
}

class Shape {
  /** @type {Builder | null} the last one generated, with what it was generated for */
  #builder = null;
  #builderKey = { epoch: -1, rowAsArray: false, int8: '', types: /** @type {unknown} */ (null) };

  /** By what has changed their names. @type {WeakMap<import('./row-keys').RowKeys, Shape>} */
  #renamed = new WeakMap();
  /** The last of these. @type {Shape | undefined} */
  #lastRenamed = undefined;
  /** Under which keys rows have the columns. @type {string[]} */
  #keys;

  /**
   * @param {Field[]} fields
   * @param {number[]} kinds CellKind, perhaps with fieldBinaryDecodable, by column
   */
  constructor(fields, kinds) {
    this.fields = fields;
    this.#keys = fields.map(({ name }) => name);
    this.kinds = kinds.map((kind) => kind & ~fieldBinaryDecodable);
    /** Whether the addon can decode the binary format of every column. */
    this.isBinaryDecodable = kinds.every((kind) => (kind & fieldBinaryDecodable) !== 0);
    /** Types whose text depends on the session (session-formats.js). */
    this.hasDates = fields.some(({ dataTypeID }) => DATE_OIDS.has(dataTypeID));
    this.hasFloats = fields.some(({ dataTypeID }) => dataTypeID === FLOAT8_OID);
    this.cellsPerRow = this.kinds.reduce((sum, kind) => sum + cellsOf(kind), 0);
  }

  /**
   * @param {TypeSource} types
   * @returns {boolean} whether a column has a parser that is not pg-types' own
   */
  hasCustomParser(types) {
    return this.fields.some(
      ({ dataTypeID }) => !isDefaultParser(dataTypeID, types.getTypeParser(dataTypeID, 'text')),
    );
  }

  /**
   * @param {import('./row-keys').RowKeys} rowKeys
   * @returns {Shape} the same with other keys
   */
  renamed(rowKeys) {
    let shape = this.#renamed.get(rowKeys);
    if (shape !== undefined) return shape;
    const keys = this.fields.map(({ name }) => String(rowKeys(name)));
    // A function of each call's own has the same answers as the one before, as a rule.
    const last = this.#lastRenamed;
    if (last !== undefined && keys.every((key, index) => key === last.#keys[index])) {
      shape = last;
    } else {
      shape = this.#lastRenamed = new Shape(this.fields, this.kinds);
      shape.#keys = keys;
    }
    this.#renamed.set(rowKeys, shape);
    return shape;
  }

  /**
   * @param {boolean} rowAsArray
   * @param {TypeSource} types
   * @param {Int8} int8
   * @returns {Builder}
   */
  builder(rowAsArray, types, int8) {
    const key = this.#builderKey;
    const epoch = getTypesEpoch();
    if (
      this.#builder !== null &&
      key.epoch === epoch &&
      key.rowAsArray === rowAsArray &&
      key.int8 === int8 &&
      key.types === types
    ) {
      return this.#builder;
    }
    const parsers = this.fields.map((field, index) =>
      this.kinds[index] === cellKind.text ? findParser(field.dataTypeID, types, int8) : null,
    );
    // An object of parsers that is not the driver's may change without notice: it is asked each
    // time, and not worth generated code.
    const isStable =
      types === defaultTypes ||
      types === ownTypes ||
      (types instanceof TypeOverrides && types.tellsChanges);
    if (!canGenerateCode || !isStable) return this.#plainBuilder(rowAsArray, parsers);
    this.#builder = this.#generate(rowAsArray, parsers);
    this.#builderKey = { epoch, rowAsArray, int8, types };
    return this.#builder;
  }

  /**
   * @param {boolean} rowAsArray
   * @param {(Parser | null)[]} parsers
   * @returns {Builder}
   */
  #generate(rowAsArray, parsers) {
    let offset = 0;
    const members = this.kinds.map((kind, index) => {
      const at = `p+${2 * offset}`;
      let value = cellSource(kind, at, `h+${offset}`);
      if (parsers[index] !== null) value = `parsers[${index}](${value})`;
      offset += cellsOf(kind);
      const member = `i[${at}+1]===${nullHigh}?null:(${value})`;
      return rowAsArray ? member : `${propertySource(this.#keys[index])}:${member}`;
    });
    const row = rowAsArray ? `[${members.join(',')}]` : `{${members.join(',')}}`;
    const source = `'use strict';
return function build(rows, cells, chunk, cell, count) {
  const i = cells.int32, f = cells.float64, b = cells.bigInt64;
  const ascii = chunk.ascii, wide = chunk.wide;
  let t = 0;
  for (let n = 0, h = cell; n < count; ++n, h += ${this.cellsPerRow}) {
    const p = 2 * h;
    rows.push(${row});
  }
};`;
    return new Function('parsers', 'toDate', 'toLocalDate', 'unsafe', source)(
      parsers,
      toDate,
      toLocalDate,
      rejectUnsafeInteger,
    );
  }

  /**
   * @param {boolean} rowAsArray
   * @param {(Parser | null)[]} parsers
   * @returns {Builder}
   */
  #plainBuilder(rowAsArray, parsers) {
    const { kinds, cellsPerRow } = this;
    const keys = this.#keys;
    return (rows, cells, chunk, cell, count) => {
      for (let n = 0; n < count; ++n) {
        /** @type {any} */
        const row = rowAsArray ? [] : {};
        let at = 2 * (cell + n * cellsPerRow);
        for (let column = 0; column < kinds.length; ++column) {
          const kind = kinds[column];
          let value = null;
          if (cells.int32[at + 1] !== nullHigh) {
            value = readCell(kind, cells, at, chunk);
            const parser = parsers[column];
            if (parser !== null) value = parser(value);
          }
          if (rowAsArray) row.push(value);
          else setProperty(row, keys[column], value);
          at += 2 * cellsOf(kind);
        }
        rows.push(row);
      }
    };
  }
}

/**
 * @param {number} oid
 * @param {TypeSource} types
 * @param {Int8} int8
 * @returns {Parser | null} null if the text is the value
 */
function findParser(oid, types, int8) {
  const parser = types.getTypeParser(oid, 'text');
  if (!isDefaultParser(oid, parser)) return parser;
  if (int8 !== 'string' && (oid === INT8_OID || oid === INT8_ARRAY_OID)) {
    const parseInt8 = int8 === 'bigint' ? BigInt : parseSafeInteger;
    if (oid === INT8_OID) return parseInt8;
    return (text) =>
      defaultTypes.arrayParser
        .create(text, (item) => (item === null ? null : parseInt8(item)))
        .parse();
  }
  if (oid === TIMESTAMPTZ_OID) return (text) => parseTimestampTz(text, parser);
  return isIdentityParser(oid) ? null : parser;
}

/**
 * The parsers of a client, for submittables, which parse texts themselves.
 * @param {{ types: TypeSource, int8: Int8 }} defaults
 * @returns {TypeSource}
 */
function textParsers({ types, int8 }) {
  return { getTypeParser: (oid) => findParser(oid, types, int8) ?? String };
}

/**
 * pg-types uses Date.UTC(), which takes the year 1 BC for 1900 and so lacks its leap day. The
 * binary format has no such gap, and both must agree.
 * @param {string} text
 * @param {Parser} parser
 */
function parseTimestampTz(text, parser) {
  if (!text.startsWith('0001-02-29') || !text.endsWith(' BC')) return parser(text);
  return new Date(parser(text.replace('-29', '-28')).getTime() + MILLIS_PER_DAY);
}

/** @param {string} text */
function parseSafeInteger(text) {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : rejectUnsafeInteger();
}

/**
 * A column's name comes from the server: it is quoted, and never sets the prototype.
 * @param {string} name
 */
function propertySource(name) {
  return name === '__proto__' ? `["__proto__"]` : quote(name);
}

/** @param {string} name */
function quote(name) {
  // Line separators were not allowed in string literals before ES2019.
  return JSON.stringify(name)
    .replace(/\u2028/g, '\\u2028')
    .replace(/\u2029/g, '\\u2029');
}

/** @param {any} row @param {string} name @param {unknown} value */
function setProperty(row, name, value) {
  if (name === '__proto__') {
    Object.defineProperty(row, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  } else {
    row[name] = value;
  }
}

module.exports = { Shape, Field, setProperty, textParsers };
