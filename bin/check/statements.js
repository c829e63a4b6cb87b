'use strict';

// Whether prepared statements work from here, where a pooler may execute one on another session of the server than
// it was prepared on. What is prepared for that is closed again.

const { randomUUID } = require('node:crypto');

/** @typedef {import('./index').Context} Context */

/** Attempts to find the session that has it. */
const ROUNDS = 8;
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
async function tryStatements({ facts, sessions }) {
  const { mode } = facts.pooler;
  const mark = randomUUID();
  const isLent = mode === 'transaction' || mode === 'statement';
  // It may be the only one.
  if (!isLent) await sessions.closeMain();
  const client = await sessions.open({ prepare: true });
  /** @type {any} */
  let other;
  try {
    // A statement that looks for itself, and so for the name that it has on the server.
    const query = {
      name: `pg_conduit_check_${mark}`,
      text: `select name from pg_prepared_statements where strpos(statement, '${mark}') > 0`,
    };
    const { rows } = await sessions.query(client, query);
    if (!isLent) {
      await sessions.query(client, query);
      return 'kept';
    }
    if (rows.length === 0) return 'unknown';
    const [{ name }] = rows;
    if (PGBOUNCER_NAME.test(name)) return 'managed';
    // The pooler passes it on as it is, and so does not know it. It stays in a session that is somebody's.
    other = await sessions.open();
    await forget(sessions, client, other, name);
    return 'lost';
  } finally {
    await sessions.close(client);
    if (other !== undefined) await sessions.close(other);
  }
}

/**
 * @param {import('./sessions').Sessions} sessions
 * @param {any} client
 * @param {any} other
 * @param {string} name
 */
async function forget(sessions, client, other, name) {
  const text = `deallocate "${name}"`;
  for (let round = 0; round < ROUNDS; ++round) {
    // While the one is busy, the other one gets another session.
    const busy = sessions.ask(round % 2 === 0 ? client : other, 'select pg_sleep(0.02)');
    try {
      await sessions.ask(round % 2 === 0 ? other : client, text);
      return;
    } catch {
      // It was another session.
    } finally {
      await busy.catch(() => {});
    }
  }
}

module.exports = { checkStatements };
