'use strict';

// Resolves host names before libpq sees them: libpq would resolve them itself, and block the event
// loop. Used by handshake.js.

const dns = require('node:dns/promises');
const net = require('node:net');
const { ConnectionError } = require('../base');
const { binding } = require('../native');

/** @param {string} host */
function needsNoLookup(host) {
  return host === '' || host.startsWith('/') || host.startsWith('@') || net.isIP(host) !== 0;
}

/** @param {string} name @param {NodeJS.ErrnoException} cause */
function hostNotFound(name, cause) {
  const { code, errno, syscall } = cause;
  return new ConnectionError(`${syscall} ${code} ${name}`, {
    code,
    hint: 'check the host option',
    errno,
    syscall,
    hostname: name,
    cause,
  });
}

/**
 * @param {Readonly<Record<string, string>>} conninfo
 * @param {string} [servername] replaces the names once their addresses are known
 * @returns {Promise<Record<string, string>>} with `hostaddr` beside `host`, one
 *   entry for each address of each name
 * @throws {ConnectionError} when none of the names is known
 */
async function resolveHosts(conninfo, servername) {
  const resolved = await addAddresses(conninfo);
  if (servername === undefined) return resolved;
  const { host = '', hostaddr = binding.conninfoDefaults().hostaddr ?? '' } = resolved;
  const names = host.split(',');
  // A host without an address is a unix socket.
  const renamed = hostaddr
    .split(',')
    .map((address, index) => (address === '' ? names[index] : servername));
  return { ...resolved, host: renamed.join(',') };
}

/** @param {Readonly<Record<string, string>>} conninfo */
async function addAddresses(conninfo) {
  const defaults = binding.conninfoDefaults();
  // With a service file libpq knows better which host is meant.
  if (conninfo.hostaddr || defaults.hostaddr || (conninfo.service && !conninfo.host)) {
    return { ...conninfo };
  }
  const names = (conninfo.host || defaults.host || 'localhost').split(',');
  const ports = (conninfo.port || defaults.port || '').split(',');
  /** @type {{ name: string, address: string, port: string }[]} */
  const targets = [];
  /** @type {Error | undefined} */
  let failure;
  for (const [index, name] of names.entries()) {
    const port = ports.length > 1 ? (ports[index] ?? '') : ports[0];
    if (needsNoLookup(name)) {
      targets.push({ name, address: net.isIP(name) !== 0 ? name : '', port });
      continue;
    }
    try {
      for (const { address } of await dns.lookup(name, { all: true })) {
        targets.push({ name, address, port });
      }
    } catch (error) {
      failure = hostNotFound(name, /** @type {NodeJS.ErrnoException} */ (error));
    }
  }
  if (targets.length === 0) throw /** @type {Error} */ (failure);
  const list = (/** @type {'name' | 'address' | 'port'} */ key) =>
    targets.map((target) => target[key]).join(',');
  return { ...conninfo, host: list('name'), hostaddr: list('address'), port: list('port') };
}

module.exports = { resolveHosts };
