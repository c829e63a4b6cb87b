'use strict';

const NEVER_CHANGED = new Int32Array(new SharedArrayBuffer(4));

/**
 * Keeps this thread from everything, as a long computation would, and leaves the CPU to others.
 * @param {number} millis
 */
function blockThread(millis) {
  Atomics.wait(NEVER_CHANGED, 0, 0, millis);
}

module.exports = { blockThread };
