'use strict';

// Process warnings of what a program has forgotten: to give back a connection that it has borrowed, so that pool.end()
// waits, or to end a pool that nobody uses any more. Called by pool.js.

const { countShown } = require('../connection');

/** How long pool.end() waits in silence, without the option leakWarningMillis. */
const END_MILLIS = 10_000;

/**
 * Who has called.
 * @typedef {{ stack?: string }} Caller
 *
 * @param {Function} above the first function that is not shown
 * @returns {Caller} until it is read, it holds those who are on the stack
 */
function noteCaller(above) {
  const caller = {};
  Error.captureStackTrace(caller, above);
  return caller;
}

/**
 * @param {string} message
 * @param {string} what the caller did
 * @param {Caller} caller
 */
function warn(message, what, { stack }) {
  const frames = String(stack).split('\n').slice(1);
  const warning = new Error(message);
  warning.name = 'PoolLeakWarning';
  warning.stack = [`${warning}`, ...frames].join('\n');
  // Node prints the detail, but the stack under --trace-warnings only.
  const detail = [`${what} here:`, ...frames].join('\n');
  process.emitWarning(Object.assign(warning, { code: 'PG_CONDUIT_POOL_LEAK', detail }));
}

/**
 * @param {number} millis
 * @returns {{ start: () => void, stop: () => void }} from the borrowing to the giving back
 */
function watchLoan(millis) {
  const caller = noteCaller(watchLoan);
  const message =
    `a connection of a pool was borrowed and not given back within ${millis} ms ` +
    '(leakWarningMillis): call release(), or let the function of transaction() end';
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  return {
    start() {
      timer = setTimeout(() => warn(message, 'It was borrowed', caller), millis).unref();
    },
    stop() {
      clearTimeout(timer);
    },
  };
}

/**
 * @param {number} leakWarningMillis 0: borrowers are not watched, which would cost each of them something
 * @param {() => { borrowed: number, inFlight: number, waiting: number }} look what there still is
 * @returns {() => void} it is over
 */
function watchEnd(leakWarningMillis, look) {
  const caller = noteCaller(watchEnd);
  const millis = leakWarningMillis || END_MILLIS;
  const timer = setTimeout(() => {
    const { borrowed, inFlight, waiting } = look();
    const advice =
      borrowed === 0
        ? ''
        : '. Call release(), read streams to their end or destroy them, and let transactions end';
    const message =
      `pool.end() has waited for ${millis} ms, for borrowed connections (${borrowed}), queries in flight ` +
      `(${inFlight}) and what waits for a connection (${waiting})${advice}`;
    warn(message, 'It was called', caller);
  }, millis).unref();
  return () => clearTimeout(timer);
}

/**
 * What a pool does.
 * @typedef {{ open: number, isIdle: boolean, settled: number }} Activity
 *   `open`: connections; `settled`: queries, which shows whether there were any
 */

/** Those of pools with open connections. @type {Set<IdleWatch>} */
const watches = new Set();

/** Warns once of a pool that is not ended, though it does nothing and nothing else keeps the process alive. */
class IdleWatch {
  #millis;
  #look;
  #maker = noteCaller(IdleWatch);
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;
  #hasTold = false;
  /** Queries at the last look, if it was idle then. */
  #settled = -1;
  /** Connections that are idle since the last look. */
  idle = 0;

  /** @param {number} millis @param {() => Activity} look */
  constructor(millis, look) {
    this.#millis = millis;
    this.#look = look;
    // A pool may live for long.
    void this.#maker.stack;
  }

  /** A connection was opened. */
  start() {
    if (this.#timer !== undefined) return;
    watches.add(this);
    this.#timer = setInterval(() => this.#check(), this.#millis).unref();
  }

  stop() {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#settled = -1;
    this.idle = 0;
    watches.delete(this);
  }

  #check() {
    const { open, isIdle, settled } = this.#look();
    this.idle = isIdle && settled === this.#settled ? open : 0;
    this.#settled = isIdle ? settled : -1;
    if (open === 0) {
      this.stop();
    } else if (!this.#hasTold && this.idle > 0 && isKeptAliveByIdlePools()) {
      this.#hasTold = true;
      warn(
        `a pool was idle for ${this.#millis} ms (leakWarningMillis) and is all that keeps the process alive: ` +
          'call pool.end() when it is not needed any more, or set allowExitOnIdle',
        'It was made',
        this.#maker,
      );
    }
  }
}

/** As far as Node.js knows. */
function isKeptAliveByIdlePools() {
  let idle = 0;
  for (const watch of watches) idle += watch.idle;
  const { connections, tcpSockets } = countShown();
  // A process with a parent may wait for what that says.
  if (idle < connections || process.connected) return false;
  // eslint-disable-next-line n/no-unsupported-features/node-builtins -- experimental in Node 20
  const names = process.getActiveResourcesInfo();
  let left = tcpSockets;
  return names.every((name) => {
    // What it prints to, and our own.
    if (name === 'TTYWrap' || name === 'PipeWrap') return true;
    return name === 'TCPSocketWrap' && --left >= 0;
  });
}

module.exports = { IdleWatch, watchEnd, watchLoan };
