'use strict';

// What lib/ imports, by the rules of tools/imports/rules.cjs. A part of `npm run lint`.
//   node scripts/lint-imports.js [--drawing FILE.svg] [FOLDER]
// --drawing draws the folders and their imports; FOLDER is where lib/ lies, the project without it.

const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { parseArgs } = require('node:util');
const { findTool, installOnce } = require('./install-once');

const ROOT = path.join(__dirname, '..');
const TOOL = path.join(ROOT, 'tools', 'imports');
const PROGRAM = path.join(
  TOOL,
  'node_modules',
  'dependency-cruiser',
  'bin',
  'dependency-cruise.mjs',
);

/** @param {string[]} args @returns {string[]} a command line of dependency-cruiser */
function cruise(...args) {
  return [PROGRAM, '--config', path.join(TOOL, 'rules.cjs'), '--no-cache', ...args, 'lib'];
}

/** @param {string} cwd @param {string} file */
async function draw(cwd, file) {
  const folders = cruise('--include-only', '^lib/', '--collapse', '^lib/[^/]+/', '-T', 'dot');
  const dot = execFileSync(process.execPath, folders, { cwd, encoding: 'utf8' });
  const { instance } = await import(pathToFileURL(findTool('imports', '@viz-js/viz')).href);
  const viz = await instance();
  fs.writeFileSync(file, viz.renderString(dot, { format: 'svg' }));
}

async function main() {
  const { values, positionals } = parseArgs({
    options: { drawing: { type: 'string' } },
    allowPositionals: true,
  });
  const [cwd = ROOT] = positionals;
  installOnce(TOOL);
  if (values.drawing !== undefined) await draw(cwd, path.resolve(values.drawing));
  const { status } = spawnSync(process.execPath, cruise(), { cwd, stdio: 'inherit' });
  process.exitCode = status ?? 1;
}

main();
