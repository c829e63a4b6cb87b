'use strict';

// The two ways in which a caller stops waiting for a query: its AbortSignal and its time limit. The
// owner of the query (connection.js, pool.js) decides what becomes of it then. Called by client.js
// and pool.js.

const { QueryAbortedError, TimeLimit } = require('../base');

/** @typedef {import('./query').Query | import('./batch').Batch} Work */

/** @param {any} value @returns {value is AbortSignal} one that can be listened to */
function isAbortSignal(value) {
  try {
    // An object that merely inherits from its prototype throws.
    return value instanceof AbortSignal && typeof value.aborted === 'boolean';
  } catch {
    return false;
  }
}

/** @param {AbortSignal} signal that has been aborted */
function abortError({ reason }) {
  const error = new QueryAbortedError('The operation was aborted', 'ABORT_ERR', { cause: reason });
  error.name = 'AbortError'; // as Node's own modules call it
  return error;
}

/**
 * @param {AbortSignal} signal that has been aborted
 * @returns {QueryAbortedError} for a query whose rows are streamed: the server may be done with it
 */
function abortErrorInside(signal) {
  return Object.assign(abortError(signal), { outcome: 'unknown' });
}

const TIMEOUT_CODE = 'ERR_PG_CONDUIT_QUERY_TIMEOUT';

/** @param {number} millis */
function timeoutError(millis) {
  return new QueryAbortedError('Query read timeout', TIMEOUT_CODE, {
    detail: `there was no answer within ${millis} ms (query_timeout)`,
  });
}

/** @param {QueryAbortedError} reason @returns {boolean} whether a time limit has passed */
function isTimeout({ code }) {
  return code === TIMEOUT_CODE;
}

/**
 * Those who wait for the abort of one signal, behind a single listener: Node.js warns about more
 * than ten listeners, and the signal of a request may be used for many queries.
 */
class Listeners {
  /** @type {Set<() => void>} */
  callbacks = new Set();
  onAbort = () => {
    for (const callback of [...this.callbacks]) callback();
  };
}

/** @type {WeakMap<AbortSignal, Listeners>} */
const listenersOf = new WeakMap();

/**
 * @param {AbortSignal} signal that has not been aborted
 * @param {() => void} callback called when it is
 * @returns {() => void} stops listening
 */
function listen(signal, callback) {
  const listeners = listenersOf.get(signal) ?? new Listeners();
  const { callbacks, onAbort } = listeners;
  listenersOf.set(signal, listeners);
  if (callbacks.size === 0) signal.addEventListener('abort', onAbort, { once: true });
  callbacks.add(callback);
  return () => {
    callbacks.delete(callback);
    if (callbacks.size === 0) signal.removeEventListener('abort', onAbort);
  };
}

/**
 * @param {Work} work
 * @param {number} defaultMillis 0: no limit
 * @param {(error: QueryAbortedError) => void} abort called once, unless the work is settled before
 * @returns {QueryAbortedError | undefined} set if the signal was aborted before it began
 */
function watch(work, defaultMillis, abort) {
  const { signal } = work;
  const millis = work.timeoutMillis ?? defaultMillis;
  if (signal === undefined && millis === 0) return undefined;
  if (signal?.aborted) return abortError(signal);
  const begin = () => new TimeLimit(millis, () => abort(timeoutError(millis)));
  let limit = millis > 0 ? begin() : undefined;
  if (millis > 0 && work.timeoutMillis === undefined) {
    work.defaultLimit = {
      pause: () => limit?.cancel(),
      restart: () => {
        limit?.cancel();
        if (!work.isSettled) limit = begin();
      },
    };
  }
  const forget = signal && listen(signal, () => abort(abortError(signal)));
  // Not by a handler of its promise: that would hide a rejection that nobody else handles.
  work.onceSettled(() => {
    limit?.cancel();
    forget?.();
  });
  return undefined;
}

module.exports = { abortError, abortErrorInside, isAbortSignal, isTimeout, listen, watch };
