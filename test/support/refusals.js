'use strict';

// What the refusal of a parameter looks like, and that it does no harm to the queries around it.

const assert = require('node:assert/strict');
const { ParameterError } = require('../..');
const { EXECUTIONS } = require('./like-pg');

/** SQLSTATEs that the server has for what we do not send. */
const CODES = [
  [/^the text of the query contains a NUL/, '08P01'],
  [/^parameter \$\d+ contains a NUL/, '22021'],
  [/invalid Date/, '22007'],
];

/**
 * @param {any} error of ours; or what the caller's code has thrown, with one of ours as its cause
 * @param {RegExp} message of ours
 */
function assertRefused(error, message) {
  assert.equal(error.outcome, 'not-run');
  const refusal = error instanceof ParameterError ? error : error.cause;
  assert.ok(refusal instanceof ParameterError, String(error));
  assert.equal(refusal.name, 'ParameterError');
  const [, code] = CODES.find(([pattern]) => pattern.test(refusal.message)) ?? [];
  assert.equal(refusal.code, code ?? 'ERR_PG_CONDUIT_PARAMETER');
  assert.match(refusal.message, message);
}

/**
 * Runs a query that must be refused between two others of the same text and two of another one, all
 * in one tick, in each phase of preparing that text.
 */
async function refusesOnly(client, text, good, bad, message) {
  const expected = (await client.query({ text, values: good, prepare: false })).rows;
  for (let execution = 1; execution <= EXECUTIONS; ++execution) {
    const outcomes = await Promise.allSettled([
      client.query('select $1::int as n, $2::text as t', [execution, 'before é']),
      client.query(text, good),
      client.query(text, bad),
      client.query(text, good),
      client.query('select $1::int as n, $2::text as t', [execution, 'after 😀']),
    ]);
    assert.deepStrictEqual(outcomes[0].value?.rows, [{ n: execution, t: 'before é' }]);
    assert.deepStrictEqual(outcomes[1].value?.rows, expected);
    assertRefused(outcomes[2].reason, message);
    assert.deepStrictEqual(outcomes[3].value?.rows, expected);
    assert.deepStrictEqual(outcomes[4].value?.rows, [{ n: execution, t: 'after 😀' }]);
    assert.deepStrictEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
  }
}

module.exports = { assertRefused, refusesOnly };
