'use strict';

// Options that nobody here knows: told once in a process warning, since ORMs pass what is theirs,
// with the name that was meant, since a slip of the pen would go unnoticed. Called by options.js.

/** Of `pg`, where they are none of these options either. @type {Record<string, string>} */
const ELSEWHERE = {
  parseInputDatesAsUTC: 'defaults.parseInputDatesAsUTC',
  parseInt8: 'defaults.parseInt8',
};

/** @type {Set<string>} */
const told = new Set();

/**
 * @param {string} name
 * @param {Iterable<string>} known
 * @returns {string | undefined} the name that was probably meant
 */
function nearest(name, known) {
  if (Object.hasOwn(ELSEWHERE, name)) return ELSEWHERE[name];
  const plain = (/** @type {string} */ text) => text.toLowerCase().replace(/[_-]/g, '');
  const wanted = plain(name);
  const names = [...known];
  return (
    names.find((candidate) => plain(candidate) === wanted) ??
    names.find((candidate) => {
      const other = plain(candidate);
      return wanted.length > 3 && (other.startsWith(wanted) || wanted.startsWith(other));
    })
  );
}

/**
 * @param {string} name that has no meaning here
 * @param {Iterable<string>} known
 */
function warnOfUnknown(name, known) {
  if (told.has(name)) return;
  told.add(name);
  const meant = nearest(name, known);
  const hint = meant === undefined ? '' : `. Did you mean "${meant}"?`;
  process.emitWarning(`unknown option "${name}"${hint}`, {
    type: 'UnknownOptionWarning',
    code: 'PG_CONDUIT_UNKNOWN_OPTION',
  });
}

module.exports = { warnOfUnknown };
