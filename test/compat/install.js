'use strict';

// Installs the tools of this folder, with the project in the place of `pg` for all of them, when
// that was not done yet, and brings the copy of the project up to date. `npm run test:compat`
// calls it.

const { execFileSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '..', '..');
const MODULES = path.join(__dirname, 'node_modules');
const COPY = path.join(MODULES, 'pg');
const STAMP = path.join(MODULES, '.installed');
const ADDON = path.join('build', 'Release', 'pg_conduit.node');

function installTools() {
  const hash = createHash('sha256');
  for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
    hash.update(fs.readFileSync(path.join(__dirname, name)));
  }
  const wanted = hash.digest('hex');
  if (fs.existsSync(STAMP) && fs.readFileSync(STAMP, 'utf8') === wanted) return;
  const isWindows = process.platform === 'win32';
  const options = { cwd: __dirname, stdio: ['ignore', 'inherit', 'inherit'], shell: isWindows };
  execFileSync('npm', ['ci', '--no-progress', '--loglevel=error'], options);
  fs.writeFileSync(STAMP, wanted);
}

/** What a published package has; the addon from the checkout, where it is built. */
function refreshCopy() {
  fs.rmSync(path.join(COPY, 'lib'), { recursive: true });
  for (const name of ['lib', 'package.json', ADDON]) {
    fs.cpSync(path.join(ROOT, name), path.join(COPY, name), { recursive: true });
  }
}

installTools();
refreshCopy();
