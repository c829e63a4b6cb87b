'use strict';

// What this process holds in memory, for the cases that measure by how much it grows. Called by
// workloads/w7-memory.js and experiments/one-connection.js.

const v8 = require('node:v8');

/**
 * After a garbage collection: used bytes of the JavaScript heap, and all that is resident outside of it, such
 * as buffers and what libpq and addons allocate. The resident size as it is would count the pages that the
 * heap keeps for later.
 */
function settleMemory() {
  const { heapBytes, outsideBytes } = readMemory();
  return heapBytes + outsideBytes;
}

/** The same in its two parts. */
function readMemory() {
  // Twice: the first one may only find what the second one frees.
  for (let i = 0; i < 2; i++) global.gc?.();
  const { used_heap_size: heapBytes, total_physical_size: resident } = v8.getHeapStatistics();
  return { heapBytes, outsideBytes: process.memoryUsage.rss() - resident };
}

module.exports = { readMemory, settleMemory };
