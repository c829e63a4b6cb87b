'use strict';

// Makes the stack of an error that comes after the call has returned name a line of the caller's
// code. V8 knows who awaits a promise, and is asked when the promise is rejected: success costs
// nothing. Where nobody awaits, only the call itself can tell, and has to record where it was made:
// for streams, cursors and other rare things, and for statements that have never succeeded yet.
// Used by all that gives such things to callers.

const path = require('node:path');
const { isOurs } = require('./errors');
const { toldError } = require('./user-failure');

/** Functions of the driver between the caller and the recording. */
const OWN_FRAMES = 10;
const FRAME = '\n    at ';
/** Frames in files of the driver; and those of Node.js itself, or in no file. */
const OWN = `${path.dirname(__dirname)}${path.sep}`;
const NOBODYS = /\((?:node:|index \d|<anonymous>)|^(?:async )?node:/;

/**
 * Where a call was made. Until its stack is read, it keeps the functions alive that were running.
 */
class CallSite {
  #limit = Error.stackTraceLimit;

  constructor() {
    const limit = this.#limit;
    const isLimited = typeof limit === 'number' && limit > 0;
    // If the limit is read-only, nothing is changed.
    if (isLimited) Reflect.set(Error, 'stackTraceLimit', limit + OWN_FRAMES);
    Error.captureStackTrace(this, CallSite);
    if (isLimited) Reflect.set(Error, 'stackTraceLimit', limit);
  }

  /** Makes the stack of an error name this place. @param {unknown} error */
  nameIn(error) {
    if (!isOurs(error)) return;
    const frames = framesOf(this);
    if (frames.length === 0) return;
    // In a bundle all frames are in one folder: none is skipped then.
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
 * What a caller has requested and is told by a promise.
 * @typedef {object} Work
 * @property {Promise<any>} promise that the caller has
 * @property {boolean} isInCall whether its call has not returned yet: an error that is made now has
 *   the caller on its stack
 * @property {boolean} isToldElsewhere whether its failure must not count as unhandled
 * @property {CallSite | undefined} callSite
 */

/**
 * Rejects a caller's promise: `resolve(rejection(work, error))`. Not for a promise that is settled
 * already.
 * @param {Work} work
 * @param {Error} error made for it
 * @returns {Promise<never>}
 */
async function rejection(work, error) {
  const { isInCall } = work;
  // With its stack written out at once, an error keeps nothing alive that is on the stack.
  if (isInCall) new CallSite().nameIn(error);
  // The promise follows this one two microtasks after it is resolved. V8 then finds those who await
  // it, since this function is pending. A second handler of the promise would hide them.
  await null;
  await null;
  await null;
  // A subscriber of a tracing channel may have frozen it.
  if (!isInCall && isOurs(error) && Object.isExtensible(error)) {
    Error.captureStackTrace(error, rejection);
    if (work.callSite !== undefined && !namesUser(error)) work.callSite.nameIn(error);
  }
  if (work.isToldElsewhere) work.promise.catch(() => {});
  throw toldError(error);
}

/** @param {Error} error */
function namesUser(error) {
  return framesOf(error).some((frame) => !frame.includes(OWN) && !NOBODYS.test(frame));
}

/**
 * Begins work within a caller's call.
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
    // The maker of this object may keep it for long.
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
