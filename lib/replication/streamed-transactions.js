'use strict';

// The messages of large transactions that the server sends before they are committed (version 2 of the protocol): they
// are kept as they came, and given out at the commit. Owned by subscription.js.

/**
 * @typedef {{ data: Buffer, lsn: bigint, xid: number }} Kept xid: of the subtransaction
 */

const MESSAGE_AT = 25;
const XID_AT = MESSAGE_AT + 1;
const RELATION = 'R'.charCodeAt(0);
const TYPE = 'Y'.charCodeAt(0);

class StreamedTransactions {
  /** By the id of the transaction. @type {Map<number, Kept[]>} */
  #kept = new Map();
  /** That of the block that is being read. @type {Kept[] | undefined} */
  #current = undefined;
  bytes = 0;

  /** Whether the messages that come belong to such a transaction. */
  get isInBlock() {
    return this.#current !== undefined;
  }

  /** @param {number} xid */
  begin(xid) {
    let kept = this.#kept.get(xid);
    if (kept === undefined) this.#kept.set(xid, (kept = []));
    this.#current = kept;
  }

  stop() {
    this.#current = undefined;
  }

  /** @param {Buffer} data @param {bigint} lsn */
  keep(data, lsn) {
    this.bytes += data.length;
    this.#current?.push({ data, lsn, xid: data.readUInt32BE(XID_AT) });
  }

  /** @param {number} xid @returns {Kept[]} all of the transaction, which is forgotten */
  take(xid) {
    const kept = this.#kept.get(xid) ?? [];
    this.#kept.delete(xid);
    for (const { data } of kept) this.bytes -= data.length;
    return kept;
  }

  /**
   * @param {number} xid
   * @param {number} part of it that was rolled back; or it itself
   */
  abort(xid, part) {
    const kept = this.take(xid);
    if (part === xid) return;
    // What follows the beginning of a subtransaction, up to here, is part of it. The server does not describe a table
    // a second time because of that.
    const from = kept.findIndex((one) => one.xid === part);
    const left = kept.filter(
      ({ data }, index) =>
        from === -1 || index < from || data[MESSAGE_AT] === RELATION || data[MESSAGE_AT] === TYPE,
    );
    for (const { data } of left) this.bytes += data.length;
    this.#kept.set(xid, left);
  }
}

module.exports = { StreamedTransactions };
