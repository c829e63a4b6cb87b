'use strict';

// Whether something stands between and lends the server's sessions, and for how long it does. A pooler refuses to say
// so to ordinary users, so it is told by what happens to sessions. Nothing is set in them: they are others' too.

const { explain } = require('./reasons');
const { StepTimeout } = require('./limit');
const { checkStatements } = require('./statements');

/** @typedef {import('./index').Context} Context */

/** Attempts to see two clients on one session. */
const ROUNDS = 8;
/** What no server has by chance. */
const STARTUP_MILLIS = 54_321_000;

const STARTUP = 'settings at the start of a session (statement_timeout, options)';
const FOR_THE_ROLE = 'set them for the role (ALTER ROLE … SET …)';

const FULL = 'the pooler has no second session to lend now';

const PID = 'select pg_backend_pid() as pid';

/** @type {Record<string, string>} */
const MODES = {
  session: 'a client keeps its session (session mode): all works but settings at its start',
  transaction:
    'a session is lent for one transaction at a time (transaction mode): no SET, no session locks, no temporary tables',
  statement:
    'a session is lent for one statement at a time (statement mode): BEGIN is refused, and so is transaction()',
};

/** @type {Record<string, import('./findings').Level>} */
const LEVELS = { session: 'ok', transaction: 'note', statement: 'warning' };

/** @param {Context} context */
async function checkPooler(context) {
  const { facts, findings, sessions } = context;
  facts.pooler = { between: null, mode: null, statements: null, startupSettings: null };
  const client = await sessions.main();
  let pid;
  try {
    [{ pid }] = await sessions.ask(client, PID);
  } catch (error) {
    findings.unseen('pooler', 'the process of the session', error);
    return;
  }
  if (!client.processID) {
    findings.add(
      'pooler',
      'note',
      'the server names no process: whether there is a pooler is not seen',
    );
  } else if (pid === client.processID) {
    Object.assign(facts.pooler, { between: false, mode: 'none' });
    findings.add(
      'pooler',
      'ok',
      'no pooler in between: the process that answers is the one that was connected to',
    );
  } else {
    facts.pooler.between = true;
    await checkMode(context);
    const { mode } = facts.pooler;
    const what = MODES[mode] ?? 'how long it lends a session was not seen';
    findings.add('pooler', LEVELS[mode] ?? 'note', `a pooler in between: ${what}`);
    await checkStartup(context);
  }
  await checkStatements(context);
}

/** @param {Context} context */
async function checkMode(context) {
  const { facts, findings, sessions } = context;
  if (await refusesTransactions(context)) {
    facts.pooler.mode = 'statement';
    return;
  }
  /** @type {any} */
  let other;
  try {
    other = await sessions.open();
    facts.pooler.mode = (await sharesSession(context, other)) ? 'transaction' : 'session';
  } catch (error) {
    const text = `a second client: ${explain(error)}`;
    findings.add('pooler.full', 'warning', text);
  } finally {
    if (other !== undefined) await sessions.close(other);
  }
}

/** @param {Context} context */
async function refusesTransactions({ sessions }) {
  const client = await sessions.main();
  try {
    await sessions.ask(client, 'begin');
    await sessions.ask(client, 'rollback');
    return false;
  } catch (/** @type {any} */ error) {
    await sessions.closeMain();
    return /statement pooling/.test(`${error.message} ${error.cause?.message}`);
  }
}

/**
 * Poolers lend what was used last, so that the second client gets the session of the first while that one is idle.
 * @param {Context} context
 * @param {any} other
 */
async function sharesSession({ findings, sessions }, other) {
  const client = await sessions.main();
  for (let round = 0; round < ROUNDS; ++round) {
    const [before] = await sessions.ask(client, PID);
    let held;
    try {
      await sessions.ask(other, 'begin');
      [held] = await sessions.ask(other, PID);
    } catch (error) {
      if (!(error instanceof StepTimeout)) throw error;
      // The first one holds all that there is.
      findings.add('pooler.full', 'warning', FULL);
      return false;
    }
    if (held.pid === before.pid) {
      await sessions.ask(other, 'rollback');
      return true;
    }
    let after;
    try {
      [after] = await sessions.ask(client, PID);
    } catch (error) {
      if (!(error instanceof StepTimeout)) throw error;
      findings.add('pooler.full', 'warning', FULL);
      return true;
    }
    await sessions.ask(other, 'rollback');
    if (after.pid !== before.pid) return true;
  }
  return false;
}

/** What options such as statement_timeout become. @param {Context} context */
async function checkStartup({ facts, findings, sessions }) {
  const id = 'pooler.startup';
  /** @type {any} */
  let client;
  try {
    client = await sessions.open({ statement_timeout: STARTUP_MILLIS });
    const [{ value }] = await sessions.ask(
      client,
      "select current_setting('statement_timeout') as value",
    );
    const isKept = value === `${STARTUP_MILLIS / 1000}s`;
    facts.pooler.startupSettings = isKept ? 'kept' : 'ignored';
    const text = isKept
      ? 'settings at the start of a session arrive'
      : `${STARTUP} have no effect: ${FOR_THE_ROLE}`;
    findings.add(id, isKept ? 'ok' : 'note', text);
  } catch (/** @type {any} */ error) {
    facts.pooler.startupSettings = error.code === '08P01' ? 'refused' : null;
    const text =
      error.code === '08P01'
        ? `${STARTUP} are refused: ${FOR_THE_ROLE}`
        : `settings at the start of a session: ${explain(error)}`;
    findings.add(id, 'note', text);
  } finally {
    if (client !== undefined) await sessions.close(client);
  }
}

module.exports = { checkPooler };
