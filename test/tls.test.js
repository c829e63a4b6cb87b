'use strict';

// Connections with TLS to a real server: whom the client trusts, how it shows who it is, and that it
// never takes less than was asked for. On a server of their own.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { TlsServer } = require('./support/tls-server');

describe('TLS', function () {
  this.timeout(120000);

  /** @type {TlsServer} */
  let server;
  let mine;

  before(async () => {
    server = await TlsServer.start();
    mine = server.authority.issue('by_certificate');
  });
  after(() => server.stop());

  describe('shows a certificate of the client', () => {
    const user = 'by_certificate';

    it('and never asks the terminal for the passphrase of a key', async () => {
      const { certFile: sslcert, keyFile: sslkey } = mine.encrypted('geheim');
      const options = {
        ...server.database.config,
        ...{ user, sslmode: 'require', sslcert, sslkey },
      };
      const script = `
        const { Client } = require(${JSON.stringify(path.join(__dirname, '..'))});
        new Client(${JSON.stringify(options)}).connect().catch((error) => {
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
      assert.match(output, /could not load private key file/);
    });
  });
});
