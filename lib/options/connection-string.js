'use strict';

// A connection string into options, in all forms that `pg` takes and all that libpq takes: libpq
// reads it, and gets what only `pg` knows in a form that it can read. Called by options.js.

const { OptionError } = require('../base');
const { binding } = require('../native');
const { VERIFIED_BY_PG } = require('./tls');

/** Schemes that `pg`, to which they are all the same, is given by frameworks and hosts. */
const SCHEME = /^(?:postgres(?:ql)?|pg(?:sql)?|postgis|cockroach(?:db)?|redshift):\/\//i;
const FOR_LIBPQ = 'postgresql://';

const libpqKeywords = new Set(binding.conninfoKeywords());

/**
 * @param {string} given a URI, "keyword=value …", or a folder and a database
 * @returns {Record<string, any>} options under the names of `pg` or libpq
 * @throws {OptionError}
 */
function parseConnectionString(given) {
  // A file that holds one ends with a line feed.
  given = given.trim();
  if (/^(?:socket:|\/)/.test(given)) return parseSocket(given);
  const scheme = SCHEME.exec(given)?.[0];
  if (scheme === undefined) {
    refuseMistaken(given);
    return parseForLibpq(given);
  }
  const url = encodeUser(given.slice(scheme.length));
  const { text, parameters } = takeParameters(url);
  const options = parseForLibpq(FOR_LIBPQ + text);
  if (isMisread(url, options)) refuse();
  return asInPg({ ...options, ...parameters });
}

/**
 * To libpq user and password end at the first `@`. To `pg` they end at the last one in front of what ends the
 * authority of a URL.
 * @param {string} text behind the scheme
 */
function encodeUser(text) {
  const [authority] = text.split(/[/?#]/, 1);
  const end = Math.max(0, authority.lastIndexOf('@'));
  return text.slice(0, end).replaceAll('@', '%40') + text.slice(end);
}

/**
 * Whether a character of the password that nobody has encoded has moved its rest to another place, from where
 * messages would show it.
 * @param {string} text behind the scheme
 * @param {{ host?: string, port?: string }} options what libpq has read
 */
function isMisread(text, { host = '', port = '' }) {
  const hasUser = /^[^/]*@/.test(text);
  const place = text.slice(hasUser ? text.indexOf('@') + 1 : 0, startOfQuery(text));
  const [, path = ''] = /\/(.*)/s.exec(place) ?? [];
  return (
    // An `@` in front names an abstract socket.
    host.split(',').some((name) => !name.startsWith('/') && /^[#?]|.[@#?]/.test(name)) ||
    /@.*[:/]/s.test(path) ||
    (!hasUser && place.includes('@') && /[^\d,]/.test(port))
  );
}

/** @param {string} text behind the scheme @returns {number} where its `?` is, or its end */
function startOfQuery(text) {
  // To libpq there may be a `?` in user and password, which end at the first `@` before a `/`.
  const start = text.indexOf('?', Math.max(0, text.search(/[@/]/)));
  return start < 0 ? text.length : start;
}

/**
 * Takes out the parameters of a URL that libpq does not have.
 * @param {string} text behind the scheme
 * @returns {{ text: string, parameters: Record<string, string> }}
 */
function takeParameters(text) {
  const start = startOfQuery(text);
  /** @type {Record<string, string>} */
  const parameters = {};
  const kept = text
    .slice(start + 1)
    .split('&')
    // To URLs a plus is a space, to libpq it is not.
    .map((parameter) => parameter.replaceAll('+', '%20'))
    .filter((parameter) => {
      const [name] = parameter.split('=', 1);
      if (name.includes('@')) refuse();
      if (parameter !== '' && libpqKeywords.has(name) && name !== 'client_encoding') return true;
      const value = decode(parameter.slice(name.length + 1));
      if (value !== '') parameters[decode(name)] = value;
      return false;
    });
  const query = kept.length > 0 ? `?${kept.join('&')}` : '';
  return { text: encode(text.slice(0, start) + query), parameters };
}

/** @param {string} text with a percent sign or a space that nobody has encoded, as `pg` takes it */
function encode(text) {
  return text.replace(/%(?![0-9a-f]{2})/gi, '%25').replaceAll(' ', '%20');
}

/** @param {string} text @returns {string} */
function decode(text) {
  try {
    return decodeURIComponent(encode(text));
  } catch {
    return refuse();
  }
}

/**
 * @param {Record<string, any>} options
 * @returns {Record<string, any>} with what these parameters stand for
 */
function asInPg({ ssl, uselibpqcompat, ...options }) {
  if (uselibpqcompat !== 'true' && VERIFIED_BY_PG.includes(options.sslmode)) {
    options.ssl = 'true';
    delete options.sslmode;
  }
  // As in `pg`, sslmode says it better.
  if (options.ssl !== undefined || options.sslmode !== undefined) return options;
  if (ssl !== undefined) options.ssl = ssl.replace(/^1$/, 'true').replace(/^0$/, 'false');
  // It cannot be had without.
  else if (options.sslnegotiation === 'direct') options.ssl = true;
  return options;
}

/**
 * "/folder database", or socket://user:password@/folder?db=…, which libpq does not know.
 * @param {string} text
 * @returns {Record<string, any>}
 */
function parseSocket(text) {
  let parsed;
  try {
    parsed = require('pg-connection-string').parse(text);
  } catch {
    refuse();
  }
  const options = /** @type {Record<string, any>} */ (parsed);
  delete options.db;
  delete options.encoding;
  return Object.fromEntries(Object.entries(options).filter(([, value]) => Boolean(value)));
}

/** @param {string} text @returns {Record<string, any>} */
function parseForLibpq(text) {
  try {
    const { dbname, ...rest } = binding.parseConninfo(text);
    return dbname === undefined ? rest : { ...rest, database: dbname };
  } catch {
    // Its messages quote parts of the text, and so, maybe, the password.
    return refuse();
  }
}

/**
 * Tells what a text is that was meant to be something else. It quotes nothing that could be a password.
 * @param {string} text without a scheme of PostgreSQL's
 * @throws {OptionError}
 */
function refuseMistaken(text) {
  if (text === 'undefined' || text === 'null') {
    throw new OptionError(
      `option "connectionString" is the text "${text}": the variable that it is made of has no value`,
    );
  }
  if (/^["'`]/.test(text)) {
    throw new OptionError(
      'option "connectionString" begins with a quotation mark: take it out, in an .env file too',
    );
  }
  const [, scheme] = /^([a-z][a-z\d+.-]*):\/\//i.exec(text) ?? [];
  if (scheme !== undefined) {
    throw new OptionError(
      `option "connectionString" begins with "${scheme}://": the URL of a PostgreSQL server begins with postgresql://`,
    );
  }
}

/** @returns {never} */
function refuse() {
  throw new OptionError(
    'option "connectionString" cannot be read: write postgresql://user:password@host:port/database, ' +
      'with @ : / ? # % and spaces in user and password percent-encoded, as ' +
      'encodeURIComponent(password) does, or give the password in the option password',
  );
}

module.exports = { parseConnectionString };
