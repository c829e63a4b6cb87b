'use strict';

// Which driver a tool gets when it requires `pg`, and what W8 tells that driver. Read by ../run.js and child.js.

const { createRequire } = require('node:module');
const Module = require('node:module');
const path = require('node:path');
const { OURS } = require('../drivers');
const { FOLDER, requireFromTools } = require('.');

const ROOT = path.join(__dirname, '..', '..');
/** Of a pool from which a tool borrows, with any driver. */
const POOL = 10;

/**
 * @typedef {object} Settings
 * @property {number} clients in the pool of a tool that makes its clients by itself
 * @property {Record<string, string>} env of the process
 * @property {Record<string, unknown>} defaults of the driver: `require('pg').defaults`
 */

/**
 * `--settings` replaces those of pg-conduit. When clients that are made one by one share connections, `clients` is 200 here,
 * and `env` or `defaults` has what makes them share.
 * @type {Record<string, Settings>}
 */
const SETTINGS = {
  [OURS]: { clients: 10, env: {}, defaults: {} },
  pg: { clients: 10, env: {}, defaults: {} },
};

/**
 * @param {string | undefined} text JSON of a part of them
 * @returns {Record<string, Settings>}
 */
function readSettings(text) {
  if (text === undefined) return SETTINGS;
  const example = '{"clients": 200, "env": {"NAME": "value"}, "defaults": {"option": "value"}}';
  /** @type {any} */
  let given;
  try {
    given = JSON.parse(text);
  } catch {
    throw new Error(`--settings is not JSON: write it like ${example}`);
  }
  const stranger = Object.keys(given).find((name) => !(name in SETTINGS[OURS]));
  if (stranger !== undefined) {
    throw new Error(`--settings names "${stranger}": write it like ${example}`);
  }
  return { ...SETTINGS, [OURS]: { ...SETTINGS[OURS], ...given } };
}

/**
 * From now on, whatever is in the tools' folder gets this driver for `pg`: this checkout, or the `pg` beside it.
 * @param {string} driver
 */
function placeDriver(driver) {
  const { resolve } = createRequire(path.join(ROOT, 'package.json'));
  const loader = /** @type {any} */ (Module);
  const original = loader._resolveFilename;
  loader._resolveFilename = function (
    /** @type {string} */ request,
    /** @type {NodeModule | undefined} */ parent,
    /** @type {unknown[]} */ ...rest
  ) {
    const isOfTools = parent?.filename?.startsWith(FOLDER + path.sep);
    if (isOfTools && /^pg(\/|$)/.test(request)) return resolve(request.replace('pg', driver));
    return original.call(this, request, parent, ...rest);
  };
}

/**
 * Whatever a tool has loaded by now, it was this driver.
 * @param {string} driver
 */
function assertPlaced(driver) {
  const { name } = requireFromTools('pg/package.json');
  const another = path.join(FOLDER, 'node_modules', 'pg') + path.sep;
  const stray = Object.keys(require.cache).find((file) => file.startsWith(another));
  if (name !== driver || stray !== undefined) {
    throw new Error(`The tool was to get ${driver} for pg, and got ${stray ?? name}`);
  }
}

module.exports = { POOL, assertPlaced, placeDriver, readSettings };
