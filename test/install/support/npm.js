'use strict';

// Node.js and npm for a root, and the way to the packages of others: the registry and the certificates
// that npm uses outside.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { installOnce } = require('../../../scripts/install-once');
const { nodeHeaders } = require('../../../scripts/native-headers');

const TOOLS = path.join(__dirname, '..', 'tools');

/** What may stand between npm and a registry. */
const SETTINGS = ['registry', 'cafile', 'https-proxy', 'proxy', 'noproxy', 'strict-ssl'];

/** @param {string} name of a dependency of ../tools @returns {string} its folder */
function tool(name) {
  installOnce(TOOLS);
  return path.join(TOOLS, 'node_modules', name);
}

/**
 * @typedef {object} Node
 * @property {string} name
 * @property {() => string} binary
 * @property {() => string} headers
 */

/** @type {Node} the one that runs the tests */
const OWN_NODE = {
  name: `Node.js ${process.versions.node}`,
  binary: () => process.execPath,
  headers: nodeHeaders,
};

/** Pairs that belong together: npm 12 does not run on Node.js 20. */
const PAIRS = [
  { npm: 'npm-11', node: OWN_NODE },
  {
    npm: 'npm-12',
    node: {
      name: 'Node.js 26',
      binary: () => path.join(tool('node-26'), 'bin', 'node'),
      headers: () => path.join(tool('node-26'), 'include', 'node'),
    },
  },
];

/** @returns {Record<string, any>} */
function outsideConfig() {
  const text = execFileSync('npm', ['config', 'list', '--json', '--loglevel=error'], {
    encoding: 'utf8',
  });
  return JSON.parse(text);
}

/**
 * Puts Node.js and npm there as Node's own archives lie when they are unpacked.
 * @param {import('./roots').Root} root
 * @param {{ npm: string, node: Node }} pair
 * @param {{ hasHeaders?: boolean }} [options]
 * @returns {Record<string, string>} the environment of npm
 */
function placeNode(root, { npm, node }, { hasHeaders = false } = {}) {
  root.copy(node.binary(), '/usr/local/bin/node');
  if (hasHeaders) root.copy(node.headers(), '/usr/local/include/node');
  root.copy(tool(npm), '/usr/local/lib/node_modules/npm');
  for (const name of ['npm', 'npx']) {
    const target = `../lib/node_modules/npm/bin/${name}-cli.js`;
    fs.symlinkSync(target, root.path(`/usr/local/bin/${name}`));
  }
  /** npm tells its own news, of a newer npm, at any time. @type {Record<string, string>} */
  const env = { npm_config_update_notifier: 'false' };
  const config = outsideConfig();
  for (const name of SETTINGS) {
    const value = config[name];
    if (value === null || value === undefined || value === '') continue;
    env[`npm_config_${name.replaceAll('-', '_')}`] = Array.isArray(value)
      ? value.join(',')
      : String(value);
  }
  const { NODE_EXTRA_CA_CERTS: extra } = process.env;
  if (extra) env.NODE_EXTRA_CA_CERTS = extra;
  for (const file of new Set([env.npm_config_cafile, extra])) {
    if (file) root.copy(fs.realpathSync(file), file);
  }
  return env;
}

module.exports = { OWN_NODE, PAIRS, placeNode, tool };
