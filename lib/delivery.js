'use strict';

// Reads what the addon delivers once for each turn of the event loop, and hands
// every event to the query or the connection that it belongs to. Also keeps the
// two tables of numbers by which the addon names them: slots (queries in flight)
// and connection ids. Used by connection.js.

const { randomBytes } = require('node:crypto');
const binding = require('./binding');
const { Shape, Field } = require('./row-builder');
const { tick, endTick } = require('./tick-buffer');
const { callApart, lock, throwLater } = require('./user-code');
const { event, shapeFieldInts } = require('./wire-format');

/**
 * @typedef {import('./query').Query} Query
 * @typedef {import('./connection').Connection} Connection
 * @typedef {Readonly<Record<string, string>>} Diagnostics
 *
 * What stands in a slot.
 * @typedef {Query | import('./sync-groups').SyncGroup | import('./query').Housekeeping} Entry
 */

const NO_BYTES = Buffer.alloc(0);

/** @type {(Entry | undefined)[]} */
const slots = [];
/** @type {number[]} */
const freeSlots = [];

/** @param {Entry} entry @returns {number} */
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
 * @type {Map<number, Connection>}
 */
const connections = new Map();
let nextConnectionId = 1;

/** @returns {number} for one connection, never used twice */
function newConnectionId() {
  return nextConnectionId++;
}

/** @param {Connection} connection */
function addConnection(connection) {
  connections.set(connection.id, connection);
}

/** @param {Connection} connection that is closed: of what still comes for it, its queries are told */
function removeConnection(connection) {
  connections.delete(connection.id);
}

/** @type {Map<number, Shape>} */
const shapes = new Map();

/** @type {import('./row-builder').Cells} */
const cells = {
  int32: new Int32Array(0),
  float64: new Float64Array(0),
  bigInt64: new BigInt64Array(0),
};

/** The chunk that texts of the current events point into. */
const chunk = {
  ascii: '',
  wide: '',
  /** @type {Buffer} */
  bytes: NO_BYTES,
  jsonText: '',
  /** @type {unknown[] | null | undefined} undefined: not parsed yet; null: cannot be */
  jsonValues: undefined,

  /**
   * All JSON of a chunk is parsed at once; should one value be unreadable, each
   * by itself, so that only its own query fails.
   * @param {number} index
   * @param {number} offset
   * @param {number} length
   */
  json(index, offset, length) {
    if (this.jsonValues === undefined) this.jsonValues = parseJsonArray(this.jsonText);
    if (this.jsonValues !== null) return this.jsonValues[index];
    return JSON.parse(this.jsonText.substring(offset, offset + length));
  },

  /**
   * @param {string | undefined} ascii
   * @param {string | undefined} wide
   * @param {string | undefined} json
   * @param {Buffer | undefined} bytes
   */
  set(ascii, wide, json, bytes) {
    this.ascii = ascii ?? '';
    this.wide = wide ?? '';
    this.jsonText = json ?? '';
    this.jsonValues = undefined;
    this.bytes = bytes ?? NO_BYTES;
  },
};

/**
 * Stands between the JSON of different queries. A server that knew it could send what is no JSON and
 * take values of others along, which may come from other servers.
 * Short, so that V8 makes no new string of each.
 */
const JSON_GUARD = randomBytes(6).toString('base64');

/**
 * @param {string} text an array, guards among its values, that ends in the count of its guards and
 *   that of values and guards
 * @returns {unknown[] | null} null when a value is not JSON, or is more than one value
 */
function parseJsonArray(text) {
  try {
    const values = JSON.parse(text);
    const count = values.pop();
    let guards = values.pop();
    if (values.length !== count) return null;
    for (let index = 1; guards > 0 && index < count; ++index) {
      if (values[index] === JSON_GUARD) --guards;
    }
    return guards === 0 ? values : null;
  } catch {
    return null;
  }
}

/** @param {number} at index of a text's two ints */
function readText(at) {
  const offset = cells.int32[at];
  const length = cells.int32[at + 1];
  return offset >= 0
    ? chunk.ascii.substring(offset, offset + length)
    : chunk.wide.substring(~offset, ~offset + length);
}

/**
 * @param {number} at index of the field count
 * @returns {Diagnostics}
 */
function readDiagnostics(at) {
  /** @type {Record<string, string>} */
  const fields = {};
  for (let left = cells.int32[at]; left > 0; --left) {
    fields[String.fromCharCode(cells.int32[at + 1])] = readText(at + 2);
    at += 3;
  }
  return fields;
}

/** @param {number} at index of the event */
function addShape(at) {
  const { int32 } = cells;
  const count = int32[at + 2];
  const fields = [];
  const kinds = [];
  for (let index = 0; index < count; ++index) {
    const field = at + 3 + index * shapeFieldInts;
    fields.push(
      new Field(
        readText(field),
        int32[field + 2] >>> 0,
        int32[field + 3],
        int32[field + 4] >>> 0,
        int32[field + 5],
        int32[field + 6],
      ),
    );
    kinds.push(int32[field + 8]);
  }
  shapes.set(int32[at + 1], new Shape(fields, kinds));
  return 3 + count * shapeFieldInts;
}

/** What is to be done when all events of a delivery are read. @type {(() => void)[]} */
const afterwards = [];

/**
 * Runs `callback` after the current delivery's last event: nothing that takes
 * slots or writes commands may run in the middle of it. What one callback throws is
 * an uncaught exception, and keeps no other from being run.
 * @param {() => void} callback
 */
function afterDelivery(callback) {
  if (isDelivering) afterwards.push(callback);
  else queueMicrotask(callback);
}

let isDelivering = false;

/**
 * What the addon calls.
 * @param {Parameters<typeof readEvents>} parameters
 */
function deliver(...parameters) {
  isDelivering = true;
  lock.isHeld = true;
  try {
    readEvents(...parameters);
  } finally {
    lock.isHeld = false;
    // These may add to the list.
    for (let index = 0; index < afterwards.length; ++index) callApart(afterwards[index]);
    afterwards.length = 0;
    isDelivering = false;
  }
}

/** The event that is being read. */
let eventAt = 0;
/** @type {Entry[]} */
const NOBODY = [];
/** Whose slots the event has freed, so that nobody else knows them any more. @type {Entry | Entry[]} */
let freed = NOBODY;

/**
 * @param {number} ints how many ints of events
 * @param {number} firstCell index of the first cell, counted in 8 bytes
 * @param {ArrayBuffer | undefined} inbox events and cells, when the memory is new
 * @param {string | undefined} ascii
 * @param {string | undefined} wide
 * @param {string | undefined} json
 * @param {Buffer | undefined} bytes
 * @param {any[] | undefined} more the chunks after the first, four parts each
 */
function readEvents(ints, firstCell, inbox, ascii, wide, json, bytes, more) {
  if (inbox !== undefined) {
    cells.int32 = new Int32Array(inbox);
    cells.float64 = new Float64Array(inbox);
    cells.bigInt64 = new BigInt64Array(inbox);
  }
  const now = performance.now();
  chunk.set(ascii, wide, json, bytes);
  for (eventAt = 0; eventAt < ints;) {
    try {
      readEventsFrom(eventAt, ints, firstCell, now, more);
    } catch (error) {
      eventAt += onFault(error);
    }
  }
  freed = NOBODY;
}

/**
 * @param {number} at index of an event
 * @param {number} ints
 * @param {number} firstCell
 * @param {number} now performance.now()
 * @param {any[] | undefined} more
 */
function readEventsFrom(at, ints, firstCell, now, more) {
  const { int32 } = cells;
  for (; at < ints; eventAt = at) {
    switch (int32[at]) {
      case event.rows: {
        const shape = /** @type {Shape} */ (shapes.get(int32[at + 2]));
        slots[int32[at + 1]]?.addRows(
          shape,
          cells,
          chunk,
          firstCell + int32[at + 4],
          int32[at + 3],
        );
        at += 5;
        break;
      }
      case event.complete:
        slots[int32[at + 1]]?.complete(
          int32[at + 2],
          (int32[at + 3] >>> 0) + (int32[at + 4] >>> 0) * 2 ** 32,
        );
        at += 5;
        break;
      case event.sync: {
        const slot = int32[at + 1];
        const query = slots[slot];
        if (query !== undefined) {
          freeSlot(slot);
          freed = query;
          query.synced(int32[at + 2], int32[at + 3] / 1000, now);
        }
        at += 4;
        break;
      }
      case event.chunk: {
        const part = (int32[at + 1] - 1) * 4;
        if (more !== undefined) {
          chunk.set(more[part], more[part + 1], more[part + 2], more[part + 3]);
        }
        at += 2;
        break;
      }
      case event.shape:
        at += addShape(at);
        break;
      case event.shapesCleared:
        shapes.clear();
        at += 1;
        break;
      case event.completeOther:
        slots[int32[at + 1]]?.completeOther(readText(at + 2));
        at += 4;
        break;
      case event.emptyQuery:
        slots[int32[at + 1]]?.completeEmpty();
        at += 2;
        break;
      case event.parsed:
        slots[int32[at + 1]]?.parsed();
        at += 2;
        break;
      case event.error:
        slots[int32[at + 1]]?.failed(int32[at + 2], readDiagnostics(at + 3));
        at += 4 + 3 * int32[at + 3];
        break;
      case event.aborted:
        slots[int32[at + 1]]?.skipped(int32[at + 2]);
        at += 3;
        break;
      case event.copyIn:
        slots[int32[at + 1]]?.copyIn(int32[at + 2] === 1, int32[at + 3]);
        at += 4;
        break;
      case event.copyOut:
        slots[int32[at + 1]]?.copyOut(int32[at + 2] === 1, int32[at + 3]);
        at += 4;
        break;
      case event.copyData:
        slots[int32[at + 1]]?.copyData(
          chunk.bytes.subarray(int32[at + 2], int32[at + 2] + int32[at + 3]),
        );
        at += 4;
        break;
      case event.copyDrained:
        slots[int32[at + 1]]?.copyDrained();
        at += 2;
        break;
      case event.cancelled:
        findConnection(int32[at + 1])?.onCancelled(int32[at + 2] === 1);
        at += 5;
        break;
      case event.notSent:
        notSent(int32[at + 1], int32[at + 2], int32[at + 3]);
        at += 4;
        break;
      case event.unreadable:
        slots[int32[at + 1]]?.unreadable(int32[at + 2]);
        at += 3;
        break;
      case event.roundTrip:
        findConnection(int32[at + 1])?.onRoundTrip(int32[at + 2] / 1000);
        at += 3;
        break;
      case event.connected:
        findConnection(int32[at + 1])?.onConnected(int32[at + 2], int32[at + 3]);
        at += 4;
        break;
      case event.connectFailed:
        findConnection(int32[at + 1])?.onConnectFailed(readText(at + 2));
        at += 4;
        break;
      case event.lost:
        at += lost(at);
        break;
      case event.notice:
        findConnection(int32[at + 1])?.onNotice(readDiagnostics(at + 2));
        at += 3 + 3 * int32[at + 2];
        break;
      case event.notification:
        findConnection(int32[at + 1])?.onNotification(
          int32[at + 2],
          readText(at + 3),
          readText(at + 5),
        );
        at += 7;
        break;
      default:
        throw new Error(`pg-conduit: unknown event ${int32[at]}: rebuild the addon`);
    }
  }
}

/**
 * Taking in an event has failed, which is a fault of the driver's own. Its connection cannot be trusted any
 * more, and is given up with all that is in flight on it; the events of others are not to be lost.
 * @param {unknown} error
 * @returns {number} ints of the event
 */
function onFault(error) {
  throwLater(error);
  const { int32 } = cells;
  const kind = int32[eventAt];
  const size = eventInts(eventAt);
  const subjects = [freed].flat();
  freed = NOBODY;
  if (size === Infinity) {
    // What follows cannot be read.
    for (const id of connections.keys()) findConnection(id)?.onFault(error, []);
  } else if (OF_SLOTS.has(kind)) {
    const entry = slots[int32[eventAt + 1]];
    const connection = entry?.connection ?? subjects[0]?.connection;
    connection?.onFault(error, subjects);
  } else if (OF_CONNECTIONS.has(kind)) {
    findConnection(int32[eventAt + 1])?.onFault(error, subjects);
  }
  return size;
}

/** @type {ReadonlySet<number>} */
const OF_CONNECTIONS = new Set([
  ...[event.cancelled, event.roundTrip, event.connected, event.connectFailed],
  ...[event.lost, event.notice, event.notification],
]);
/** @type {ReadonlySet<number>} */
const OF_SLOTS = new Set([
  ...[event.rows, event.complete, event.sync, event.completeOther, event.emptyQuery, event.parsed],
  ...[event.error, event.aborted, event.copyIn, event.copyOut, event.copyData, event.copyDrained],
  ...[event.notSent, event.unreadable],
]);

/**
 * As readEventsFrom() has it.
 * @param {number} at index of an event
 * @returns {number} its ints; Infinity if it is none
 */
function eventInts(at) {
  const { int32 } = cells;
  switch (int32[at]) {
    case event.shapesCleared:
      return 1;
    case event.chunk:
    case event.emptyQuery:
    case event.parsed:
    case event.copyDrained:
      return 2;
    case event.aborted:
    case event.unreadable:
    case event.roundTrip:
      return 3;
    case event.sync:
    case event.completeOther:
    case event.copyIn:
    case event.copyOut:
    case event.copyData:
    case event.notSent:
    case event.connected:
    case event.connectFailed:
      return 4;
    case event.rows:
    case event.complete:
    case event.cancelled:
      return 5;
    case event.notification:
      return 7;
    case event.shape:
      return 3 + int32[at + 2] * shapeFieldInts;
    case event.error:
      return 4 + 3 * int32[at + 3];
    case event.notice:
      return 3 + 3 * int32[at + 2];
    case event.lost:
      return 5 + int32[at + 4];
    default:
      return Infinity;
  }
}

/** @param {number} id */
function findConnection(id) {
  return connections.get(id);
}

/**
 * @param {number} slot
 * @param {number} reason
 * @param {number} detail
 */
function notSent(slot, reason, detail) {
  const query = slots[slot];
  if (query === undefined) return;
  // A connection that is gone sends no Sync for the slot.
  if (query.notSent(reason, detail)) {
    freeSlot(slot);
    freed = query;
    query.dropped();
  }
}

/** @param {number} at @returns {number} ints of the event */
function lost(at) {
  const { int32 } = cells;
  const count = int32[at + 4];
  /** @type {Query[]} */
  const queries = [];
  freed = queries;
  for (let index = 0; index < count; ++index) {
    const slot = int32[at + 5 + index];
    const query = slots[slot];
    // A member of a group shares the fate of its Sync.
    if (query === undefined || query.group !== undefined) continue;
    freeSlot(slot);
    query.lost(queries);
  }
  const connection = queries[0]?.connection ?? findConnection(int32[at + 1]);
  connection?.onLost(readText(at + 2), queries);
  return 5 + count;
}

binding.setup(tick, deliver, JSON.stringify(JSON_GUARD), endTick);

module.exports = {
  takeSlot,
  freeSlot,
  entryAt,
  newConnectionId,
  addConnection,
  removeConnection,
  afterDelivery,
};
