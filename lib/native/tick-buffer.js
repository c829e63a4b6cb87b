'use strict';

// Encodes what all connections send in one tick into one Int32Array of commands, one string with
// every text, and one byte array. The addon reads them in one go before the event loop polls. The
// format is defined in src/wire_format.h. Called by lib/connection.

const { assertThere, command, header, lengthOf, paramKind } = require('../base');
const binding = require('./binding');

/** @typedef {string | number | Buffer | null} Parameter a number is a 32-bit integer */

const INITIAL_INTS = 4096;
const INITIAL_BYTES = 4096;
// A tick with more than this goes to libpq at once, so that its copies stay small.
const SUBMIT_TEXT = 1 << 20;
const SUBMIT_BYTES = 1 << 20;
const SUBMIT_INTS = 1 << 18;
/** The header has signed 32-bit numbers. */
const MAX_BYTES = 2 ** 31 - 1;
const MAX_INTS = 2 ** 28;

/** The addon takes `text` and empties it. */
const tick = { text: '' };

let commands = new Int32Array(INITIAL_INTS);
let bytes = new Uint8Array(INITIAL_BYTES);
commands[header.used] = header.size;
binding.setBuffers(commands, bytes);

const mark = { used: 0, text: '', textLength: 0, bytesLength: 0 };

/**
 * Remembers where a query's commands start, for rollback(). A large query gets a tick of its own.
 * @param {number} size of its texts and bytes, about
 */
function begin(size) {
  if (size > SUBMIT_BYTES && commands[header.used] > header.size) submit();
  mark.used = commands[header.used];
  mark.text = tick.text;
  mark.textLength = commands[header.textLength];
  mark.bytesLength = commands[header.bytesLength];
}

/** Removes what was written since begin(). */
function rollback() {
  commands[header.used] = mark.used;
  tick.text = mark.text;
  commands[header.textLength] = mark.textLength;
  commands[header.bytesLength] = mark.bytesLength;
}

/**
 * Makes room for `count` more ints.
 * @param {number} count
 * @returns {number} the index of the first
 * @throws {RangeError}
 */
function reserve(count) {
  const used = commands[header.used];
  if (used + count > commands.length) {
    if (used + count > MAX_INTS) throw new RangeError('too many commands for one tick');
    const larger = new Int32Array(Math.max(commands.length * 2, used + count));
    larger.set(commands.subarray(0, used));
    commands = larger;
    binding.setBuffers(commands, bytes);
  }
  return used;
}

/** @param {string} text */
function appendText(text) {
  tick.text += text;
  tick.text += '\0';
  commands[header.textLength] += text.length + 1;
}

/**
 * @param {Uint8Array} value
 * @returns {number} their number
 * @throws {RangeError} more than a tick can hold
 * @throws {import('../base').BytesGoneError}
 */
function appendBytes(value) {
  const length = lengthOf(value);
  if (length === 0) assertThere(value);
  const used = commands[header.bytesLength];
  const wanted = used + length;
  if (wanted > bytes.length) {
    if (wanted > MAX_BYTES) throw new RangeError('too many bytes for one tick');
    const larger = new Uint8Array(wanted > SUBMIT_BYTES ? wanted : 2 * wanted);
    larger.set(bytes.subarray(0, used));
    bytes = larger;
    binding.setBuffers(commands, bytes);
  }
  bytes.set(value, used);
  commands[header.bytesLength] = wanted;
  return length;
}

/**
 * Writes a command's parameters behind its `fixed` ints.
 * @param {number} start index of the command
 * @param {number} fixed ints before the parameters
 * @param {readonly Parameter[]} parameters
 */
function writeParameters(start, fixed, parameters) {
  const count = parameters.length;
  let at = start + fixed;
  for (let index = 0; index < count; ++index, at += 2) {
    const parameter = parameters[index];
    if (typeof parameter === 'number') {
      commands[at] = paramKind.int32;
      commands[at + 1] = parameter;
    } else if (parameter === null) {
      commands[at] = paramKind.null;
      commands[at + 1] = 0;
    } else if (typeof parameter === 'string') {
      commands[at] = paramKind.text;
      commands[at + 1] = parameter.length;
      appendText(parameter);
    } else {
      commands[at] = paramKind.bytes;
      commands[at + 1] = appendBytes(parameter);
    }
  }
  commands[header.used] = at;
}

/**
 * Parse, Bind and Execute of the unnamed statement.
 * @param {number} connection
 * @param {number} slot
 * @param {number} flags
 * @param {string} text
 * @param {readonly Parameter[]} parameters
 * @throws {RangeError} too large for V8 or for a tick: call rollback() then
 * @throws {import('../base').BytesGoneError} the same
 */
function writeQuery(connection, slot, flags, text, parameters) {
  const at = reserve(6 + 2 * parameters.length);
  commands[at] = command.query;
  commands[at + 1] = connection;
  commands[at + 2] = slot;
  commands[at + 3] = flags;
  commands[at + 4] = text.length;
  commands[at + 5] = parameters.length;
  appendText(text);
  writeParameters(at, 6, parameters);
}

/**
 * Bind and Execute of a prepared statement.
 * @param {number} connection
 * @param {number} slot
 * @param {number} flags
 * @param {number} statement
 * @param {number} columns the id of the shape of its rows, or one of `knownColumns`. What is known is not
 *   described by the server again
 * @param {readonly Parameter[]} parameters
 * @throws {RangeError} too large for V8 or for a tick: call rollback() then
 * @throws {import('../base').BytesGoneError} the same
 */
function writeExecute(connection, slot, flags, statement, columns, parameters) {
  const at = reserve(7 + 2 * parameters.length);
  commands[at] = command.execute;
  commands[at + 1] = connection;
  commands[at + 2] = slot;
  commands[at + 3] = flags;
  commands[at + 4] = statement;
  commands[at + 5] = columns;
  commands[at + 6] = parameters.length;
  writeParameters(at, 7, parameters);
}

/**
 * @param {number} connection
 * @param {number} slot
 * @param {number} statement
 * @param {string} text
 */
function writeParse(connection, slot, statement, text) {
  const at = reserve(5);
  commands[at] = command.parse;
  commands[at + 1] = connection;
  commands[at + 2] = slot;
  commands[at + 3] = statement;
  commands[at + 4] = text.length;
  appendText(text);
  commands[header.used] = at + 5;
}

/**
 * @param {number} connection
 * @param {number} slot
 * @param {number} statement
 */
function writeClose(connection, slot, statement) {
  const at = reserve(4);
  commands[at] = command.close;
  commands[at + 1] = connection;
  commands[at + 2] = slot;
  commands[at + 3] = statement;
  commands[header.used] = at + 4;
}

/**
 * Ends what was written for the slot; a large tick is handed over here.
 * @param {number} connection
 * @param {number} slot
 * @returns {number} its position, for moveSync()
 */
function writeSync(connection, slot) {
  const at = reserve(3);
  commands[at] = command.sync;
  commands[at + 1] = connection;
  commands[at + 2] = slot;
  commands[header.used] = at + 3;
  if (
    at > SUBMIT_INTS ||
    commands[header.textLength] > SUBMIT_TEXT ||
    commands[header.bytesLength] > SUBMIT_BYTES
  ) {
    submit();
  }
  return at;
}

/**
 * Writes a Sync at the end in place of one that this tick already has.
 * @param {number} at its position
 * @param {number} connection
 * @param {number} slot
 * @returns {number} the new position
 */
function moveSync(at, connection, slot) {
  commands[at] = command.skip;
  return writeSync(connection, slot);
}

/** The number of the tick that is being written; another one as soon as this one is handed over. */
function current() {
  return commands[header.ticks];
}

/** The number of this turn of the event loop. What is sent in it is not answered before the next one. */
function turn() {
  return commands[header.turns];
}

/**
 * Writers that have something to add before the tick is handed over.
 * @type {{ endTick: () => void }[]}
 */
const gathering = [];

/**
 * Makes the addon call endTick() when all callbacks of this turn of the event loop have run.
 * @param {{ endTick: () => void }} writer that is not on the list already
 */
function beforeEnd(writer) {
  gathering.push(writer);
  commands[header.gathers] = 1;
}

/** Called by the addon before the event loop polls. */
function endTick() {
  // Those that are added meanwhile are called, too.
  for (let writer = gathering.shift(); writer !== undefined; writer = gathering.shift()) {
    // If one throws, the others are called in the next turn.
    commands[header.gathers] = gathering.length > 0 ? 1 : 0;
    writer.endTick();
  }
}

/**
 * Hands the tick to libpq now, and not only when the event loop polls.
 * @param {boolean} [flushes] whether it is sent now, too
 */
function submit(flushes = false) {
  binding.submit(flushes);
  if (bytes.length > SUBMIT_BYTES) {
    bytes = new Uint8Array(INITIAL_BYTES);
    binding.setBuffers(commands, bytes);
  }
}

module.exports = {
  tick,
  begin,
  rollback,
  submit,
  beforeEnd,
  endTick,
  current,
  turn,
  writeQuery,
  writeExecute,
  writeParse,
  writeClose,
  writeSync,
  moveSync,
};
