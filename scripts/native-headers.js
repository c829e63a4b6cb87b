'use strict';

// Where the headers of Node.js are, for what compiles or checks C++ without node-gyp: lint-native.js,
// fuzz.js, planted-bugs.js.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

/** @returns {string} the folder of node_api.h and uv.h */
function nodeHeaders() {
  const version = process.versions.node;
  const caches = [
    path.join(os.homedir(), '.cache', 'node-gyp'),
    path.join(os.homedir(), 'Library', 'Caches', 'node-gyp'),
    path.join(process.env.LOCALAPPDATA || os.homedir(), 'node-gyp', 'Cache'),
  ];
  const candidates = [
    process.env.npm_config_nodedir && path.join(process.env.npm_config_nodedir, 'include', 'node'),
    path.join(path.dirname(fs.realpathSync(process.execPath)), '..', 'include', 'node'),
    ...caches.map((cache) => path.join(cache, version, 'include', 'node')),
  ];
  const found = candidates.find((folder) => folder && fs.existsSync(path.join(folder, 'uv.h')));
  if (found) return found;
  throw new Error(`the headers of Node.js ${version} were not found: run \`npx node-gyp install\``);
}

module.exports = { nodeHeaders };
