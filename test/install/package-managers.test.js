'use strict';

// Every package manager, on a machine without a compiler: the first install, an install from the lock file,
// the install of a CI, and a later install of something else. None of them compiles or warns. (With a
// binding.gyp at the root of the package each of them compiles in at least one of these four.)

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { MANAGERS, placeManager } = require('./support/managers');
const { pack } = require('./support/packed');
const { PROJECT } = require('./support/query');
const { Root } = require('./support/roots');

const MANIFEST = { name: 'app', version: '1.0.0', license: 'MIT', private: true };
/** Small, and without dependencies or scripts. */
const OTHER = 'ms@2.1.3';
/** What any of them says when it compiles, fails at that, or complains. */
const COMPLAINT = /gyp|compil|rebuil|must be built|\bwarn|\berr(?:or)?\b|deprecat|build scripts/i;
/** Which finds the binary. */
const DEPENDENCY = 'node-gyp-build';
/** What managers make besides a lock file. */
const INSTALLED = ['node_modules', '.yarn', '.pnp.cjs', '.pnp.loader.mjs'];

/** @param {string} folder @returns {string[]} what only a compiler makes */
function compiled(folder) {
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => /\.(?:o|a|mk)$/.test(entry.name))
    .map((entry) => path.join(entry.parentPath, entry.name));
}

for (const manager of MANAGERS) {
  describe(`${manager.name} on a machine without a compiler`, function () {
    // The root is made the first time.
    this.timeout(600_000);

    /** @type {Root} */
    let root;
    /** @type {Record<string, string>} */
    let env;

    before(() => {
      root = new Root('bare');
      env = placeManager(root, manager);
      root.copy(pack().file, '/pg-conduit.tgz');
      root.write(`${PROJECT}/package.json`, `${JSON.stringify(MANIFEST)}\n`);
      for (const [name, content] of Object.entries(manager.files ?? {})) {
        root.write(`${PROJECT}/${name}`, content);
      }
    });

    after(() => root?.remove());

    /** @param {string[]} command */
    async function assertQuiet(command) {
      const { code, stdout, stderr } = await root.runIn(PROJECT, command, { env });
      const said = `${stdout}${stderr}`;
      assert.equal(code, 0, said);
      const lines = said.replaceAll(DEPENDENCY, '').split('\n');
      const complaints = lines.filter((line) => COMPLAINT.test(line));
      assert.deepEqual(complaints, [], said);
      assert.deepEqual(compiled(root.path(PROJECT)), []);
    }

    async function assertLoads() {
      const code = 'const { Pool } = require("pg-conduit"); console.log(typeof Pool)';
      const node = fs.existsSync(root.path(`${PROJECT}/.pnp.cjs`))
        ? ['node', '--require', './.pnp.cjs']
        : ['node'];
      const run = await root.runIn(PROJECT, [...node, '-e', code], { env });
      assert.equal(run.stderr, '');
      assert.equal(run.stdout, 'function\n');
    }

    const removeInstalled = () => {
      for (const name of INSTALLED) {
        fs.rmSync(root.path(`${PROJECT}/${name}`), { recursive: true, force: true });
      }
    };

    it('installs it, and writes a lock file', async () => {
      await assertQuiet([...manager.add, '/pg-conduit.tgz']);
      await assertLoads();
      const names = fs.readdirSync(root.path(PROJECT));
      assert.ok(names.some((name) => manager.lockFile.test(name)));
    });

    it('installs it again from the lock file', async () => {
      removeInstalled();
      await assertQuiet(manager.install);
      await assertLoads();
    });

    it('installs it as a CI does', async () => {
      removeInstalled();
      await assertQuiet(manager.ci);
      await assertLoads();
    });

    it('installs something else later', async () => {
      await assertQuiet([...manager.add, OTHER]);
      await assertLoads();
      // And once more from nothing but the lock file that this has left.
      removeInstalled();
      await assertQuiet(manager.ci);
      await assertLoads();
    });
  });
}
