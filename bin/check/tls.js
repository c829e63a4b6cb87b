'use strict';

// Whether the connection is encrypted, whether the server would pass for who it is, and what `pg` would do.

const { peek } = require('./tls-peek');
const { describeError, explain } = require('./reasons');

/** @typedef {import('./index').Context} Context */

const DAY_MILLIS = 24 * 60 * 60 * 1000;
/** An expiry that is nearer than this is worth a word. */
const SOON_DAYS = 21;

/** @param {Context} context that has reached a server */
async function checkTls(context) {
  const { facts, findings, sessions, target } = context;
  const { server } = facts.chosen;
  if (server.host.startsWith('/') || server.host.startsWith('@')) {
    facts.tls = { encrypted: false, socket: true };
    findings.add('tls', 'ok', 'a unix socket: no TLS there, and none needed');
    return;
  }
  const { ssl: isEncrypted } = /** @type {any} */ (await sessions.main());
  const seen = await look(context, server);
  facts.tls = { encrypted: isEncrypted, socket: false, verified: null, ...seen };
  if (isEncrypted) await checkEncrypted(context);
  else tellPlain(context);
  tellCertificate(context);
  if (!isEncrypted) return;
  if (target.sslmode === undefined) {
    findings.add(
      'tls.pg',
      'note',
      'nothing says whether to encrypt: pg-conduit does if the server can and verifies nothing; pg does not encrypt',
    );
  } else {
    findings.add('tls.pg', 'ok', `sslmode is ${target.sslmode}: pg encrypts as well`);
  }
}

/** After a refusal: what certificate it was. @param {Context} context */
async function checkRefusedTls(context) {
  const { facts } = context;
  const refused = facts.failed.find((/** @type {any} */ { error }) =>
    /CERT|ISSUER|SIGNED|_TLS/.test(error.code),
  );
  if (refused === undefined) return;
  const seen = await look(context, refused.server);
  facts.tls = { encrypted: false, socket: false, verified: false, ...seen };
  tellCertificate(context);
}

/** @param {Context} context @param {import('./target').Server} server */
async function look({ target, timeoutMillis }, server) {
  // With TLS from the first byte on nobody asks for it.
  if (target.options.sslnegotiation === 'direct' || server.host === '') return {};
  try {
    const { offered, ...certificate } = await peek(server, AbortSignal.timeout(timeoutMillis));
    return { offered, certificate: offered ? certificate : null };
  } catch {
    return { offered: null, certificate: null };
  }
}

/** @param {Context} context */
async function checkEncrypted({ facts, findings, sessions, target }) {
  const { certificate } = facts.tls;
  const how = certificate ? ` with ${certificate.protocol}, ${certificate.cipher}` : '';
  const isVerified = /^verify-/.test(target.sslmode ?? '');
  if (isVerified) {
    facts.tls.verified = true;
    const what = target.sslmode === 'verify-full' ? 'certificate and name' : 'certificate';
    findings.add('tls', 'ok', `encrypted${how}; ${what} of the server verified`);
    return;
  }
  const rootcert = target.options.sslrootcert ?? process.env.PGSSLROOTCERT ?? 'system';
  const trusted = rootcert === 'system' ? 'the authorities of this system' : rootcert;
  // What is on this machine is no impostor's as a rule.
  const level = facts.isLocal ? 'note' : 'warning';
  try {
    const client = await sessions.open({ sslmode: 'verify-full', sslrootcert: rootcert });
    await sessions.close(client);
    facts.tls.verifiable = true;
    const text = `encrypted${how}, not verified; ${trusted} would verify it`;
    findings.add('tls', level, text);
  } catch (error) {
    facts.tls.verifiable = false;
    facts.tls.refusal = describeError(error);
    findings.add('tls', level, `encrypted${how}, not verified`);
    findings.add('tls.verify', 'note', `${trusted} would not verify it: ${explain(error)}`);
  }
}

/** @param {Context} context */
function tellPlain({ facts, findings }) {
  const where = facts.isLocal ? ', and does not leave this machine' : '';
  const can =
    facts.tls.offered === null
      ? ''
      : `, though the server has ${facts.tls.offered ? '' : 'no '}TLS`;
  const text = `not encrypted${can.replace('though the server has no', 'and the server has no')}${where}`;
  findings.add('tls', facts.isLocal ? 'ok' : 'warning', text);
}

/** @param {Context} context */
function tellCertificate({ facts, findings }) {
  const { certificate } = facts.tls;
  if (!certificate) return;
  const { subject, issuer, names, validTo } = certificate;
  const left = Date.parse(validTo) - Date.now();
  const level = left < SOON_DAYS * DAY_MILLIS ? 'warning' : 'ok';
  const until = new Date(validTo).toISOString().slice(0, 10);
  const when = left < 0 ? `has expired on ${until}` : `valid until ${until}`;
  const alternatives = names ? `, for ${names}` : '';
  const text = `certificate of ${subject}${alternatives}, by ${issuer}; ${when}`;
  findings.add('tls.certificate', level, text);
}

module.exports = { checkRefusedTls, checkTls };
