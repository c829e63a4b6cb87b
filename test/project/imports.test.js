'use strict';

// The rules for what lib/ imports (tools/imports/rules.cjs), with what they forbid planted in a copy of it.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const ROOT = path.join(__dirname, '..', '..');
const LINT = path.join(ROOT, 'scripts', 'lint-imports.js');

describe('The imports of lib/', function () {
  this.timeout(120_000);

  /** @type {string} */
  let folder;

  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-'));
    fs.cpSync(path.join(ROOT, 'lib'), path.join(folder, 'lib'), { recursive: true });
  });

  after(() => fs.rmSync(folder, { recursive: true }));

  /** @param {string} file @param {string} text */
  const plant = (file, text) => fs.appendFileSync(path.join(folder, 'lib', file), `${text}\n`);

  it('go downward, through doors, and in no cycle, and others fail the check', () => {
    plant('query/deadline.js', "/** @typedef {import('../client').Client} Client */");
    plant('rows/result.js', "require('../pool');");
    plant('client.js', "require('./pool');");
    plant('client/client.js', "require('../connection/outbox');");
    plant('base/bytes.js', "require('./escape');");
    plant('base/escape.js', "require('./bytes');");
    const { stdout, status } = spawnSync(process.execPath, [LINT, folder], { encoding: 'utf8' });
    assert.notEqual(status, 0);
    for (const found of [
      /upward-from-query: lib\/query\/deadline\.js → lib\/client\.js/,
      /upward-from-rows: lib\/rows\/result\.js → lib\/pool\/index\.js/,
      /upward-from-client: lib\/client\.js → lib\/pool\/index\.js/,
      /past-a-door: lib\/client\/client\.js → lib\/connection\/outbox\.js/,
      /circular: lib\/base\/bytes\.js →/,
    ]) {
      assert.match(stdout, found);
    }
  });
});
