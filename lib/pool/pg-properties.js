'use strict';

// Properties of pg-pool's Pool that tools read, and which are no part of our own API. Defined on
// Pool's prototype by pool.js.

/**
 * @typedef {import('../options').Settings} Settings
 * @typedef {import('./dispatcher').Dispatcher} Dispatcher
 *
 * What stands behind a pool.
 * @typedef {object} Inside
 * @property {Dispatcher} dispatcher
 * @property {Settings} settings
 * @property {Record<string, any>} options
 * @property {Function} Client
 * @property {boolean} hasEnded
 */

const noLog = () => {};

/** @param {Record<string, any>} object @param {string} name */
function hide(object, name) {
  if (object[name] === undefined) return;
  const { [name]: value } = object;
  Object.defineProperty(object, name, {
    value,
    enumerable: false,
    writable: true,
    configurable: true,
  });
}

/**
 * What a pool was made with, as pg-pool keeps it: secrets are there, and not shown.
 * @param {any} config
 * @param {Settings} settings
 * @returns {Record<string, any>}
 */
function describeOptions(config, settings) {
  const given = typeof config === 'string' ? { connectionString: config } : { ...config };
  if (config?.password !== undefined) given.password = config.password;
  if (typeof given.ssl === 'object' && given.ssl !== null) {
    const { key, passphrase } = given.ssl;
    given.ssl = { ...given.ssl, key, passphrase };
    for (const name of ['key', 'passphrase']) {
      if (given.ssl[name] === undefined) delete given.ssl[name];
      else hide(given.ssl, name);
    }
  }
  hide(given, 'password');
  const { max, min, maxUses, allowExitOnIdle, maxLifetimeSeconds, idleTimeoutMillis } = settings;
  return Object.assign(given, {
    max,
    min,
    maxUses,
    allowExitOnIdle,
    maxLifetimeSeconds,
    idleTimeoutMillis,
  });
}

/**
 * @param {object} prototype
 * @param {(pool: any) => Inside} insideOf
 */
function definePoolProperties(prototype, insideOf) {
  /** @type {Record<string, (inside: Inside) => unknown>} */
  const getters = {
    options: ({ options }) => options,
    ended: ({ hasEnded }) => hasEnded,
    expiredCount: ({ dispatcher }) => dispatcher.activity.expiredCount,
    log: ({ settings }) => settings.log ?? noLog,
    Client: ({ Client }) => Client,
    Promise: ({ settings }) => settings.Promise ?? Promise,
    _clients: ({ dispatcher }) => dispatcher.activity.clients,
    _idle: ({ dispatcher }) => dispatcher.activity.idleClients.map((client) => ({ client })),
    _pendingQueue: ({ dispatcher }) => Array.from({ length: dispatcher.activity.waitingCount }),
  };
  for (const [name, get] of Object.entries(getters)) {
    Object.defineProperty(prototype, name, {
      get() {
        return get(insideOf(this));
      },
      ...(name === 'options' && {
        /** @param {object} value @this {object} */
        set(value) {
          Object.assign(insideOf(this).options, value);
        },
      }),
      enumerable: false,
      configurable: true,
    });
  }
}

module.exports = { definePoolProperties, describeOptions };
