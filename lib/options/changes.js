'use strict';

// Options that users change after a client or pool was made with them, as `pg` lets them: those of a connection count
// for connections that are made from then on. Called by client.js and pool/changeable-options.js.

const { OptionError } = require('../base');
const { parseOptions } = require('./options');
const { SETTINGS } = require('./settings');
const { refuseOneStream } = require('./wire');

/** @typedef {import('./settings').Settings} Settings */

/** What a connection is made with. @type {(keyof Settings)[]} */
const OF_CONNECTIONS = [
  ...['conninfo', 'serverSettings', 'password', 'tls', 'connectTimeoutSeconds', 'wantsWriter'],
  ...['query_timeout', 'connectionTimeoutMillis', 'stream', 'wire'],
].map((name) => /** @type {keyof Settings} */ (name));

/**
 * @param {Settings} settings get what the options say now
 * @param {any} config
 * @param {Record<string, any>} [changes] go before all that is in it, its connection string too
 * @throws {OptionError} and leaves them as they are
 */
function changeConnection(settings, config, changes) {
  const changed = parseOptions(config, changes);
  for (const name of OF_CONNECTIONS) /** @type {any} */ (settings)[name] = changed[name];
}

/** Keywords that say to which server, database and role connections lead, and what texts mean there. */
const PLACE = ['host', 'hostaddr', 'port', 'dbname', 'user', 'service', 'options'];

/**
 * The same for a pool: what it knows of its texts it has learned in one place, so that must stay the same.
 * @param {Settings} settings
 * @param {Record<string, any>} options
 * @param {string} changedName
 */
function changeConnectionsOfPool(settings, options, changedName) {
  const { conninfo } = settings;
  const changed = /** @type {any} */ ({ ...settings });
  changeConnection(changed, options);
  const refusal = refuseOneStream(changed);
  if (refusal !== undefined) throw refusal;
  const withoutTimeouts = (/** @type {string | undefined} */ text) =>
    text?.replace(/-c \w+_timeout=\d+/g, '').trim() || undefined;
  for (const keyword of PLACE) {
    if (withoutTimeouts(conninfo[keyword]) === withoutTimeouts(changed.conninfo[keyword])) continue;
    throw new OptionError(
      `pool.options.${changedName} cannot be changed to another place or other settings: make a new Pool, and end this one`,
    );
  }
  Object.assign(settings, changed);
}

/** Options of a pool that count from the moment at which they are changed. */
const OF_POOLS = new Set([
  ...['max', 'min', 'maxUses', 'maxLifetimeSeconds', 'idleTimeoutMillis', 'allowExitOnIdle'],
  ...['connectionTimeoutMillis', 'maxWaiting', 'onConnect', 'verify'],
]);

/**
 * @param {Settings} settings of a pool
 * @param {Record<string, any>} options all of them, as they are now
 * @param {string} name of the one that was changed
 * @throws {OptionError} and leaves them as they are
 */
function changeOption(settings, options, name) {
  if (!OF_POOLS.has(name)) {
    changeConnectionsOfPool(settings, options, name);
    return;
  }
  const { check, default: standard } = SETTINGS[name];
  const value = options[name];
  const isGiven = value !== undefined && value !== null;
  /** @type {any} */ (settings)[name] = isGiven ? (check(value, name) ?? standard) : standard;
}

module.exports = { changeConnection, changeOption };
