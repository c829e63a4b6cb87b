'use strict';

// One cell of a delivery, by its kind: its value, and the source of an expression for it. Used by
// row-builder.js and columns.js.

const { cellKind, unsafeIntegerHigh } = require('../base');
const { toLocalDate } = require('./local-time');
const { rejectUnsafeInteger } = require('./parsers');

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
 */

/**
 * @param {number} millis
 * @returns {Date | number} a number for infinity
 */
function toDate(millis) {
  return millis === Infinity || millis === -Infinity ? millis : new Date(millis);
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

/** @param {readonly number[]} kinds */
function hasLocalTimes(kinds) {
  return kinds.includes(cellKind.timestamp) || kinds.includes(cellKind.date);
}

/** @param {number} kind */
function cellsOf(kind) {
  return kind === cellKind.bigInt || kind === cellKind.json ? 2 : 1;
}

module.exports = { cellSource, cellsOf, hasLocalTimes, readCell, readText, toDate };
