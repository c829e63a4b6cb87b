'use strict';

// The version of an installed package, also of one whose exports hide its package.json. Used by the
// drivers and the tools.

const { readFileSync } = require('node:fs');
const path = require('node:path');

/** @param {string} name @param {string} [from] a folder that sees the package, if not this one */
function packageVersion(name, from = __dirname) {
  let folder = path.dirname(require.resolve(name, { paths: [from] }));
  for (;;) {
    try {
      const found = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
      // Folders inside a package may have a package.json too, which only tells the module type.
      if (found.name === name) return found.version;
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
    }
    const parent = path.dirname(folder);
    if (parent === folder) throw new Error(`No package.json of ${name}`);
    folder = parent;
  }
}

module.exports = { packageVersion };
