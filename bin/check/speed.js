'use strict';

// How far away the server is, and whether queries may be sent before the last one was answered.

const { roundMillis, showMillis } = require('./limit');
const { describeError } = require('./reasons');

/** @typedef {import('./index').Context} Context */

const ROUNDS = 20;
/** Some poolers take twenty, and not this many. */
const MANY = 400;
/** From here on it matters to programs that ask one thing after the other. */
const FAR_MILLIS = 20;

/** @param {Context} context */
async function checkSpeed(context) {
  await checkRoundTrip(context);
  await checkPipeline(context);
  await checkBatch(context);
}

/** @param {Context} context */
async function checkRoundTrip({ facts, findings, sessions }) {
  const connectMillis = facts.chosen.millis;
  facts.roundTrip = { connectMillis, queryMillis: null };
  try {
    const client = await sessions.main();
    await sessions.ask(client, 'select 1');
    const times = [];
    for (let round = 0; round < ROUNDS; ++round) {
      const begunAt = performance.now();
      await sessions.ask(client, 'select 1');
      times.push(performance.now() - begunAt);
    }
    const median = times.sort((a, b) => a - b)[ROUNDS / 2];
    facts.roundTrip.queryMillis = roundMillis(median);
    const text = `${showMillis(median)} for a query, ${showMillis(connectMillis)} for a connection`;
    if (median > FAR_MILLIS) {
      const hint = 'send together what does not depend on each other: Promise.all(), batch()';
      findings.add('roundTrip', 'note', `${text}; ${hint}`);
    } else {
      findings.add('roundTrip', 'ok', text);
    }
  } catch (error) {
    findings.add('roundTrip', 'problem', `select 1: ${/** @type {any} */ (error).message}`);
  }
}

/** @param {Context} context */
async function checkPipeline({ facts, findings, sessions }) {
  facts.pipeline = { works: null, millis: null, error: null };
  await checkSecond({ facts, findings, sessions });
  // One of its own: a pooler that cannot take it closes the connection.
  if (!facts.second) await sessions.closeMain();
  const client = await sessions.open();
  try {
    const begunAt = performance.now();
    await sendTogether(sessions, client, ROUNDS);
    const millis = performance.now() - begunAt;
    await sendTogether(sessions, client, MANY);
    Object.assign(facts.pipeline, { works: true, millis: roundMillis(millis) });
    findings.add(
      'pipeline',
      'ok',
      `${ROUNDS} queries sent together on one connection: ${showMillis(millis)}; ${MANY} work too`,
    );
  } catch (error) {
    Object.assign(facts.pipeline, { works: false, error: describeError(error) });
    findings.add(
      'pipeline',
      'problem',
      `it does not take a query before the last one was answered: ${/** @type {any} */ (error).message}`,
    );
  } finally {
    await sessions.close(client);
  }
}

/** @param {Pick<Context, 'facts' | 'findings' | 'sessions'>} context */
async function checkSecond({ facts, findings, sessions }) {
  await sessions.main();
  /** @type {any} */
  let client;
  try {
    client = await sessions.open();
    await sessions.ask(client, 'select 1');
    facts.second = true;
  } catch (error) {
    facts.second = false;
    findings.add(
      'connections',
      'warning',
      `a second connection beside the first one is not served: ${/** @type {any} */ (error).message}`,
    );
  } finally {
    if (client !== undefined) await sessions.close(client);
  }
}

/** @param {import('./sessions').Sessions} sessions @param {any} client @param {number} count */
async function sendTogether(sessions, client, count) {
  const all = Promise.all(
    Array.from({ length: count }, (_, i) => client.query('select $1::int as i', [i])),
  );
  for (const [i, { rows }] of (await sessions.step(client, all)).entries()) {
    if (rows[0].i !== i) throw new Error(`query ${i} got the answer of another one`);
  }
}

/** Whether what stands before one Sync is one transaction. @param {Context} context */
async function checkBatch({ facts, findings, sessions }) {
  facts.batch = { works: null, atomic: null };
  try {
    const client = await sessions.main();
    const text = 'select now()::text as at';
    const results = await sessions.step(client, client.batch([text, text]));
    const [first, second] = results.map((/** @type {any} */ { rows }) => rows[0].at);
    facts.batch = { works: true, atomic: first === second };
    if (first === second) {
      findings.add('batch', 'ok', 'a batch is one transaction');
    } else {
      findings.add(
        'batch',
        'warning',
        'a batch is not one transaction here (now() differs within it): do not write with batch()',
      );
    }
  } catch (error) {
    facts.batch.works = false;
    const text = `a batch fails: ${/** @type {any} */ (error).message}`;
    findings.add('batch', 'warning', text);
  }
}

module.exports = { checkSpeed };
