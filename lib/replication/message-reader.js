'use strict';

// Reads the fields of a replication message one after the other (PostgreSQL documentation, "Logical Replication
// Message Formats"). Used by pgoutput.js and relations.js.

/** Milliseconds from 1970 to 2000, where the server's clock begins. */
const EPOCH_MILLIS = 946_684_800_000;
const MICROS = 1000;

class MessageReader {
  /** Where the next field begins. */
  at = 0;
  /** @type {Buffer} */
  data;

  /** @param {Buffer} data @param {number} at */
  constructor(data, at) {
    this.data = data;
    this.at = at;
  }

  /** A byte as a character: a kind. */
  char() {
    return String.fromCharCode(this.byte());
  }

  byte() {
    return this.data[this.at++];
  }

  int16() {
    this.at += 2;
    return this.data.readInt16BE(this.at - 2);
  }

  int32() {
    this.at += 4;
    return this.data.readInt32BE(this.at - 4);
  }

  /** An oid or a transaction id. */
  uint32() {
    this.at += 4;
    return this.data.readUInt32BE(this.at - 4);
  }

  /** A position. */
  lsn() {
    this.at += 8;
    return this.data.readBigUInt64BE(this.at - 8);
  }

  time() {
    this.at += 8;
    const micros = Number(this.data.readBigInt64BE(this.at - 8));
    return new Date(Math.floor(micros / MICROS) + EPOCH_MILLIS);
  }

  /** A text that ends in NUL. */
  string() {
    const start = this.at;
    const end = this.data.indexOf(0, start);
    this.at = end + 1;
    return this.data.toString('utf8', start, end);
  }

  /** @param {number} length in bytes */
  text(length) {
    const start = this.at;
    this.at += length;
    return this.data.toString('utf8', start, this.at);
  }

  /** @param {number} length @returns {Buffer} a copy, which does not keep other messages alive */
  bytes(length) {
    const start = this.at;
    this.at += length;
    return Buffer.from(this.data.subarray(start, this.at));
  }
}

module.exports = { MessageReader };
