'use strict';

// What a run of the oracle has come to, in words, and the server that it wants. Used by run.js and the tests.

const SERVER_SETTINGS = {
  max_connections: 200,
  log_min_messages: 'panic',
  // Plans and the order of rows are those of the tables as scripts make them.
  autovacuum: 'off',
  // TRUNCATE looks through all of them.
  shared_buffers: '16MB',
};

/** Beyond those there are too many to be read. */
const MOST_LINES = 40;

/** @param {import('./oracle').Report} report */
function describeReport({ scripts, statements, fulfilled, errors, refusals, findings }) {
  const refused = [...refusals.values()].reduce((sum, { count }) => sum + count, 0);
  const codes = [...errors]
    .sort(([, a], [, b]) => b - a)
    .map(([code, count]) => `${code} ${count}`);
  const lines = [...refusals]
    .sort(([, a], [, b]) => b.count - a.count)
    .slice(0, MOST_LINES)
    .map(([message, { count, text }]) => `  ${count} times, as for "${text}": ${message}`);
  return [
    `${scripts} scripts, ${statements} statements: ${fulfilled} fulfilled, ${refused} refused (${((100 * refused) / statements).toFixed(2)} in 100), ${findings.length} scripts differ`,
    `errors on both sides: ${codes.join(', ')}`,
    ...lines,
  ].join('\n');
}

module.exports = { SERVER_SETTINGS, describeReport };
