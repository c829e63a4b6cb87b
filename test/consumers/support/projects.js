'use strict';

// A folder for each test with a program in it, and the packages of test/consumers installed. Programs
// ask the run's server, which DATABASE_URL names to them. useProjects() stands first in a describe block.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { connectionString } = require('../../support/connect');
const { runProgram } = require('../../support/outside');

const CONSUMERS = path.join(__dirname, '..');
const PROGRAMS = path.join(CONSUMERS, 'programs');
/** Generous: a bundler may be the first that reads its files from the disk. */
const PATIENCE_MILLIS = 120_000;

class Project {
  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder;
    fs.writeFileSync(this.path('package.json'), '{ "private": true }');
    fs.symlinkSync(path.join(CONSUMERS, 'node_modules'), this.path('node_modules'), 'junction');
  }

  /** @param {string[]} names */
  path(...names) {
    return path.join(this.folder, ...names);
  }

  /** @param {string} file @param {string} code */
  write(file, code) {
    fs.writeFileSync(this.path(file), code);
  }

  /** @param {string} program of programs/ @param {string} [file] its name here */
  copy(program, file = program) {
    fs.copyFileSync(path.join(PROGRAMS, program), this.path(file));
  }

  /**
   * @param {string} command an executable, or the name of one that npm has installed
   * @param {string[]} args
   */
  run(command, args) {
    const bin = this.path('node_modules', '.bin');
    return runProgram(command, args, {
      cwd: this.folder,
      patienceMillis: PATIENCE_MILLIS,
      env: {
        DATABASE_URL: connectionString(),
        PATH: [bin, process.env.PATH].join(path.delimiter),
      },
    });
  }

  /**
   * What must end well, without a word on stderr.
   * @param {string} command @param {string[]} args
   * @returns {Promise<string>} what it printed
   */
  async runWell(command, args) {
    const { code, signal, stdout, stderr } = await this.run(command, args);
    const told = `${command} ${args.join(' ')}\n${stdout}${stderr}`;
    assert.deepEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: '' }, told);
    return stdout.trim();
  }

  /** @param {string[]} args of Node.js */
  runNode(...args) {
    return this.runWell(process.execPath, args);
  }
}

/** @returns {{ make: () => Project }} */
function useProjects() {
  /** @type {string[]} */
  let folders = [];
  afterEach(() => {
    for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true });
    folders = [];
  });
  return {
    make() {
      const folder = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'consumer-'));
      folders.push(folder);
      return new Project(folder);
    },
  };
}

module.exports = { PATIENCE_MILLIS, useProjects };
