'use strict';

// Builds relay.c and runs it: a network with latency between a driver and a server, in a process of its own. Called by
// ../tools/places.js.

const { execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { createInterface } = require('node:readline');

const PROGRAM = path.join(__dirname, '..', '..', 'build', 'bench-relay');

/**
 * @typedef {object} RelayReport
 * @property {number} busiestPart of one core, in its busiest half second
 * @property {number} lateMillis beyond the delay, the 99th percentile
 * @property {number} passed pieces
 *
 * @typedef {object} Relay
 * @property {number} port on 127.0.0.1
 * @property {() => Promise<RelayReport>} end
 */

/** @throws {Error} where there is no compiler, or another system than Linux */
function buildRelay() {
  fs.mkdirSync(path.dirname(PROGRAM), { recursive: true });
  const args = ['-O2', '-Wall', '-Wextra', path.join(__dirname, 'relay.c'), '-o', PROGRAM];
  try {
    execFileSync(process.env.CC || 'cc', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (error) {
    const [line] = /** @type {Error} */ (error).message.split('\n');
    throw new Error(`The latency needs Linux and a C compiler: ${line}`, { cause: error });
  }
}

/**
 * @param {{ host: string, port: number }} server an IPv4 address, localhost, or the folder of a unix socket
 * @param {number} delayMillis each way
 * @returns {Promise<Relay>}
 */
async function startRelay({ host, port }, delayMillis) {
  buildRelay();
  const address = host === 'localhost' ? '127.0.0.1' : host;
  const args = [address, String(port), String(Math.round(1000 * delayMillis))];
  const child = spawn(PROGRAM, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  favour(child.pid);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const readLine = async () => {
    const { value } = await lines.next();
    if (value === undefined) throw new Error('the relay with the latency has ended');
    return JSON.parse(value);
  };
  const { port: own } = await readLine();
  return {
    port: own,
    async end() {
      const exited = once(child, 'exit');
      child.stdin.end();
      const report = await readLine();
      await exited;
      return report;
    },
  };
}

/** A network does not wait for a core that driver and server keep busy. @param {number | undefined} pid */
function favour(pid) {
  if (pid === undefined) return;
  try {
    os.setPriority(pid, os.constants.priority.PRIORITY_HIGHEST);
  } catch {
    // Not everybody may: the report tells how late it was.
  }
}

module.exports = { startRelay };
