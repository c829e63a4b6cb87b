'use strict';

// Where the headers of Node.js are: for node-gyp (node-gyp.js), and for what compiles or checks C++
// without it (lint-native.js, fuzz.js, planted-bugs.js).

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

/** @returns {string} the folder of node_api.h and uv.h */
function nodeHeaders() {
  const candidates = [
    process.env.npm_config_nodedir && path.join(process.env.npm_config_nodedir, 'include', 'node'),
    path.join(path.dirname(fs.realpathSync(process.execPath)), '..', 'include', 'node'),
    ...downloadedHeaders(),
  ];
  const found = candidates.find((folder) => folder && fs.existsSync(path.join(folder, 'uv.h')));
  if (found) return found;
  const version = process.versions.node;
  throw new Error(`the headers of Node.js ${version} were not found: run \`npx node-gyp install\``);
}

/** @returns {string[]} where node-gyp puts what it downloads */
function downloadedHeaders() {
  const caches = [
    path.join(os.homedir(), '.cache', 'node-gyp'),
    path.join(os.homedir(), 'Library', 'Caches', 'node-gyp'),
    path.join(process.env.LOCALAPPDATA || os.homedir(), 'node-gyp', 'Cache'),
  ];
  return caches.map((cache) => path.join(cache, process.versions.node, 'include', 'node'));
}

/** @param {string} prefix @returns {string | undefined} of which Node.js its headers are */
function versionOfHeaders(prefix) {
  const header = path.join(prefix, 'include', 'node', 'node_version.h');
  if (!fs.existsSync(header)) return undefined;
  const text = fs.readFileSync(header, 'utf8');
  const version = ['MAJOR', 'MINOR', 'PATCH'].map(
    (part) => text.match(new RegExp(`NODE_${part}_VERSION (\\d+)`))?.[1],
  );
  return version.join('.');
}

/**
 * The headers that the user names, or those beside a Node.js that was installed with them. Without
 * either, node-gyp downloads some.
 * @returns {string | undefined} what node-gyp calls nodedir
 */
function nodeDir() {
  if (process.env.npm_config_nodedir) return process.env.npm_config_nodedir;
  const prefix = path.join(path.dirname(process.execPath), '..');
  // Another Node.js may have left its headers in the same prefix.
  return versionOfHeaders(prefix) === process.versions.node ? prefix : undefined;
}

module.exports = { downloadedHeaders, nodeDir, nodeHeaders, versionOfHeaders };
