'use strict';

// Connections with TLS to a real server: whom the client trusts, how it shows who it is, and that it
// never takes less than was asked for. On servers of their own; what flows through such connections
// is in tls-traffic.test.js, what remains of keys in tls-files.test.js.

const assert = require('node:assert/strict');
const tls = require('node:tls');
const { inspect } = require('node:util');
const { Client, ConnectionError, OptionError, Pool } = require('../..');
const { libpqVersion, seesCopyErrors } = require('../../lib/native/binding');
const { Authority } = require('../support/certificates');
const { Gate } = require('../support/gate');
const { connectError, errorOf } = require('../support/outcomes');
const { Relay } = require('../support/relay');
const { PASSWORD, SERVER_NAME, TlsServer, cancelled } = require('../support/tls-server');

/** Certificates of the system, by a name: `sslrootcert=system`. */
const HAS_SYSTEM = libpqVersion >= 160000;

/** TLS from the first byte on. */
const HAS_DIRECT = libpqVersion >= 170000;

/** Of Node.js, for what a message says. @type {Record<string, string>} */
const CODES = {
  'verify failed: self-signed certificate in certificate chain': 'SELF_SIGNED_CERT_IN_CHAIN',
  'verify failed: unable to get local issuer certificate': 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'verify failed: certificate revoked': 'CERT_REVOKED',
  'does not match host name': 'ERR_TLS_CERT_ALTNAME_INVALID',
};

describe('TLS', function () {
  this.timeout(120000);

  /** @type {TlsServer} */
  let server;
  /** @type {Authority} whom the server does not know, nor we */
  let stranger;
  let mine;

  before(async () => {
    server = await TlsServer.start();
    stranger = new Authority('a stranger');
    mine = server.authority.issue('by_certificate');
  });
  afterEach(() => server.endAll());
  after(async () => {
    stranger.remove();
    await server.stop();
  });

  /** What the server refuses, or the client, and why. */
  async function refused(given, reason) {
    const error = await connectError(server.options(given));
    assert.ok(error instanceof ConnectionError, `${error}`);
    const why = Object.keys(CODES).find((words) => error.message.includes(words));
    // A system libpq does not say why the verification has failed.
    assert.equal(error.code, CODES[why] ?? 'ERR_PG_CONDUIT_TLS', `${error}`);
    assert.equal(error.outcome, 'not-run');
    assert.match(error.message, reason);
  }

  /** @type {Relay[]} */
  const relays = [];
  afterEach(() => Promise.all(relays.splice(0).map((relay) => relay.close())));

  /**
   * What is taken for a server.
   * @param {string} answer to the first message
   * @param {(name: string) => void} [onName] with it a handshake follows, in which that name stands
   */
  async function impostor(answer, onName) {
    const relay = await Relay.open();
    relays.push(relay);
    const received = [];
    relay.receive = (socket) => {
      const record = (bytes) => received.push(bytes);
      socket.on('data', record);
      socket.once('data', () => {
        socket.write(answer, 'latin1');
        if (onName === undefined) return;
        socket.off('data', record);
        const secure = new tls.TLSSocket(socket, {
          isServer: true,
          cert: server.identity.cert,
          key: server.identity.key,
          SNICallback: (name, callback) => {
            onName(name);
            callback(null, undefined);
          },
        });
        secure.on('error', () => {});
        secure.once('data', () => secure.destroy());
      });
    };
    return { received, options: { host: '127.0.0.1', port: relay.port } };
  }

  /** @param {Record<string, any>} given options in place of `ssl` */
  const without = (given) => ({ ssl: undefined, ...given });

  describe('verifies the server', () => {
    it('by the certificate of its authority in memory, and its name', async () => {
      const { cert } = server.authority;
      for (const ca of [cert, Buffer.from(cert), [cert], [stranger.cert, Buffer.from(cert)]]) {
        assert.equal((await server.seen({ ssl: server.ssl({ ca }) })).ssl, true);
      }
      // The host itself is a name that stands in the certificate.
      assert.equal((await server.seen({ host: 'localhost', ssl: { ca: cert } })).ssl, true);
    });

    it('by the certificate of its authority in a file', async () => {
      const sslrootcert = server.authority.certFile;
      const file = { sslrootcert, sslmode: 'verify-full', host: 'localhost' };
      assert.equal((await server.seen(without(file))).ssl, true);
      assert.equal((await server.seen({ host: 'localhost', sslrootcert, ssl: true })).ssl, true);
    });

    it('and refuses the certificate of another authority', async () => {
      const verifyFailed = /certificate verify failed.*ssl\.ca/s;
      await refused({ ssl: server.ssl({ ca: stranger.cert }) }, verifyFailed);
      const sslrootcert = stranger.certFile;
      for (const sslmode of ['verify-ca', 'verify-full']) {
        await refused(without({ sslrootcert, sslmode }), verifyFailed);
      }
    });

    it('and refuses another name, and an address that is not in the certificate', async () => {
      const { cert: ca } = server.authority;
      const mismatch = /does not match host name.*ssl\.servername/s;
      await refused({ ssl: { ca } }, mismatch);
      await refused({ ssl: { ca, servername: 'other.test' } }, mismatch);
      const sslrootcert = server.authority.certFile;
      await refused(without({ sslmode: 'verify-full', sslrootcert }), mismatch);
    });

    it('without its name with verify-ca', async () => {
      const sslrootcert = server.authority.certFile;
      assert.equal((await server.seen(without({ sslmode: 'verify-ca', sslrootcert }))).ssl, true);
    });

    it('by the authorities of the system with ssl: true, {} and ?ssl=true', async () => {
      const url = server.database.connectionString;
      const reason = HAS_SYSTEM ? /certificate verify failed/ : /"system" does not exist/;
      for (const ssl of [true, 'true', { require: true, rejectUnauthorized: true }]) {
        await refused({ ssl }, reason);
      }
      for (const parameter of ['ssl=true&application_name=x', 'ssl=1']) {
        await refused({ ssl: undefined, connectionString: `${url}&${parameter}` }, reason);
      }
    });

    it('and refuses one that has expired', async () => {
      const expired = await TlsServer.start({ hasExpired: true });
      try {
        const error = await connectError(expired.options());
        assert.equal(error.code, seesCopyErrors ? 'CERT_HAS_EXPIRED' : 'ERR_PG_CONDUIT_TLS');
        assert.match(error.message, /certificate verify failed.*dates/s);
        const unverified = await expired.seen({ ssl: expired.ssl({ rejectUnauthorized: false }) });
        assert.equal(unverified.ssl, true);
      } finally {
        await expired.stop();
      }
    });

    it('and refuses one that was revoked', async () => {
      const harmless = server.authority.issue('somebody else');
      const ssl = server.ssl({ crl: server.authority.revocations(harmless) });
      assert.equal((await server.seen({ ssl })).ssl, true);
      const crl = server.authority.revocations(server.identity);
      await refused({ ssl: { ...ssl, crl } }, /certificate verify failed/);
    });

    it('not at all with no-verify and rejectUnauthorized: false, as in pg', async () => {
      const ca = stranger.cert;
      for (const ssl of ['no-verify', 'require', { rejectUnauthorized: false }]) {
        assert.equal((await server.seen({ ssl })).ssl, true);
      }
      assert.equal((await server.seen({ ssl: { ca, rejectUnauthorized: false } })).ssl, true);
      assert.equal((await server.seen(without({ sslmode: 'no-verify' }))).ssl, true);
    });

    it('and fails at once in a pool that waits for servers that are down', async () => {
      const ssl = server.ssl({ ca: stranger.cert });
      const pool = server.newPool({ ssl, connectionTimeoutMillis: 60000, waitForServer: true });
      const code = seesCopyErrors ? 'SELF_SIGNED_CERT_IN_CHAIN' : 'ERR_PG_CONDUIT_TLS';
      assert.equal((await errorOf(pool.query('select 1'))).code, code);
    });
  });

  describe('takes the stricter of ssl and sslmode', () => {
    const url = (parameters) => `${server.database.connectionString}&${parameters}`;

    it('a ca is used, whatever the connection string says', async () => {
      for (const sslmode of ['disable', 'allow', 'prefer', 'require', 'no-verify', 'verify-ca']) {
        const connectionString = url(`sslmode=${sslmode}`);
        assert.equal((await server.seen({ connectionString })).ssl, true);
        const ssl = server.ssl({ ca: stranger.cert });
        await refused({ connectionString, ssl }, /certificate verify failed/);
        await refused({ ssl, sslmode }, /certificate verify failed/);
        await refused({ sslmode, ssl }, /certificate verify failed/);
      }
    });

    it('verify-full is used, whatever ssl says, with the ca of ssl', async () => {
      const connectionString = url('sslmode=verify-full');
      const unsure = { rejectUnauthorized: false };
      const missing = /certificate/;
      for (const ssl of [false, 'no-verify', unsure]) {
        await refused({ connectionString, ssl }, missing);
      }
      const ssl = server.ssl(unsure);
      assert.equal((await server.seen({ connectionString, ssl })).ssl, true);
      const other = server.ssl({ ...unsure, ca: stranger.cert });
      await refused({ connectionString, ssl: other }, /certificate verify failed/);
    });

    it('ssl=… in a connection string counts as one of the two', async () => {
      const ssl = server.ssl();
      for (const value of ['true', 'false', '0', 'no-verify', 'require']) {
        assert.equal((await server.seen({ connectionString: url(`ssl=${value}`), ssl })).ssl, true);
      }
      await refused({ connectionString: url('ssl=no-verify'), ssl: true }, /certificate|"system"/);
      // What sslmode says in the same string is more exact.
      const both = { ssl: undefined, connectionString: url('sslmode=no-verify&ssl=true') };
      assert.equal((await server.seen(both)).ssl, true);
      const compatible = url('uselibpqcompat=true&sslmode=require');
      assert.equal((await server.seen({ ssl: undefined, connectionString: compatible })).ssl, true);
    });

    it('sslmode=no-verify from the environment is accepted', async () => {
      process.env.PGSSLMODE = 'no-verify';
      try {
        assert.equal((await server.seen({ ssl: undefined })).ssl, true);
        await refused({ ssl: server.ssl({ ca: stranger.cert }) }, /certificate verify failed/);
      } finally {
        delete process.env.PGSSLMODE;
      }
    });

    it('and two options for the same setting are refused with a message', async () => {
      const pairs = {
        sslrootcert: server.ssl(),
        sslcert: server.ssl({ cert: mine.cert, key: mine.key }),
        sslkey: server.ssl({ cert: mine.cert, key: mine.key }),
        sslpassword: server.ssl({ passphrase: 'x' }),
        ssl_min_protocol_version: server.ssl({ minVersion: 'TLSv1.2' }),
      };
      for (const [name, ssl] of Object.entries(pairs)) {
        const error = await connectError(server.options({ ssl, [name]: 'x' }));
        assert.ok(error instanceof OptionError, `${name}: ${error}`);
        assert.match(error.message, new RegExp(`"${name}"`));
      }
    });
  });

  describe('is required:', () => {
    const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

    it('a server without TLS receives nothing, no user name and no password', async () => {
      for (const ssl of [true, 'no-verify', server.ssl(), { rejectUnauthorized: false }]) {
        const { received, options } = await impostor('N');
        await refused({ ...options, password: 'secret', ssl }, /does not support SSL/);
        assert.deepEqual(Buffer.concat(received), SSL_REQUEST);
      }
    });

    it('a server that answers with an error receives nothing either', async () => {
      const { received, options } = await impostor('E\0\0\0\x10SFATAL\0Mno!\0\0');
      const error = await connectError(server.options({ ...options, password: 'secret' }));
      assert.ok(error instanceof Error);
      assert.deepEqual(Buffer.concat(received), SSL_REQUEST);
    });

    it('data that was injected before the handshake is not taken for an answer of the server', async () => {
      const { options } = await impostor('SR\0\0\0\x08\0\0\0\0', () => {});
      const error = await connectError(server.options({ ...options, password: 'secret' }));
      assert.match(error.message, /unencrypted data after SSL response/);
    });

    it("the tests' own server, which has no TLS, is refused", async () => {
      const gate = await Gate.open();
      relays.push(gate);
      const options = gate.options({ sslmode: undefined, ssl: server.ssl() });
      const error = await connectError(options);
      assert.equal(error.code, 'ERR_PG_CONDUIT_TLS');
      assert.match(error.message, /does not support SSL/);
    });

    it('the protocol versions of the options are used', async () => {
      const { version } = await server.seen({ ssl: server.ssl({ maxVersion: 'TLSv1.2' }) });
      assert.equal(version, 'TLSv1.2');
      const least = await server.seen({ ssl: server.ssl({ minVersion: 'TLSv1.3' }) });
      assert.equal(least.version, 'TLSv1.3');
      await refused(
        { ssl: server.ssl({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1' }) },
        /SSL error/,
      );
    });

    it('sslnegotiation=direct begins with the handshake, if the server supports it', async () => {
      const given = { sslnegotiation: 'direct' };
      if (!HAS_DIRECT) {
        assert.ok((await connectError(server.options(given))) instanceof OptionError);
      } else if (parseInt(server.database.version, 10) >= 17) {
        assert.equal((await server.seen(given)).ssl, true);
        await refused({ ...given, ssl: server.ssl({ ca: stranger.cert }) }, /verify failed/);
        const client = await server.connect(given);
        assert.equal(await cancelled(client), 'not-run');
      } else {
        const error = await connectError(server.options({ ...given, password: 'secret' }));
        assert.ok(error instanceof ConnectionError, `${error}`);
      }
    });
  });

  describe('protects passwords', () => {
    const user = 'by_password';

    it('by channel binding with channel_binding=require', async () => {
      const given = { user, password: PASSWORD, channel_binding: 'require' };
      assert.equal((await server.seen(given)).ssl, true);
      const error = await connectError(server.options({ ...given, password: 'wrong' }));
      assert.equal(error.code, '28P01');
    });

    it('and refuses a method without channel binding, before the password is sent', async () => {
      const given = { password: PASSWORD, channel_binding: 'require' };
      await refused({ ...given, user: 'by_md5' }, /channel binding required/);
      await refused({ ...given, user: 'postgres' }, /channel binding required/);
      const unbound = { ...given, channel_binding: 'disable' };
      assert.equal((await server.seen({ ...unbound, user: 'by_md5' })).ssl, true);
      assert.equal((await server.seen({ ...unbound, user })).ssl, true);
    });
  });

  describe('sends a certificate of the client', () => {
    const user = 'by_certificate';
    const clientDn = '/CN=by_certificate';

    it('from memory, in the forms that tls.connect() accepts', async () => {
      const { cert, key } = mine;
      const forms = [
        { cert, key },
        { cert: Buffer.from(cert), key: Buffer.from(key) },
        { cert: [cert], key: [key] },
        { cert: `${cert}${server.authority.cert}`, key: [{ pem: key }] },
        { cert: `${key}${cert}`, key: `${cert}${key}` },
        { cert: cert.trimEnd(), key: key.trimEnd() },
        { cert, key, rejectUnauthorized: false },
        { cert, key, ca: [server.authority.cert, stranger.cert] },
        Object.defineProperty({ cert }, 'key', { value: key, enumerable: false }),
      ];
      for (const form of forms) {
        const ssl = Object.defineProperties(server.ssl(), Object.getOwnPropertyDescriptors(form));
        assert.equal((await server.seen({ user, ssl })).clientDn, clientDn);
      }
    });

    it('from files', async () => {
      const files = { sslcert: mine.certFile, sslkey: mine.keyFile };
      assert.equal((await server.seen({ user, ...files })).clientDn, clientDn);
    });

    it('of RSA as well', async () => {
      const { cert, key } = server.authority.issue(user, { kind: 'rsa' });
      assert.equal(
        (await server.seen({ user, ssl: server.ssl({ cert, key }) })).clientDn,
        clientDn,
      );
    });

    it('with an encrypted key', async () => {
      const passphrase = 'geheim ü';
      const { cert, key, certFile: sslcert, keyFile: sslkey } = mine.encrypted(passphrase);
      for (const form of [{ key, passphrase }, { key: [{ pem: key, passphrase }] }]) {
        const ssl = server.ssl({ cert, ...form });
        assert.equal((await server.seen({ user, ssl })).clientDn, clientDn);
      }
      const files = { sslcert, sslkey, sslpassword: passphrase };
      assert.equal((await server.seen({ user, ...files })).clientDn, clientDn);
      await refused({ user, ...files, sslpassword: 'wrong' }, /private key file.*sslpassword/s);
    });

    it('without which the server refuses the connection', async () => {
      assert.equal((await connectError(server.options({ user }))).code, '28000');
    });

    it('which the server refuses if it is of another authority or another user', async () => {
      const other = server.authority.issue('somebody');
      const ssl = server.ssl({ cert: other.cert, key: other.key });
      assert.equal((await connectError(server.options({ user, ssl }))).code, '28000');
      const { cert, key } = stranger.issue(user);
      await refused({ user, ssl: server.ssl({ cert, key }) }, /SSL error: .*unknown ca/);
      const expired = server.authority.issue(user, { isExpired: true });
      const late = server.ssl({ cert: expired.cert, key: expired.key });
      await refused({ user, ssl: late }, /SSL error: .*certificate expired/);
    });

    it('separately for each of several clients at once, and for each connection of a pool', async () => {
      const users = Array.from({ length: 5 }, (_, index) => `user_${index}`);
      await server.ask(users.map((name) => `create user ${name}`).join(';'));
      const identities = users.map((name) => server.authority.issue(name));
      const pools = identities.map(({ cert, key }, index) =>
        server.newPool({ user: users[index], ssl: server.ssl({ cert, key }), max: 3 }),
      );
      const text =
        'select client_dn as dn, pg_sleep(0.05)::text from pg_stat_ssl where pid = pg_backend_pid()';
      await Promise.all(
        pools.map(async (pool, index) => {
          const clients = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
          const results = await Promise.all(clients.map((client) => client.query(text)));
          for (const { rows } of results) assert.equal(rows[0].dn, `/CN=${users[index]}`);
          for (const client of clients) client.release();
        }),
      );
    });
  });

  describe('refuses in `ssl`', () => {
    /** @param {any} ssl @param {RegExp} message */
    async function refuses(ssl, message) {
      const options = { host: '127.0.0.1', port: 1, user: 'nobody', ssl };
      const error = await connectError(options);
      assert.ok(error instanceof OptionError, `${JSON.stringify(ssl)}: ${error}`);
      assert.match(error.message, message);
      const pool = new Pool(options);
      assert.ok((await errorOf(pool.query('select 1'))) instanceof OptionError);
      await pool.end();
      return error;
    }

    const der = (pem) => Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');

    it('data that is not PEM, with a message that says how to convert it', async () => {
      const { cert, key } = mine;
      await refuses({ ca: der(cert) }, /"ssl\.ca".*PEM.*openssl x509/);
      await refuses({ cert: der(cert), key }, /"ssl\.cert".*PEM.*openssl x509/);
      await refuses({ cert, key: der(key) }, /"ssl\.key".*PEM.*openssl pkey/);
      await refuses({ ca: '/etc/ssl/ca.pem' }, /"ssl\.ca".*not the name of a file/);
      await refuses({ ca: cert.replaceAll('\n', '\\n').slice(0, -80) }, /line breaks/);
      for (const ca of ['', ' \n', Buffer.alloc(0), ['']]) {
        await refuses({ ca }, /"ssl\.ca".*empty/);
      }
      await refuses({ ca: [] }, /"ssl\.ca".*empty/);
      for (const ca of [5, true, {}, [5], Symbol('s')]) await refuses({ ca }, /"ssl\.ca".*Buffer/);
    });

    it('damaged data', async () => {
      const { cert, key } = mine;
      const damage = (text) => text.replace(/\n.{20}/, '\nAAAAAAAAAAAAAAAAAAAA');
      await refuses({ ca: [cert, damage(cert)] }, /"ssl\.ca".*number 2 is damaged/);
      const error = await refuses({ cert, key: damage(key) }, /"ssl\.key" cannot be read/);
      assert.ok(!error.message.includes(key.split('\n')[2]));
      const crl = server.authority.revocations();
      await refuses({ ca: cert, crl: damage(crl) }, /"ssl\.crl" cannot be read/);
    });

    it('a key that does not match the certificate, or cannot be read', async () => {
      const { cert, key } = mine;
      const other = server.authority.issue('other');
      await refuses({ cert, key: other.key }, /"ssl\.key" is not the private key/);
      await refuses({ cert }, /"ssl\.cert" needs its private key/);
      await refuses({ key }, /"ssl\.key" needs its certificate/);
      const encrypted = mine.encrypted('geheim');
      await refuses({ cert, key: encrypted.key }, /"ssl\.key" is encrypted/);
      for (const passphrase of ['wrong', '']) {
        await refuses({ cert, key: encrypted.key, passphrase }, /"ssl\.passphrase" does not/);
      }
      for (const passphrase of [5, {}, 'a\0b', 'x'.repeat(1024)]) {
        await refuses({ cert, key, passphrase }, /"ssl\.passphrase" must/);
      }
      await refuses({ cert, key: [key, key] }, /"ssl\.key" must be one/);
      await refuses({ cert: [cert, cert], key }, /"ssl\.cert" must be one/);
    });

    it('options that are not there', async () => {
      for (const name of ['CA', 'toString', 'dhparam', 'ALPNProtocols']) {
        await refuses({ [name]: 'x' }, new RegExp(`"ssl\\.${name}" is not supported`));
      }
      await refuses({ minVersion: 'SSLv3' }, /"ssl\.minVersion"/);
      await refuses({ maxVersion: 1.2 }, /"ssl\.maxVersion"/);
      for (const servername of ['', 5, 'a,b', '/tmp', '@x', 'a b', 'a\0b']) {
        await refuses({ servername }, /"ssl\.servername"/);
      }
      for (const rejectUnauthorized of ['false', 0, 1, {}]) {
        await refuses({ rejectUnauthorized }, /"ssl\.rejectUnauthorized"/);
      }
      await refuses({ require: false }, /"ssl\.require"/);
      await refuses({ crl: server.authority.revocations() }, /"ssl\.crl" needs ssl\.ca/);
      for (const ssl of ['always', 5, [1], Symbol('s'), () => {}]) {
        await refuses(ssl, /option "ssl"/);
      }
    });

    it('no option that is undefined or null', async () => {
      const nothing = { cert: undefined, key: null, passphrase: undefined, pfx: null, crl: null };
      const rest = { rejectUnauthorized: null, minVersion: undefined };
      assert.equal((await server.seen({ ssl: server.ssl({ ...nothing, ...rest }) })).ssl, true);
    });
  });

  it('does not show its keys in inspected objects', async () => {
    const passphrase = 'geheim und lang';
    const { cert, key } = mine.encrypted(passphrase);
    const client = new Client(server.options({ ssl: server.ssl({ cert, key, passphrase }) }));
    const pool = server.newPool({ ssl: server.ssl({ cert, key, passphrase }) });
    for (const one of [client, pool]) {
      const shown = inspect(one, { depth: Infinity, showHidden: true });
      assert.ok(!shown.includes(passphrase));
      assert.ok(!shown.includes(key.split('\n')[2]));
    }
    await client.end();
  });

  it('names the server by its servername in the handshake, and connects where host says', async () => {
    const names = [];
    const { options } = await impostor('S', (name) => names.push(name));
    for (const given of [{}, { host: undefined, hostaddr: '127.0.0.1' }]) {
      await connectError(server.options({ ...options, ...given }));
    }
    assert.deepEqual(names, [SERVER_NAME, SERVER_NAME]);
  });
});
