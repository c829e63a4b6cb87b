'use strict';

// The options onConnect and verify: what the user does with a new connection of a pool, before others
// have it. Called by pool-member.js.

const { ConnectionError } = require('./errors');

/**
 * @param {import('./client').Client} client
 * @param {import('./connection').Connection} connection the client's
 * @param {import('./options').Settings} settings
 * @returns {Promise<void>} rejects, with the connection closed, if it is not to be used
 */
async function setUpSession(client, connection, { onConnect, verify }) {
  if (onConnect === undefined && verify === undefined) return;
  try {
    await onConnect?.(client);
    if (verify !== undefined) {
      await /** @type {Promise<void>} */ (
        new Promise((resolve, reject) => {
          verify(client, (error) => (error ? reject(error) : resolve()));
        })
      );
    }
    if (connection.state !== 'ready') {
      throw new ConnectionError('Connection terminated unexpectedly', {
        detail: 'it was closed during onConnect or verify',
      });
    }
    if (connection.transactionStatus > 0) {
      throw new ConnectionError('onConnect or verify has left a transaction open', {
        hint: 'await its COMMIT there',
      });
    }
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

module.exports = { setUpSession };
