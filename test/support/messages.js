'use strict';

// What a server says and how a driver's messages are read (PostgreSQL documentation, "Message
// Formats"). Used by scripted-server.js and by the tests that write such scripts.

const { errorMessage, message } = require('./proxy');

/** Types of columns that the scripts know. */
const OID = Object.freeze({
  bool: 16,
  bytea: 17,
  int8: 20,
  int2: 21,
  int4: 23,
  text: 25,
  oid: 26,
  json: 114,
  float4: 700,
  float8: 701,
  date: 1082,
  time: 1083,
  timestamp: 1114,
  timestamptz: 1184,
  numeric: 1700,
  uuid: 2950,
  jsonb: 3802,
});

/** @param {number} value */
function int16(value) {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value & 0xffff);
  return bytes;
}

/** @param {number} value */
function int32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value | 0);
  return bytes;
}

/** @param {string | Buffer} text a Buffer when it is to be no UTF-8 */
const cstring = (text) => Buffer.concat([Buffer.from(text), Buffer.alloc(1)]);

/** A message whose length says something else. @param {string} type @param {number} length */
function withLength(type, length, body = Buffer.alloc(0)) {
  const bytes = message(type, body);
  bytes.writeInt32BE(length, 1);
  return bytes;
}

const authentication = (kind, body = Buffer.alloc(0)) =>
  message('R', Buffer.concat([int32(kind), body]));

const parameterStatus = (name, value) =>
  message('S', Buffer.concat([cstring(name), cstring(value)]));

const backendKeyData = (processId, key) =>
  message('K', Buffer.concat([int32(processId), Buffer.from(key)]));

/** @param {number} version @param {string[]} [unsupported] */
const negotiateVersion = (version, unsupported = []) =>
  message(
    'v',
    Buffer.concat([int32(version), int32(unsupported.length), ...unsupported.map(cstring)]),
  );

/** @param {string} [status] I, T or E */
const ready = (status = 'I') => message('Z', Buffer.from(status, 'latin1'));

/** @typedef {{ name: string | Buffer, oid: number }} Column */

/** @param {Column[]} columns @param {number} [format] 1: binary */
const rowDescription = (columns, format = 0) =>
  message(
    'T',
    Buffer.concat([
      int16(columns.length),
      ...columns.map(({ name, oid }) =>
        Buffer.concat([
          cstring(name),
          int32(0),
          int16(0),
          int32(oid),
          int16(-1),
          int32(-1),
          int16(format),
        ]),
      ),
    ]),
  );

/** @param {(string | Buffer | null)[]} values */
const dataRow = (values) =>
  message(
    'D',
    Buffer.concat([
      int16(values.length),
      ...values.map((value) => {
        if (value === null) return int32(-1);
        const bytes = Buffer.from(value);
        return Buffer.concat([int32(bytes.length), bytes]);
      }),
    ]),
  );

const commandComplete = (tag) => message('C', cstring(tag));

/** @param {'G' | 'H' | 'W'} type */
const copyResponse = (type, columns = 1) =>
  message(type, Buffer.concat([Buffer.alloc(1), int16(columns), ...Array(columns).fill(int16(0))]));

const notification = (processId, channel, payload) =>
  message('A', Buffer.concat([int32(processId), cstring(channel), cstring(payload)]));

/** @param {Record<string, string | Buffer>} fields by their letters */
const notice = (fields) => {
  const bytes = errorMessage(fields);
  bytes.write('N', 'latin1');
  return bytes;
};

const PARSE_COMPLETE = message('1');
const BIND_COMPLETE = message('2');
const CLOSE_COMPLETE = message('3');
const NO_DATA = message('n');
const EMPTY_QUERY = message('I');
const PORTAL_SUSPENDED = message('s');
const COPY_DONE = message('c');
const AUTHENTICATION_OK = authentication(0);

/** @param {Buffer} body of a Parse @returns {{ name: string, text: string }} */
function readParse(body) {
  const end = body.indexOf(0);
  return {
    name: body.toString('utf8', 0, end),
    text: body.toString('utf8', end + 1, body.indexOf(0, end + 1)),
  };
}

/** @param {Buffer} body of a Bind */
function readBind(body) {
  const portalEnd = body.indexOf(0);
  const nameEnd = body.indexOf(0, portalEnd + 1);
  const name = body.toString('utf8', portalEnd + 1, nameEnd);
  let at = nameEnd + 1;
  at += 2 + 2 * body.readInt16BE(at);
  const count = body.readUInt16BE(at);
  at += 2;
  /** @type {(Buffer | null)[]} */
  const values = [];
  for (let index = 0; index < count; ++index) {
    const length = body.readInt32BE(at);
    at += 4;
    values.push(length < 0 ? null : body.subarray(at, at + length));
    at += Math.max(length, 0);
  }
  const isBinary = body.readInt16BE(at) > 0 && body.readInt16BE(at + 2) === 1;
  return { name, values, isBinary };
}

module.exports = {
  AUTHENTICATION_OK,
  BIND_COMPLETE,
  CLOSE_COMPLETE,
  COPY_DONE,
  EMPTY_QUERY,
  NO_DATA,
  OID,
  PARSE_COMPLETE,
  PORTAL_SUSPENDED,
  authentication,
  backendKeyData,
  commandComplete,
  copyResponse,
  cstring,
  dataRow,
  errorMessage,
  int16,
  int32,
  message,
  negotiateVersion,
  notice,
  notification,
  parameterStatus,
  readBind,
  readParse,
  ready,
  rowDescription,
  withLength,
};
