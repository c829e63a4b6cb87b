'use strict';

// The options onConnect and verify, by which users set up or check a new connection of a pool
// before other callers get it. Called by pool/member.js.

const { ConnectionError, toFailure } = require('../base');

/**
 * @param {import('./client').Client} client
 * @param {import('../connection').Connection} connection the client's
 * @param {import('../options').Settings} settings
 * @returns {Promise<void>} rejects, with the connection closed, if it must not be used
 */
async function setUpSession(client, connection, { onConnect, verify }) {
  if (onConnect === undefined && verify === undefined) return;
  try {
    await callHook('onConnect', () => onConnect?.(client));
    if (verify !== undefined) await callHook('verify', () => callVerify(verify, client));
    if (connection.state !== 'ready') {
      throw new ConnectionError('Connection terminated unexpectedly', {
        detail: 'it was closed during onConnect or verify',
      });
    }
    const { session } = connection;
    if (session.mayBeInTransaction) await session.whenStatusKnown();
    if (session.transactionStatus > 0) {
      throw new ConnectionError('onConnect or verify has left a transaction open', {
        hint: 'await its COMMIT there',
      });
    }
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/**
 * @param {string} name
 * @param {() => unknown} hook
 */
async function callHook(name, hook) {
  try {
    await hook();
  } catch (error) {
    throw toFailure(error, name);
  }
}

/**
 * The first answer counts: the call of the callback, or an exception, also that of an async
 * function.
 * @param {NonNullable<import('../options').Settings['verify']>} verify
 * @param {import('./client').Client} client
 * @returns {Promise<void>}
 */
function callVerify(verify, client) {
  // eslint-disable-next-line no-restricted-syntax -- the user says why
  return new Promise((resolve, reject) => {
    /** @type {unknown} */
    const returned = verify(client, (error) => (error ? reject(error) : resolve()));
    Promise.resolve(returned).catch(reject);
  });
}

module.exports = { setUpSession };
