'use strict';

// The parsers of one client: its own first, then those of `userTypes` or of the module. Made by
// Client and, for { types } of a query, by users. It has the API of `pg`'s class.

const { checkSetTypeParser, raiseTypesEpoch, types } = require('./index');

/** @typedef {import('./index').Format} Format */
/** @typedef {import('./index').Parser} Parser */
/** @typedef {{ getTypeParser(oid: number, format?: Format): Parser }} TypeSource */

class TypeOverrides {
  /** @param {TypeSource | null} [userTypes] */
  constructor(userTypes) {
    /** Not a private field: people clone options with all that is in them. @type {TypeSource} */
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
   * @param {Format | Parser | null} format 'text' by default
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

/**
 * @type {Set<unknown>} getTypeParser() of this class and of the driver's own subclasses. That of a
 *   user's subclass may return anything.
 */
const OWN_LOOKUPS = new Set([TypeOverrides.prototype.getTypeParser]);

module.exports = { OWN_LOOKUPS, TypeOverrides };
