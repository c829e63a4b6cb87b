'use strict';

// CommonJS, ES modules, worker threads and processes of node:cluster, with the package as npm would
// install it.

const assert = require('node:assert/strict');
const { PATIENCE_MILLIS, useProjects } = require('./support/projects');

const PATHS = ['client', 'connection', 'connection-parameters', 'defaults']
  .concat(['query', 'result', 'type-overrides', 'utils'])
  .flatMap((name) => [name, `${name}.js`]);

describe('the installed package', function () {
  this.timeout(PATIENCE_MILLIS);

  const projects = useProjects();

  for (const program of ['ask.cjs', 'ask.mjs']) {
    it(`answers ${program}`, async () => {
      const project = projects.make();
      project.copy(program);
      assert.equal(await project.runNode(program), '42');
    });
  }

  it('gives an ES module by name all that require() gives', async () => {
    const project = projects.make();
    project.write(
      'names.mjs',
      `import * as all from 'pg-conduit';
      import { createRequire } from 'node:module';
      const required = createRequire(import.meta.url)('pg-conduit');
      const missing = Object.keys(required).filter((name) => all[name] !== required[name]);
      console.log(JSON.stringify([missing, all.default === required]));`,
    );
    assert.deepEqual(JSON.parse(await project.runNode('names.mjs')), [[], true]);
  });

  it('has the deep paths of pg, for both', async () => {
    const project = projects.make();
    project.write(
      'paths.mjs',
      `import { createRequire } from 'node:module';
      const require = createRequire(import.meta.url);
      const same = [];
      for (const name of ${JSON.stringify(PATHS)}) {
        const { default: imported } = await import('pg-conduit/lib/' + name);
        same.push(imported === require('pg-conduit/lib/' + name));
      }
      console.log(same.every(Boolean), same.length);`,
    );
    assert.equal(await project.runNode('paths.mjs'), `true ${PATHS.length}`);
  });

  it('answers in several threads at once', async () => {
    const project = projects.make();
    project.copy('threads.mjs');
    assert.equal(await project.runNode('threads.mjs'), '[200,200,200,200,200]');
  });

  it('answers in several processes of node:cluster', async () => {
    const project = projects.make();
    project.copy('cluster.mjs');
    const printed = JSON.parse(await project.runNode('cluster.mjs'));
    assert.deepEqual(printed, { answers: 40, processes: 2, codes: [0, 0] });
  });
});
