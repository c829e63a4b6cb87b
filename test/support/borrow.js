'use strict';

// A client of a pool for as long as some code takes, which may release it by itself, as it likes.

/**
 * @param {{ connect: () => Promise<any> }} pool
 * @param {(client: any) => Promise<void>} use
 * @param {boolean} [destroy]
 */
async function withBorrowed(pool, use, destroy) {
  const client = await pool.connect();
  let isReleased = false;
  const { release } = client;
  client.release = (/** @type {any} */ reason) => {
    isReleased = true;
    client.release = release;
    release.call(client, reason);
  };
  try {
    await use(client);
  } finally {
    if (!isReleased) client.release(destroy);
  }
}

module.exports = { withBorrowed };
