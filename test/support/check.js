'use strict';

// `npx pg-conduit check` as people run it: a process of its own, its output and its exit code.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');

const COMMAND = path.join(__dirname, '..', '..', 'bin', 'pg-conduit.js');
/** What a machine may have set, and is not meant for the test. */
const UNWANTED = /^(?:PG[A-Z]|DATABASE_URL$|NO_COLOR$|FORCE_COLOR$)/;

/**
 * @param {string[]} args
 * @param {Record<string, string>} [env] added to what is there
 * @returns {Promise<{ status: number, stdout: string, stderr: string }>}
 */
async function runCommand(args, env) {
  const inherited = Object.entries(process.env).filter(([name]) => !UNWANTED.test(name));
  const child = spawn(process.execPath, [COMMAND, ...args], {
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  const [status] = await once(child, 'close');
  return { status, stdout, stderr };
}

/**
 * @param {string[]} args of `check`, without --json
 * @param {Record<string, string>} [env]
 * @returns {Promise<any>} the report, with the exit code in `status`
 */
async function check(args, env) {
  const { status, stdout, stderr } = await runCommand(['check', ...args, '--json'], env);
  if (stderr !== '') throw new Error(stderr);
  return { ...JSON.parse(stdout), status };
}

/** @param {any} report @param {string} id @returns {any[]} its findings of that id */
function found(report, id) {
  return report.findings.filter((/** @type {any} */ finding) => finding.id === id);
}

/** @param {any} report @param {string} id @returns {string} the levels of these findings */
function levels(report, id) {
  return found(report, id)
    .map(({ level }) => level)
    .join();
}

/** Of the servers here nothing is flushed to disks. */
const NO_SYNC = 'settings.synchronous_commit';

/** @param {any} report @returns {string[]} what is not well, by its id */
function complaints(report) {
  return report.findings
    .filter(({ id, level }) => ['warning', 'problem'].includes(level) && id !== NO_SYNC)
    .map(({ id, level }) => `${level} ${id}`);
}

module.exports = { check, complaints, found, levels, runCommand };
