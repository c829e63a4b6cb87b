'use strict';

// What stands between the driver and the server in this run: nothing, or a PgBouncer (--pooler). Set by
// run.js; what a pooler that shares its sessions cannot do is left out where this says so.

const { KINDS, startPooler } = require('../support/poolers');

const pooler = {
  isThere: false,
  /** Of the server, among clients: nothing stays in them. */
  sharesSessions: false,
};

/**
 * @param {any} database
 * @param {string} given kind:mode
 */
async function putPoolerBefore(database, given) {
  const [key, poolMode] = given.split(':');
  const kind = KINDS[key];
  if (kind === undefined) throw new Error(`--pooler ${given}: name one of ${Object.keys(KINDS)}`);
  pooler.isThere = true;
  pooler.sharesSessions = poolMode !== 'session';
  return startPooler(database, kind, {
    poolMode: /** @type {any} */ (poolMode),
    poolSize: 200,
    maxClients: 2000,
    // The server has the search_path that the clients give.
    settings: { ignore_startup_parameters: 'options' },
  });
}

module.exports = { pooler, putPoolerBefore };
