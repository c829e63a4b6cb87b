'use strict';

// What the addon announces once for all results that look alike: names, types and kinds of cells.
// It keeps the function that builds its rows (row-builder.js). Made by native/delivery.js.

const { cellKind, fieldBinaryDecodable, knownColumns } = require('../base');
const { cellsOf } = require('./cells');
const { findParser } = require('./parsers');
const { canGenerateCode, generateBuilder, plainBuilder } = require('./row-builder');
const { getTypesEpoch, isDefaultParser, ownTypes, types: defaultTypes } = require('./types');
const { TypeOverrides } = require('./types/type-overrides');

/**
 * @typedef {import('./parsers').Int8} Int8
 * @typedef {import('./parsers').TypeSource} TypeSource
 * @typedef {import('./result').Field} Field
 * @typedef {import('./row-builder').Builder} Builder
 */

/** To build fewer rows takes less time than to generate code for them, and many results come once. */
const WORTH_CODE_ROWS = 64;
const FLOAT8_OID = 701;
/** date, timestamp, timestamptz */
const DATE_OIDS = new Set([1082, 1114, 1184]);

class Shape {
  /** @type {Builder | null} the last one generated */
  #builder = null;
  /** What it was generated for, or will be if that comes again. */
  #builderKey = { epoch: -1, rowAsArray: false, int8: '', types: /** @type {unknown} */ (null) };

  /** By what has changed their names. @type {WeakMap<import('./row-keys').RowKeys, Shape>} */
  #renamed = new WeakMap();
  /** The last of these. @type {Shape | undefined} */
  #lastRenamed = undefined;
  /** Under which keys rows have the columns. @type {readonly string[]} */
  keys;

  /**
   * @param {Field[]} fields
   * @param {number[]} kinds CellKind, perhaps with fieldBinaryDecodable, by column
   * @param {number} [id] by which the addon knows it
   */
  constructor(fields, kinds, id = knownColumns.unknown) {
    this.id = id;
    this.fields = fields;
    this.keys = fields.map(({ name }) => name);
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
    if (last !== undefined && keys.every((key, index) => key === last.keys[index])) {
      shape = last;
    } else {
      shape = this.#lastRenamed = new Shape(this.fields, this.kinds);
      shape.keys = keys;
    }
    this.#renamed.set(rowKeys, shape);
    return shape;
  }

  /**
   * @param {boolean} rowAsArray
   * @param {TypeSource} types
   * @param {Int8} int8
   * @param {number} [count] of the rows that are to be built now
   * @returns {Builder}
   */
  builder(rowAsArray, types, int8, count = Infinity) {
    const key = this.#builderKey;
    const epoch = getTypesEpoch();
    const isSame =
      key.epoch === epoch &&
      key.rowAsArray === rowAsArray &&
      key.int8 === int8 &&
      key.types === types;
    if (isSame && this.#builder !== null) return this.#builder;
    const parsers = this.fields.map((field, index) =>
      this.kinds[index] === cellKind.text ? findParser(field.dataTypeID, types, int8) : null,
    );
    const { kinds, cellsPerRow } = this;
    const plan = { kinds, keys: this.keys, cellsPerRow, rowAsArray, parsers };
    // An object of parsers that is not the driver's may change without notice: it is asked each
    // time, and not worth generated code.
    const isStable =
      types === defaultTypes ||
      types === ownTypes ||
      (types instanceof TypeOverrides && types.tellsChanges);
    if (!canGenerateCode || !isStable) return plainBuilder(plan);
    this.#builderKey = { epoch, rowAsArray, int8, types };
    this.#builder = isSame || count >= WORTH_CODE_ROWS ? generateBuilder(plan) : null;
    return this.#builder ?? plainBuilder(plan);
  }
}

module.exports = { Shape };
