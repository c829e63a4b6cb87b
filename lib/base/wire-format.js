'use strict';

// The numbers that JavaScript and C++ share. src/wire_format.h explains each of them, and
// test/native/wire-format.test.js compares the two files.

const header = Object.freeze({
  used: 0,
  textLength: 1,
  bytesLength: 2,
  ticks: 3,
  gathers: 4,
  turns: 5,
  size: 6,
});

const command = Object.freeze({ query: 1, parse: 2, execute: 3, close: 4, sync: 5, skip: 6 });

const knownColumns = Object.freeze({ unknown: -1, none: -2 });

const paramKind = Object.freeze({ null: 0, text: 1, int32: 2, bytes: 3 });

const flag = Object.freeze({
  rawText: 1,
  binary: 2,
  int8Shift: 2,
  chunked: 16,
  streamed: 32,
  describe: 64,
  whole: 128,
  simple: 256,
});

const int8Mode = Object.freeze({ string: 0, number: 1, bigint: 2 });

const event = Object.freeze({
  chunk: 1,
  shape: 2,
  shapesCleared: 3,
  rows: 4,
  complete: 5,
  completeOther: 6,
  emptyQuery: 7,
  error: 8,
  aborted: 9,
  sync: 10,
  notSent: 11,
  unreadable: 12,
  connected: 13,
  connectFailed: 14,
  lost: 15,
  notice: 16,
  notification: 17,
  parsed: 18,
  roundTrip: 19,
  copyIn: 20,
  copyOut: 21,
  copyData: 22,
  copyDrained: 23,
  cancelled: 24,
  copyBoth: 25,
});

const phase = Object.freeze({ parse: 0, execute: 1, close: 2, sync: 3, simple: 4 });

const notSentReason = Object.freeze({ connectionGone: 0, nulByte: 1, tooLarge: 2 });

// Index: CommandTag.
const commandTags = Object.freeze(['', 'SELECT', 'INSERT', 'UPDATE', 'DELETE', 'MERGE']);

const cellKind = Object.freeze({
  text: 0,
  int32: 1,
  uint32: 2,
  bool: 3,
  float64: 4,
  int8Number: 5,
  bigInt: 6,
  timestampTz: 7,
  timestamp: 8,
  date: 9,
  json: 10,
  bytes: 11,
});

const shapeFieldInts = 9;
const fieldBinaryDecodable = 1 << 8;
const nullHigh = -1;
const unsafeIntegerHigh = 0x7ff80bad;

module.exports = {
  header,
  command,
  knownColumns,
  paramKind,
  flag,
  int8Mode,
  event,
  phase,
  notSentReason,
  commandTags,
  cellKind,
  shapeFieldInts,
  fieldBinaryDecodable,
  nullHigh,
  unsafeIntegerHigh,
};
