'use strict';

// The package as it would be published, and a project outside of the roots that has it installed.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const ROOT = path.join(__dirname, '..', '..', '..');

/** @type {string | undefined} */
let folder;
/** @type {{ file: string, size: number, files: string[] } | undefined} */
let packed;

/** @param {string[]} args @param {string} cwd */
function npm(args, cwd) {
  return execFileSync('npm', [...args, '--loglevel=error'], { cwd, encoding: 'utf8' });
}

/** @returns {string} for the files of this process */
function temporary() {
  if (folder === undefined) {
    const made = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-packed-'));
    process.once('exit', () => fs.rmSync(made, { recursive: true, force: true }));
    folder = made;
  }
  return folder;
}

/** Runs `npm pack`, once. */
function pack() {
  if (packed === undefined) {
    const destination = temporary();
    const args = [
      'pack',
      '--json',
      '--foreground-scripts=false',
      '--pack-destination',
      destination,
    ];
    const [{ filename, size, files }] = /** @type {any[]} */ (
      Object.values(JSON.parse(npm(args, ROOT)))
    );
    packed = { file: path.join(destination, filename), size, files: files.map((one) => one.path) };
  }
  return packed;
}

/** @returns {string} a project that has it installed, made once */
function installedProject() {
  const project = path.join(temporary(), 'project');
  if (!fs.existsSync(project)) {
    fs.mkdirSync(project);
    fs.writeFileSync(path.join(project, 'package.json'), '{ "private": true }\n');
    npm(['install', '--no-audit', '--no-fund', pack().file], project);
  }
  return project;
}

module.exports = { installedProject, pack };
