'use strict';

// What users write, under the settings of `tsc --init` and with the compilers of today: see
// test/support/after-init.js. And what they have written for `pg` with @types/pg.

const assert = require('node:assert/strict');
const { Compiler } = require('../support/after-init');
const { PATIENCE_MILLIS, useProjects } = require('./support/projects');

/** By their names in package.json. The one between them is that of `npm run test:types`. */
const COMPILERS = ['typescript-5.9', 'typescript-7'];

for (const name of COMPILERS) {
  const { version } = require(`${name}/package.json`);

  describe(`after tsc --init of TypeScript ${version}`, function () {
    this.timeout(2 * PATIENCE_MILLIS);

    const projects = useProjects();

    /** @returns {Promise<Compiler>} */
    async function makeCompiler() {
      const project = projects.make();
      const compiler = new Compiler(
        project.folder,
        project.path('node_modules', name, 'bin', 'tsc'),
      );
      await compiler.init();
      project.copy('written-for-pg.mts');
      return compiler;
    }

    it('the declarations are what the type tests say', async () => {
      const compiler = await makeCompiler();
      assert.deepEqual(await compiler.typeTests(), []);
    });

    it('the declarations fit the examples', async () => {
      const compiler = await makeCompiler();
      assert.deepEqual(await compiler.examples(), []);
    });

    it('the declarations fit the documentation', async () => {
      const compiler = await makeCompiler();
      assert.deepEqual(await compiler.typeScriptOfPages(), []);
      assert.deepEqual(await compiler.javaScriptOfPages(), []);
    });

    it('what compiles with @types/pg does so with ours', async () => {
      const compiler = await makeCompiler();
      assert.deepEqual(await compiler.compile(['written-for-pg.mts']), []);
      const ours = './node_modules/pg-conduit/lib';
      const paths = { pg: [`${ours}/index.d.ts`], 'pg/lib/*': [`${ours}/paths/*.d.ts`] };
      assert.deepEqual(await compiler.compile(['written-for-pg.mts'], { paths }), []);
    });
  });
}
