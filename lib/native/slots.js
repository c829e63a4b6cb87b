'use strict';

// What the addon knows by number: the connections, and the slots, each with an entry that the
// server has yet to answer. Senders take slots; delivery.js passes the events on to their entries.

/**
 * Fields of an error or a notice, by their letters.
 * @typedef {Readonly<Record<string, string>>} Diagnostics
 *
 * The events of a connection.
 * @typedef {object} ConnectionEvents
 * @property {number} id
 * @property {(processID: number, serverVersion: number) => void} onConnected
 * @property {(message: string) => void} onConnectFailed
 * @property {(millis: number) => void} onRoundTrip the shortest one so far
 * @property {(isTaken: boolean) => void} onCancelled whether the server has received the cancel
 *   request
 * @property {(fields: Diagnostics, entry?: SlotEntry) => void} onNotice what the server is answering, if that is known
 * @property {(processId: number, channel: string, payload: string) => void} onNotification
 * @property {(message: string, entries: any[]) => void} onLost
 * @property {(cause: unknown, entries: any[]) => void} onFault an exception of the driver while it
 *   processed an event
 */

/**
 * The entry in a slot. It is told everything that the server says about it, in the order of the
 * protocol, and in the middle of a delivery (after-delivery.js). This base class ignores all of it.
 */
class SlotEntry {
  /** The connection that it is sent on, once it is; its `events` are ConnectionEvents. @type {any} */
  connection = undefined;
  /** The Sync group that it is a member of. @type {any} */
  group = undefined;
  /** Whether it is one of the driver's own statements. */
  isOwn = false;

  /**
   * @param {import('../rows').Shape} _shape
   * @param {import('../rows').Cells} _cells
   * @param {import('../rows').Chunk} _chunk
   * @param {number} _cell where the first row begins
   * @param {number} _count of rows; 0 gives only their shape
   * @param {boolean} _hasNulls whether a value may be NULL
   */
  addRows(_shape, _cells, _chunk, _cell, _count, _hasNulls) {}

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

  /** NoticeResponse, as far as its place tells. @param {Diagnostics} _fields @returns {boolean} whether it is for nobody else */
  noticed(_fields) {
    return false;
  }

  /** Not executed because of an error before it. @param {number} _phase */
  skipped(_phase) {}

  /** A value of the column has no JavaScript form. @param {number} _column */
  unreadable(_column) {}

  /** @param {boolean} _isBinary @param {number} _columns */
  copyIn(_isBinary, _columns) {}

  /** @param {boolean} _isBinary @param {number} _columns */
  copyOut(_isBinary, _columns) {}

  /** CopyBothResponse: replication has begun, and each message of it is a copyData() of its own. */
  copyBoth() {}

  /** @param {Buffer} _data valid during this call only */
  copyData(_data) {}

  /** The data that were given to COPY have been sent. */
  copyDrained() {}

  /**
   * @param {number} _reason one of notSentReason
   * @param {number} _detail
   * @returns {boolean} whether no other event comes for the slot: dropped() follows
   */
  notSent(_reason, _detail) {
    return true;
  }

  /**
   * ReadyForQuery: the slot is free.
   * @param {number} _transactionStatus
   * @param {number} _costMillis
   * @param {number} _now
   */
  synced(_transactionStatus, _costMillis, _now) {}

  /** It was not sent: the slot is free. */
  dropped() {}

  /**
   * The connection is lost: the slot is free.
   * @param {any[]} _queries receives those that are lost with it
   */
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
 * Only for a slot that no event can come for any more: after its Sync, the loss of its connection,
 * or a rollback of what was written.
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

/** @param {object} connection @returns {SlotEntry[]} what it is to be answered; all slots are searched */
function entriesOf(connection) {
  return /** @type {SlotEntry[]} */ (slots.filter((entry) => entry?.connection === connection));
}

/**
 * Connections from connect() until they are closed. An open connection stays alive even if nothing
 * refers to its client: its session may hold locks, or be listened to.
 * @type {Map<number, ConnectionEvents>}
 */
const connections = new Map();
let nextConnectionId = 1;

/** @returns {number} for one connection, never used twice */
function newConnectionId() {
  return nextConnectionId++;
}

/** @param {ConnectionEvents} events of the connection */
function addConnection(events) {
  connections.set(events.id, events);
}

/**
 * @param {ConnectionEvents} events of a connection that is closed; what still comes for it goes to its
 *   queries only
 */
function removeConnection(events) {
  connections.delete(events.id);
}

module.exports = {
  SlotEntry,
  addConnection,
  connections,
  entriesOf,
  entryAt,
  freeSlot,
  newConnectionId,
  removeConnection,
  slots,
  takeSlot,
};
