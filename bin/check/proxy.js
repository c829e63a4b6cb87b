'use strict';

// Whether something passes the connection on that does not show itself otherwise: the server knows at which of its
// own addresses it was reached.

/** @typedef {import('./index').Context} Context */

/** @param {Context} context */
async function checkProxy({ facts, findings, sessions }) {
  const { host, address, port } = facts.chosen.server;
  try {
    const [seen] = await sessions.look(
      'select host(inet_server_addr()) as address, inet_server_port() as port',
    );
    facts.server.address = seen.address === null ? null : `${seen.address}:${seen.port}`;
    const isSame = seen.address === address && String(seen.port) === port;
    // Of unix sockets, and of servers that only libpq finds, there is nothing to compare.
    if (facts.pooler.between || seen.address === null || address === '' || host === '' || isSame) {
      return;
    }
    findings.add(
      'pooler.proxy',
      'note',
      `the server was reached at ${facts.server.address}, as it says: something passes the connection on (a proxy, a container, a pooler that does not show itself)`,
    );
  } catch {
    // Not every server has such functions.
  }
}

module.exports = { checkProxy };
