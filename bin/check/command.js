'use strict';

// The arguments of `npx pg-conduit check`, its output and its exit code: 0, or 1 with a problem.

const { check } = require('./index');
const { print } = require('./print');

const MAX_CONNECTIONS = 100_000;
const MAX_SECONDS = 600;
const UNITS = /** @type {Record<string, number>} */ ({ ms: 1, s: 1000, m: 60_000 });

class ArgumentError extends Error {
  code = 'ERR_PG_CONDUIT_OPTION';
}

/** @param {string} text @returns {number | undefined} milliseconds */
function readDuration(text) {
  const [, number, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(text) ?? [];
  const millis = Number(number) * UNITS[unit];
  return millis >= 1 && millis <= MAX_SECONDS * 1000 ? millis : undefined;
}

/** @param {string} text @returns {number | undefined} */
function readCount(text) {
  const count = /^\d+$/.test(text) ? Number(text) : NaN;
  return count >= 1 && count <= MAX_CONNECTIONS ? count : undefined;
}

/**
 * @template T
 * @param {string} name
 * @param {T | undefined} value
 * @param {string} what
 * @returns {T}
 */
function required(name, value, what) {
  if (value === undefined) throw new ArgumentError(`--${name} must be ${what}`);
  return value;
}

/**
 * @param {string | undefined} url
 * @param {{ json?: boolean, timeout?: string, max?: string, processes?: string }} values
 * @throws {ArgumentError} one of them is wrong
 */
async function runCheck(url, values) {
  const { json = false, max, processes = '1', timeout = '5s' } = values;
  const count = `a whole number from 1 to ${MAX_CONNECTIONS}`;
  const options = {
    url,
    timeoutMillis: required('timeout', readDuration(timeout), 'a time such as 5s or 500ms'),
    max: max === undefined ? undefined : required('max', readCount(max), count),
    processes: required('processes', readCount(processes), count),
  };
  // What the driver warns of is in the report.
  process.removeAllListeners('warning');
  const report = await check(options);
  const isColoured = Boolean(process.stdout.isTTY) && !process.env.NO_COLOR;
  const text = json
    ? `${JSON.stringify(report, null, 2)}\n`
    : print(report, { isColoured, width: process.stdout.columns });
  await new Promise((resolve) => {
    process.stdout.write(text, resolve);
  });
  // A look-up of a name that hangs would keep the process.
  process.exit(report.ok ? 0 : 1); // eslint-disable-line n/no-process-exit
}

module.exports = { runCheck };
