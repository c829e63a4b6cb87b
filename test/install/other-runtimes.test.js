'use strict';

// Bun and Deno cannot run it, and say so instead of crashing.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { tool } = require('./support/npm');
const { installedProject } = require('./support/packed');

const RUNTIMES = [
  { name: 'Bun', package: '@oven/bun-linux-x64', binary: 'bin/bun', args: ['run'] },
  { name: 'Deno', package: '@deno/linux-x64-glibc', binary: 'deno', args: ['run', '--allow-all'] },
];
const FORMS = {
  'load.cjs': `require('pg-conduit');`,
  'load.mjs': `import 'pg-conduit';`,
};

for (const runtime of RUNTIMES) {
  describe(runtime.name, function () {
    this.timeout(300_000);

    for (const [file, code] of Object.entries(FORMS)) {
      it(`is refused in words: ${code}`, () => {
        const cwd = installedProject();
        fs.writeFileSync(path.join(cwd, file), code);
        const binary = path.join(tool(runtime.package), runtime.binary);
        fs.chmodSync(binary, 0o755);
        const { status, signal, stdout, stderr } = spawnSync(binary, [...runtime.args, file], {
          cwd,
          encoding: 'utf8',
        });
        assert.equal(signal, null, 'crashed');
        assert.equal(status, 1, stdout);
        assert.match(stderr, /pg-conduit runs on Node\.js only: Bun has no .+ and Deno does not /);
      });
    }
  });
}
