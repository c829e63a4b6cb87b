'use strict';

// A project of somebody who has installed the package: a folder whose node_modules has the checkout.
// Used by tests of what such a one meets.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { connectionString } = require('./connect');
const { Program } = require('./program');

const ROOT = path.join(__dirname, '..', '..');

class Project {
  constructor() {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'project-test-'));
    this.#link(ROOT, 'pg-conduit');
  }

  /** One of the checkout's packages. @param {string} name */
  addPackage(name) {
    this.#link(path.join(ROOT, 'node_modules', name), name);
  }

  /** @param {string} target @param {string} name */
  #link(target, name) {
    const place = path.join(this.folder, 'node_modules', name);
    fs.mkdirSync(path.dirname(place), { recursive: true });
    fs.symlinkSync(target, place, 'junction');
  }

  /** @param {string} file @param {string} code @returns {string} its path */
  write(file, code) {
    const place = path.join(this.folder, file);
    fs.writeFileSync(place, code);
    return place;
  }

  /** Runs the code on the tests' server. @param {string} file @param {string} code */
  start(file, code) {
    this.write(file, code);
    return new Program([file], {
      cwd: this.folder,
      env: { DATABASE_URL: connectionString() },
    });
  }

  remove() {
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

module.exports = { Project, ROOT };
