'use strict';

// The parsers of one client: its own first, then those of `userTypes` or of the module. Made by
// Client and, for { types } of a query, by users; it has the API of the class in `pg`.

const { checkSetTypeParser, raiseTypesEpoch, types } = require('./index');

/** @typedef {import('./index').Format} Format */
/** @typedef {import('./index').Parser} Parser */
/** @typedef {{ getTypeParser(oid: number, format?: Format): Parser }} TypeSource */

class TypeOverrides {
  /** @param {TypeSource | null} [userTypes] */
  constructor(userTypes) {
    /** No private field: people clone options, and what is in them. @type {TypeSource} */
    this._types = userTypes || types;
    /** @type {Record<number, Parser | null | undefined>} */
    this.text = {};
    /** @type {Record<number, Parser | null | undefined>} */
    this.binary = {};
  }

  /**
   * Whether each change of its parsers, and of those underneath, raises the epoch.
   * @returns {boolean}
   */
  get tellsChanges() {
    const { _types: source, getTypeParser } = this;
    if (!OWN_LOOKUPS.has(getTypeParser)) return false;
    return source === types || (source instanceof TypeOverrides && source.tellsChanges);
  }

  /**
   * @param {string} [format]
   * @returns {Record<number, Parser | null | undefined>}
   */
  getOverrides(format) {
    if (format === 'text') return this.text;
    return format === 'binary' ? this.binary : {};
  }

  /**
   * @param {number} oid
   * @param {Format | Parser | null} format 'text' when left out
   * @param {Parser | null} [parser] null to return to the parser underneath
   */
  setTypeParser(oid, format, parser) {
    const checked = checkSetTypeParser(oid, format, parser);
    this.getOverrides(checked.format)[oid] = checked.parser;
    raiseTypesEpoch();
  }

  /**
   * @param {number} oid
   * @param {Format} [format]
   * @returns {Parser}
   */
  getTypeParser(oid, format = 'text') {
    return this.getOverrides(format)[oid] || this._types.getTypeParser(oid, format);
  }
}

/** @type {Set<unknown>} Of this class and those of ours that extend it; the user's may answer as they like. */
const OWN_LOOKUPS = new Set([TypeOverrides.prototype.getTypeParser]);

module.exports = { OWN_LOOKUPS, TypeOverrides };
