'use strict';

// What two runs of a script must have in common. What cannot be equal is taken out here: the ids of objects that
// the script made, the numbers of schemas of temporary tables, the order of rows that nobody asked for.
// Used by runner.js and oracle.js.

/** Ids from here on are not the server's own. */
const FIRST_OWN_OID = 16384;
const ERROR_FIELDS = [
  ...[
    'severity',
    'code',
    'message',
    'detail',
    'hint',
    'position',
    'internalPosition',
    'internalQuery',
  ],
  ...['where', 'schema', 'table', 'column', 'dataType', 'constraint', 'file', 'line', 'routine'],
];

/** @param {string} key @param {any} value */
function plain(key, value) {
  if (typeof value === 'bigint') return `${value}n`;
  if (value === undefined) return '(undefined)';
  return value;
}

/** @param {any} value */
const toText = (value) =>
  (JSON.stringify(value, plain) ?? '(undefined)').replaceAll(/pg_temp_\d+/g, 'pg_temp_N');

/** @param {any} field */
function describeField({
  name,
  tableID,
  columnID,
  dataTypeID,
  dataTypeSize,
  dataTypeModifier,
  format,
}) {
  const type = dataTypeID >= FIRST_OWN_OID ? 'own' : dataTypeID;
  const table = tableID >= FIRST_OWN_OID ? 'own' : tableID;
  return [name, table, columnID, type, dataTypeSize, dataTypeModifier, format];
}

/** @param {any} result @param {boolean} isOrdered */
function describeResult({ command, rowCount, rows, fields }, isOrdered) {
  const texts = rows.map(toText);
  if (!isOrdered) texts.sort();
  return { command, rowCount, rows: texts, fields: fields.map(describeField) };
}

/** @param {any} error */
function describeError(error) {
  if (typeof error !== 'object' || error === null) return { thrown: String(error) };
  /** @type {Record<string, any>} */
  const said = {};
  for (const name of ERROR_FIELDS) if (error[name] !== undefined) said[name] = error[name];
  said.message ??= error.message;
  // That a transaction has failed is said in another place for each protocol.
  if (/^exec_/.test(said.routine)) delete said.routine;
  if (said.routine === undefined) delete said.line;
  // The driver tells how many it was given, where the server has no hint.
  if (said.code === '08P01') delete said.hint;
  // With its schema or without, by the search_path of whoever called it first in that session.
  said.where = said.where?.replaceAll(/(?<=PL\/pgSQL function )\w+\./g, '');
  // A session that had a temporary table before it was reset knows their schema.
  if (/\bpg_temp\b/.test(said.message) && /^(?:3F000|42883|42P01|42704)$/.test(said.code)) {
    return { message: 'there is no such thing in pg_temp' };
  }
  if (error.severity !== undefined) return said;
  // An error that no server has sent. Codes of our own are where `pg` has none.
  const code = /^ERR_PG_CONDUIT_/.test(error.code) ? undefined : error.code;
  return { code, message: error.message };
}

/**
 * @param {{ value?: any, error?: any }} outcome of a step
 * @param {string} text that was sent
 */
function describeOutcome({ value, error }, text) {
  if (error !== undefined) return toText({ error: describeError(error) });
  const isOrdered = /order by|fetch|\bc\d\b/i.test(text);
  const results = Array.isArray(value) ? value : [value];
  return toText(results.map((result) => describeResult(result, isOrdered)));
}

/** @param {any} news a notice or a notification */
function describeNews(news) {
  if (news.channel !== undefined) return toText(['notification', news.channel, news.payload]);
  return toText(['notice', describeError(news)]);
}

/**
 * @typedef {object} Run
 * @property {import('./runner').Recording} recording
 * @property {Record<string, string>} contents of the tables, when all was over
 *
 * @typedef {{ what: string, ours: any, theirs: any }} Difference
 */

/**
 * The first difference, behind which all may be different.
 * @param {import('./script').Script} script
 * @param {Run} ours
 * @param {Run} theirs
 * @returns {Difference | undefined}
 */
function findDifference({ steps }, ours, theirs) {
  const { refused } = ours.recording;
  for (const [index, step] of steps.entries()) {
    if (refused.has(index)) continue;
    // A status of null is one that the driver does not know while it asks something of its own.
    const name = `step ${index}, ${step.text ?? 'processID'}`;
    const pairs = [
      [name, ours.recording.outcomes[index], theirs.recording.outcomes[index]],
      [
        `the transaction's status behind ${name}`,
        ours.recording.statuses[index],
        theirs.recording.statuses[index],
      ],
    ];
    for (const [what, our, their] of pairs) {
      if (our !== their && our !== null) return { what, ours: our, theirs: their };
    }
  }
  const [our, their] = [ours, theirs].map(({ recording }) => recording.heard.join('\n'));
  if (our !== their) return { what: 'notices and notifications', ours: our, theirs: their };
  for (const name of Object.keys(theirs.contents)) {
    if (ours.contents[name] !== theirs.contents[name]) {
      return {
        what: `the contents of ${name} at the end`,
        ours: ours.contents[name],
        theirs: theirs.contents[name],
      };
    }
  }
  return undefined;
}

module.exports = { describeNews, describeOutcome, findDifference };
