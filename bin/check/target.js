'use strict';

// Where to connect, as the driver reads it: the servers one by one, and what they are in words. The password is in
// the options of clients and nowhere else.

const dns = require('node:dns/promises');
const net = require('node:net');
const { parseOptions } = require('../../lib/options');
const { binding } = require('../../lib/native');
const { within } = require('./limit');

/**
 * @typedef {object} Server one address of one host
 * @property {string} host a name, an address or a folder; empty if only libpq knows it
 * @property {string} address '' for a unix socket, and where only libpq knows it
 * @property {string} port
 *
 * @typedef {object} Target
 * @property {'argument' | 'DATABASE_URL' | 'environment'} source
 * @property {string} url without the password
 * @property {string} host all of them, with commas
 * @property {string} port
 * @property {string} attrs target_session_attrs
 * @property {string | undefined} sslmode if something names it
 * @property {string} hostaddr the addresses, where they are given beside the names
 * @property {number} connectTimeoutSeconds 0: none
 * @property {number} max
 * @property {Record<string, unknown>} given those options of the driver that it was given and that may be advised
 * @property {Record<string, unknown>} options of a client that connects to all of it
 */

/** Options that the check may advise. */
const ADVISED = /** @type {const} */ (['prepare', 'maxInFlight', 'syncGroup', 'idleTimeoutMillis']);
const DEFAULT_PORT = '5432';

/**
 * @param {string | undefined} argument
 * @returns {{ text: string | undefined, source: Target['source'] }}
 */
function findText(argument) {
  if (argument !== undefined) return { text: argument, source: 'argument' };
  const { DATABASE_URL } = process.env;
  if (DATABASE_URL) return { text: DATABASE_URL, source: 'DATABASE_URL' };
  return { text: undefined, source: 'environment' };
}

/**
 * @param {string | undefined} argument
 * @returns {Target}
 * @throws {Error} an OptionError
 */
function readTarget(argument) {
  const { text, source } = findText(argument);
  const settings = parseOptions(text);
  const { dbname, ...conninfo } = settings.conninfo;
  const defaults = binding.conninfoDefaults();
  const user = conninfo.user ?? defaults.user;
  const database = dbname ?? defaults.dbname ?? user;
  const service = conninfo.service ?? process.env.PGSERVICE;
  const hostaddr = conninfo.hostaddr ?? defaults.hostaddr ?? '';
  const isService = Boolean(service) && conninfo.host === undefined;
  const host = isService ? '' : conninfo.host || defaults.host || hostaddr || 'localhost';
  const port = isService ? '' : conninfo.port || defaults.port || DEFAULT_PORT;
  return {
    source,
    url: showUrl({ user, database, host, port, service, sslmode: conninfo.sslmode }),
    host,
    port,
    attrs: conninfo.target_session_attrs ?? defaults.target_session_attrs ?? 'any',
    sslmode: conninfo.sslmode ?? (process.env.PGSSLMODE || undefined),
    hostaddr,
    connectTimeoutSeconds: settings.connectTimeoutSeconds,
    max: settings.max,
    given: Object.fromEntries(ADVISED.map((name) => [name, settings[name]])),
    // A connection for replication takes none of the questions.
    options: { ...conninfo, replication: undefined, ...(dbname && { database: dbname }) },
  };
}

/**
 * @param {{ user?: string, database?: string, host: string, port: string, service?: string, sslmode?: string }} parts
 * @returns {string} for people
 */
function showUrl({ user = '', database = '', host, port, service, sslmode }) {
  const who = encodeURIComponent(user);
  const base = encodeURIComponent(database);
  const tail = sslmode === undefined ? '' : `?sslmode=${sslmode}`;
  if (host === '') return `service ${service}`;
  const places = placesOf(host, port).map((place) => showPlace(place.host, place.port));
  if (!host.startsWith('/')) return `postgresql://${who}@${places.join(',')}/${base}${tail}`;
  return `${places.join(',')}, database ${database}, user ${user}`;
}

/** @param {string} host @param {string} port */
function showPlace(host, port) {
  if (host.startsWith('/')) return `${host}/.s.PGSQL.${port}`;
  return `${net.isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** @param {string} hosts @param {string} ports */
function placesOf(hosts, ports) {
  const all = ports.split(',');
  return hosts
    .split(',')
    .map((host, index) => ({ host, port: (all.length > 1 ? all[index] : all[0]) || DEFAULT_PORT }));
}

/**
 * @param {Target} target
 * @param {number} millis
 * @returns {Promise<{ servers: Server[], unknown: { host: string, port: string, error: any }[] }>}
 */
async function resolve(target, millis) {
  if (target.host === '') {
    return { servers: [{ host: '', address: '', port: '' }], unknown: [] };
  }
  const addressesGiven = target.hostaddr.split(',');
  /** @type {Server[]} */
  const servers = [];
  /** @type {{ host: string, port: string, error: any }[]} */
  const unknown = [];
  for (const [index, { host, port }] of placesOf(target.host, target.port).entries()) {
    const given = addressesGiven[index];
    if (given) {
      servers.push({ host, address: given, port });
      continue;
    }
    if (host.startsWith('/') || host.startsWith('@') || net.isIP(host) !== 0) {
      servers.push({ host, address: net.isIP(host) === 0 ? '' : host, port });
      continue;
    }
    try {
      const addresses = await within(millis, dns.lookup(host, { all: true }));
      const distinct = new Set(addresses.map(({ address }) => address));
      for (const address of distinct) servers.push({ host, address, port });
    } catch (error) {
      unknown.push({ host, port, error });
    }
  }
  return { servers, unknown };
}

/**
 * @param {Target} target
 * @param {Server} server
 * @returns {Record<string, unknown>} options of a client for this one alone
 */
function optionsFor({ options }, { host, address, port }) {
  const one = { ...options, target_session_attrs: 'any', load_balance_hosts: 'disable' };
  if (host === '') return one;
  return address === '' ? { ...one, host, port } : { ...one, host, port, hostaddr: address };
}

/** @param {Server} server */
function showServer({ host, address, port }) {
  const place = host === '' ? 'the server of the service' : showPlace(host, port);
  return address === '' || address === host ? place : `${place} (${address})`;
}

/** @param {Server} server @returns {boolean} whether nothing leaves this machine */
function isLocal({ host, address }) {
  if (host.startsWith('/') || host.startsWith('@')) return true;
  return address === '::1' || address.startsWith('127.');
}

module.exports = { isLocal, optionsFor, readTarget, resolve, showServer };
