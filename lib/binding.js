'use strict';

// Loads the addon. The only file that knows where it lies.

const path = require('node:path');
// @ts-expect-error it comes without types
const load = require('node-gyp-build');

const root = path.join(__dirname, '..');

if (process.versions.bun !== undefined || process.versions.deno !== undefined) {
  throw new Error(
    'pg-conduit runs on Node.js only: Bun has no libuv poll handles and Deno does not export ' +
      "Node's OpenSSL",
  );
}

/**
 * @typedef {object} NativeConnection
 * @property {(keywords: string[], values: string[], fileKeywords: string[],
 *   texts: string[], scramMaxIterations: number) => void} connect the texts go to libpq as files
 * @property {() => void} close
 * @property {(name: string) => string | null} parameterStatus
 * @property {() => boolean} isEncrypted
 * @property {(ref: boolean) => void} setLoopRef
 * @property {(slot: number, flags: number, text: string) => void} simple
 * @property {(data: Uint8Array) => boolean} putCopyData
 * @property {(message?: string) => boolean} endCopy
 * @property {() => void} cancel
 * @property {(reading: boolean) => void} setReading
 * @property {() => { queries: number, parses: number, syncs: number, flushes: number,
 *   wakeups: number, pending: number }} counters
 *
 * @typedef {object} Binding
 * @property {new (id: number) => NativeConnection} Connection
 * @property {(tick: { text: string }, deliver: Function, jsonGuard: string) => void} setup
 * @property {(commands: Int32Array, bytes: Uint8Array) => void} setBuffers
 * @property {() => void} submit
 * @property {(text: string) => Record<string, string>} parseConninfo
 * @property {() => Record<string, string>} conninfoDefaults
 * @property {() => string[]} conninfoKeywords
 * @property {number} libpqVersion
 * @property {boolean} seesCopyErrors an error in the data of a COPY is known before they end
 */

/** @returns {Binding} */
function loadBinding() {
  try {
    return load(root);
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    // A libpq that is refused has said so itself.
    if (!message.startsWith('No native build was found')) throw error;
    throw new Error(
      `pg-conduit has no binary for ${process.platform}-${process.arch}: run "npm run build" in ` +
        'its folder, with a C++ compiler, make and python3 installed',
      { cause: error },
    );
  }
}

module.exports = loadBinding();
