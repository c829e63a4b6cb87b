'use strict';

// Decodes the messages of the output plugin pgoutput, in the versions 1 and 2 of its protocol, into what is told to
// users. Owned by subscription.js.

const { ResultError } = require('../base');
const { formatLsn } = require('./lsn');
const { MessageReader } = require('./message-reader');
const { Relations } = require('./relations');

/**
 * @typedef {object} Transaction
 * @property {number} xid
 * @property {string} lsn of its commit
 * @property {string} after the position behind it: `from` for who has it
 * @property {Date} commitTime
 *
 * @typedef {object} Change
 * @property {'insert' | 'update' | 'delete' | 'truncate' | 'message' | 'begin' | 'commit'} kind
 * @property {Transaction | undefined} transaction undefined: a message that is part of none
 * @property {string} lsn
 * @property {import('./relations').Relation} [relation]
 * @property {string} [schema]
 * @property {string} [table]
 * @property {import('./relations').Row} [row]
 * @property {import('./relations').Row} [old]
 * @property {string[]} [unchanged]
 * @property {boolean} [cascade]
 * @property {boolean} [restartIdentity]
 * @property {string} [prefix]
 * @property {Buffer} [content]
 *
 * Begin and Commit of a transaction, as they are on the wire.
 * @typedef {{ xid: number, lsn: bigint, time: Date }} Begin
 * @typedef {{ lsn: bigint, end: bigint, time: Date }} Commit
 */

const CASCADE = 1;
const RESTART_IDENTITY = 2;
const IS_TRANSACTIONAL = 1;
/** With the kind and the id of the transaction in front. */
const STREAMED_HEADER = 5;

/** @param {Begin} begin @returns {Transaction} */
function describeTransaction({ xid, lsn, time }) {
  return { xid, lsn: formatLsn(lsn), after: formatLsn(lsn + 1n), commitTime: time };
}

/** @param {Buffer} data @param {number} at behind the kind @returns {Begin} */
function readBegin(data, at) {
  const reader = new MessageReader(data, at);
  const lsn = reader.lsn();
  const time = reader.time();
  return { xid: reader.uint32(), lsn, time };
}

/** @param {Buffer} data @param {number} at behind the kind @returns {Commit} */
function readCommit(data, at) {
  // Flags come first, none of which is defined.
  const reader = new MessageReader(data, at + 1);
  return { lsn: reader.lsn(), end: reader.lsn(), time: reader.time() };
}

/** @param {number} flags of a message of pg_logical_emit_message() */
function isTransactional(flags) {
  return (flags & IS_TRANSACTIONAL) !== 0;
}

class PgOutput {
  #relations;

  /** @param {{ types: import('../rows').TypeSource, int8: import('../rows').Int8 }} settings */
  constructor(settings) {
    this.#relations = new Relations(settings);
  }

  /**
   * @param {Buffer} data
   * @param {number} at where the message begins
   * @param {boolean} isStreamed whether the id of the transaction is in it
   * @param {string} lsn
   * @param {Transaction | undefined} transaction
   * @returns {Change[] | undefined} what it tells, if it tells anything
   */
  read(data, at, isStreamed, lsn, transaction) {
    const kind = String.fromCharCode(data[at]);
    const reader = new MessageReader(data, at + (isStreamed ? STREAMED_HEADER : 1));
    switch (kind) {
      case 'I':
      case 'U':
      case 'D':
        return [this.#readRows(kind, reader, lsn, transaction)];
      case 'T':
        return this.#readTruncate(reader, lsn, transaction);
      case 'M':
        return [readMessage(reader, transaction)];
      case 'R':
        this.#relations.add(reader);
        return undefined;
      case 'Y': // a type that is not built in: its oid is in the relation
      case 'O': // where the transaction came from
        return undefined;
      default:
        throw new ResultError(`the server sent a replication message of an unknown kind: ${kind}`);
    }
  }

  /**
   * @param {'I' | 'U' | 'D'} kind
   * @param {MessageReader} reader
   * @param {string} lsn
   * @param {Transaction | undefined} transaction
   * @returns {Change}
   */
  #readRows(kind, reader, lsn, transaction) {
    const relation = this.#relations.get(reader.uint32());
    const { schema, table } = relation;
    /** @type {string[]} */
    const unchanged = [];
    const part = reader.char();
    let old;
    if (part !== 'N') {
      old = relation.readRow(reader, part === 'K', []);
      if (kind === 'D') return { kind: 'delete', transaction, lsn, relation, schema, table, old };
      // The kind of the new row.
      reader.byte();
    }
    const row = relation.readRow(reader, false, unchanged, old);
    const told = { transaction, lsn, relation, schema, table, row };
    return kind === 'I' ? { kind: 'insert', ...told } : { kind: 'update', ...told, old, unchanged };
  }

  /**
   * @param {MessageReader} reader
   * @param {string} lsn
   * @param {Transaction | undefined} transaction
   * @returns {Change[]} one for each table
   */
  #readTruncate(reader, lsn, transaction) {
    const count = reader.uint32();
    const flags = reader.byte();
    const cascade = (flags & CASCADE) !== 0;
    const restartIdentity = (flags & RESTART_IDENTITY) !== 0;
    return Array.from({ length: count }, () => {
      const relation = this.#relations.get(reader.uint32());
      const { schema, table } = relation;
      return {
        kind: 'truncate',
        transaction,
        lsn,
        relation,
        schema,
        table,
        cascade,
        restartIdentity,
      };
    });
  }
}

/** @param {MessageReader} reader @param {Transaction | undefined} transaction @returns {Change} */
function readMessage(reader, transaction) {
  reader.byte();
  const lsn = formatLsn(reader.lsn());
  const prefix = reader.string();
  return { kind: 'message', transaction, lsn, prefix, content: reader.bytes(reader.int32()) };
}

module.exports = { describeTransaction, isTransactional, PgOutput, readBegin, readCommit };
