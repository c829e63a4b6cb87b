'use strict';

// Builds rows from the cells of a delivery. For each shape, row mode and set of parsers one function
// is generated, whose loop makes all objects with one hidden class. Where code generation from
// strings is disallowed, a plain loop does the same. Called by shape.js.

const { nullHigh } = require('../base');
const { cellSource, cellsOf, hasLocalTimes, readCell, toDate } = require('./cells');
const { followTimeZone, toLocalDate } = require('./local-time');
const { rejectUnsafeInteger } = require('./parsers');

/**
 * @typedef {import('./cells').Cells} Cells
 * @typedef {import('./cells').Chunk} Chunk
 * @typedef {import('./parsers').Parser} Parser
 * @typedef {(rows: any[], cells: Cells, chunk: Chunk, cell: number, count: number) => void} Builder
 *
 * What the rows of a shape look like.
 * @typedef {object} RowPlan
 * @property {readonly number[]} kinds CellKind, by column
 * @property {readonly string[]} keys
 * @property {number} cellsPerRow
 * @property {boolean} rowAsArray
 * @property {readonly (Parser | null)[]} parsers null if the text is the value
 */

/** Wider rows are made by literals: V8 is slow in copying them. */
const MAX_COPIED_COLUMNS = 256;

const canGenerateCode = (() => {
  try {
    return new Function('return true')() === true;
  } catch {
    return false;
  }
})();

/**
 * Rows are not literals. V8 counts how many objects of a literal survive; if most do, which is so
 * while a large result arrives, it allocates them as old. Until the next full collection each of
 * these, dead or not, then keeps its strings and dates alive, which are copied at every scavenge:
 * more than half of the CPU of a large result. It does not count copies of an object, nor rest
 * parameters.
 * @param {RowPlan} plan
 * @returns {Builder}
 */
function generateBuilder({ kinds, keys, cellsPerRow, rowAsArray, parsers }) {
  let offset = 0;
  const values = kinds.map((kind, index) => {
    const at = `p+${2 * offset}`;
    let value = cellSource(kind, at, `h+${offset}`);
    if (parsers[index] !== null) value = `parsers[${index}](${value})`;
    offset += cellsOf(kind);
    return `i[${at}+1]===${nullHigh}?null:(${value})`;
  });
  const names = keys.map((key) => `[${quote(key)}]`);
  const isCopied = kinds.length <= MAX_COPIED_COLUMNS;
  let push;
  if (rowAsArray) {
    push = `rows.push(${isCopied ? `toArray(${values.join(',')})` : `[${values.join(',')}]`});`;
  } else if (isCopied) {
    const assignments = values.map((value, index) => `row${names[index]}=${value};`);
    push = `const row = {...empty};${assignments.join('')}rows.push(row);`;
  } else {
    push = `rows.push({${values.map((value, index) => `${names[index]}:${value}`).join(',')}});`;
  }
  const source = `'use strict';
const empty = {${rowAsArray || !isCopied ? '' : names.map((name) => `${name}:null`).join(',')}};
const toArray = (...row) => row;
return function build(rows, cells, chunk, cell, count) {${hasLocalTimes(kinds) ? ' followTimeZone();' : ''}
  const i = cells.int32, f = cells.float64, b = cells.bigInt64;
  const ascii = chunk.ascii, wide = chunk.wide;
  let t = 0;
  for (let n = 0, h = cell; n < count; ++n, h += ${cellsPerRow}) {
    const p = 2 * h;
    ${push}
  }
};`;
  return new Function('parsers', 'toDate', 'toLocalDate', 'followTimeZone', 'unsafe', source)(
    parsers,
    toDate,
    toLocalDate,
    followTimeZone,
    rejectUnsafeInteger,
  );
}

/**
 * @param {RowPlan} plan
 * @returns {Builder}
 */
function plainBuilder({ kinds, keys, cellsPerRow, rowAsArray, parsers }) {
  const isLocal = hasLocalTimes(kinds);
  return (rows, cells, chunk, cell, count) => {
    if (isLocal) followTimeZone();
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

/**
 * A column's name comes from the server: it is quoted, and as a computed name it never sets the
 * prototype.
 * @param {string} name
 */
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

module.exports = { canGenerateCode, generateBuilder, plainBuilder, setProperty };
