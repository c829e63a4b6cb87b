'use strict';

// What this process holds in memory, for the cases that measure by how much it grows. Called by
// workloads/w7-memory.js.

const v8 = require('node:v8');

/**
 * After a garbage collection: used bytes of the JavaScript heap, and all that is resident outside of it, such
 * as buffers and what libpq and addons allocate. The resident size as it is would count the pages that the
 * heap keeps for later.
 */
function settleMemory() {
  // Twice: the first one may only find what the second one frees.
  for (let i = 0; i < 2; i++) global.gc?.();
  const { used_heap_size: used, total_physical_size: resident } = v8.getHeapStatistics();
  return used + process.memoryUsage.rss() - resident;
}

module.exports = { settleMemory };
