'use strict';

// The model: what each promise has told about the rows that it was to write, and whether the tables
// say the same. It knows nothing of the driver. Filled by the actions, read at the end of a round.

/**
 * - pending: nothing was told
 * - committed: all of its rows are there
 * - absent: none
 * - either: all or none
 * @typedef {'pending' | 'committed' | 'absent' | 'either'} Told
 *
 * Rows that stand or fall together.
 * @typedef {object} Unit
 * @property {string} what the action that wrote them
 * @property {Map<number, number>} rows how many of each id
 * @property {Told} told
 * @property {any} [source] whatever belongs to it, for whom a fault is told
 *
 * @typedef {{ message: string, unit?: Unit }} Fault
 */

class Ledger {
  /** @type {Unit[]} */
  units = [];
  #nextId = 1;

  /** An id that no other row has. */
  newId() {
    return this.#nextId++;
  }

  /** @param {string} what @param {any} [source] @returns {Unit} */
  open(what, source) {
    /** @type {Unit} */
    const unit = { what, rows: new Map(), told: 'pending', source };
    this.units.push(unit);
    return unit;
  }

  /** All that was told is checked, and forgotten. @param {Map<number, number>} counts rows by id */
  close(counts) {
    const faults = findFaults(this.units, counts);
    this.units = [];
    return faults;
  }
}

/**
 * @param {Unit} unit
 * @param {readonly (readonly [id: number, count: number])[]} rows
 */
function addRows(unit, rows) {
  for (const [id, count] of rows) unit.rows.set(id, (unit.rows.get(id) ?? 0) + count);
}

/**
 * What an outcome says of the rows.
 * @param {any} error undefined: it was fulfilled
 * @returns {Told}
 */
function toldBy(error) {
  if (error === undefined) return 'committed';
  return error?.outcome === 'not-run' ? 'absent' : 'either';
}

/**
 * @param {readonly Unit[]} units
 * @param {ReadonlyMap<number, number>} counts rows by id, as the table has them
 * @returns {Fault[]} what is not as it was told
 */
function findFaults(units, counts) {
  /** @type {Fault[]} */
  const faults = [];
  const known = new Set();
  for (const unit of units) {
    for (const id of unit.rows.keys()) known.add(id);
    const wrong = findFault(unit, counts);
    if (wrong !== undefined) faults.push({ message: `${unit.what}: ${wrong}`, unit });
  }
  for (const id of counts.keys()) {
    if (!known.has(id)) faults.push({ message: `nobody has written the id ${id}` });
  }
  return faults;
}

/** @param {Unit} unit @param {ReadonlyMap<number, number>} counts @returns {string | undefined} */
function findFault({ rows, told }, counts) {
  let complete = 0;
  let none = 0;
  const wrong = [];
  for (const [id, expected] of rows) {
    const count = counts.get(id) ?? 0;
    if (count === expected) ++complete;
    else if (count === 0) ++none;
    if (count === 0 ? told === 'committed' : told === 'absent' || count !== expected) {
      wrong.push(`${count} of ${expected} rows with id ${id}`);
    }
  }
  if (told === 'pending') return 'nothing was told';
  if (wrong.length > 0) return `told ${told}, but ${wrong.join(', ')}`;
  if (complete === 0 || none === 0) return undefined;
  return `${complete} of its ${rows.size} ids are there, the others are not`;
}

module.exports = { Ledger, addRows, findFaults, toldBy };
