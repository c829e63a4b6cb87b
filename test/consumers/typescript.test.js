'use strict';

// The declarations as compilers of several ages find them, by each way of looking for modules, and what
// comes out of them run. What the declarations say is the subject of test/types/.

const assert = require('node:assert/strict');
const { PATIENCE_MILLIS, useProjects } = require('./support/projects');

/** By their names in package.json. */
const COMPILERS = ['typescript-5', 'typescript', 'typescript-7'];
const STRICT = ['--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--types', 'node'];
const PRINTED = '42\n22012\ntrue 42 db.test 6543 "a b"';

for (const compiler of COMPILERS) {
  describe(`${compiler} ${require(`${compiler}/package.json`).version}`, function () {
    this.timeout(PATIENCE_MILLIS);

    const projects = useProjects();
    const compilerPath = ['node_modules', compiler, 'bin', 'tsc'];

    for (const resolution of ['node16', 'nodenext']) {
      it(`compiles ES modules and CommonJS with moduleResolution ${resolution}`, async () => {
        const project = projects.make();
        for (const program of ['typed.mts', 'typed.cts']) project.copy(program);
        await project.runNode(
          project.path(...compilerPath),
          ...STRICT,
          ...['--module', resolution, '--moduleResolution', resolution, 'typed.mts', 'typed.cts'],
        );
        assert.equal(await project.runNode('typed.mjs'), PRINTED);
        assert.equal(await project.runNode('typed.cjs'), PRINTED);
      });
    }

    it('compiles for a bundler with moduleResolution bundler', async () => {
      const project = projects.make();
      project.copy('typed.mts', 'typed.ts');
      await project.runNode(
        project.path(...compilerPath),
        ...STRICT,
        ...['--module', 'esnext', '--moduleResolution', 'bundler', '--outDir', 'out', 'typed.ts'],
      );
      const bundled = project.path('bundled.cjs');
      await project.runWell('esbuild', [
        ...['out/typed.js', '--bundle', '--platform=node', '--log-level=warning'],
        ...['--external:pg-conduit', `--outfile=${bundled}`],
      ]);
      assert.equal(await project.runNode(bundled), PRINTED);
    });

    it('tells what the package does not have', async () => {
      const project = projects.make();
      project.write(
        'wrong.mts',
        `import { Pool, Bool } from 'pg-conduit';
        import Native from 'pg-conduit/lib/native';
        new Pool({ max: 'many' });
        console.log(Bool, Native);`,
      );
      const { code, stdout } = await project.run(process.execPath, [
        project.path(...compilerPath),
        ...STRICT,
        ...['--noEmit', '--module', 'node16', '--moduleResolution', 'node16', 'wrong.mts'],
      ]);
      const errors = [...stdout.matchAll(/wrong\.mts.*error (TS\d+)/g)].map(([, name]) => name);
      assert.ok(code > 0);
      assert.deepEqual(errors.sort(), ['TS2305', 'TS2307', 'TS2322'], stdout);
    });
  });
}
