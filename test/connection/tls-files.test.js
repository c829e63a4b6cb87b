'use strict';

// Certificates and keys in memory, which libpq takes as files only: where they can be seen, and that
// nothing of them remains, however a connection or the process ends. And a key in a file whose
// passphrase is missing. In child processes with a folder of their own for temporary files.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { libpqVersion } = require('../../lib/native/binding');
const { runFixture } = require('../support/outside');
const { TlsServer } = require('../support/tls-server');

describe('Keys in memory', function () {
  this.timeout(60000);

  /** @type {TlsServer} */
  let server;
  let options;
  let folder;

  before(async () => {
    server = await TlsServer.start();
    const { cert, key } = server.authority.issue('by_certificate');
    options = server.options({ user: 'by_certificate', ssl: server.ssl({ cert, key }) });
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-'));
  });
  after(async () => {
    fs.rmSync(folder, { recursive: true });
    await server.stop();
  });

  /** @param {string} task @param {Record<string, string>} env */
  async function run(task, env) {
    const args = [task, JSON.stringify(options)];
    const ended = await runFixture('tls-files.js', { args, env: { TMPDIR: folder, ...env } });
    assert.deepEqual(fs.readdirSync(folder), []);
    assert.equal(ended.stderr, '');
    return { ...ended, result: ended.stdout === '' ? undefined : JSON.parse(ended.stdout) };
  }

  const NOTHING = { descriptors: 0, files: [] };

  for (const [where, env, descriptors] of [
    ['as files without a folder', {}, 3],
    ['in a folder', { PG_CONDUIT_TLS_FILES: 'folder' }, 0],
  ]) {
    describe(where, () => {
      it('serve all connections with the same keys, and cancel requests, and are deleted afterwards', async () => {
        const { result } = await run('used', env);
        assert.deepEqual(result.connected, { descriptors, files: [] });
        assert.deepEqual(result.modes, Array(descriptors).fill('600'));
        assert.deepEqual(result.outcomes, ['not-run']);
        assert.deepEqual(result.ended, NOTHING);
      });

      it('are deleted when the connection is refused', async () => {
        const { result } = await run('refused', env);
        assert.deepEqual(result, { code: 'ERR_TLS_CERT_ALTNAME_INVALID', ...NOTHING });
      });

      it('are in no folder during a handshake, and are deleted when it is aborted', async () => {
        const { result } = await run('given up', env);
        assert.deepEqual(result.during, { descriptors, files: [] });
        assert.deepEqual(result.after, NOTHING);
        assert.equal(result.message, 'Connection terminated');
      });

      it('are deleted by process.exit() in the middle of a handshake', async () => {
        assert.equal((await run('exits', env)).code, 7);
      });

      it('are deleted by kill -9 in the middle of a handshake', async () => {
        assert.equal((await run('killed', env)).signal, 'SIGKILL');
      });

      it('are deleted with a worker thread, connected or in the middle of a handshake', async () => {
        const { result } = await run('threads', env);
        assert.deepEqual(result, { during: 2 * descriptors, after: NOTHING });
      });
    });
  }

  it('are never read from another file, when other code closes their descriptors', async () => {
    const { result } = await run('robbed', {});
    assert.deepEqual(result.reused, result.robbed);
    // Before libpq 17 a cancel request is sent without TLS.
    const refusal =
      libpqVersion >= 170000 ? 'the server could not be asked to cancel in time' : undefined;
    assert.equal(result.refusal, refusal);
    assert.equal(result.outcome, 'not-run');
  });

  for (const [task, env] of [
    ['closed amid a handshake', {}],
    ['without its folder amid a handshake', { PG_CONDUIT_TLS_FILES: 'folder' }],
    ['its folder is a file amid a handshake', { PG_CONDUIT_TLS_FILES: 'folder' }],
  ]) {
    it(`that can no longer be read make only connect() fail: ${task}`, async () => {
      const { code, result } = await run(task, env);
      assert.equal(code, 0);
      assert.match(result.message, /certificates and keys of the option "ssl" cannot be handed/);
      assert.equal(result.outcome, 'not-run');
      assert.equal(result.ofQuery, 'not-run');
    });
  }

  it('that can no longer be read do not affect a connection whose cancel request needs them', async () => {
    const { code, result } = await run('without its folder at a cancel', {
      PG_CONDUIT_TLS_FILES: 'folder',
    });
    assert.equal(code, 0);
    // Before libpq 17 a cancel request is sent without TLS.
    assert.equal(
      result.refusal,
      libpqVersion >= 170000 ? 'the server could not be asked to cancel in time' : 'asked',
    );
    assert.equal(result.second, 'not-run');
    assert.deepEqual(result.rows, [{ one: 1 }]);
  });

  it('are refused, without a prompt at the terminal, when the passphrase of a key file is missing', async () => {
    const { certFile: sslcert, keyFile: sslkey } = server.authority
      .issue('by_certificate')
      .encrypted('geheim');
    const given = server.options({ user: 'by_certificate', sslcert, sslkey });
    const script = `
      const { Client } = require(${JSON.stringify(path.join(__dirname, '..', '..'))});
      new Client(${JSON.stringify(given)}).connect().catch((error) => {
        console.log(error.message);
        process.exit();
      });`;
    // Without a terminal OpenSSL would ask its standard input, which says nothing here.
    const child = spawn(process.execPath, ['-e', script], { detached: true });
    const deadline = setTimeout(() => child.kill('SIGKILL'), 20000);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (bytes) => {
        output += bytes;
      });
    }
    const [code] = await once(child, 'close');
    clearTimeout(deadline);
    assert.equal(code, 0, output);
    assert.match(output, /could not load private key file.*sslpassword/s);
  });
});
