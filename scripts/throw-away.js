'use strict';

// What servers that live for a test or a bench have in common: the user they run as, the folder they
// live in, a port. Used by database-supervisor.js and pgbouncer.js.

const { spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');

const SOCKET_PATH_BYTES = 103; // macOS; Linux has four more
/** No port that a socket of ours is named by is longer. */
const LONGEST_SOCKET_NAME = '.s.PGSQL.65535x';

/** @typedef {{ name: string, uid: number, gid: number }} Identity */

/**
 * PostgreSQL and PgBouncer refuse to run as root, and a user id without a passwd entry does not do.
 * @returns {Identity | undefined} when we are root
 */
function ordinaryUser() {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => {
      const output = spawnSync('id', [flag, name]).stdout;
      return output?.length ? Number(output) : NaN;
    });
    if (uid > 0 && gid >= 0) return { name, uid, gid };
  }
  throw new Error(
    'PostgreSQL does not run as root, and neither "postgres" nor "nobody" exists here: ' +
      'create a user "postgres", run this as an ordinary user, or set PG_CONDUIT_DATABASE_URL',
  );
}

/** @param {Identity | undefined} identity whose folder it is to be */
function makeDirectory(identity) {
  const name = 'pg-conduit-XXXXXX';
  const socketName = path.join(name, LONGEST_SOCKET_NAME);
  const parent = [os.tmpdir(), '/tmp', '/var/tmp'].find(
    (folder) =>
      fs.existsSync(folder) &&
      isOpenTo(folder, identity) &&
      Buffer.byteLength(path.join(folder, socketName)) <= SOCKET_PATH_BYTES,
  );
  if (!parent) {
    const who = identity ? ` that user "${identity.name}" may enter` : '';
    throw new Error(`No folder for a database: set TMPDIR to a short path${who}`);
  }
  const created = fs.mkdtempSync(path.join(fs.realpathSync(parent), name.slice(0, -6)));
  if (identity) fs.chownSync(created, identity.uid, identity.gid);
  return created;
}

/**
 * Whether the user that runs the server may use this file and all folders above it.
 * @param {string} file
 * @param {Identity | undefined} identity
 */
function isOpenTo(file, identity) {
  if (!identity) return true;
  for (let at = fs.realpathSync(file); ; at = path.dirname(at)) {
    const { mode, uid } = fs.statSync(at);
    if (!(mode & 0o001) && !(uid === identity.uid && mode & 0o100)) return false;
    if (at === path.dirname(at)) return true;
  }
}

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {net.AddressInfo} */ (server.address());
  server.close();
  await once(server, 'close');
  return port;
}

module.exports = { freePort, isOpenTo, makeDirectory, ordinaryUser };
