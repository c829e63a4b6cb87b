'use strict';

// The tables that changes belong to, as the server describes them before it sends their first change, and their
// rows. Owned by pgoutput.js.

const { causeOf, messageOf, ResultError } = require('../base');
const { getTypesEpoch, setProperty, textParsers } = require('../rows');

/**
 * @typedef {import('./message-reader').MessageReader} MessageReader
 *
 * @typedef {object} Column
 * @property {string} name
 * @property {boolean} isKey whether it is part of the replica identity
 * @property {number} typeId oid
 * @property {number} modifier
 *
 * @typedef {Record<string, any>} Row
 */

/** @type {Record<string, 'default' | 'nothing' | 'full' | 'index'>} */
const REPLICA_IDENTITY = { d: 'default', n: 'nothing', f: 'full', i: 'index' };
const IS_KEY = 1;

class Relation {
  /** @type {((text: string) => any)[]} */
  #parsers = [];
  #epoch = -1;
  #types;

  /** @param {MessageReader} reader behind the kind @param {import('../rows').TypeSource} types */
  constructor(reader, types) {
    this.#types = types;
    this.id = reader.uint32();
    // The server leaves out the name of pg_catalog.
    this.schema = reader.string() || 'pg_catalog';
    this.table = reader.string();
    this.replicaIdentity = REPLICA_IDENTITY[reader.char()];
    /** @type {Column[]} */
    this.columns = [];
    for (let count = reader.int16(); count > 0; --count) {
      const isKey = (reader.byte() & IS_KEY) !== 0;
      const name = reader.string();
      this.columns.push({ name, isKey, typeId: reader.uint32(), modifier: reader.int32() });
    }
  }

  /** Parsers may be set at any time. */
  #findParsers() {
    const epoch = getTypesEpoch();
    if (this.#epoch === epoch) return this.#parsers;
    this.#epoch = epoch;
    this.#parsers = this.columns.map(({ typeId }) => this.#types.getTypeParser(typeId, 'text'));
    return this.#parsers;
  }

  /**
   * @param {MessageReader} reader
   * @param {boolean} isKeyOnly the other columns were not sent, and are left out
   * @param {string[]} unchanged gets the names of columns whose values are stored apart and were not sent
   * @param {Row} [old] has their values, perhaps
   * @returns {Row}
   */
  readRow(reader, isKeyOnly, unchanged, old) {
    const parsers = this.#findParsers();
    /** @type {Row} */
    const row = {};
    const count = reader.int16();
    for (let index = 0; index < count; ++index) {
      const { name, isKey } = this.columns[index];
      const kind = reader.char();
      if (kind === 't') {
        const text = reader.text(reader.int32());
        setProperty(row, name, this.#parse(parsers[index], text, name));
      } else if (kind === 'u') {
        if (old !== undefined && Object.hasOwn(old, name)) setProperty(row, name, old[name]);
        else unchanged.push(name);
      } else if (!isKeyOnly || isKey) {
        setProperty(row, name, null);
      }
    }
    return row;
  }

  /** @param {(text: string) => any} parser perhaps the user's @param {string} text @param {string} name */
  #parse(parser, text, name) {
    try {
      return parser(text);
    } catch (error) {
      throw new ResultError(
        `the value of column "${name}" of ${this.schema}.${this.table} cannot be parsed: ${messageOf(error)}`,
        { cause: causeOf(error) },
      );
    }
  }
}

class Relations {
  #types;
  /** @type {Map<number, Relation>} */
  #byId = new Map();

  /** @param {{ types: import('../rows').TypeSource, int8: import('../rows').Int8 }} settings */
  constructor(settings) {
    this.#types = textParsers(settings);
  }

  /** @param {MessageReader} reader */
  add(reader) {
    const relation = new Relation(reader, this.#types);
    this.#byId.set(relation.id, relation);
  }

  /** @param {number} id @returns {Relation} */
  get(id) {
    const relation = this.#byId.get(id);
    if (relation === undefined) {
      throw new ResultError(`the server sent a change of relation ${id} without its description`);
    }
    return relation;
  }
}

module.exports = { Relation, Relations };
