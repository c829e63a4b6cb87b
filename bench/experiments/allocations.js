'use strict';

// How often and how much a process has allocated by malloc(), counted by count-allocations.c. run.js builds it
// and hands its environment to the processes; one-connection.js reads the counts in there.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '..', '..');
const LIBRARY = path.join(ROOT, 'build', 'count-allocations.so');
const FILE = 'CONDUIT_ALLOCATIONS_FILE';

/**
 * @param {string} folder for the counts, which stays as long as the processes
 * @returns {Record<string, string>} the environment of a process whose allocations are to be counted; empty
 *   where they cannot be
 */
function countingEnvironment(folder) {
  if (process.platform !== 'linux') return {};
  try {
    fs.mkdirSync(path.dirname(LIBRARY), { recursive: true });
    execFileSync(
      process.env.CC || 'cc',
      [
        ...['-shared', '-fPIC', '-O2', `-I${path.join(ROOT, 'test', 'native')}`],
        ...[path.join(__dirname, 'count-allocations.c'), '-o', LIBRARY],
      ],
      { stdio: 'pipe' },
    );
  } catch {
    return {};
  }
  return { LD_PRELOAD: LIBRARY, [FILE]: path.join(folder, 'allocations') };
}

/** @returns {{ allocations?: number, allocatedBytes?: number }} so far */
function readAllocations() {
  const file = process.env[FILE];
  if (file === undefined || !fs.existsSync(file)) return {};
  const data = fs.readFileSync(file);
  return {
    allocations: Number(data.readBigUInt64LE(0)),
    allocatedBytes: Number(data.readBigUInt64LE(8)),
  };
}

module.exports = { countingEnvironment, readAllocations };
