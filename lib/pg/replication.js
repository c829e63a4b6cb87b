'use strict';

// What `client.connection` of `pg` has for replication: the events 'replicationStart' and 'copyData', the methods that
// send, and `stream.pause()`. Packages such as pg-logical-replication live on it. Used by client.js.

/**
 * @typedef {import('../connection').Connection} Connection
 */

/** The length field of a CopyData message. */
const LENGTH_BYTES = 4;

/**
 * @param {any} face `client.connection`
 * @param {Connection} connection
 */
function showReplication(face, connection) {
  const { replication } = connection;
  if (replication === undefined) return;
  replication.reader = {
    onStart() {
      face.emit('replicationStart', { name: 'replicationStart', length: LENGTH_BYTES });
    },
    onMessage(chunk) {
      face.emit('copyData', { name: 'copyData', length: LENGTH_BYTES + chunk.length, chunk });
    },
  };
  face.sendCopyFromChunk = (/** @type {Uint8Array} */ chunk) => connection.putCopyData(chunk);
  face.endCopyFrom = () => connection.endCopy();
  face.sendCopyFail = (/** @type {string} */ message) => connection.endCopy(message);
  const stream = (face.stream ??= {});
  stream.pause = () => {
    connection.setReading(false);
    return stream;
  };
  stream.resume = () => {
    connection.setReading(true);
    return stream;
  };
}

module.exports = { showReplication };
