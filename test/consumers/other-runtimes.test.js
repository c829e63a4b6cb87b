'use strict';

// Runtimes that cannot load the addon: they are told so, and do not crash.

const assert = require('node:assert/strict');
const { createRequire } = require('node:module');
const fs = require('node:fs');
const path = require('node:path');
const { PATIENCE_MILLIS, useProjects } = require('./support/projects');

/**
 * The package that holds a runtime's executable, chosen by npm for this platform.
 * @param {string} name whose optional dependencies it is one of
 * @param {string} executable
 */
function findExecutable(name, executable) {
  const manifest = require.resolve(`${name}/package.json`);
  const { optionalDependencies } = require(manifest);
  const folders = createRequire(manifest).resolve.paths(name);
  for (const each of Object.keys(optionalDependencies)) {
    const files = folders.map((folder) => path.join(folder, each, executable));
    const file = files.find((candidate) => fs.existsSync(candidate));
    if (file !== undefined) return file;
  }
  throw new Error(`${name} has no ${executable} for ${process.platform}-${process.arch}`);
}

describe('another runtime', function () {
  this.timeout(PATIENCE_MILLIS);

  const projects = useProjects();

  for (const [name, executable, args] of [
    ['bun', 'bin/bun', ['run']],
    ['deno', 'deno', ['run', '--allow-all', '--no-lock']],
  ]) {
    for (const program of ['ask.mjs', 'ask.cjs']) {
      it(`is told that it cannot be: ${name}, ${program}`, async () => {
        const project = projects.make();
        project.copy(program);
        const run = await project.run(findExecutable(name, executable), [...args, program]);
        assert.deepEqual({ code: run.code, signal: run.signal }, { code: 1, signal: null });
        assert.match(run.stderr, /pg-conduit runs on Node\.js only/);
        assert.equal(run.stdout, '');
      });
    }
  }
});
