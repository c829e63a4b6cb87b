'use strict';

// Whether notifications come through to a connection: behind a pooler that gives it sessions of the
// server for a transaction at a time they do not, and LISTEN is answered all the same. Used by listener.js.

const { randomUUID } = require('node:crypto');
const { StatementRefusedError, TimeLimit } = require('../base');
const { ownTypes } = require('../rows');

/**
 * @typedef {import('../client').Client} Client
 */

const PATIENCE_MILLIS = 2000;

/**
 * @param {Client} client that is connected
 * @param {() => Client} newClient one more, which is not connected
 * @param {number} timeoutMillis of each statement
 * @returns {Promise<void>}
 * @throws {StatementRefusedError} nothing would be heard
 */
async function checkListening(client, newClient, timeoutMillis) {
  const how = { prepare: false, timeoutMillis, types: ownTypes };
  const text = 'select pg_backend_pid()';
  const [[processID]] = (await client.query({ text, rowMode: 'array', ...how })).rows;
  // It is the server's own: nobody stands between.
  if (processID === client.processID) return;
  // Behind a pooler that gives each client a session that is heard: somebody else's notification comes.
  const channel = `pg_conduit_${randomUUID()}`;
  await client.query({ text: `listen "${channel}"`, ...how });
  if (await isHeard(client, channel, newClient)) {
    await client.query({ text: `unlisten "${channel}"`, ...how });
    return;
  }
  throw new StatementRefusedError(
    'listen() receives nothing through this pooler, which gives its clients a session of the server for ' +
      'one transaction only: listen on a pool that is connected to the server itself, or let PgBouncer ' +
      'have pool_mode = session for it',
  );
}

/**
 * @param {Client} client
 * @param {string} channel
 * @param {() => Client} newClient
 * @returns {Promise<boolean>} false, only if it was sent and has not come
 */
function isHeard(client, channel, newClient) {
  return new Promise((resolve) => {
    let isSent = false;
    const other = newClient();
    const end = (/** @type {boolean} */ isSeen) => {
      client.off('notification', onNotification);
      limit.cancel();
      other.end();
      resolve(isSeen);
    };
    const onNotification = (/** @type {{ channel: string }} */ message) => {
      if (message.channel === channel) end(true);
    };
    // The pooler may have no session left for the other one, which proves nothing.
    const limit = new TimeLimit(PATIENCE_MILLIS, () => end(!isSent));
    client.on('notification', onNotification);
    other
      .connect()
      ?.then(() => other.query({ text: `notify "${channel}"`, prepare: false }))
      .then(() => {
        isSent = true;
      })
      .catch(() => {});
  });
}

module.exports = { checkListening };
