'use strict';

// Which clients may have connections in common (the option `multiplex` of clients without a pool): those of equal
// settings. Called by pool/shared-clients.js.

const { binding } = require('../native');
const { SETTINGS } = require('./settings');

/** @typedef {import('./settings').Settings} Settings */

/** Options of pools, which mean nothing to such clients. */
const OF_POOLS = (
  'max min maxInFlight spreadMillis maxWaiting idleTimeoutMillis maxUses maxLifetimeSeconds allowExitOnIdle leakWarningMillis ' +
  'resetQuery replicas catchUpMillis onConnect verify log Client waitForServer'
).split(' ');

/** What is a client's own matter on whichever connection: it belongs to each of its queries. */
const OF_CLIENTS =
  'types date timestamp numericArrays fetchTypes namedParameters rowKeys queryInErrors Promise pipeline'.split(
    ' ',
  );

const NEUTRAL = Object.fromEntries(
  [...OF_POOLS, ...OF_CLIENTS].map((name) => [name, SETTINGS[name].default]),
);

/** Functions are the same if they are identical. @type {WeakMap<object, number>} */
const numbers = new WeakMap();
let lastNumber = 0;

/** @param {object} object */
function numberOf(object) {
  const number = numbers.get(object) ?? ++lastNumber;
  numbers.set(object, number);
  return number;
}

/** @param {any} value of a setting @returns {unknown} what is equal in JSON for equal ones */
function canonical(value) {
  if (typeof value === 'function') return { function: numberOf(value) };
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.keys(value)
    .sort()
    .map((name) => [name, canonical(value[name])]);
}

/**
 * @param {Settings} settings of a client
 * @returns {{ key: string, settings: Settings } | undefined} the same for equal ones, and what is the same in them;
 *   nothing if several servers may stand behind them
 */
function readShared(settings) {
  // A socket of somebody's own may lead anywhere.
  if (settings.wire !== undefined) return undefined;
  // What the environment says when they connect.
  const conninfo = { ...binding.conninfoDefaults(), ...settings.conninfo };
  const { host, hostaddr, port, service, load_balance_hosts: balances } = conninfo;
  const isList = [host, hostaddr, port].some((value) => value?.includes(','));
  // What a service is, only libpq reads.
  if (isList || service || (balances && balances !== 'disable')) return undefined;
  const learned = {
    fetchedTypes: undefined,
    losesStatements: false,
    keeping: /** @type {const} */ ('unknown'),
  };
  const shared = { ...settings, ...NEUTRAL, ...learned };
  const counting = Object.entries({ ...shared, conninfo }).filter(([name]) => !(name in NEUTRAL));
  return { key: JSON.stringify(canonical(Object.fromEntries(counting))), settings: shared };
}

module.exports = { readShared };
