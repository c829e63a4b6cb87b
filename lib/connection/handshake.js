'use strict';

// The steps from settings to a connection: resolves the names, calls the password function and
// starts libpq, with a time limit for all of it. Used by lifecycle.js, which passes on what the
// addon reports.

const { CallSite, Deferred, TimeLimit, toFailure } = require('../base');
const { toParameters } = require('../options');
const { connectError, expiredError, noStringError } = require('./errors');
const { resolveHosts } = require('./resolve-hosts');
const { SocketPump } = require('./socket-pump');

class Handshake {
  /** @type {Deferred<void>} */
  #outcome = new Deferred(new CallSite());
  /** @type {TimeLimit[]} */
  #limits = [];
  #isOver = false;
  /** For a socket that is not libpq's own. @type {SocketPump | undefined} */
  pump = undefined;
  #namesHost;

  /**
   * @param {import('../native').NativeConnection} native
   * @param {import('../options').Settings} settings
   * @param {(error: Error) => void} [onStreamFailed] at any time
   */
  constructor(native, settings, onStreamFailed = (error) => this.fail(error)) {
    if (settings.wire !== undefined) this.pump = new SocketPump(settings.wire, onStreamFailed);
    const { PGHOST, PGHOSTADDR, PGSERVICE } = process.env;
    const { host = PGHOST, hostaddr = PGHOSTADDR, service = PGSERVICE } = settings.conninfo;
    this.#namesHost = Boolean(host || hostaddr || service);
    this.#expectWithin(settings.connectionTimeoutMillis, 'connectionTimeoutMillis');
    this.#start(native, settings).catch((error) => this.fail(error));
  }

  /**
   * @returns {Promise<void>} rejects with a ConnectionError or DatabaseError, or with what a hook
   *   has thrown
   */
  get done() {
    return this.#outcome.promise;
  }

  /** @param {number} millis 0: no limit @param {string} option */
  #expectWithin(millis, option) {
    if (millis === 0) return;
    const limit = new TimeLimit(millis, () => this.fail(expiredError(millis, option)));
    this.#limits.push(limit);
  }

  /**
   * @param {import('../native').NativeConnection} native
   * @param {import('../options').Settings} settings
   */
  async #start(native, settings) {
    const { conninfo, password, connectTimeoutSeconds } = settings;
    const { pump } = this;
    const { servername } = settings.tls;
    const files = pump === undefined ? settings.tls.files : {};
    const resolved =
      pump === undefined
        ? await resolveHosts(conninfo, servername)
        : { ...withoutPlace(conninfo), ...(await pump.listen()) };
    if (password !== undefined) {
      const answer = await askPassword(password, toParameters(settings));
      if (answer) resolved.password = answer;
    }
    // The attempt may have been given up meanwhile.
    if (this.#isOver) return;
    // libpq leaves this limit to those who poll it while it connects. They cannot make it go on to
    // the next address either, so all addresses together have the sum of their limits.
    const addresses = (resolved.hostaddr ?? resolved.host ?? '').split(',').length;
    this.#expectWithin(connectTimeoutSeconds * addresses * 1000, 'connect_timeout');
    native.connect(
      Object.keys(resolved),
      Object.values(resolved),
      Object.keys(files),
      Object.values(files),
      settings.scramMaxIterations,
    );
  }

  succeed() {
    this.#end();
    this.#outcome.resolve();
  }

  /** @param {string | Error} reason an error, or libpq's message */
  fail(reason) {
    this.#end();
    this.pump?.destroy();
    this.#outcome.reject(
      typeof reason === 'string' ? connectError(reason, this.#namesHost) : reason,
    );
  }

  #end() {
    this.#isOver = true;
    for (const limit of this.#limits) limit.cancel();
  }
}

/** Where it leads to, and by which TLS, is the pump's affair. @param {Readonly<Record<string, string>>} conninfo */
function withoutPlace(conninfo) {
  const isOfPlace =
    /^(?:host|hostaddr|port|service|requirepeer|load_balance_hosts|ssl.*|keepalives.*|tcp_user_timeout)$/;
  return Object.fromEntries(Object.entries(conninfo).filter(([name]) => !isOfPlace.test(name)));
}

/**
 * @param {import('../options').AskPassword} password
 * @param {object} parameters of the connection that it is for
 * @returns {Promise<string | null | undefined>} nothing if there is none, or if it is in the
 *   password file
 */
async function askPassword(password, parameters) {
  let value;
  try {
    value = await password(parameters);
  } catch (error) {
    throw toFailure(error, 'the password function');
  }
  if (value === undefined || value === null || typeof value === 'string') return value;
  throw noStringError();
}

module.exports = { Handshake };
