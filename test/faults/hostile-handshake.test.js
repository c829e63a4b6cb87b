'use strict';

// What a server may say while a connection is made, right and wrong: authentication, settings, keys,
// versions, errors, and the answer to the request for TLS. By a scripted server.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const tls = require('node:tls');
const { ConnectionError, DatabaseError } = require('../..');
const { seesCopyErrors } = require('../../lib/native/binding');
const m = require('../support/messages');
const { errorOf } = require('../support/outcomes');
const { SESSION_START, WRONG_PASSWORD, scram } = require('../support/scripted-server');
const { assertOwn, echo, inTime, useScript } = require('../support/scripts');

const OK = m.AUTHENTICATION_OK;
const [READY] = SESSION_START.slice(-1);
const WITHOUT_KEY = SESSION_START.filter((bytes) => bytes[0] !== 'K'.charCodeAt(0));
const COLUMN = [{ name: 'i', oid: m.OID.int4 }];
const PASSWORD = { password: 'geheim' };
const REQUIRES_SCRAM = { ...PASSWORD, require_auth: 'scram-sha-256' };
const NEWER = { max_protocol_version: '3.2' };
const VERSION_3_0 = 3 << 16;

/** @param {...Buffer} said to the startup message */
const says = (...said) => [() => said];
const asks = (request) => [() => request, () => [OK, ...SESSION_START]];

const fatal = (more) => m.errorMessage({ S: 'FATAL', V: 'FATAL', C: '53300', M: 'why', ...more });
const INVALID_UTF8 = Buffer.from([0x61, 0xff, 0xfe, 0xc3, 0x62]);

describe('A server, during the handshake,', () => {
  const script = useScript();

  /** @param {any} handshake @param {Record<string, any>} [given] */
  async function failure(handshake, given) {
    script.server.handshake = handshake;
    const client = script.newClient({ connectionTimeoutMillis: 8000, ...given });
    const queued = errorOf(inTime('a query', client.query('select 1')));
    const error = await errorOf(inTime('connect', client.connect()));
    assert.equal(error.outcome, 'not-run');
    assert.equal((await queued).outcome, 'not-run');
    return error;
  }

  // The one that is bundled can be limited and looked into.
  const isLimited = seesCopyErrors;

  for (const [given, allowed] of [
    [undefined, 100000],
    [{ scramMaxIterations: 4095 }, 4095],
  ]) {
    it(`may request ${allowed} iterations of SCRAM, and not one more`, async () => {
      script.server.handshake = scram('geheim', { iterations: allowed });
      const client = await script.connect({ ...REQUIRES_SCRAM, ...given });
      assertOwn(await inTime('a query', echo(client, 1)), 1);
      script.server.handshake = scram('geheim', { iterations: allowed + 1 });
      if (!isLimited) {
        await script.connect({ ...REQUIRES_SCRAM, ...given });
        return;
      }
      const error = await failure(script.server.handshake, { ...REQUIRES_SCRAM, ...given });
      assert.ok(error instanceof ConnectionError);
      const limits = `iteration count ${allowed + 1} exceeds scramMaxIterations of ${allowed}`;
      assert.ok(error.message.includes(limits), error.message);
    });
  }

  it('may request any number of them with scramMaxIterations: 0', async () => {
    script.server.handshake = scram('geheim', { iterations: 100001 });
    const client = await script.connect({ ...REQUIRES_SCRAM, scramMaxIterations: 0 });
    assertOwn(await inTime('a query', echo(client, 1)), 1);
  });

  for (const [what, handshake, given] of [
    ['asks for nothing', says(OK, ...SESSION_START)],
    ['asks for a cleartext password', asks(m.authentication(3)), PASSWORD],
    ['asks for an md5 password', asks(m.authentication(5, Buffer.from('salt'))), PASSWORD],
    ['asks for SCRAM-SHA-256', scram('geheim'), REQUIRES_SCRAM],
    ['has no key to cancel by', says(OK, ...WITHOUT_KEY)],
    ['tells no settings', says(OK, READY)],
    ['tells settings that are no UTF-8', says(OK, m.parameterStatus(INVALID_UTF8, 'x'), READY)],
    ['tells a long key', says(OK, m.backendKeyData(7, Buffer.alloc(256)), READY), NEWER],
    ['speaks version 3.0 only', says(m.negotiateVersion(VERSION_3_0), OK, ...SESSION_START), NEWER],
    [
      'sends notices before it is ready',
      says(OK, ...Array(2000).fill(m.notice({ S: 'NOTICE', C: '00000', M: 'hi' })), READY),
    ],
  ]) {
    it(`is used when it ${what}`, async () => {
      script.server.handshake = handshake;
      const client = await script.connect(given);
      assertOwn(await inTime('a query', echo(client, 1)), 1);
      assertOwn(await inTime('a query', echo(client, 2)), 2);
    });
  }

  for (const [what, handshake, given, message] of [
    ['asks for a password that nobody gave', asks(m.authentication(3)), {}, /no password supplied/],
    [
      'asks for no password where SCRAM is required',
      says(OK, ...SESSION_START),
      REQUIRES_SCRAM,
      /server did not complete authentication/,
    ],
    [
      'asks for a cleartext password where SCRAM is required',
      asks(m.authentication(3)),
      REQUIRES_SCRAM,
      /server requested a cleartext password/,
    ],
    [
      'breaks SCRAM off where it is required',
      [scram('geheim')[0], () => [OK, ...SESSION_START]],
      REQUIRES_SCRAM,
      /server did not complete authentication/,
    ],
    [
      'does not know the password either',
      scram('geheim', { last: () => `v=${Buffer.alloc(32).toString('base64')}` }),
      PASSWORD,
      /incorrect server signature/,
    ],
    [
      'ends SCRAM with an error',
      scram('geheim', { last: () => 'e=other-error' }),
      PASSWORD,
      /other-error/,
    ],
    ['sends a salt that is too short', asks(m.authentication(5, Buffer.from('s'))), PASSWORD, /./],
    ['asks for what nobody knows', says(m.authentication(99)), {}, /method 99 not supported/],
    ['asks for Kerberos 5', says(m.authentication(2)), {}, /Kerberos 5/],
    ['asks for GSS', says(m.authentication(7)), {}, /GSSAPI/],
    ['goes on with GSS', says(m.authentication(8, Buffer.from('x'))), {}, /GSSAPI/],
    ['asks for SSPI', says(m.authentication(9)), {}, /SSPI/],
    [
      'offers SASL mechanisms that nobody knows',
      says(m.authentication(10, Buffer.from('FOO\0\0'))),
      PASSWORD,
      /none of the server's SASL/,
    ],
    [
      'offers SASL mechanisms without an end',
      says(m.authentication(10, Buffer.from('SCRAM-SHA-256'))),
      PASSWORD,
      /invalid list/,
    ],
    [
      'goes on with SASL that nobody began',
      says(m.authentication(11, Buffer.from('r=x,s=y,i=1'))),
      PASSWORD,
      /AUTH_REQ_SASL_CONT/,
    ],
    ['asks with a negative length', says(m.withLength('R', -1)), {}, /invalid authentication/],
    ['asks with no room for a kind', says(m.withLength('R', 4)), {}, /invalid authentication/],
    ['asks with a huge length', says(m.withLength('R', 1 << 30)), {}, /invalid authentication/],
    ['says something unknown', says(m.message('?')), {}, /received \?/],
    ['begins with a notice', says(m.notice({ S: 'NOTICE', M: 'x' })), {}, /received N/],
    ['is ready at once', says(READY), {}, /received Z/],
    ['is content twice', says(OK, OK, ...SESSION_START), {}, /"R"/],
    ['describes rows', says(OK, m.rowDescription(COLUMN), READY), {}, /during startup/],
    ['waits for a COPY', says(OK, m.copyResponse('G'), READY), {}, /./],
    ['tells half a setting', says(OK, m.message('S', Buffer.from('x')), READY), {}, /do not agree/],
    ['tells a short key', says(OK, m.backendKeyData(7, 'ab'), READY), NEWER, /too short/],
    [
      'tells a key that is too long for version 3.0',
      says(OK, m.backendKeyData(7, Buffer.alloc(32)), READY),
      { max_protocol_version: '3.0' },
      /cancel key with length 32/,
    ],
    [
      'tells a key that is too long',
      says(OK, m.backendKeyData(7, Buffer.alloc(257)), READY),
      NEWER,
      /too long/,
    ],
    ['wants version 4', says(m.negotiateVersion(4 << 16), OK), NEWER, /higher-numbered/],
    [
      'has not understood what nobody asked for',
      says(m.negotiateVersion(VERSION_3_0, ['_pq_.x']), OK, ...SESSION_START),
      NEWER,
      /not requested/,
    ],
    [
      'negotiates twice',
      says(m.negotiateVersion(VERSION_3_0), m.negotiateVersion(VERSION_3_0), OK),
      NEWER,
      /duplicate/,
    ],
    ['fails without SQLSTATE', says(m.errorMessage({ S: 'FATAL', M: 'why' })), {}, /why/],
    ['fails without a word', says(m.message('E', Buffer.alloc(1))), {}, /failed/],
    ['fails with half a field', says(m.message('E', Buffer.from('SFATAL'))), {}, /invalid error/],
    ['fails with no length', says(m.withLength('E', 0)), {}, /failed/],
    ['fails as servers did before 7.4', says(Buffer.from('Eno more room\0')), {}, /no more room/],
    [
      'fails as servers did before 7.4, without an end',
      says(Buffer.alloc(40000, 'E')),
      {},
      /invalid error message/,
    ],
  ]) {
    it(`is refused when it ${what}`, async () => {
      const error = await failure(handshake, given);
      assert.ok(error instanceof ConnectionError, String(error));
      assert.equal(error.code, 'ERR_PG_CONDUIT_CONNECTION');
      assert.match(error.message, message);
    });
  }

  for (const [what, error, expected] of [
    ['in English', fatal(), { severity: 'FATAL', code: '53300', message: 'why' }],
    [
      'in another language',
      fatal({ S: 'ВАЖНО', C: '28P01', M: 'нет', D: 'подробно', H: 'совет' }),
      { severity: 'ВАЖНО', code: '28P01', message: 'нет', detail: 'подробно', hint: 'совет' },
    ],
    ['with fields that nobody knows', fatal({ Y: 'new', z: '1' }), { code: '53300' }],
    ['that is no UTF-8', fatal({ M: INVALID_UTF8 }), { message: 'a\ufffd\ufffd\ufffdb' }],
    ['of a line and another error', fatal({ M: 'a\nFATAL:  28P01: b' }), { code: '53300' }],
  ]) {
    it(`may refuse the connection with an error ${what}`, async () => {
      for (const handshake of [says(error), says(OK, error)]) {
        const refused = await failure(handshake);
        assert.ok(refused instanceof DatabaseError, String(refused));
        for (const [name, value] of Object.entries(expected)) assert.equal(refused[name], value);
      }
    });
  }

  it('may refuse the password', async () => {
    const error = await failure(scram('another'), PASSWORD);
    assert.ok(error instanceof DatabaseError, String(error));
    assert.equal(error.code, WRONG_PASSWORD.C);
  });

  for (const [what, said] of [
    ['sends notices', m.notice({ S: 'NOTICE', C: '00000', M: 'patience' })],
    ['tells settings', m.parameterStatus('x', 'y')],
  ]) {
    it(`is given up after connectionTimeoutMillis when it ${what} without end`, async () => {
      let timer;
      script.server.handshake = [
        () => {
          timer = setInterval(() => script.server.say(Buffer.concat(Array(100).fill(said))), 1);
          return OK;
        },
      ];
      try {
        const client = script.newClient({ connectionTimeoutMillis: 200 });
        const error = await errorOf(inTime('connect', client.connect()));
        assert.equal(error.code, 'ETIMEDOUT');
      } finally {
        clearInterval(timer);
      }
    });
  }

  it('is given up after connectionTimeoutMillis when it never ends its first message', async () => {
    script.server.handshake = says(m.withLength('E', 20000));
    const client = script.newClient({ connectionTimeoutMillis: 100 });
    assert.equal((await errorOf(inTime('connect', client.connect()))).code, 'ETIMEDOUT');
  });

  describe('asked for TLS', () => {
    const SESSION = [OK, ...SESSION_START];
    const INSECURE = ['disable', 'allow'];
    const SECURE = ['require', 'verify-full'];

    for (const [what, said, message] of [
      ['fails', fatal({ M: 'injected' }), /error response during SSL exchange/],
      ['fails as before 7.4', Buffer.from('Einjected\0'), /error response during SSL exchange/],
      ['answers with neither S nor N', Buffer.from('X'), /invalid response to SSL negotiation/],
      ['is no PostgreSQL', Buffer.from('HTTP/1.1 400 injected'), /invalid response to SSL/],
    ]) {
      it(`is refused when it ${what}, and its message is not shown`, async () => {
        script.server.tls = said;
        for (const sslmode of ['prefer', ...SECURE]) {
          const error = await failure(says(...SESSION), { sslmode });
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /injected/);
          assert.equal(script.server.count, 0);
        }
      });
    }

    it('may decline, unless it is required', async () => {
      for (const sslmode of SECURE) {
        const error = await failure(says(...SESSION), { sslmode });
        assert.equal(error.message, 'The server does not support SSL connections');
        assert.match(error.detail, /but SSL was required/);
      }
      script.server.recover();
      for (const sslmode of [...INSECURE, 'prefer']) {
        const client = await script.connect({ sslmode });
        assertOwn(await inTime('a query', echo(client, 1)), 1);
      }
    });

    it('is refused when it declines and sends answers after its N', async () => {
      script.server.tls = Buffer.concat([Buffer.from('N'), ...SESSION]);
      const required = /^The server does not support SSL connections$/;
      for (const sslmode of SECURE) {
        assert.match((await failure(says(...SESSION), { sslmode })).message, required);
      }
      const unasked = /an answer that nobody asked for/;
      assert.match((await failure(says(...SESSION), { sslmode: 'prefer' })).message, unasked);
    });

    it('is refused when it sends unencrypted bytes after its S', async () => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-tls-'));
      try {
        const [cert, key] = ['cert.pem', 'key.pem'].map((name) => path.join(folder, name));
        const output = ['-keyout', key, '-out', cert, '-days', '2', '-subj', '/CN=localhost'];
        execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...output], {
          stdio: 'ignore',
        });
        const secure = { isServer: true, cert: fs.readFileSync(cert), key: fs.readFileSync(key) };
        for (const injected of [[], [m.notice({ S: 'NOTICE', C: '00000', M: 'x' })], SESSION]) {
          script.server.tls = Buffer.concat([Buffer.from('S'), ...injected]);
          script.server.secure = (socket) => new tls.TLSSocket(socket, secure);
          if (injected.length === 0) {
            const client = await script.connect({ sslmode: 'require' });
            assertOwn(await inTime('a query', echo(client, 1)), 1);
            continue;
          }
          for (const sslmode of ['prefer', 'require']) {
            const error = await failure(says(...SESSION), { sslmode });
            assert.match(error.message, /received unencrypted data after SSL response/);
          }
        }
      } finally {
        fs.rmSync(folder, { recursive: true });
      }
    });
  });
});
