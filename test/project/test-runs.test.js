'use strict';

// How `npm test` runs the tests: which files, in how many processes, and that a rejection which nobody handles fails the
// test it is in (test/support/global.js, all.mocharc.js). Run by mocha, on runs of mocha.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const ROOT = path.join(__dirname, '..', '..');
const MOCHA = require.resolve('mocha/bin/mocha.js');

describe('npm test', () => {
  /** What mocha is told when these stand behind `npm test --`. */
  function configure(args, env = {}) {
    const print = `console.log(JSON.stringify(require('./test/support/all.mocharc.js')))`;
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', print, '--', 'mocha', ...args], {
      cwd: ROOT,
      encoding: 'utf8',
      env: { ...process.env, PG_CONDUIT_DATABASE_URL: undefined, ...env },
    });
    assert.equal(stderr, '');
    return JSON.parse(stdout);
  }

  it('runs every file of the folders without a command of their own, in several processes', () => {
    const { spec, parallel } = configure(['--grep', 'pool']);
    assert.equal(parallel, true);
    const names = spec.map((file) => path.relative(path.join(ROOT, 'test'), file));
    for (const name of ['pool/pool.test.js', 'client/leaks.test.js', 'project/test-runs.test.js']) {
      assert.equal(names.filter((one) => one === path.normalize(name)).length, 1, name);
    }
    for (const name of names) {
      assert.ok(fs.existsSync(path.join(ROOT, 'test', name)), name);
      assert.doesNotMatch(name, /^(compat|consumers|fleet|install|long|support|types)\b/);
    }
  });

  it('runs a single named file in one process', () => {
    const { spec, parallel } = configure(['test/pool/pool.test.js']);
    assert.deepEqual({ spec, parallel }, { spec: [], parallel: false });
  });

  it('runs in one process on a server from the environment, which all tests share', () => {
    const { spec, parallel } = configure([], { PG_CONDUIT_DATABASE_URL: 'postgresql:///shop' });
    assert.equal(parallel, false);
    assert.ok(spec.length > 100);
  });

  for (const args of [[], ['--parallel', '--jobs', '1']]) {
    it(`fails the test in which a rejection is left unhandled: ${args[0] ?? 'one process'}`, () => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'test-runs-'));
      try {
        const hooks = JSON.stringify(path.join(ROOT, 'test', 'support', 'global.js'));
        fs.writeFileSync(
          path.join(folder, 'setup.js'),
          `exports.mochaHooks = require(${hooks}).mochaHooks;`,
        );
        const rejecting = `
          const { setTimeout: delay } = require('node:timers/promises');
          it('is fine', () => delay(1));
          it('rejects', async () => { Promise.reject(new Error('forgotten')); await delay(50); });`;
        // A worker has the second file after the first.
        for (const name of ['a.test.js', 'b.test.js']) {
          fs.writeFileSync(path.join(folder, name), rejecting);
        }
        const { status, stdout } = spawnSync(
          process.execPath,
          [MOCHA, '--no-config', '--require', './setup.js', ...args, '*.test.js'],
          { cwd: folder, encoding: 'utf8' },
        );
        // On a machine that is busy mocha may report one of them twice, the second time for its late end.
        assert.match(stdout, /2 passing[^]*[2-4] failing/);
        assert.equal(stdout.match(/Error: forgotten/g)?.length, 2, stdout);
        assert.notEqual(status, 0);
      } finally {
        fs.rmSync(folder, { recursive: true });
      }
    });
  }
});
