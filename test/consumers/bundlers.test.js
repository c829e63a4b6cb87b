'use strict';

// The lines of docs/bundlers.md, as they stand there: what they make must run a query. And what
// somebody is told who has not read them.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { PATIENCE_MILLIS, useProjects } = require('./support/projects');

const PAGE = fs.readFileSync(path.join(__dirname, '..', '..', 'docs', 'bundlers.md'), 'utf8');

/** @param {string} heading @param {string} language @returns {string} the block below the heading */
function blockOf(heading, language) {
  const section = PAGE.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0];
  const block = new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'm').exec(section ?? '');
  assert.ok(block, `docs/bundlers.md has no ${language} block for ${heading}`);
  return block[1].trim();
}

describe('a bundle', function () {
  this.timeout(PATIENCE_MILLIS);

  const projects = useProjects();

  function makeServer() {
    const project = projects.make();
    project.copy('ask.mjs', 'server.js');
    return project;
  }

  /** @param {ReturnType<typeof makeServer>} project @param {string} line `npx ...` */
  async function runLine(project, line) {
    const [npx, command, ...args] = line.split(' ');
    assert.equal(npx, 'npx');
    const { code, stdout, stderr } = await project.run(command, args);
    assert.equal(code, 0, `${line}\n${stdout}${stderr}`);
  }

  /** @param {ReturnType<typeof makeServer>} project @param {string} file what a bundler has made */
  async function assertOutside(project, file) {
    const code = fs.readFileSync(project.path(file), 'utf8');
    assert.match(code, /(require\(|from ?)['"]pg-conduit['"]/);
    assert.doesNotMatch(code, /node-gyp-build|class Pool/);
    assert.equal(await project.runNode(file), '42');
  }

  for (const [name, file] of [
    ['esbuild', 'dist/server.js'],
    ['Rollup', 'dist/server.js'],
    ['Vite', 'dist/server.mjs'],
  ]) {
    it(`of ${name} answers`, async () => {
      const project = makeServer();
      await runLine(project, blockOf(name, 'sh'));
      await assertOutside(project, file);
    });
  }

  it('of webpack answers', async () => {
    const project = makeServer();
    project.write('webpack.config.js', blockOf('webpack', 'js'));
    await runLine(project, 'npx webpack');
    await assertOutside(project, 'dist/main.js');
  });

  it('of Vite answers, if all other packages are inside', async () => {
    const project = makeServer();
    project.write('vite.config.mjs', blockOf('Vite', 'js'));
    await runLine(project, blockOf('Vite', 'sh'));
    await assertOutside(project, 'dist/server.mjs');
  });

  describe('without the line', () => {
    const MESSAGE = /pg-conduit was put into a bundle.*--external:pg-conduit.*docs\/bundlers\.md/;

    it('of esbuild tells it', async () => {
      const project = makeServer();
      const line = blockOf('esbuild', 'sh').replace(' --external:pg-conduit', '');
      await runLine(project, line);
      const { code, stderr } = await project.run(process.execPath, ['dist/server.js']);
      assert.equal(code, 1);
      assert.match(stderr, MESSAGE);
    });

    it('of webpack tells it', async () => {
      const project = makeServer();
      const config = blockOf('webpack', 'js').replace(/^ *externals.*\n/m, '');
      project.write('webpack.config.js', config);
      await runLine(project, 'npx webpack');
      const { code, stderr } = await project.run(process.execPath, ['dist/main.js']);
      assert.equal(code, 1);
      assert.match(stderr, MESSAGE);
    });
  });
});
