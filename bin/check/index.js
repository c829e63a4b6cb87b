'use strict';

// `npx pg-conduit check`: what is at the other end of a connection string, for people who do not know. It looks and
// asks, and changes nothing. bin/pg-conduit.js calls it; print.js says in words what is returned.

const { advise } = require('./advice');
const { Findings } = require('./findings');
const { checkHosts, judgeHosts } = require('./hosts');
const { checkLimits } = require('./limits');
const { checkListen, checkReplication } = require('./listen');
const { checkPooler } = require('./pooler');
const { checkProxy } = require('./proxy');
const { explain } = require('./reasons');
const { checkServer } = require('./server');
const { Sessions } = require('./sessions');
const { checkSettings } = require('./settings');
const { checkSpeed } = require('./speed');
const { readTarget } = require('./target');
const { checkRefusedTls, checkTls } = require('./tls');

/**
 * @typedef {object} Context what the parts of the check share
 * @property {import('./target').Target} target
 * @property {Sessions} sessions
 * @property {Findings} findings
 * @property {any} facts what is known, under the names of the report
 * @property {number} timeoutMillis of each step
 * @property {number} max of the application's pools
 * @property {number} processes that have one each
 * @property {any[]} warnings of the process, since the check began
 *
 * @typedef {object} CheckOptions
 * @property {string} [url]
 * @property {number} timeoutMillis
 * @property {number} [max]
 * @property {number} processes
 */

/** Each of them may find the connection lost that the last one had. */
const STEPS = [
  ...[checkServer, checkTls, checkSpeed, checkPooler, checkProxy, checkLimits],
  ...[checkSettings, checkListen, checkReplication],
];

/** What the report has, in this order; null where it was not found out. */
const FACTS = [
  ...['hosts', 'together', 'server', 'tls', 'roundTrip', 'pipeline', 'batch', 'pooler', 'limits'],
  ...['settings', 'roleSettings', 'listen', 'replication'],
];

/**
 * @param {CheckOptions} options
 * @returns {Promise<Record<string, any>>} the report
 * @throws {Error} an OptionError: the connection string cannot be read
 */
async function check({ url, timeoutMillis, max, processes }) {
  /** @type {any[]} */
  const warnings = [];
  const onWarning = (/** @type {any} */ warning) => warnings.push(warning);
  process.on('warning', onWarning);
  try {
    const target = readTarget(url);
    const findings = new Findings();
    /** @type {Context} */
    const context = {
      target,
      findings,
      sessions: new Sessions(target.options, timeoutMillis),
      facts: {},
      timeoutMillis,
      max: max ?? target.max,
      processes,
      warnings,
    };
    try {
      await checkAll(context);
    } finally {
      await context.sessions.closeAll();
    }
    tellWarnings(context);
    return toReport(context);
  } finally {
    process.off('warning', onWarning);
  }
}

/** @param {Context} context */
async function checkAll(context) {
  await checkHosts(context);
  if (context.facts.reached.length === 0) {
    await checkRefusedTls(context);
    return;
  }
  for (const step of STEPS) {
    try {
      await step(context);
    } catch (error) {
      context.findings.add('connection', 'problem', `the connection was lost: ${explain(error)}`);
      if (!(await isThere(context))) return;
    }
    if (step === checkServer) judgeHosts(context);
  }
}

/** Whether there is a server to go on with. @param {Context} context */
async function isThere({ sessions }) {
  try {
    await sessions.main();
    return true;
  } catch {
    return false;
  }
}

/** Slips in the connection string, as the driver tells them. @param {Context} context */
function tellWarnings({ findings, warnings }) {
  for (const { code, message } of warnings) {
    if (!/^PG_CONDUIT_(?:UNKNOWN_OPTION|OPTION_VALUE)$/.test(code)) continue;
    findings.add('options', 'warning', message);
  }
}

/** @param {Context} context */
function toReport(context) {
  const { facts, findings, target } = context;
  const advice = advise(context);
  return {
    target: { source: target.source, url: target.url },
    ok: !findings.hasProblem,
    counts: findings.count(),
    ...Object.fromEntries(FACTS.map((name) => [name, facts[name] ?? null])),
    findings: findings.list,
    advice,
  };
}

module.exports = { check };
