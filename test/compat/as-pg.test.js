'use strict';

// The tests of these tools, with `pg` in the place of this driver: what they expect is what `pg` does.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const path = require('node:path');
const { promisify } = require('node:util');

const ROOT = path.join(__dirname, '..', '..');
const MOCHA = path.join(ROOT, 'node_modules', 'mocha', 'bin', 'mocha.js');
const SUPPORT = path.join('test', 'compat', 'support');

const TOOLS = [
  'auth-pg-adapter',
  'better-auth',
  'casbin',
  'databases-pg',
  'keyv',
  'langgraph',
  'loopback',
  'lucid',
  'massive',
  'migrations',
  'nestjs',
  'pg-listen',
  'pgtyped',
  'pgvector',
  'postgraphile',
  'rate-limiter-flexible',
  'socket-io',
  'zapatos',
];

describe('the same tests with pg', function () {
  this.timeout(180_000);

  it('pass, too', async () => {
    const required = ['stock.js', 'global.js'].flatMap((name) => [
      '--require',
      path.join(SUPPORT, name),
    ]);
    const files = TOOLS.map((name) => path.join('test', 'compat', `${name}.test.js`));
    const env = { ...process.env, PG_CONDUIT_COMPAT_DRIVER: 'pg' };
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [MOCHA, '--no-config', '--timeout', '60000', ...required, '--reporter', 'json', ...files],
      { cwd: ROOT, env, maxBuffer: 1 << 26 },
    ).catch((error) => assert.fail(`${error.message}\n${error.stdout}`));
    assert.match(stdout, /"failures": 0,/);
  });
});
