'use strict';

// A machine with Node.js, npm and nothing else: no compiler, no Python, no PostgreSQL, no OpenSSL. The
// package installs there without a word, and talks with a server over TLS.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const { Authority } = require('../support/certificates');
const { TlsServer } = require('../support/tls-server');
const { PAIRS, placeNode } = require('./support/npm');
const { pack } = require('./support/packed');
const { PROJECT, assertAnswered, runQuery } = require('./support/query');
const { Root } = require('./support/roots');

const MEGABYTES = 1e6;

describe('the packed package', function () {
  this.timeout(120_000);

  it('has its binaries, and less than 5 MB', () => {
    const { size, files } = pack();
    console.log(`      packed: ${(size / MEGABYTES).toFixed(2)} MB, ${files.length} files`);
    assert.ok(size < 5 * MEGABYTES, `${size} bytes`);
    assert.deepEqual(
      files.filter((name) => name.endsWith('.node')).sort(),
      ['arm64', 'x64'].flatMap((arch) =>
        ['glibc', 'musl'].map((libc) => `prebuilds/linux-${arch}/pg-conduit.${libc}.node`),
      ),
    );
  });
});

for (const pair of PAIRS) {
  const title = `a bare machine with ${pair.npm.replace('-', ' ')} and ${pair.node.name}`;
  describe(title, function () {
    // The root is made the first time.
    this.timeout(600_000);

    /** @type {TlsServer} */
    let server;
    /** @type {Root} */
    let root;
    /** @type {Record<string, string>} */
    let env;

    const npm = (...args) =>
      root.runIn(PROJECT, ['npm', ...args, '--no-audit', '--no-fund'], { env });

    before(async () => {
      root = new Root('bare');
      env = placeNode(root, pair);
      root.copy(pack().file, '/pg-conduit.tgz');
      root.write(`${PROJECT}/package.json`, '{ "private": true }\n');
      server = await TlsServer.start();
    });

    after(async () => {
      await server?.stop();
      root?.remove();
    });

    it('lacks what a build would need', async () => {
      for (const program of ['cc', 'c++', 'make', 'python3', 'pg_config', 'openssl']) {
        const { code } = await root.run(['sh', '-c', `command -v ${program}`]);
        assert.notEqual(code, 0, program);
      }
    });

    it('installs it without a word about scripts, or about anything', async () => {
      const { code, stdout, stderr } = await npm('install', '/pg-conduit.tgz');
      assert.equal(code, 0, stderr);
      assert.equal(stderr, '');
      assert.match(stdout, /^\s*added \d+ packages in \S+\s*$/);
    });

    it('runs a query over TLS', async () => {
      const answer = await runQuery(root, server);
      const { version } = assertAnswered(answer, 'prebuilds/linux-x64/pg-conduit.glibc.node');
      assert.ok(pair.node.name.startsWith(`Node.js ${version.slice(1).split('.')[0]}`), version);
    });

    it('refuses a server that it cannot verify', async () => {
      const stranger = new Authority('a stranger');
      const given = { ssl: server.ssl({ ca: stranger.cert }) };
      stranger.remove();
      const { code, stdout, stderr } = await runQuery(root, server, { given });
      assert.equal(code, 1);
      assert.equal(stdout, '');
      assert.match(stderr, /SELF_SIGNED_CERT_IN_CHAIN/);
    });

    it('tells by its command what is at the other end', async () => {
      const url = 'postgresql://nobody@127.0.0.1:1/none';
      const { code, stdout, stderr } = await root.runIn(
        PROJECT,
        ['npx', 'pg-conduit', 'check', url],
        { env },
      );
      assert.equal(code, 1, stderr);
      assert.match(stdout, /ECONNREFUSED .+: refused: nothing/);
    });

    it('tells what is missing when one builds nevertheless', async () => {
      const run = await root.runIn(PROJECT, ['npx', 'pg-conduit', 'build'], { env });
      assert.equal(run.code, 1);
      assert.match(
        run.stderr,
        /This machine lacks a C compiler \(cc\), a C\+\+ compiler \(g\+\+\), /,
      );
    });

    it('would have told of a script: npm does so of another package', async () => {
      const manifest = { name: 'scripted', version: '1.0.0', scripts: { install: 'node -e 0' } };
      root.write('/scripted/package.json', JSON.stringify(manifest));
      const packed = await root.runIn('/scripted', ['npm', 'pack'], { env });
      assert.equal(packed.code, 0, packed.stderr);
      const { stderr } = await npm('install', '/scripted/scripted-1.0.0.tgz');
      assert.match(stderr, /install scripts?/i);
      assert.ok(fs.existsSync(root.path(`${PROJECT}/node_modules/scripted`)));
    });
  });
}
