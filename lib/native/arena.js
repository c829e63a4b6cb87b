'use strict';

// The memory through which the addon delivers: the ints of events, the cells of rows, and the texts
// and bytes that both point into. Valid only while a delivery is read. Used by delivery.js.

const { randomBytes } = require('node:crypto');

const NO_BYTES = Buffer.alloc(0);

/** @type {import('../rows').Cells} */
const cells = {
  int32: new Int32Array(0),
  float64: new Float64Array(0),
  bigInt64: new BigInt64Array(0),
};

/** The chunk that the texts of the current events point into. */
const chunk = {
  ascii: '',
  wide: '',
  /** @type {Buffer} */
  bytes: NO_BYTES,
  jsonText: '',
  /** @type {unknown[] | null | undefined} undefined: not parsed yet; null: not valid as a whole */
  jsonValues: undefined,

  /**
   * All JSON of a chunk is parsed at once. If one value is not valid, each is parsed by itself, so
   * that only the query of that value fails.
   * @param {number} index
   * @param {number} offset
   * @param {number} length
   */
  json(index, offset, length) {
    if (this.jsonValues === undefined) this.jsonValues = parseJsonArray(this.jsonText);
    if (this.jsonValues !== null) return this.jsonValues[index];
    return JSON.parse(this.jsonText.substring(offset, offset + length));
  },

  /**
   * @param {string | undefined} ascii
   * @param {string | undefined} wide
   * @param {string | undefined} json
   * @param {Buffer | undefined} bytes
   */
  set(ascii, wide, json, bytes) {
    this.ascii = ascii ?? '';
    this.wide = wide ?? '';
    this.jsonText = json ?? '';
    this.jsonValues = undefined;
    this.bytes = bytes ?? NO_BYTES;
  },
};

/**
 * Separates the JSON of different queries. A server that knew it could send invalid JSON that takes
 * in values of other queries, which may come from other servers. Short, so that V8 does not make a
 * new string of each.
 */
const JSON_GUARD = randomBytes(6).toString('base64');

/**
 * @param {string} text an array of values with guards among them; it ends with the number of
 *   guards, and that of values and guards
 * @returns {unknown[] | null} null if a value is not JSON, or is more than one value
 */
function parseJsonArray(text) {
  try {
    const values = JSON.parse(text);
    const count = values.pop();
    let guards = values.pop();
    if (values.length !== count) return null;
    for (let index = 1; guards > 0 && index < count; ++index) {
      if (values[index] === JSON_GUARD) --guards;
    }
    return guards === 0 ? values : null;
  } catch {
    return null;
  }
}

/** @param {number} at index of a text's two ints */
function readText(at) {
  const offset = cells.int32[at];
  const length = cells.int32[at + 1];
  return offset >= 0
    ? chunk.ascii.substring(offset, offset + length)
    : chunk.wide.substring(~offset, ~offset + length);
}

/**
 * @param {number} at index of the field count
 * @returns {import('./slots').Diagnostics}
 */
function readDiagnostics(at) {
  /** @type {Record<string, string>} */
  const fields = {};
  for (let left = cells.int32[at]; left > 0; --left) {
    fields[String.fromCharCode(cells.int32[at + 1])] = readText(at + 2);
    at += 3;
  }
  return fields;
}

/** @param {ArrayBuffer} inbox events and cells, passed when the memory is new */
function setCells(inbox) {
  cells.int32 = new Int32Array(inbox);
  cells.float64 = new Float64Array(inbox);
  cells.bigInt64 = new BigInt64Array(inbox);
}

module.exports = { JSON_GUARD, cells, chunk, readDiagnostics, readText, setCells };
