'use strict';

// The report of the check in words: a line or two for each finding, under a heading for each subject.

/** @typedef {import('./findings').Finding} Finding @typedef {import('./findings').Level} Level */

/** By the first word of a finding's id. */
const HEADINGS = /** @type {const} */ ([
  ['Connecting', ['host', 'hosts', 'options', 'connection']],
  ['Server', ['server']],
  ['Encryption', ['tls']],
  ['Speed', ['roundTrip', 'pipeline', 'batch']],
  ['Pooler', ['pooler', 'statements', 'connections']],
  ['Limits', ['limits']],
  ['Settings', ['settings']],
  ['Notifications and replication', ['listen', 'replication']],
]);

/** As terminals name them. @type {Record<Level, number>} */
const COLOURS = { ok: 32, note: 36, warning: 33, problem: 31 };
const BOLD = 1;
/** @type {Record<string, string>} */
const SOURCES = {
  argument: 'as given',
  DATABASE_URL: 'of DATABASE_URL',
  environment: 'of the environment and defaults',
};
const LEVEL_WIDTH = 9;
const MAX_WIDTH = 100;

/**
 * @param {any} report
 * @param {{ isColoured: boolean, width?: number }} how
 * @returns {string}
 */
function print(report, { isColoured, width = MAX_WIDTH }) {
  const room = Math.max(40, Math.min(width, MAX_WIDTH)) - LEVEL_WIDTH - 2;
  const paint = (/** @type {number} */ how, /** @type {string} */ text) =>
    isColoured ? `\x1b[${how}m${text}\x1b[0m` : text;
  const lines = [`${report.target.url} (${SOURCES[report.target.source]})`];
  for (const [heading, subjects] of HEADINGS) {
    const about = report.findings.filter((/** @type {Finding} */ { id }) =>
      /** @type {readonly string[]} */ (subjects).includes(id.split('.', 1)[0]),
    );
    if (about.length === 0) continue;
    lines.push('', paint(BOLD, heading));
    for (const { level, text } of about) {
      const [first, ...others] = wrap(text, room);
      lines.push(
        `  ${paint(COLOURS[/** @type {Level} */ (level)], level.padEnd(LEVEL_WIDTH))}${first}`,
      );
      lines.push(...others.map((line) => ' '.repeat(LEVEL_WIDTH + 2) + line));
    }
  }
  if (report.hosts.some((/** @type {any} */ { reached }) => reached)) {
    const { code, reasons } = report.advice;
    lines.push('', paint(BOLD, reasons.length > 0 ? 'What to set' : 'Nothing to set'));
    lines.push(...code.split('\n').map((/** @type {string} */ line) => `  ${line}`));
  }
  return `${[...lines, '', summarize(report)].join('\n')}\n`;
}

/** @param {any} report */
function summarize({ counts }) {
  const { note, problem, warning } = counts;
  const parts = [
    [problem, 'problem'],
    [warning, 'warning'],
    [note, 'note'],
  ]
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${count} ${name}${count === 1 ? '' : 's'}`);
  return parts.length === 0 ? 'All is well.' : `${parts.join(', ')}.`;
}

/** @param {string} text @param {number} width @returns {string[]} */
function wrap(text, width) {
  const lines = [''];
  for (const word of text.split(/\s+/)) {
    const last = lines.length - 1;
    const longer = lines[last] === '' ? word : `${lines[last]} ${word}`;
    if (longer.length <= width || lines[last] === '') lines[last] = longer;
    else lines.push(word);
  }
  return lines;
}

module.exports = { print };
