'use strict';

// What blocks of statements are made of. Used by the files of this folder.

/** @typedef {import('../../stress/random').Random} Random */
/** @typedef {string | import('../script').Step} Part */
/** @typedef {{ parts: Part[], isWhole?: boolean }} Block */
/** @typedef {readonly [make: (random: Random) => Block, weight: number]} Idiom */

/** @param {Random} random @param {readonly import('../statements/values').Entry[][]} lists */
const some = (random, least, most, ...lists) =>
  Array.from({ length: random.int(least, most) }, () =>
    random.weighted(random.pick(lists))(random),
  );

/** What the last result said, in a value of the next statement. */
const last = (column, plus = 0) => ({ last: column, plus });

module.exports = { last, some };
