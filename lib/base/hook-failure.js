'use strict';

// Turns what user code has thrown while a connection was made (onConnect, verify, a password
// function, the class of the option Client) into the error of those who wait for the connection.
// Used by handshake.js, session-setup.js and pool/connections.js.

const { isNativeError, isProxy } = require('node:util/types');
const { ConnectionError, keepStack } = require('./errors');
const { causeOf, messageOf } = require('./user-code');

/** The code of an error that wraps what cannot be passed on itself. */
const HOOK_CODE = 'ERR_PG_CONDUIT_HOOK';

/**
 * An ordinary error is passed on as it is, as in `pg`; several callers get copies (copyError()).
 * Anything else becomes the cause of a ConnectionError.
 * @param {unknown} thrown
 * @param {string} what has thrown it
 * @returns {Error}
 */
function toFailure(thrown, what) {
  return isOrdinary(thrown) ? keepStack(thrown) : strangeFailure(thrown, what);
}

/**
 * The same for connect() of a class that may be the user's. As a rule it rejects with an error of
 * the driver's own, which does not count as thrown by user code.
 * @param {unknown} thrown
 */
function toConnectFailure(thrown) {
  return isOrdinary(thrown) ? thrown : strangeFailure(thrown, 'connect()');
}

/** @param {unknown} thrown @param {string} what */
function strangeFailure(thrown, what) {
  const isText = typeof thrown === 'string' || (typeof thrown === 'object' && thrown !== null);
  const message = isText ? messageOf(thrown) : `it has thrown ${String(thrown)}`;
  return new ConnectionError(`${what} failed: ${message}`, {
    code: HOOK_CODE,
    cause: causeOf(thrown),
  });
}

/**
 * Whether a copy is as good as the error: it and its classes have nothing but data. Accessors and
 * methods may need what only the original has, as those of a DOMException do.
 * @param {unknown} thrown
 * @returns {thrown is Error}
 */
function isOrdinary(thrown) {
  // False for every Proxy, so that none of this runs user code.
  if (!isNativeError(thrown)) return false;
  if (!hasOnlyData(thrown, false)) return false;
  for (
    let proto = Object.getPrototypeOf(thrown);
    proto !== Error.prototype;
    proto = Object.getPrototypeOf(proto)
  ) {
    if (proto === null || isProxy(proto) || !hasOnlyData(proto, true)) return false;
  }
  return true;
}

/** @param {object} object @param {boolean} isPrototype */
function hasOnlyData(object, isPrototype) {
  const descriptors = Object.getOwnPropertyDescriptors(object);
  return Reflect.ownKeys(descriptors).every((key) => {
    // Where it is an accessor, it is V8's own.
    if (key === 'stack') return true;
    const descriptor = /** @type {any} */ (descriptors)[key];
    if (!('value' in descriptor)) return false;
    return !isPrototype || key === 'constructor' || typeof descriptor.value !== 'function';
  });
}

module.exports = { HOOK_CODE, toConnectFailure, toFailure };
