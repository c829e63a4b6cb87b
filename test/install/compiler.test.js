'use strict';

// A machine of a platform without a prebuilt binary, but with a compiler, make and Python: what it says
// first, the one command, and a query over TLS with what that has made, without a network.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const { TlsServer } = require('../support/tls-server');
const { PAIRS, placeNode } = require('./support/npm');
const { pack } = require('./support/packed');
const { PROJECT, assertAnswered, runQuery } = require('./support/query');
const { Root } = require('./support/roots');

for (const pair of PAIRS) {
  const title = `a machine with a compiler, ${pair.npm.replace('-', ' ')} and ${pair.node.name}`;
  describe(title, function () {
    // The root is made the first time.
    this.timeout(600_000);

    /** @type {TlsServer} */
    let server;
    /** @type {Root} */
    let root;
    /** @type {Record<string, string>} */
    let env;

    const inProject = (command, isOffline = false) =>
      root.runIn(PROJECT, command, { env, isOffline });

    before(async () => {
      root = new Root('compiler');
      env = placeNode(root, pair, { hasHeaders: true });
      root.copy(pack().file, '/pg-conduit.tgz');
      root.write(`${PROJECT}/package.json`, '{ "private": true }\n');
      server = await TlsServer.start();
      const { code, stderr } = await inProject(['npm', 'install', '/pg-conduit.tgz', '--no-audit']);
      assert.equal(code, 0, stderr);
      const prebuilds = root.path(`${PROJECT}/node_modules/pg-conduit/prebuilds`);
      fs.rmSync(prebuilds, { recursive: true });
    });

    after(async () => {
      await server?.stop();
      root?.remove();
    });

    it('says what it lacks, and the command that helps', async () => {
      const { code, stderr } = await runQuery(root, server);
      assert.equal(code, 1);
      assert.match(
        stderr,
        /pg-conduit has no binary for linux-x64 \(glibc\)\. Run `npx pg-conduit build`/,
      );
    });

    it('tells where headers may lie when Node.js came without any, and no network is there', async () => {
      const headers = root.path('/usr/local/include/node');
      fs.renameSync(headers, `${headers}-away`);
      const { code, stderr } = await inProject(['npx', 'pg-conduit', 'build'], true);
      fs.renameSync(`${headers}-away`, headers);
      assert.equal(code, 1);
      assert.match(stderr, /Without a network set npm_config_nodedir to a folder that has them/);
    });

    it('builds from what is in the package, without a network', async () => {
      const { code, stdout, stderr } = await inProject(['npx', 'pg-conduit', 'build'], true);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /compiling with the bundled libpq 18\.\d+/);
      assert.match(stdout, /built build\/Release\/pg_conduit\.node \(\d+ KB\)/);
    });

    it('then runs a query over TLS', async () => {
      assertAnswered(await runQuery(root, server), 'build/Release/pg_conduit.node');
    });
  });
}
