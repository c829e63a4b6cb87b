'use strict';

// Rows from the cells that the addon has decoded, with the parsers of pg-types (types/); and the
// other way, the texts of values that are sent.

const { ColumnResult, countRows, int8OfColumns, newResult } = require('./columns');
const { textParsers } = require('./parsers');
const { Field, Result } = require('./result');
const { setProperty } = require('./row-builder');
const { Shape } = require('./shape');
const { getTypesEpoch, isDefaultParser, ownTypes, types } = require('./types');
const { isRowKeys, toRowKeys } = require('./row-keys');
const { asText } = require('./types/as-text');
const { FetchedTypes } = require('./types/fetched-types');
const {
  findThrown,
  offsetSeconds,
  prepareValue,
  UnsuitableError,
} = require('./types/prepare-value');
const { TypeOverrides } = require('./types/type-overrides');

/**
 * @typedef {import('./cells').Cells} Cells
 * @typedef {import('./cells').Chunk} Chunk
 * @typedef {import('./parsers').Int8} Int8
 * @typedef {import('./row-builder').Builder} Builder
 * @typedef {import('./parsers').TypeSource} TypeSource
 */

module.exports = {
  asText,
  ColumnResult,
  countRows,
  FetchedTypes,
  Field,
  findThrown,
  getTypesEpoch,
  int8OfColumns,
  isDefaultParser,
  isRowKeys,
  newResult,
  offsetSeconds,
  ownTypes,
  prepareValue,
  Result,
  setProperty,
  Shape,
  textParsers,
  toRowKeys,
  TypeOverrides,
  types,
  UnsuitableError,
};
