'use strict';

// What a borrower gets of a pool's client: release(), and the symbols of `using`. Each loan has its own, so that
// nobody releases a client that somebody else has borrowed meanwhile. Made by pool.js for connect().

const { PoolError } = require('../base');

/**
 * @typedef {import('../client').Client} Client
 * @typedef {(error?: Error | boolean) => void} Release
 * @typedef {Client & Disposable & { release: Release }} LentClient
 */

/**
 * @param {Client} client
 * @param {Release} onReleased is called once
 * @returns {LentClient}
 */
function lend(client, onReleased) {
  let isLent = true;
  const lent = /** @type {LentClient} */ (client);
  lent.release = (error) => {
    if (!isLent) {
      throw new PoolError(
        'Release called on client which has already been released to the pool.',
        'ERR_PG_CONDUIT_RELEASED',
      );
    }
    isLent = false;
    const counted = /** @type {{ _poolUseCount?: number }} */ (lent);
    counted._poolUseCount = (counted._poolUseCount ?? 0) + 1;
    onReleased(error);
  };
  lent[Symbol.dispose] = () => {
    if (isLent) lent.release();
  };
  lent[Symbol.asyncDispose] = async () => {
    if (isLent) lent.release();
  };
  return lent;
}

module.exports = { lend };
