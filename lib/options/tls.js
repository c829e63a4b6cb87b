'use strict';

// What users pass as `ssl`, in the shape that `pg` gives it, checked and turned into libpq's
// keywords; and what counts when `sslmode` stands beside it: the stricter of the two. Texts of
// certificates and keys become `files`, which the addon lets libpq open. Called by options.js.

const { X509Certificate, createPrivateKey } = require('node:crypto');
const tls = require('node:tls');
const { OptionError } = require('../base');

/**
 * @typedef {object} TlsSettings
 * @property {Record<string, string>} files PEM texts by the keywords of libpq that take file names
 * @property {string | undefined} servername verified, and named in the handshake, instead of `host`
 * @property {Record<string, any>} [node] what only tls.connect() can do: it makes the connection then (wire.js)
 *
 * What `ssl` asks for by itself.
 * @typedef {object} Asked
 * @property {string} sslmode
 * @property {Record<string, string>} keywords
 * @property {Record<string, string>} files
 * @property {string | undefined} servername
 * @property {Record<string, any>} [node]
 */

/** The values of sslmode, from the loosest to the strictest. */
const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** What `pg` calls encrypted, but not verified. */
const NO_VERIFY = 'no-verify';

/** Values of sslmode that all mean verify-full to `pg` 8, in a URL and in PGSSLMODE. To libpq the first two verify nothing. */
const VERIFIED_BY_PG = ['prefer', 'require', 'verify-ca', 'verify-full'];

/** libpq's name for the certificates that OpenSSL trusts by default. */
const SYSTEM = 'system';

/** OpenSSL's callback takes no more bytes, and libpq would cut the rest. */
const MAX_PASSPHRASE_BYTES = 1023;

const CERTIFICATE =
  /-----BEGIN (X509 |TRUSTED )?CERTIFICATE-----[^]*?-----END \1?CERTIFICATE-----/g;
const KEY = /-----BEGIN ([A-Z ]+ )?PRIVATE KEY-----/;
const REVOCATIONS = /-----BEGIN X509 CRL-----/;

/** @type {Record<string, string>} */
const VERSION_KEYWORDS = {
  minVersion: 'ssl_min_protocol_version',
  maxVersion: 'ssl_max_protocol_version',
};
const VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'];

const KNOWN = [
  ...['ca', 'cert', 'key', 'passphrase', 'crl', 'servername', 'rejectUnauthorized', 'require'],
  ...Object.keys(VERSION_KEYWORDS),
];

/** What Node.js has and libpq has not. */
const NODE_ONLY = [
  ...['checkServerIdentity', 'ciphers', 'ecdhCurve', 'pfx', 'secureContext', 'secureOptions'],
  ...['secureProtocol', 'session', 'sigalgs'],
];
/** Of servers; tls.connect() ignores it too. */
const WITHOUT_EFFECT = ['requestCert'];

/** @param {string} name @param {string} what @param {unknown} [cause] @returns {never} */
function refuse(name, what, cause) {
  throw new OptionError(`option "ssl.${name}" ${what}`, { cause });
}

/**
 * @param {unknown} value a text, bytes, or a list of them, as tls.connect() takes it
 * @param {string} name
 * @param {RegExp} wanted what must stand in it
 * @param {string} convert how to make it of DER
 * @returns {string | undefined}
 */
function pem(value, name, wanted, convert) {
  if (value === undefined || value === null) return undefined;
  const parts = Array.isArray(value) ? value : [value];
  if (parts.length === 0) refuse(name, 'is an empty list: leave it out, or give its text');
  return parts
    .map((part) => {
      const isText = typeof part === 'string';
      if (!isText && !(part instanceof Uint8Array)) {
        refuse(name, 'must be a string, a Buffer, or an array of them');
      }
      const text = isText ? part : Buffer.from(part).toString('latin1');
      if (text.trim() === '') {
        refuse(name, 'is empty: leave it out, or give its text');
      }
      if (text.search(wanted) < 0) {
        const escaped = text.includes('-----BEGIN') && text.includes('\\n');
        const hint = escaped
          ? 'its line breaks are written as "\\n": replace them by real ones'
          : `give the text, not the name of a file; what is in DER is converted by "${convert}"`;
        refuse(name, `must be in PEM (-----BEGIN …): ${hint}`);
      }
      return text.endsWith('\n') ? text : `${text}\n`;
    })
    .join('');
}

/**
 * @param {unknown} value
 * @param {string} name
 * @returns {{ text: string, first: X509Certificate | undefined } | undefined}
 */
function certificates(value, name) {
  const text = pem(value, name, CERTIFICATE, 'openssl x509 -inform der -in FILE');
  if (text === undefined) return undefined;
  const parsed = [...text.matchAll(CERTIFICATE)].map(([block, form], index) => {
    // Node has no parser for the certificates that only OpenSSL writes.
    if (form === 'TRUSTED ') return undefined;
    try {
      return new X509Certificate(block);
    } catch (error) {
      return refuse(name, `cannot be read: its certificate number ${index + 1} is damaged`, error);
    }
  });
  return { text, first: parsed[0] };
}

/**
 * @param {string} text
 * @param {string | undefined} passphrase
 * @returns {import('node:crypto').KeyObject}
 */
function privateKey(text, passphrase) {
  try {
    return createPrivateKey({ key: text, passphrase });
  } catch (error) {
    if (!text.includes('ENCRYPTED')) {
      return refuse('key', 'cannot be read: it is damaged, or of an unknown kind', error);
    }
    if (passphrase === undefined) {
      return refuse('key', 'is encrypted: give ssl.passphrase too', error);
    }
    return refuse('passphrase', 'does not decrypt ssl.key', error);
  }
}

/** @param {unknown} passphrase @returns {string | undefined} */
function checkPassphrase(passphrase) {
  if (passphrase === undefined || passphrase === null) return undefined;
  if (typeof passphrase !== 'string' || passphrase.includes('\0')) {
    refuse('passphrase', 'must be a string without NUL characters');
  }
  if (Buffer.byteLength(passphrase) > MAX_PASSPHRASE_BYTES) {
    refuse('passphrase', `must not be longer than ${MAX_PASSPHRASE_BYTES} bytes`);
  }
  return passphrase;
}

/** @param {any} ssl @param {Asked} asked */
function askIdentity(ssl, { files, keywords }) {
  let { key, passphrase } = ssl;
  // tls.connect() also takes a list of keys with a passphrase each; libpq takes one.
  if (Array.isArray(key)) {
    if (key.length !== 1) refuse('key', 'must be one key: libpq presents one certificate');
    [key] = key;
  }
  if (typeof key === 'object' && key !== null && 'pem' in key) {
    passphrase = key.passphrase ?? passphrase;
    key = key.pem;
  }
  if (Array.isArray(ssl.cert) && ssl.cert.length !== 1) {
    refuse('cert', 'must be one text: the certificate, and those of its chain behind it');
  }
  const secret = checkPassphrase(passphrase);
  if (secret !== undefined) keywords.sslpassword = secret;
  const cert = certificates(ssl.cert, 'cert');
  const keyText = pem(key, 'key', KEY, 'openssl pkey -inform der -in FILE');
  if (cert === undefined && keyText === undefined) return;
  if (cert === undefined) refuse('key', 'needs its certificate in ssl.cert');
  if (keyText === undefined) refuse('cert', 'needs its private key in ssl.key');
  if (cert === undefined || keyText === undefined) return;
  const parsed = privateKey(keyText, secret);
  if (cert.first !== undefined && !cert.first.checkPrivateKey(parsed)) {
    refuse('key', 'is not the private key of the certificate in ssl.cert');
  }
  files.sslcert = cert.text;
  files.sslkey = keyText;
}

/** @param {any} ssl @param {Asked} asked */
function askTrust(ssl, { files }) {
  const ca = certificates(ssl.ca, 'ca');
  if (ca !== undefined) files.sslrootcert = ca.text;
  const crl = pem(ssl.crl, 'crl', REVOCATIONS, 'openssl crl -inform der -in FILE');
  if (crl === undefined) return;
  // libpq passes over lists that it cannot read, and over all lists beside the system's certificates.
  if (ca === undefined) {
    refuse('crl', 'needs ssl.ca: with the certificates of the system libpq ignores it');
  }
  try {
    tls.createSecureContext({ crl });
  } catch (error) {
    refuse('crl', 'cannot be read', error);
  }
  files.sslcrl = crl;
}

/** @param {any} ssl @returns {Asked} */
function askObject(ssl) {
  for (const name of Object.keys(ssl)) {
    if (KNOWN.includes(name) || WITHOUT_EFFECT.includes(name)) continue;
    if (NODE_ONLY.includes(name) || ssl[name] === undefined || ssl[name] === null) continue;
    refuse(name, 'is not supported: there is nothing like it');
  }
  const { rejectUnauthorized, servername } = ssl;
  for (const name of ['rejectUnauthorized', 'require']) {
    if (![undefined, null, true, false].includes(ssl[name])) refuse(name, 'must be true or false');
  }
  if (ssl.require === false) refuse('require', 'cannot be false: leave ssl out, or set sslmode');
  /** @type {Asked} */
  const asked = {
    sslmode: rejectUnauthorized === false ? 'require' : 'verify-full',
    keywords: {},
    files: {},
    servername: undefined,
  };
  if (servername !== undefined && servername !== null) {
    // In libpq's lists of hosts commas stand between them, and these beginnings mean unix sockets.
    if (typeof servername !== 'string' || !/^[^\s\0,/@][^\s\0,]*$/.test(servername)) {
      refuse('servername', 'must be one host name; sslsni: "0" turns SNI off');
    }
    asked.servername = servername;
  }
  for (const [name, keyword] of Object.entries(VERSION_KEYWORDS)) {
    const version = ssl[name];
    if (version === undefined || version === null) continue;
    if (!VERSIONS.includes(version)) refuse(name, `must be one of ${VERSIONS.join(', ')}`);
    asked.keywords[keyword] = version;
  }
  if (NODE_ONLY.some((name) => ssl[name] !== undefined && ssl[name] !== null)) {
    asked.node = ssl;
    return asked;
  }
  askTrust(ssl, asked);
  askIdentity(ssl, asked);
  return asked;
}

/** @param {unknown} ssl @returns {Asked} */
function askedBy(ssl) {
  if (typeof ssl === 'object' && ssl !== null && !Array.isArray(ssl)) return askObject(ssl);
  /** @type {string | undefined} */
  let sslmode;
  if (ssl === true || ssl === 'true') sslmode = 'verify-full';
  else if (ssl === false || ssl === 'false') sslmode = 'disable';
  else if (ssl === NO_VERIFY) sslmode = 'require';
  else if (typeof ssl === 'string' && MODES.includes(ssl)) sslmode = ssl;
  if (sslmode === undefined) {
    throw new OptionError(
      `option "ssl" must be true, false, '${NO_VERIFY}', a value of sslmode, or an object with ca, ` +
        'cert, key, …',
    );
  }
  return { sslmode, keywords: {}, files: {}, servername: undefined };
}

/** @param {string} mode @returns {string} */
function checkMode(mode) {
  if (mode === NO_VERIFY) return 'require';
  if (!MODES.includes(mode)) {
    throw new OptionError(`option "sslmode" must be one of ${MODES.join(', ')}, ${NO_VERIFY}`);
  }
  return mode;
}

/**
 * @param {unknown[]} given
 * @param {Record<string, string>} conninfo
 */
function asksInEnvironment(given, { sslmode, service }) {
  const { PGSSLMODE = '', PGSERVICE } = process.env;
  // In a service there may be another one, which only libpq reads.
  if (!VERIFIED_BY_PG.includes(PGSSLMODE)) return false;
  if (sslmode !== undefined || service || PGSERVICE) return false;
  return given.every((ssl) => ssl === undefined || ssl === null);
}

/**
 * @param {unknown[]} given the option `ssl`, and that of the connection string
 * @param {Record<string, string>} conninfo gets the keywords that they stand for
 * @returns {TlsSettings}
 * @throws {OptionError}
 */
function applyTls(given, conninfo) {
  // libpq would refuse it there.
  if (process.env.PGSSLMODE === NO_VERIFY) conninfo.sslmode ??= NO_VERIFY;
  if (conninfo.sslmode !== undefined) conninfo.sslmode = checkMode(conninfo.sslmode);
  if (asksInEnvironment(given, conninfo)) given = [true];
  const asked = given.filter((ssl) => ssl !== undefined && ssl !== null).map(askedBy);
  if (asked.length === 0) return { files: {}, servername: undefined };
  const { files, keywords, servername, node } = asked[0];
  const modes = asked.map(({ sslmode }) => sslmode);
  // By itself it means verify-full to libpq.
  const isSystem = conninfo.sslrootcert === SYSTEM;
  modes.push(conninfo.sslmode ?? (isSystem ? 'verify-full' : 'disable'));
  conninfo.sslmode = MODES[Math.max(...modes.map((mode) => MODES.indexOf(mode)))];
  if (!conninfo.sslmode.startsWith('verify')) {
    // As in `pg` nothing is verified then; libpq would, if it had them.
    delete files.sslrootcert;
    delete files.sslcrl;
  }
  if (files.sslrootcert !== undefined && isSystem) delete conninfo.sslrootcert;
  for (const keyword of [...Object.keys(keywords), ...Object.keys(files)]) {
    if (conninfo[keyword] === undefined) continue;
    throw new OptionError(`option "${keyword}" and what it stands for in "ssl": give one of them`);
  }
  Object.assign(conninfo, keywords);
  const isFull = asked.some(({ sslmode }) => sslmode === 'verify-full');
  if (isFull && node === undefined && files.sslrootcert === undefined) {
    // An object says all of it; elsewhere the variable counts, which libpq reads only where no keyword is given.
    const isObject = given.some((ssl) => typeof ssl === 'object');
    conninfo.sslrootcert ??= (!isObject && process.env.PGSSLROOTCERT) || SYSTEM;
  }
  if (servername !== undefined && conninfo.service !== undefined && conninfo.host === undefined) {
    // Which host it names only libpq knows.
    refuse('servername', 'needs the option host beside a service');
  }
  return { files, servername, node };
}

module.exports = { NO_VERIFY, VERIFIED_BY_PG, applyTls };
