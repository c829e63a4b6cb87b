'use strict';

// Which line of the caller's is named by the stack of an error that comes after the call has returned. Of a
// promise V8 knows who awaits it, and is asked when it is rejected: what succeeds pays nothing. Where nobody
// awaits, only the call itself can tell, and has to note where it was made: a stream, a cursor, whatever is rare, and
// statements that have never succeeded yet. Used by whoever gives callers such things.

const path = require('node:path');
const { isOurs } = require('./errors');

/** Functions of the driver's between the caller and the note. */
const OWN_FRAMES = 10;
const FRAME = '\n    at ';
/** A frame in a file of the driver's, or of Node's own, or in none. */
const OWN = `${path.dirname(__dirname)}${path.sep}`;
const NOBODYS = /\((?:node:|index \d|<anonymous>)|^(?:async )?node:/;

/** Where a call was made. Until it is read, it holds the functions that were running. */
class CallSite {
  #limit = Error.stackTraceLimit;

  constructor() {
    const limit = this.#limit;
    const isLimited = typeof limit === 'number' && limit > 0;
    // Nothing is changed where it is read-only.
    if (isLimited) Reflect.set(Error, 'stackTraceLimit', limit + OWN_FRAMES);
    Error.captureStackTrace(this, CallSite);
    if (isLimited) Reflect.set(Error, 'stackTraceLimit', limit);
  }

  /** Has its stack name this place. @param {unknown} error */
  nameIn(error) {
    if (!isOurs(error)) return;
    const frames = framesOf(this);
    if (frames.length === 0) return;
    // In a bundle all of them are in one folder.
    const first = Math.max(
      0,
      frames.findIndex((frame) => !frame.includes(OWN)),
    );
    const told = [String(error), ...frames.slice(first, first + this.#limit)];
    Reflect.set(error, 'stack', told.join(FRAME));
  }
}

/**
 * @param {object} error
 * @returns {string[]}
 */
function framesOf(error) {
  const { stack } = /** @type {{ stack?: unknown }} */ (error);
  // Error.prepareStackTrace may have made anything of it.
  return typeof stack === 'string' ? stack.split(FRAME).slice(1) : [];
}

/**
 * What a caller has asked for and is told by a promise.
 * @typedef {object} Work
 * @property {Promise<any>} promise that the caller has
 * @property {boolean} isInCall its call has not returned: an error that is made now has the caller on its stack
 * @property {boolean} isToldElsewhere its failure is not to count as unhandled
 * @property {CallSite | undefined} callSite
 */

/**
 * Settles a promise of a caller's by rejecting it: `resolve(rejection(work, error))`. Not where that is settled.
 * @param {Work} work
 * @param {Error} error made for it
 * @returns {Promise<never>}
 */
async function rejection(work, error) {
  const { isInCall } = work;
  // Written out at once, an error holds nobody who is on its stack.
  if (isInCall) new CallSite().nameIn(error);
  // The promise follows this one two microtasks after it is resolved. V8 then finds those who await it, since
  // this function is pending; a second handler of the promise would hide them.
  await null;
  await null;
  await null;
  // A subscriber of a tracing channel may have frozen it.
  if (!isInCall && isOurs(error) && Object.isExtensible(error)) {
    Error.captureStackTrace(error, rejection);
    if (work.callSite !== undefined && !namesUser(error)) work.callSite.nameIn(error);
  }
  if (work.isToldElsewhere) work.promise.catch(() => {});
  throw error;
}

/** @param {Error} error */
function namesUser(error) {
  return framesOf(error).some((frame) => !frame.includes(OWN) && !NOBODYS.test(frame));
}

/**
 * Begins work for a caller.
 * @param {{ isInCall: boolean }} work
 * @param {() => void} run may reject it
 */
function duringCall(work, run) {
  work.isInCall = true;
  try {
    run();
  } finally {
    work.isInCall = false;
  }
}

/** A promise that is settled from elsewhere. @template T */
class Deferred {
  isInCall = false;
  isToldElsewhere = false;
  #isSettled = false;
  /** @type {(value: any) => void} */
  #settle = () => {};
  /** @type {Promise<T>} */
  promise = new Promise((resolve) => {
    this.#settle = resolve;
  });

  /** @param {CallSite} [callSite] */
  constructor(callSite) {
    this.callSite = callSite;
  }

  /** @param {T} value */
  resolve(value) {
    if (this.#isSettled) return;
    this.#isSettled = true;
    // Whoever has made this may hold it for long.
    this.callSite = undefined;
    this.#settle(value);
  }

  /** @param {Error} error */
  reject(error) {
    // A rejection that settles nothing would count as unhandled.
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#settle(rejection(this, error));
  }
}

module.exports = { CallSite, Deferred, duringCall, rejection };
