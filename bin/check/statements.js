'use strict';

// Whether prepared statements work from here, where a pooler may execute one on another session of the server than
// it was prepared on. What is prepared for that is closed again.

const { randomUUID } = require('node:crypto');
const { StepTimeout } = require('./limit');

/** @typedef {import('./index').Context} Context */

/** Attempts to have a statement executed elsewhere than it was prepared. */
const ROUNDS = 8;
const LOST = 'PG_CONDUIT_POOLER';
const PGBOUNCER_NAME = /^PGBOUNCER_\d+$/;

/** @param {Context} context */
async function checkStatements(context) {
  const { facts, findings } = context;
  const id = 'statements';
  try {
    const state = await tryStatements(context);
    facts.pooler.statements = state;
    if (state === 'lost') {
      findings.add(
        id,
        'warning',
        'prepared statements get lost: they are executed on another session than they were prepared on',
      );
    } else if (state === 'managed') {
      findings.add(id, 'ok', 'prepared statements work: the pooler brings them to each session');
    } else if (state === 'kept') {
      findings.add(id, 'ok', 'prepared statements work');
    } else {
      const text = 'prepared statements work in one session; another one was not to be had';
      findings.add(id, 'note', text);
    }
  } catch (error) {
    const { message } = /** @type {any} */ (error);
    facts.pooler.statements = 'refused';
    findings.add(id, 'warning', `prepared statements fail: ${message}`);
  }
}

/**
 * @param {Context} context
 * @returns {Promise<'kept' | 'managed' | 'lost' | 'unknown'>}
 */
async function tryStatements({ facts, sessions, warnings }) {
  const { mode } = facts.pooler;
  const name = `pg_conduit_check_${randomUUID()}`;
  const isLent = mode === 'transaction' || mode === 'statement';
  // It may be the only one.
  if (!isLent) await sessions.closeMain();
  const client = await sessions.open({ prepare: true });
  const execute = async () => {
    const query = { name, text: 'select pg_backend_pid() as pid, $1::int as i', values: [1] };
    const { rows } = await sessions.query(client, query);
    return rows[0].pid;
  };
  /** @type {any} */
  let other;
  try {
    const home = await execute();
    await execute();
    if (!isLent) return 'kept';
    const isNamed = await hasPoolerNames(sessions, client);
    other = await sessions.open();
    for (let round = 0; round < ROUNDS; ++round) {
      // In statement mode nothing can be held, and what is slow does as well.
      const held = mode === 'statement' ? undefined : await hold(sessions, other);
      const slow = mode === 'statement' ? sessions.ask(other, 'select pg_sleep(0.1)') : undefined;
      const at = await execute().catch((error) => {
        if (error instanceof StepTimeout) return undefined;
        throw error;
      });
      await slow;
      // All that it has is held.
      if (at === undefined) break;
      const isLost = await wasLost(sessions, client, warnings);
      if (isLost) await forget(sessions, client, other, name, held === home);
      if (held !== undefined) await sessions.ask(other, 'rollback');
      if (isLost) return 'lost';
      if (at !== home) return 'managed';
    }
    return isNamed ? 'managed' : 'unknown';
  } finally {
    await sessions.close(client);
    if (other !== undefined) await sessions.close(other);
  }
}

/** @param {import('./sessions').Sessions} sessions @param {any} other @returns {Promise<number>} the process of its session */
async function hold(sessions, other) {
  await sessions.ask(other, 'begin');
  const [{ pid }] = await sessions.ask(other, 'select pg_backend_pid() as pid');
  return pid;
}

/** The driver finds that out by itself, and says so. @param {import('./sessions').Sessions} sessions @param {any} client @param {any[]} warnings */
async function wasLost(sessions, client, warnings) {
  await sessions.ask(client, 'select 1');
  await sessions.ask(client, 'select 1');
  return warnings.some(({ code }) => code === LOST);
}

/**
 * @param {import('./sessions').Sessions} sessions
 * @param {any} client
 * @param {any} other
 * @param {string} name
 * @param {boolean} isHeld by the other one: the session where it was prepared
 */
async function forget(sessions, client, other, name, isHeld) {
  const text = `deallocate "${name}"`;
  for (let round = 0; round < ROUNDS; ++round) {
    // While the one is busy, the other one gets another session.
    const busy = isHeld ? undefined : sessions.ask(client, 'select pg_sleep(0.02)');
    try {
      await sessions.ask(round % 2 === 0 ? other : client, text);
      return;
    } catch {
      // The pooler has closed it, or it was another session.
      if (isHeld) return;
    } finally {
      await busy?.catch(() => {});
    }
  }
}

/** @param {import('./sessions').Sessions} sessions @param {any} client */
async function hasPoolerNames(sessions, client) {
  try {
    const rows = await sessions.ask(client, 'select name from pg_prepared_statements');
    return rows.some(({ name }) => PGBOUNCER_NAME.test(name));
  } catch {
    return false;
  }
}

module.exports = { checkStatements };
