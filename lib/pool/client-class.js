'use strict';

// The option `Client`: a class of the user's, of which a pool makes its clients. Called by pool.js when it is made.

const { OptionError } = require('../base');
const { Client, POOL, settingsOf } = require('../client');

/**
 * Has `settings` say how clients of that class are made.
 * @param {any} Given
 * @param {Record<string, any>} options that its constructor gets, too
 * @param {import('../options').Settings} settings
 * @param {import('../statements').StatementRegistry} registry
 * @returns {OptionError | undefined} why no client can be made of it
 */
function useClientClass(Given, options, settings, registry) {
  if (Given === Client) return undefined;
  if (!(Given.prototype instanceof Client)) {
    return new OptionError('option "Client" must be a class that extends the Client of pg-conduit');
  }
  settings.makeClient = (side) => {
    const described = Object.getOwnPropertyDescriptors(options);
    return new Given(Object.defineProperties({ ...side }, described));
  };
  return passesOn(settings, registry)
    ? undefined
    : new OptionError(
        'option "Client": the constructor of the class must pass on to super() what it is given',
      );
}

/**
 * @param {import('../options').Settings} settings
 * @param {import('../statements').StatementRegistry} registry
 * @returns {boolean} whether the pool's settings reach Client through the constructor of the class
 */
function passesOn(settings, registry) {
  const silent = () => {};
  const probe = settings.makeClient?.({
    [POOL]: {
      settings,
      registry,
      onUnsent: () => false,
      onSettled: silent,
      onLost: silent,
      onClosed: silent,
    },
  });
  const isOurs = settingsOf(probe) === settings;
  probe.end();
  return isOurs;
}

module.exports = { useClientClass };
