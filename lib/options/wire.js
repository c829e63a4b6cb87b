'use strict';

// Connections whose socket is not libpq's own: the option `stream`, and `ssl` with what only Node.js has. Says where they
// lead, and turns what was read as keywords of libpq into options of tls.connect(). Called by options.js.

const fs = require('node:fs');
const { OptionError } = require('../base');
const { binding } = require('../native');

/**
 * @typedef {object} Wire
 * @property {((config: object) => any) | object | undefined} stream
 * @property {string} host
 * @property {number} port
 * @property {Record<string, any> | undefined} ssl
 * @property {boolean} isDirect TLS begins at once
 * @property {boolean} hasKeepAlive
 * @property {number} keepAliveMillis 0: the system's
 */

/** Options of tls.connect(), and the keywords of libpq that take a file with the same. */
const FILES = { ca: 'sslrootcert', cert: 'sslcert', key: 'sslkey', crl: 'sslcrl' };

/** What libpq would not do there: ignoring it would be less safe. @type {Record<string, (value?: string) => boolean>} */
const IGNORED = {
  gssencmode: (value) => value === 'require',
  requirepeer: (value) => Boolean(value),
  sslcertmode: (value) => value === 'require',
  sslcrldir: (value) => Boolean(value),
};

/**
 * @param {any} settings with `tls`
 * @param {Record<string, string>} conninfo
 * @returns {Wire | undefined} nothing if libpq makes the socket
 */
function readWire({ stream, tls }, conninfo) {
  if (stream === undefined && tls.node === undefined) return undefined;
  const defaults = binding.conninfoDefaults();
  // libpq itself would follow these variables, past the socket that it is given.
  if (defaults.hostaddr || defaults.service) {
    const variable = defaults.hostaddr ? 'PGHOSTADDR' : 'PGSERVICE';
    throw new OptionError(
      `the variable ${variable} leads libpq elsewhere: unset it where "stream" is given, or "ssl" with what only ` +
        'Node.js can do',
    );
  }
  const address = conninfo.hostaddr;
  // What the certificate must name: where only an address is given, that; a default would pass for any server.
  const name = conninfo.host || defaults.host || address || 'localhost';
  const port = conninfo.port ?? defaults.port ?? '5432';
  if (conninfo.service || [name, address, port].some((text) => text?.includes(','))) {
    throw new OptionError(
      stream === undefined
        ? 'what Node.js alone can do with "ssl" leads to one server: give one host and port, and no service'
        : 'option "stream" leads to one server: give one host and port, and no service',
    );
  }
  for (const [keyword, isAsked] of Object.entries(IGNORED)) {
    if (!isAsked(conninfo[keyword] ?? defaults[keyword])) continue;
    throw new OptionError(
      `option "${keyword}" has no effect on a socket that is not libpq's own: leave it out`,
    );
  }
  const ssl = readTls(tls, conninfo, conninfo.sslmode ?? defaults.sslmode ?? '');
  if (ssl !== undefined && address) ssl.servername ??= name;
  return {
    stream,
    host: address || name,
    port: Number(port),
    ssl,
    isDirect: conninfo.sslnegotiation === 'direct',
    hasKeepAlive: conninfo.keepalives !== '0',
    keepAliveMillis: 1000 * (Number(conninfo.keepalives_idle) || 0),
  };
}

/**
 * @param {{ stream?: unknown }} settings of a pool
 * @returns {OptionError | undefined} for a stream that is there already: each connection needs one of its own
 */
function refuseOneStream({ stream }) {
  if (stream === undefined || typeof stream === 'function') return undefined;
  return new OptionError(
    'option "stream" of a pool must be a function that makes a stream for each connection',
  );
}

/**
 * @param {import('./tls').TlsSettings} tls
 * @param {Record<string, string>} conninfo
 * @param {string} sslmode
 * @returns {Record<string, any> | undefined} nothing for none, which those modes allow that only prefer TLS
 */
function readTls({ files, servername, node }, conninfo, sslmode) {
  if (sslmode !== 'require' && !sslmode.startsWith('verify')) return undefined;
  /** @type {Record<string, any>} */
  const ssl = {
    minVersion: conninfo.ssl_min_protocol_version,
    maxVersion: conninfo.ssl_max_protocol_version,
    passphrase: conninfo.sslpassword,
    servername,
  };
  for (const [name, keyword] of Object.entries(FILES)) {
    ssl[name] = files[keyword] ?? readFile(keyword, conninfo[keyword]);
  }
  // With certificates of authorities libpq takes it so.
  const verifies = sslmode !== 'require' || ssl.ca !== undefined;
  if (verifies && sslmode !== 'verify-full') ssl.checkServerIdentity = () => undefined;
  for (const name of Object.keys(ssl)) if (ssl[name] === undefined) delete ssl[name];
  // Pools hide these from whoever prints their options.
  for (const name of ['key', 'passphrase']) {
    if (node !== undefined && name in node) ssl[name] = node[name];
  }
  return { ...ssl, ...node, rejectUnauthorized: verifies };
}

/** @param {string} keyword @param {string | undefined} file */
function readFile(keyword, file) {
  if (!file || file === 'system') return undefined;
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    throw new OptionError(`option "${keyword}" names a file that cannot be read: ${file}`, {
      cause: error,
    });
  }
}

module.exports = { readWire, refuseOneStream };
