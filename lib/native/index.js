'use strict';

// The way to the addon and back: all that is sent in one turn of the event loop goes through one
// buffer (tick-buffer.js); what has arrived comes back in one call (delivery.js), by the numbers of
// slots.

require('./delivery');
const binding = require('./binding');
const {
  SlotEntry,
  addConnection,
  entriesOf,
  entryAt,
  freeSlot,
  newConnectionId,
  removeConnection,
  takeSlot,
} = require('./slots');
const ticks = require('./tick-buffer');

/**
 * @typedef {import('./slots').ConnectionEvents} ConnectionEvents
 * @typedef {import('./binding').NativeConnection} NativeConnection
 * @typedef {import('./tick-buffer').Parameter} Parameter
 */

module.exports = {
  addConnection,
  binding,
  entriesOf,
  entryAt,
  freeSlot,
  newConnectionId,
  removeConnection,
  SlotEntry,
  takeSlot,
  ticks,
};
