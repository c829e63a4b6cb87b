'use strict';

// What clients and pools have in common: the methods that give out a stream of rows or a COPY, and describe(). A
// subclass says by [SENDER]() how its streams are sent, aborted and refused. Extended by client.js
// and pool.js.

const { EventEmitter } = require('node:events');
const { CopyFrom, copyRows, CopyTo, readCopy } = require('../copy');
const { DescriptionRole, openStream } = require('../query');
const { readQuery, readStreamed } = require('./query-arguments');

/**
 * @typedef {import('../query').Query} Query
 *
 * How a client or a pool sends what streams.
 * @typedef {object} StreamSender
 * @property {import('../query').QueryDefaults} defaults
 * @property {(query: Query) => void} submit a stream or a COPY
 * @property {(query: Query) => void} ask a description
 * @property {(query: Query, reason: import('../base').QueryAbortedError) => void} abort
 * @property {boolean} isOrdered what is submitted is sent when all that was asked is answered
 */

const SENDER = Symbol('sender');

class Streamable extends EventEmitter {
  /** @returns {StreamSender} */
  [SENDER]() {
    throw new Error('a subclass says how its streams are sent');
  }

  /**
   * The rows as they come; while nobody reads them, the server is stopped. On a pool, a stream and
   * each COPY have a connection to themselves.
   * @param {string | Record<string, any>} text or { text, values, name, rowMode, types, signal }
   * @param {readonly unknown[]} [values]
   * @param {import('../query').StreamOptions | null} [options]
   * @returns {import('../query').RowStream}
   */
  stream(text, values, options) {
    const { defaults, abort, submit } = this[SENDER]();
    const query = readStreamed(text, values, options, defaults);
    return openStream(query, options, abort, () => submit(query));
  }

  /**
   * @param {string} text COPY … FROM STDIN
   * @returns {CopyFrom} finishes when the server has taken it all
   */
  copyFrom(text) {
    const sender = this[SENDER]();
    return openCopyFrom(sender, readCopy('in', text, sender.defaults));
  }

  /**
   * Rows into a table, by COPY.
   * @param {string | readonly string[]} table its name, 'schema.name', or [schema, name]
   * @param {readonly string[]} columns
   * @param {Iterable<readonly unknown[]> | AsyncIterable<readonly unknown[]>} rows
   * @param {unknown[]} more none may be given
   * @returns {Promise<{ rowCount: number }>} when all are committed; none, if it rejects
   */
  copyRows(table, columns, rows, ...more) {
    const sender = this[SENDER]();
    const face = {
      open: (/** @type {import('../copy').CopyRole} */ role) => openCopyFrom(sender, role),
      isOrdered: sender.isOrdered,
    };
    return copyRows(face, table, columns, rows, ...more);
  }

  /**
   * The types of a statement, which is not executed.
   * @param {string | Record<string, any>} text or { text }
   * @returns {Promise<{ parameters: { dataTypeID: number }[], fields: import('../rows').Field[] }>}
   */
  describe(text) {
    const { defaults, ask } = this[SENDER]();
    const given = readQuery(text, undefined, undefined, defaults);
    const { query } = new DescriptionRole(given, defaults);
    ask(query);
    return query.promise;
  }

  /**
   * @param {string} text COPY … TO STDOUT
   * @returns {CopyTo}
   */
  copyTo(text) {
    const { defaults, abort, submit } = this[SENDER]();
    const role = readCopy('out', text, defaults);
    return new CopyTo(role, abort, () => submit(role.query));
  }
}

/** @param {StreamSender} sender @param {import('../copy').CopyRole} role */
function openCopyFrom({ abort, submit }, role) {
  return new CopyFrom(role, abort, () => submit(role.query));
}

module.exports = { SENDER, Streamable };
