'use strict';

// Results of `rowMode: 'columns'`: one array for each column, filled straight from the cells of a
// delivery. Which array it is depends on the column's type only, and not on the format in which its
// values came. Made by newResult(), for query/query.js.

const { cellKind, nullHigh } = require('../base');
const { cellsOf, hasLocalTimes, readCell, readText } = require('./cells');
const { followTimeZone, toLocalMillis } = require('./local-time');
const { findParser } = require('./parsers');
const { Result } = require('./result');
const { isDefaultParser } = require('./types');

/**
 * @typedef {import('./cells').Cells} Cells
 * @typedef {import('./cells').Chunk} Chunk
 * @typedef {import('./parsers').Int8} Int8
 * @typedef {import('./parsers').TypeSource} TypeSource
 * @typedef {import('./shape').Shape} Shape
 * @typedef {Uint8Array | Int32Array | Uint32Array | Float64Array | BigInt64Array} TypedArray
 * @typedef {Uint8ArrayConstructor | Int32ArrayConstructor | Uint32ArrayConstructor |
 *   Float64ArrayConstructor | BigInt64ArrayConstructor} TypedArrayConstructor
 * @typedef {{ name: string, values: any[] | TypedArray, nulls: Uint8Array | null }} Column
 */

const INT8_OID = 20;
const MIN_CAPACITY = 64;
/** For a result that begins with many rows there is room for as many as its statement had the last time, up to this. */
const MAX_EXPECTED = 1 << 16;

/** Of types whose parser is that of pg-types. @type {ReadonlyMap<number, TypedArrayConstructor>} */
const ARRAYS = new Map(
  /** @type {[number, TypedArrayConstructor][]} */ ([
    [16, Uint8Array],
    [INT8_OID, BigInt64Array],
    [21, Int32Array],
    [23, Int32Array],
    [26, Uint32Array],
    [700, Float64Array],
    [701, Float64Array],
    // Milliseconds since 1970, as Date.prototype.getTime() returns them.
    [1082, Float64Array],
    [1114, Float64Array],
    [1184, Float64Array],
  ]),
);

/**
 * int8 has exact numbers or bigints in a typed array, and never texts.
 * @param {Int8} int8 the option
 * @returns {Int8}
 */
function int8OfColumns(int8) {
  return int8 === 'string' ? 'bigint' : int8;
}

/**
 * A loop for each kind of array, so that each has to do with one only.
 * @type {Record<number, (values: any, cells: Cells, at: number, step: number, from: number, to: number) => void>}
 */
const COPIERS = {
  [cellKind.int32]: copyInts,
  [cellKind.uint32]: copyInts,
  [cellKind.bool]: copyInts,
  [cellKind.float64]: copyDoubles,
  [cellKind.timestampTz]: copyDoubles,
  [cellKind.bigInt]: copyBigInts,
  [cellKind.timestamp]: copyLocalTimes,
  [cellKind.date]: copyLocalTimes,
};

/**
 * @param {Int32Array | Uint32Array | Uint8Array} values
 * @param {Cells} cells
 * @param {number} at of the first value, in `int32`
 * @param {number} step from row to row
 * @param {number} from index of the first row
 * @param {number} to index behind the last row
 */
function copyInts(values, { int32 }, at, step, from, to) {
  for (let row = from; row < to; ++row, at += step) values[row] = int32[at];
}

/** @param {Float64Array} values @param {Cells} cells @param {number} at @param {number} step @param {number} from @param {number} to */
function copyDoubles(values, { float64 }, at, step, from, to) {
  for (let row = from, cell = at >> 1; row < to; ++row, cell += step >> 1) {
    values[row] = float64[cell];
  }
}

/** @param {Float64Array} values @param {Cells} cells @param {number} at @param {number} step @param {number} from @param {number} to */
function copyLocalTimes(values, { float64 }, at, step, from, to) {
  for (let row = from, cell = at >> 1; row < to; ++row, cell += step >> 1) {
    const millis = float64[cell];
    // NULL is a NaN.
    values[row] = Number.isNaN(millis) ? millis : toLocalMillis(millis);
  }
}

/** @param {BigInt64Array} values @param {Cells} cells @param {number} at @param {number} step @param {number} from @param {number} to */
function copyBigInts(values, { bigInt64 }, at, step, from, to) {
  for (let row = from, cell = (at >> 1) + 1; row < to; ++row, cell += step >> 1) {
    values[row] = bigInt64[cell];
  }
}

/** One column while its rows arrive. */
class ColumnStore {
  /** @type {Uint8Array | null} allocated at the first NULL */
  #nulls = null;
  /** @type {any} an array, or a typed array with room for more rows */
  #values;
  #Values;
  #kind;
  #parser;
  #expected;

  /**
   * @param {number} kind CellKind
   * @param {number} oid
   * @param {TypeSource} types
   * @param {Int8} int8 the option
   * @param {number} expected rows, perhaps
   */
  constructor(kind, oid, types, int8, expected) {
    const isOwn = isDefaultParser(oid, types.getTypeParser(oid, 'text'));
    this.#Values = isOwn ? ARRAYS.get(oid) : undefined;
    if (oid === INT8_OID) {
      int8 = int8OfColumns(int8);
      if (isOwn && int8 === 'number') this.#Values = Float64Array;
    }
    this.#kind = kind;
    this.#expected = Math.min(expected, MAX_EXPECTED);
    this.#parser = kind === cellKind.text ? findParser(oid, types, int8) : null;
    this.#values = this.#Values === undefined ? [] : new this.#Values(0);
  }

  /**
   * @param {Cells} cells
   * @param {Chunk} chunk
   * @param {number} at of the first cell, in `int32`
   * @param {number} step from row to row
   * @param {number} from index of the first row
   * @param {number} to index behind the last row
   * @param {boolean} hasNulls whether a value may be NULL, of this column or another
   */
  add(cells, chunk, at, step, from, to, hasNulls) {
    if (this.#Values === undefined) {
      this.#addValues(cells, chunk, at, step, from, to);
      return;
    }
    if (to > this.#values.length) {
      this.#values = grow(this.#values, new this.#Values(this.#roomFor(to)));
    }
    const copy = COPIERS[this.#kind];
    if (copy === undefined) {
      this.#addParsed(cells, chunk, at, step, from, to);
      return;
    }
    copy(this.#values, cells, at, step, from, to);
    if (!hasNulls) return;
    const { int32 } = cells;
    for (let row = from, high = at + 1; row < to; ++row, high += step) {
      if (int32[high] === nullHigh) this.#setNull(row);
    }
  }

  /** @param {number} rows */
  #roomFor(rows) {
    return rows > MIN_CAPACITY && rows <= this.#expected ? this.#expected : capacityFor(rows);
  }

  /** @param {Cells} cells @param {Chunk} chunk @param {number} at @param {number} step @param {number} from @param {number} to */
  #addValues(cells, chunk, at, step, from, to) {
    const parser = this.#parser;
    const kind = this.#kind;
    const values = this.#values;
    const { int32 } = cells;
    for (let row = from; row < to; ++row, at += step) {
      if (int32[at + 1] === nullHigh) {
        values.push(null);
        this.#markNull(row);
        continue;
      }
      const value =
        kind === cellKind.text ? readText(cells, at, chunk) : readCell(kind, cells, at, chunk);
      values.push(parser === null ? value : parser(value));
    }
  }

  /**
   * Values that have to be made first: of texts, or of an int8 that may be no exact number.
   * @param {Cells} cells @param {Chunk} chunk @param {number} at @param {number} step @param {number} from @param {number} to
   */
  #addParsed(cells, chunk, at, step, from, to) {
    const parser = this.#parser;
    const isBigInt = this.#Values === BigInt64Array;
    for (let row = from; row < to; ++row, at += step) {
      /** @type {any} */
      let value = null;
      if (cells.int32[at + 1] !== nullHigh) {
        value = readCell(this.#kind, cells, at, chunk);
        if (parser !== null) value = parser(value);
      }
      if (value === null) this.#setNull(row);
      else this.#values[row] = isBigInt ? value : Number(value);
    }
  }

  /** @param {number} row of a typed array */
  #setNull(row) {
    if (this.#Values === BigInt64Array) this.#values[row] = 0n;
    else this.#values[row] = this.#Values === Float64Array ? NaN : 0;
    this.#markNull(row);
  }

  /** @param {number} row */
  #markNull(row) {
    if (this.#nulls === null || row >= this.#nulls.length) {
      const larger = new Uint8Array(capacityFor(row + 1));
      this.#nulls = this.#nulls === null ? larger : grow(this.#nulls, larger);
    }
    this.#nulls[row] = 1;
  }

  /** @param {string} name @param {number} length rows @returns {Column} */
  finish(name, length) {
    const nulls = this.#nulls && grow(this.#nulls, new Uint8Array(length));
    const values = this.#Values === undefined ? this.#values : exactly(this.#values, length);
    return { name, values, nulls };
  }
}

/** @param {number} rows */
function capacityFor(rows) {
  return Math.max(MIN_CAPACITY, 2 ** Math.ceil(Math.log2(rows)));
}

/**
 * @template {TypedArray} T
 * @param {T} values
 * @param {T} other receives as many of them as it can have
 * @returns {T}
 */
function grow(values, other) {
  const kept = values.length > other.length ? values.subarray(0, other.length) : values;
  other.set(/** @type {any} */ (kept));
  return other;
}

/** @param {TypedArray} values @param {number} length @returns {TypedArray} with memory of that size */
function exactly(values, length) {
  return values.length === length ? values : values.slice(0, length);
}

class ColumnResult extends Result {
  /** One for each field, in their order. @type {Column[]} */
  columns = [];
  /** @type {ColumnStore[]} */
  #stores = [];
  /** @type {readonly string[]} */
  #names = [];
  #length = 0;

  /** How many rows have come. */
  get received() {
    return this.#length;
  }

  /**
   * Before the first rows; after that it does nothing.
   * @param {Shape} shape @param {TypeSource} types @param {Int8} int8 the option
   * @param {number} expected rows, perhaps
   */
  describe({ fields, kinds, keys }, types, int8, expected) {
    if (this.#stores.length > 0) return;
    this.#names = keys;
    this.#stores = fields.map(
      ({ dataTypeID }, index) => new ColumnStore(kinds[index], dataTypeID, types, int8, expected),
    );
  }

  /**
   * @param {Shape} shape
   * @param {Cells} cells
   * @param {Chunk} chunk
   * @param {number} cell
   * @param {number} count
   * @param {boolean} hasNulls whether a value may be NULL
   */
  addCells({ kinds, cellsPerRow }, cells, chunk, cell, count, hasNulls) {
    const to = this.#length + count;
    if (hasLocalTimes(kinds)) followTimeZone();
    let at = 2 * cell;
    for (const [index, store] of this.#stores.entries()) {
      store.add(cells, chunk, at, 2 * cellsPerRow, this.#length, to, hasNulls);
      at += 2 * cellsOf(kinds[index]);
    }
    this.#length = to;
  }

  /** All rows have come. */
  finish() {
    this.columns = this.#stores.map((store, index) =>
      store.finish(this.#names[index], this.#length),
    );
    this.#stores = [];
  }
}

/** @param {'array' | 'columns' | undefined} rowMode */
function newResult(rowMode) {
  return rowMode === 'columns' ? new ColumnResult() : new Result(rowMode);
}

/** @param {Result} result @returns {number} how many rows have come */
function countRows(result) {
  return result instanceof ColumnResult ? result.received : result.rows.length;
}

module.exports = { ColumnResult, countRows, int8OfColumns, newResult };
