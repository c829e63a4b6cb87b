'use strict';

// Reads what the addon delivers, once for each turn of the event loop, and passes each event to the
// entry of its slot, or to its connection. Loaded by index.js, called by the addon.

const { event, runDelivery, shapeFieldInts, throwLater } = require('../base');
const { Field, Shape } = require('../rows');
const { JSON_GUARD, cells, chunk, readDiagnostics, readText, setCells } = require('./arena');
const binding = require('./binding');
const { connections, freeSlot, slots } = require('./slots');
const { tick, endTick } = require('./tick-buffer');

/** @typedef {import('./slots').SlotEntry} SlotEntry */

/** @type {Map<number, Shape>} */
const shapes = new Map();

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
  const id = int32[at + 1];
  shapes.set(id, new Shape(fields, kinds, id));
  return 3 + count * shapeFieldInts;
}

/**
 * Called by the addon.
 * @param {Parameters<typeof readEvents>} parameters
 */
function deliver(...parameters) {
  runDelivery(() => readEvents(...parameters));
}

/** Index of the event that is being read. */
let eventAt = 0;
/** @type {SlotEntry[]} */
const NOBODY = [];
/**
 * The entries whose slots the event has freed: nothing else refers to them any more.
 * @type {SlotEntry | SlotEntry[]}
 */
let freed = NOBODY;

/**
 * @param {number} ints how many ints of events
 * @param {number} firstCell index of the first cell, counted in 8 bytes
 * @param {ArrayBuffer | undefined} inbox events and cells, passed when the memory is new
 * @param {string | undefined} ascii
 * @param {string | undefined} wide
 * @param {string | undefined} json
 * @param {Buffer | undefined} bytes
 * @param {any[] | undefined} more the chunks after the first, four parts each
 */
function readEvents(ints, firstCell, inbox, ascii, wide, json, bytes, more) {
  if (inbox !== undefined) setCells(inbox);
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
          int32[at + 5] !== 0,
        );
        at += 6;
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
      case event.copyBoth:
        slots[int32[at + 1]]?.copyBoth();
        at += 2;
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
        findConnection(int32[at + 1])?.onNotice(readDiagnostics(at + 3), slots[int32[at + 2]]);
        at += 4 + 3 * int32[at + 3];
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
 * An event could not be processed, which is a defect of the driver. Its connection cannot be
 * trusted any more, and is closed with all that is in flight on it. Events of other connections
 * must not be lost.
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
    // What follows this event cannot be read.
    for (const id of connections.keys()) findConnection(id)?.onFault(error, []);
  } else if (OF_SLOTS.has(kind)) {
    const entry = slots[int32[eventAt + 1]];
    const connection = entry?.connection ?? subjects[0]?.connection;
    connection?.events.onFault(error, subjects);
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
  ...[event.copyBoth],
  ...[event.notSent, event.unreadable],
]);

/**
 * The same sizes as in readEventsFrom().
 * @param {number} at index of an event
 * @returns {number} its ints; Infinity for an unknown event
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
    case event.copyBoth:
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
    case event.complete:
    case event.cancelled:
      return 5;
    case event.rows:
      return 6;
    case event.notification:
      return 7;
    case event.shape:
      return 3 + int32[at + 2] * shapeFieldInts;
    case event.error:
    case event.notice:
      return 4 + 3 * int32[at + 3];
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
  /** @type {SlotEntry[]} */
  const queries = [];
  freed = queries;
  for (let index = 0; index < count; ++index) {
    const slot = int32[at + 5 + index];
    const query = slots[slot];
    // A member of a group is lost with the group's Sync.
    if (query === undefined || query.group !== undefined) continue;
    freeSlot(slot);
    query.lost(queries);
  }
  const events = queries[0]?.connection?.events ?? findConnection(int32[at + 1]);
  events?.onLost(readText(at + 2), queries);
  return 5 + count;
}

binding.setup(tick, deliver, JSON.stringify(JSON_GUARD), endTick);
