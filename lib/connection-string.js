'use strict';

// A connection string into options, in all forms that `pg` takes and all that libpq takes: libpq
// reads it, and gets what only `pg` knows in a form that it can read. Called by options.js.

const binding = require('./binding');
const { OptionError } = require('./errors');

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
  if (/^(?:socket:|\/)/.test(given)) return parseSocket(given);
  const scheme = SCHEME.exec(given)?.[0];
  if (scheme === undefined) return parseForLibpq(given);
  const { text, parameters } = takeParameters(given.slice(scheme.length));
  return asInPg({ ...parseForLibpq(FOR_LIBPQ + text), ...parameters });
}

/**
 * Takes out the parameters of a URL that libpq does not have.
 * @param {string} text behind the scheme
 * @returns {{ text: string, parameters: Record<string, string> }}
 */
function takeParameters(text) {
  // Where libpq sees the end of user and password: they may have a `?` in them.
  const start = text.indexOf('?', Math.max(0, text.search(/[@/]/)));
  if (start < 0) return { text: encode(text), parameters: {} };
  /** @type {Record<string, string>} */
  const parameters = {};
  const kept = text
    .slice(start + 1)
    .split('&')
    // To URLs a plus is a space, to libpq it is not.
    .map((parameter) => parameter.replaceAll('+', '%20'))
    .filter((parameter) => {
      const [name] = parameter.split('=', 1);
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
function asInPg({ ssl, ...options }) {
  // sslmode has libpq's meaning here in any case.
  delete options.uselibpqcompat;
  // As in `pg`, sslmode says it better.
  if (options.sslmode !== undefined) return options;
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

/** @returns {never} */
function refuse() {
  throw new OptionError(
    'option "connectionString" cannot be read: write ' +
      'postgresql://user:password@host:port/database, with special characters percent-encoded',
  );
}

module.exports = { parseConnectionString };
