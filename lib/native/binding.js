'use strict';

// Loads the addon. No other file knows where it is. Required by the other files of this folder.

const fs = require('node:fs');
const path = require('node:path');

// @ts-expect-error it comes without types
const load = require('node-gyp-build');

const root = path.join(__dirname, '..', '..');

if (process.versions.bun !== undefined || process.versions.deno !== undefined) {
  throw new Error(
    'pg-conduit runs on Node.js only: Bun has no OpenSSL for addons, and Deno does not export ' +
      'OpenSSL and libuv',
  );
}

/**
 * @typedef {object} NativeConnection
 * @property {(keywords: string[], values: string[], fileKeywords: string[],
 *   texts: string[], scramMaxIterations: number, busyPollMicros: number) => void} connect the texts go to
 *   libpq as files
 * @property {() => void} close
 * @property {() => number} leave closes it, and gives a descriptor of its socket, or -1
 * @property {() => { slot: number, millis: number } | undefined} head what the server is to answer
 *   next, and for how long it has had nothing else to do
 * @property {(name: string) => string | null} parameterStatus
 * @property {() => boolean} isEncrypted
 * @property {() => string} serverAddress the address, or the folder of the unix socket, and the port;
 *   empty if that is not known
 * @property {() => number} socketFamily -1 if that is not known
 * @property {(count: number) => string[]} lastParameters names of those that the server has reported last, the last
 *   one first; empty if that is not known
 * @property {(enable: boolean, idleSeconds: number) => void} setKeepAlive 0: the time is not changed
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
 * @property {(tick: { text: string }, deliver: Function, jsonGuard: string,
 *   endTick: Function) => void} setup
 * @property {(commands: Int32Array, bytes: Uint8Array) => void} setBuffers
 * @property {(flushes: boolean) => void} submit
 * @property {(text: string) => Record<string, string>} parseConninfo
 * @property {() => Record<string, string>} conninfoDefaults
 * @property {() => string[]} conninfoKeywords
 * @property {() => Record<string, string>} conninfoVariables names of environment variables, by
 *   keyword
 * @property {(family: number) => number} openSocket a descriptor, connected to nothing; or -1
 * @property {number} libpqVersion
 * @property {boolean} seesCopyErrors whether an error in the data of a COPY is known before the
 *   data end
 * @property {boolean} placesNotices whether the addon tells for certain which slot a notice is about
 * @property {boolean} omitsDescribe whether columns that are known are not described again (ticks.writeExecute())
 * @property {boolean} pipelinesSimple whether queries may be sent by the simple protocol among others (flag.simple)
 */

const NEEDS = 'and needs a C++ compiler, make and Python 3';

function buildHint() {
  // Only a checkout has this file.
  return fs.existsSync(path.join(root, 'binding.gyp'))
    ? `Run \`npm run build:release\` in ${root}, a checkout: that compiles one, ${NEEDS}`
    : `Run \`npx pg-conduit build\` where it is installed: that compiles one from the source in the package, ${NEEDS}`;
}

/** @param {string} message of node-gyp-build or of the system's loader */
function platformOf(message) {
  const libc = process.platform === 'linux' && /\blibc=(\w+)/.exec(message);
  return `${process.platform}-${process.arch}${libc ? ` (${libc[1]})` : ''}`;
}

/** @returns {Binding} */
function loadBinding() {
  if (!fs.existsSync(path.join(root, 'lib', 'native', 'binding.js'))) {
    throw new Error(
      'pg-conduit was put into a bundle, where it cannot find its binary: make it external ' +
        '(esbuild: --external:pg-conduit; others: docs/bundlers.md)',
    );
  }
  try {
    return load(root);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    let complaint;
    if (message.startsWith('No native build was found')) {
      complaint = `pg-conduit has no binary for ${platformOf(message)}`;
    } else if (code === 'ERR_DLOPEN_FAILED') {
      complaint = `pg-conduit has a binary that does not load here (${message})`;
    } else {
      // An addon that refuses its libpq has thrown an error that says so.
      throw error;
    }
    throw new Error(`${complaint}. ${buildHint()}`, { cause: error });
  }
}

module.exports = loadBinding();
