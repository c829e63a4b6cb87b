'use strict';

// Options that nobody here knows: where one looks like a slip of the pen, which would go unnoticed, a process warning tells
// once what was probably meant. All others are quiet, since tools pass what is theirs. Called by options.js.

/** Of `pg`, where they are none of these options either. @type {Record<string, string>} */
const ELSEWHERE = {
  parseInputDatesAsUTC: 'defaults.parseInputDatesAsUTC',
  parseInt8: 'defaults.parseInt8',
};

/** @type {Set<string>} */
const told = new Set();

/** Names that mean one of ours elsewhere, without capitals and dashes. @type {Record<string, string>} */
const OTHERWISE = {
  acquiretimeoutmillis: 'connectionTimeoutMillis',
  dsn: 'connectionString',
  searchpath: "options: '-c search_path=…'",
  uri: 'connectionString',
  url: 'connectionString',
};
/** What tools have under names that look like ours, without capitals and dashes: Prisma, LoopBack, TypeORM, Keyv. */
const FOREIGN = new Set([
  ...[
    'client',
    'connectionlimit',
    'connectionname',
    'connectionoptions',
    'connections',
    'connector',
  ],
  ...['datestrings', 'idle', 'name', 'pool', 'reconnect', 'replica', 'schema', 'target', 'type'],
]);
/** Slips in one name. */
const MAX_SLIPS = 2;
const MIN_COMMON = 4;

/**
 * @param {string} name
 * @param {Iterable<string>} known
 * @returns {string | undefined} the name that was probably meant
 */
function nearest(name, known) {
  if (Object.hasOwn(ELSEWHERE, name)) return ELSEWHERE[name];
  const wanted = plain(name);
  if (FOREIGN.has(wanted)) return undefined;
  if (Object.hasOwn(OTHERWISE, wanted)) return OTHERWISE[wanted];
  const found = [...known].map((candidate) => {
    const other = plain(candidate);
    const slips = countSlips(wanted, other);
    return { candidate, slips, common: commonStart(wanted, other), length: other.length };
  });
  const [closest] = found.sort((a, b) => a.slips - b.slips);
  if (closest.slips <= Math.min(MAX_SLIPS, wanted.length / 3)) return closest.candidate;
  // One is the beginning of the other, or both go on in another way: connectionUri.
  const [longest] = found.sort((a, b) => b.common - a.common || a.length - b.length);
  const enough = Math.min(longest.length, (2 / 3) * wanted.length);
  return longest.common >= Math.max(MIN_COMMON, enough) ? longest.candidate : undefined;
}

/** @param {string} name */
function plain(name) {
  return name.toLowerCase().replace(/[_-]/g, '');
}

/** @param {string} a @param {string} b @returns {number} letters that both begin with */
function commonStart(a, b) {
  let length = 0;
  while (length < a.length && a[length] === b[length]) ++length;
  return length;
}

/** @param {string} a @param {string} b @returns {number} letters to be changed, taken out or put in (Levenshtein) */
function countSlips(a, b) {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; ++row) {
    const line = [row];
    for (let column = 1; column <= b.length; ++column) {
      const changed = above[column - 1] + (a[row - 1] === b[column - 1] ? 0 : 1);
      line.push(Math.min(changed, above[column] + 1, line[column - 1] + 1));
    }
    above = line;
  }
  return above[b.length];
}

/**
 * @param {string} name that has no meaning here
 * @param {Iterable<string>} known
 * @param {Record<string, any>} options all of them, and those of the connection string in its place
 */
function warnOfUnknown(name, known, options) {
  if (told.has(name)) return;
  const meant = nearest(name, known);
  // What is given under its right name, too, is a tool's: LoopBack has `url` and makes `connectionString` of it.
  const given = meant === 'connectionString' ? ['host', 'database'] : [meant ?? ''];
  if (meant === undefined || given.some((one) => options[one] !== undefined)) return;
  told.add(name);
  process.emitWarning(`unknown option "${name}". Did you mean "${meant}"?`, {
    type: 'UnknownOptionWarning',
    code: 'PG_CONDUIT_UNKNOWN_OPTION',
  });
}

module.exports = { warnOfUnknown };
