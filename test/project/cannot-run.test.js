'use strict';

// What `npm test` tells of tests that cannot run on a machine: never nothing. Run by mocha, on runs of mocha.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const ROOT = path.join(__dirname, '..', '..');
const MOCHA = require.resolve('mocha/bin/mocha.js');

describe('a test that cannot run on this machine', () => {
  /** @type {string} */
  let folder;

  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'cannot-run-test-'));
  });
  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  /**
   * @param {string} code
   * @param {string[]} [options] of mocha
   * @returns {{ status: number | null, stdout: string }} of mocha
   */
  function runTests(code, options = []) {
    const support = JSON.stringify(path.join(ROOT, 'test', 'support', 'cannot-run.js'));
    const write = (name, text) => {
      fs.writeFileSync(path.join(folder, name), text);
      return path.join(folder, name);
    };
    const setup = `const { collectFromWorkers, printNotRun } = require(${support});
      exports.mochaGlobalSetup = function () { if (this.isParallelMode()) collectFromWorkers(); };
      exports.mochaGlobalTeardown = printNotRun;`;
    const tests = `const { cannotRun } = require(${support});\n${code}`;
    const files = ['--require', write('setup.js', setup), write('some.test.js', tests)];
    const args = [MOCHA, '--no-config', ...options, ...files];
    const { status, stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
    return { status, stdout };
  }

  it('is listed in one line after the summary, with its reason', () => {
    const { status, stdout } = runTests(`
      describe('a suite', () => {
        it('runs', () => {});
        it('asks for IPv6', function () { cannotRun(this, 'no IPv6'); });
      });`);
    assert.equal(status, 0);
    assert.match(stdout, /1 passing[^]*1 pending/);
    const [line, ...others] = stdout.split('1 pending')[1].trim().split('\n');
    assert.equal(line, '1 test could not run here: no IPv6 (a suite asks for IPv6)');
    assert.deepEqual(others, []);
  });

  it('is counted with all of its suite when a hook skips it', () => {
    const { status, stdout } = runTests(`
      describe('a suite', () => {
        before(function () { cannotRun(this, 'no root'); });
        it('is one', () => {});
        describe('deep', () => it('is two', () => {}));
      });
      describe('another', () => {
        it('is three', function () { cannotRun(this, 'no root'); });
        it('is four', () => { throw new Error('it runs'); });
      });`);
    assert.equal(status, 1);
    assert.match(
      stdout,
      /3 tests could not run here: no root \(a suite is one; a suite deep is two; another is three\)/,
    );
    assert.match(stdout, /1 failing/);
  });

  it('is listed in the same place when the tests run in several processes', () => {
    const { status, stdout } = runTests(
      `it('asks for IPv6', function () { cannotRun(this, 'no IPv6'); });`,
      ['--parallel', '--jobs', '2'],
    );
    assert.equal(status, 0);
    assert.match(stdout, /1 pending\s+1 test could not run here: no IPv6 \(asks for IPv6\)\s*$/);
  });

  it('is not mentioned when all tests run', () => {
    const { status, stdout } = runTests(`it('runs', () => {});`);
    assert.equal(status, 0);
    assert.doesNotMatch(stdout, /could not run/);
  });
});
