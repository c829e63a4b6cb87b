'use strict';

// What the addon knows by number: the slots, in each of which stands what the server has yet to answer, and
// the connections. delivery.js passes on what is said of them; those who send take the slots.

/**
 * Fields of an error or a notice, by their letters.
 * @typedef {Readonly<Record<string, string>>} Diagnostics
 *
 * What a connection is told.
 * @typedef {object} ConnectionEvents
 * @property {number} id
 * @property {(processID: number, serverVersion: number) => void} onConnected
 * @property {(message: string) => void} onConnectFailed
 * @property {(millis: number) => void} onRoundTrip of what was answered last
 * @property {(isTaken: boolean) => void} onCancelled the server was asked to cancel
 * @property {(fields: Diagnostics) => void} onNotice
 * @property {(processId: number, channel: string, payload: string) => void} onNotification
 * @property {(message: string, entries: any[]) => void} onLost
 * @property {(cause: unknown, entries: any[]) => void} onFault of the driver's own, while it was told something
 */

/**
 * What stands in a slot, and is told everything that the server says of it: in the order of the protocol,
 * and in the middle of a delivery (after-delivery.js). Here nothing is made of it.
 */
class SlotEntry {
  /** What it is sent on, once it is. @type {any} */
  connection = undefined;
  /** The Sync group that it is a member of. @type {any} */
  group = undefined;

  /** Whether the driver asks it for itself. */
  get isOwn() {
    return false;
  }

  /**
   * @param {import('../rows').Shape} _shape
   * @param {import('../rows').Cells} _cells
   * @param {import('../rows').Chunk} _chunk
   * @param {number} _cell where the first row begins
   * @param {number} _count of rows; 0 tells only their shape
   */
  addRows(_shape, _cells, _chunk, _cell, _count) {}

  /** CommandComplete. @param {number} _tag index into commandTags @param {number} _rows */
  complete(_tag, _rows) {}

  /** CommandComplete of another command. @param {string} _tag */
  completeOther(_tag) {}

  /** EmptyQueryResponse. */
  completeEmpty() {}

  /** ParseComplete. */
  parsed() {}

  /** ErrorResponse. @param {number} _phase of its messages @param {Diagnostics} _diagnostics */
  failed(_phase, _diagnostics) {}

  /** Not executed for the sake of an error before it. @param {number} _phase */
  skipped(_phase) {}

  /** A value of the column has no JavaScript form. @param {number} _column */
  unreadable(_column) {}

  /** @param {boolean} _isBinary @param {number} _columns */
  copyIn(_isBinary, _columns) {}

  /** @param {boolean} _isBinary @param {number} _columns */
  copyOut(_isBinary, _columns) {}

  /** @param {Buffer} _data is valid in this call only */
  copyData(_data) {}

  /** What was given to COPY has left. */
  copyDrained() {}

  /**
   * @param {number} _reason one of notSentReason
   * @param {number} _detail
   * @returns {boolean} whether nothing else comes for the slot: dropped() follows
   */
  notSent(_reason, _detail) {
    return true;
  }

  /** ReadyForQuery: the slot is free. @param {number} _transactionStatus @param {number} _costMillis @param {number} _now */
  synced(_transactionStatus, _costMillis, _now) {}

  /** It was not sent: the slot is free. */
  dropped() {}

  /** The connection is lost: the slot is free. @param {any[]} _queries gets those that are lost with it */
  lost(_queries) {}
}

/** @type {(SlotEntry | undefined)[]} */
const slots = [];
/** @type {number[]} */
const freeSlots = [];

/** @param {SlotEntry} entry @returns {number} */
function takeSlot(entry) {
  const slot = freeSlots.length > 0 ? /** @type {number} */ (freeSlots.pop()) : slots.length;
  slots[slot] = entry;
  return slot;
}

/**
 * Only when no event for the slot can come any more: after its Sync, its
 * connection's loss, or a rollback of what was written.
 * @param {number} slot
 */
function freeSlot(slot) {
  slots[slot] = undefined;
  freeSlots.push(slot);
}

/** @param {number} slot */
function entryAt(slot) {
  return slots[slot];
}

/**
 * From connect() until they are closed. An open connection lives although nobody refers to its
 * client: its session may hold locks, or be listened to.
 * @type {Map<number, ConnectionEvents>}
 */
const connections = new Map();
let nextConnectionId = 1;

/** @returns {number} for one connection, never used twice */
function newConnectionId() {
  return nextConnectionId++;
}

/** @param {ConnectionEvents} connection */
function addConnection(connection) {
  connections.set(connection.id, connection);
}

/** @param {ConnectionEvents} connection that is closed: of what still comes for it, its queries are told */
function removeConnection(connection) {
  connections.delete(connection.id);
}

module.exports = {
  SlotEntry,
  addConnection,
  connections,
  entryAt,
  freeSlot,
  newConnectionId,
  removeConnection,
  slots,
  takeSlot,
};
