'use strict';

// Tests that know nothing of a pooler, run through one: who gets which answer, what a promise tells, and
// the model test (npm run test:stress -- --pooler …), without what a pooler cannot do.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const path = require('node:path');
const { quote } = require('../support/child-mocha');
const { KINDS, startPooler, startServerBehind } = require('../support/poolers');

const ROOT = path.join(__dirname, '..', '..');
const PATIENCE_MILLIS = 120_000;

/** @param {string[]} args @param {Record<string, string>} [env] */
function runNode(args, env = {}) {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => (output += data));
  }
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MILLIS);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, output });
    });
  });
}

describe('through PgBouncer', function () {
  this.timeout(2 * PATIENCE_MILLIS);

  // 1.18 loses the rest of a large message whose client had to wait for a session, and lets
  // the server read on in the middle of it.
  const withoutLarge = ['--invert', '--grep', 'both ways'];

  for (const [key, poolMode, without = []] of /** @type {[string, any, string[]?][]} */ ([
    // In transaction mode it was seen to close a connection with many queries in flight; one at a
    // time is tested in pgbouncer.test.js.
    ['old', 'session', withoutLarge],
    ['newer', 'transaction'],
    ['newer', 'session'],
    ['newer', 'statement'],
    ['forgetful', 'transaction'],
  ])) {
    const kind = KINDS[key];

    it(`${kind.name}, in ${poolMode} mode: every promise gets its own answer`, async () => {
      const server = await startServerBehind();
      // The tests give a search_path at the start, which the server has anyway.
      const settings = { ignore_startup_parameters: 'options' };
      const pooler = await startPooler(server, kind, { poolMode, settings });
      try {
        const mocha = require.resolve('mocha/bin/mocha.js');
        const { code, output } = await runNode(
          [mocha, 'test/client/attribution.test.js', ...without],
          {
            PG_CONDUIT_DATABASE_URL: pooler.connectionString,
          },
        );
        assert.equal(code, 0, quote(output));
      } finally {
        await pooler.stop();
        await server.stop();
      }
    });
  }

  for (const pooler of ['newer:transaction', 'newer:session', 'forgetful:transaction']) {
    it(`${pooler}: the model test finds nothing`, async () => {
      const args = ['--seconds', '8', '--pooler', pooler];
      const { code, output } = await runNode(['test/stress/run.js', ...args]);
      assert.equal(code, 0, quote(output));
    });
  }
});
