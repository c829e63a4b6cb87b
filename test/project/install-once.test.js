'use strict';

// scripts/install-once.js, which brings what `npm install` does not. Run by mocha.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const SCRIPT = path.join(__dirname, '..', '..', 'scripts', 'install-once.js');

describe('a dependency of only some scripts', () => {
  /** @type {string} */
  let folder;

  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'install-once-test-'));
    const part = { name: 'part', version: '1.0.0' };
    const tools = { name: 'some-tools', version: '1.0.0', dependencies: { part: 'file:part' } };
    const packages = { '': tools, part, 'node_modules/part': { resolved: 'part', link: true } };
    fs.mkdirSync(path.join(folder, 'part'));
    const write = (name, content) =>
      fs.writeFileSync(path.join(folder, name), JSON.stringify(content));
    write('package.json', { ...tools, description: 'Something that few need' });
    write('part/package.json', part);
    write('package-lock.json', {
      name: 'some-tools',
      version: '1.0.0',
      lockfileVersion: 3,
      packages,
    });
    fs.writeFileSync(path.join(folder, '.npmrc'), '');
  });
  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  it('is installed once, with a message that says what it is for', () => {
    const run = () => spawnSync(process.execPath, [SCRIPT, folder], { encoding: 'utf8' });
    const first = run();
    assert.equal(first.status, 0, first.stderr);
    assert.match(first.stderr, /^Installing .+, once: Something that few need$/m);
    assert.equal(first.stdout, '');
    const { status, stdout, stderr } = run();
    assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' });
  });
});
