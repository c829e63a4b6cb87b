'use strict';

// What tests see from outside of the driver: the server's own view, through
// `pg`, so that a fault of ours does not hide itself; child processes; and
// waiting, bounded, for what no event announces.

const { spawn } = require('node:child_process');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const pg = require('pg');

const { SCHEMA, connectionString, resetSchema } = require('./connect');

// A process that begins under the sanitizers takes some seconds to do so, and a thread too.
const PATIENCE_MILLIS = process.env.ASAN_OPTIONS === undefined ? 10_000 : 300_000;
// A busy machine takes as long to start twenty threads.
const FIXTURE_PATIENCE_MILLIS = 2.5 * PATIENCE_MILLIS;

/**
 * Waits until the condition holds.
 * @param {string} what
 * @param {() => any} condition
 * @param {number} [patienceMillis] for what takes longer than tests should
 */
async function until(what, condition, patienceMillis = PATIENCE_MILLIS) {
  const begunAt = Date.now();
  for (;;) {
    const value = await condition();
    if (value) return value;
    const waited = Date.now() - begunAt;
    if (waited > patienceMillis) throw new Error(`waited in vain until ${what}`);
    // To ask costs the server as much as many a test: what takes long is asked for less often.
    await delay(Math.min(Math.max(5, waited / 10), 50));
  }
}

/**
 * Unlike events.once() it is no listener for errors.
 * @param {import('node:events').EventEmitter} emitter
 * @param {string} event
 * @returns {Promise<void>}
 */
function seen(emitter, event) {
  return new Promise((resolve) => {
    emitter.once(event, () => resolve());
  });
}

let names = 0;

/** @returns {string} an application_name of this test alone */
function applicationName() {
  return `conduit_${process.pid}_${++names}`;
}

class Observer {
  /** @param {any} [config] of `pg`; the run's server without it */
  static async open(config) {
    const observer = new Observer();
    await observer.connect(config);
    return observer;
  }

  /** @param {any} [config] */
  async connect(config) {
    this.client = new pg.Client(config ?? connectionString());
    // A server that is stopped by the test cuts it too.
    this.client.on('error', () => {});
    await this.client.connect();
  }

  /** @param {string} text @param {unknown[]} [values] */
  async ask(text, values) {
    return (await this.client.query(text, values)).rows;
  }

  /** A table of the run's schema, made anew. @param {string} name @param {string} columns */
  async makeTable(name, columns) {
    await this.ask(`drop table if exists ${SCHEMA}.${name}`);
    await this.ask(`create table ${SCHEMA}.${name} (${columns})`);
  }

  /** @param {string} table @returns {Promise<any[]>} in order */
  rowsOf(table) {
    return this.ask(`select * from ${SCHEMA}.${table} order by 1`);
  }

  /** @param {string} name application_name @returns {Promise<number[]>} process ids */
  async backends(name) {
    const rows = await this.ask('select pid from pg_stat_activity where application_name = $1', [
      name,
    ]);
    return rows.map(({ pid }) => pid);
  }

  /** @param {number} key of an advisory lock, held until unlock() */
  async lock(key) {
    await this.ask('select pg_advisory_lock($1::bigint)', [key]);
  }

  /** @param {number} key */
  async unlock(key) {
    await this.ask('select pg_advisory_unlock($1::bigint)', [key]);
  }

  /** @param {number} key @param {number} [count] how many wait for the lock */
  async untilWaitedFor(key, count = 1) {
    await until(`${count} wait for lock ${key}`, async () => {
      const waiting = await this.ask(
        "select 1 from pg_locks where locktype = 'advisory' and objid = $1::bigint and not granted",
        [key],
      );
      return waiting.length === count;
    });
  }

  /** @param {number} pid of a backend that comes to pg_sleep() */
  async untilAsleep(pid) {
    await until(`backend ${pid} sleeps`, async () => {
      const asleep = await this.ask(
        "select 1 from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'",
        [pid],
      );
      return asleep.length > 0;
    });
  }

  /** Until nobody else has a session in its database, which is then safe to stop. */
  async untilAlone() {
    await until('all other sessions are closed', async () => {
      const others = await this.ask(
        `select from pg_stat_activity
         where backend_type = 'client backend' and datname = current_database() and pid <> pg_backend_pid()`,
      );
      return others.length === 0;
    });
  }

  async terminate(pid) {
    await this.ask('select pg_terminate_backend($1)', [pid]);
  }

  async close() {
    await this.client.end();
  }
}

/**
 * An observer for the tests of a describe block, whose locks end with each of them; before the
 * first one it makes the schema anew. Call it first in describe, lest clients wait for the locks.
 */
function observeServer() {
  const observer = new Observer();
  before(async () => {
    await resetSchema();
    await observer.connect();
  });
  after(() => observer.close());
  afterEach(() => observer.ask('select pg_advisory_unlock_all()'));
  return observer;
}

/** At process.exit() V8 frees nothing: what is called a leak then is mostly V8's own. */
function sanitizerOptions() {
  const { ASAN_OPTIONS } = process.env;
  return ASAN_OPTIONS === undefined ? {} : { ASAN_OPTIONS: `${ASAN_OPTIONS}:detect_leaks=0` };
}

/**
 * Runs a program to its end; one that does not end is killed.
 * @param {string} command
 * @param {string[]} args
 * @param {{ env?: Record<string, string>, cwd?: string, patienceMillis?: number }} [how]
 * @returns {Promise<{ code: number | null, signal: string | null, stdout: string, stderr: string }>}
 */
async function runProgram(
  command,
  args,
  { env = {}, cwd, patienceMillis = FIXTURE_PATIENCE_MILLIS } = {},
) {
  const child = spawn(command, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data) => (stdout += data));
  child.stderr.on('data', (data) => (stderr += data));
  const timer = setTimeout(() => child.kill('SIGKILL'), patienceMillis);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stdout, stderr });
    });
  });
}

/**
 * Runs a script of fixtures/ to its end.
 * @param {string} name
 * @param {{ args?: string[], nodeArgs?: string[], env?: Record<string, string>,
 *   patienceMillis?: number }} [how]
 */
function runFixture(name, { args = [], nodeArgs = [], env = {}, patienceMillis } = {}) {
  const script = path.join(__dirname, 'fixtures', name);
  return runProgram(process.execPath, [...nodeArgs, script, ...args], {
    env: { ...sanitizerOptions(), ...env },
    patienceMillis,
  });
}

module.exports = {
  PATIENCE_MILLIS,
  Observer,
  applicationName,
  observeServer,
  runFixture,
  runProgram,
  seen,
  until,
};
