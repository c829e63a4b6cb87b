'use strict';

// The rules for calling user code (listeners, type parsers, callbacks, hooks) from inside the
// driver: what it throws never reaches the code that calls it, and what it requests of the driver
// never happens in the middle of a delivery or of a command. A leaf, used wherever user code is
// called.

const { inspect } = require('node:util');

/**
 * Held while the events of a delivery are read, and while a parser is looked up for a query that is
 * being written. Whatever would take slots, write commands or close a connection must wait until it
 * is released: connection.js and dispatcher.js check it first, and use afterDelivery().
 */
const lock = { isHeld: false };

/**
 * @template T
 * @param {() => T} callback may be user code, called in the middle of something
 * @returns {T}
 */
function callLocked(callback) {
  const { isHeld } = lock;
  lock.isHeld = true;
  try {
    return callback();
  } finally {
    lock.isHeld = isHeld;
  }
}

/**
 * Makes it an uncaught exception, as of any callback that throws, once the driver has finished what
 * it is doing.
 * @param {unknown} thrown
 */
function throwLater(thrown) {
  process.nextTick(() => {
    throw thrown;
  });
}

/** @param {() => void} callback whose exception becomes an uncaught one */
function callApart(callback) {
  try {
    callback();
  } catch (error) {
    throwLater(error);
  }
}

/**
 * An exception of a listener does not stop the stream that emits.
 * @param {() => boolean} emit
 * @returns {boolean} what emit() returns
 */
function emitApart(emit) {
  try {
    return emit();
  } catch (error) {
    throwLater(error);
    return true;
  }
}

/**
 * @template {(...parameters: any[]) => any} F
 * @param {F | null | undefined} callback
 * @returns {F | undefined} a function that calls it by callApart()
 */
function apart(callback) {
  if (typeof callback !== 'function') return callback ?? undefined;
  return /** @type {F} */ (
    /** @this {any} @param {any[]} parameters */
    function callbackApart(...parameters) {
      callApart(() => Reflect.apply(callback, this, parameters));
    }
  );
}

/**
 * @param {unknown} thrown anything: its message may be a getter that throws, or not a string
 * @returns {string}
 */
function messageOf(thrown) {
  try {
    const message = /** @type {any} */ (thrown)?.message;
    return String(message === undefined || message === '' ? thrown : message);
  } catch {
    return 'something that cannot be shown';
  }
}

/**
 * What was thrown, as the cause of an error, unless it could not be printed with that.
 * @param {unknown} thrown
 */
function causeOf(thrown) {
  try {
    inspect(new Error('', { cause: thrown }));
    return thrown;
  } catch {
    return undefined;
  }
}

module.exports = { apart, callApart, callLocked, causeOf, emitApart, lock, messageOf, throwLater };
