'use strict';

// The option fetchTypes: arrays of types that are not part of PostgreSQL (enums, domains, types of
// extensions, rows of tables) are parsed as arrays. The first connection reads these types from
// pg_type; they are read again when an answer has a type that was created since. Made by
// options.js.

const { TimeLimit } = require('../../base');
const { textParsers } = require('../parsers');
const { isDefaultParser, raiseTypesEpoch, types } = require('./index');
const { OWN_LOOKUPS, TypeOverrides } = require('./type-overrides');

/**
 * @typedef {import('./type-overrides').TypeSource} TypeSource
 * @typedef {import('../result').Result} Result
 * @typedef {import('./index').Parser} Parser
 *
 * @typedef {(text: string) => Promise<Result>} Ask
 *
 * A query or a batch.
 * @typedef {{ promise: Promise<any> } & ({ types: TypeSource } | { members: { types: TypeSource }[] })} Work
 */

/**
 * FirstNormalObjectId in PostgreSQL's access/transam.h: types with a lower oid come with the
 * server.
 */
const FIRST_OWN_OID = 16384;
/** The only delimiter that the array parser of pg-types knows. */
const DELIMITER = ',';

const FETCH = `select oid, typarray, typbasetype as base
  from pg_catalog.pg_type
  where typarray >= ${FIRST_OWN_OID} and typdelim = '${DELIMITER}'`;

class FetchedTypes extends TypeOverrides {
  #elements;
  /** The parsers of arrays, by oid. @type {Map<number, Parser>} */
  #parsers = new Map();
  /** The base type of a domain, 0 for other types. @type {ReadonlyMap<number, number>} */
  #bases = new Map();
  /** Types that no fetch has found. @type {Set<number>} */
  #strange = new Set();
  /** @type {Promise<void> | undefined} */
  #fetched = undefined;

  /**
   * @param {TypeSource} source of the parsers of elements
   * @param {import('../parsers').Int8} int8
   */
  constructor(source, int8) {
    super(source);
    this.#elements = textParsers({ types: source, int8 });
  }

  /**
   * @override
   * @param {number} oid
   * @param {import('./index').Format} [format]
   * @returns {Parser}
   */
  getTypeParser(oid, format = 'text') {
    const parser = super.getTypeParser(oid, format);
    // A parser that was set for the array type itself takes precedence.
    if (format !== 'text' || !isDefaultParser(oid, parser)) return parser;
    return this.#parsers.get(oid) ?? parser;
  }

  /**
   * Fetches once, and again if that failed.
   * @param {Ask} ask
   * @returns {Promise<void>}
   */
  fetchOnce(ask) {
    this.#fetched ??= this.#fetch(ask).catch((error) => {
      this.#fetched = undefined;
      throw error;
    });
    return this.#fetched;
  }

  /** @param {Ask} ask */
  async #fetch(ask) {
    const { rows } = await ask(FETCH);
    this.#bases = new Map(rows.map(({ oid, base }) => [Number(oid), Number(base)]));
    for (const { oid, typarray } of rows) {
      const array = Number(typarray);
      if (this.#parsers.has(array)) continue;
      this.#parsers.set(array, (text) => this.#parse(Number(oid), text));
    }
    raiseTypesEpoch();
  }

  /** @param {number} type of the elements @param {string} text of an array */
  #parse(type, text) {
    let element = type;
    for (let base = element; base > 0; base = this.#bases.get(base) ?? 0) element = base;
    const parse = this.#elements.getTypeParser(element, 'text');
    return types.arrayParser.create(text, (item) => (item === null ? null : parse(item))).parse();
  }

  /**
   * What a query or batch resolves to. Arrays of types that were not known when it was answered are
   * parsed here.
   * @param {Work} work
   * @param {Ask} ask
   */
  async complete(work, ask) {
    const value = await work.promise;
    const results = listResults(work, value);
    const oids = new Set(results.flatMap(({ result }) => this.#unknownIn(result)));
    if (oids.size === 0) return value;
    // The fetch may fail, say in a transaction that has failed meanwhile, or come behind a stream
    // that is read later. The answer itself is good.
    if (!(await succeedsInTime(this.#fetch(ask)))) return value;
    for (const oid of oids) {
      const parser = this.#parsers.get(oid);
      if (parser === undefined) this.#strange.add(oid);
      else for (const each of results) parseAfterwards(each, oid, parser);
    }
    return value;
  }

  /** @param {Result} result */
  #unknownIn({ fields }) {
    return fields
      .map(({ dataTypeID }) => dataTypeID)
      .filter(
        (oid) =>
          oid >= FIRST_OWN_OID &&
          !this.#parsers.has(oid) &&
          !this.#bases.has(oid) &&
          !this.#strange.has(oid),
      );
  }
}

/** How long an answer waits for types that it needs. */
const PATIENCE_MILLIS = 2000;

/**
 * @param {Promise<void>} promise
 * @returns {Promise<boolean>}
 */
function succeedsInTime(promise) {
  return new Promise((resolve) => {
    const limit = new TimeLimit(PATIENCE_MILLIS, () => resolve(false));
    const end = (/** @type {boolean} */ hasSucceeded) => {
      limit.cancel();
      resolve(hasSucceeded);
    };
    promise.then(
      () => end(true),
      () => end(false),
    );
  });
}

/**
 * @param {Work} work
 * @param {any} value that it resolves to
 * @returns {{ result: Result, types: TypeSource }[]} each with the parsers that it was read by
 */
function listResults(work, value) {
  if ('members' in work) {
    return work.members.map(({ types: source }, index) => ({
      result: value[index],
      types: source,
    }));
  }
  /** @type {Result[]} */
  const results = Array.isArray(value) ? value : [value];
  return results.map((result) => ({ result, types: work.types }));
}

/**
 * @param {{ result: Result, types: TypeSource }} read
 * @param {number} oid
 * @param {Parser} parser
 */
function parseAfterwards({ result, types: source }, oid, parser) {
  const { fields, rows, rowAsArray } = result;
  // The query had parsers of its own.
  if (source.getTypeParser(oid, 'text') !== parser) return;
  for (const [index, { dataTypeID, name }] of fields.entries()) {
    if (dataTypeID !== oid) continue;
    /** @type {any[] | undefined} */
    const values = /** @type {any} */ (result).columns?.[index].values;
    values?.forEach((value, row) => {
      if (typeof value === 'string') values[row] = parser(value);
    });
    const key = rowAsArray ? index : name;
    for (const row of rows) {
      // Of two columns with the same name only the last one is in the row.
      if (typeof row[key] === 'string') row[key] = parser(row[key]);
    }
  }
}

OWN_LOOKUPS.add(FetchedTypes.prototype.getTypeParser);

module.exports = { FetchedTypes };
