'use strict';

// How README.md and docs/getting-started.md tell people to install the driver, which differs until it is in npm's
// registry. For a release: IS_PUBLISHED = true, then `node scripts/install-docs.js`, which rewrites the parts of the
// pages between their marks. test/project/documentation.test.js compares them, release-check.js asks for the constant.

const fs = require('node:fs');
const path = require('node:path');
// @ts-expect-error what is no module for tsc
const { version } = require('../package.json');

const IS_PUBLISHED = false;

const ROOT = path.join(__dirname, '..');
const TARBALL = `pg-conduit-${version}.tgz`;

/** @param {string} specifier what package.json has in the place of a version of `pg` */
const inPlaceOfPg = (specifier) => `\`\`\`json
{ "dependencies": { "pg": "${specifier}" } }
\`\`\``;

/** By the name of a part: what it says before and after the first release. */
const PARTS = {
  'in the place of pg': {
    before: `${inPlaceOfPg(`file:../pg-conduit/${TARBALL}`)}

(The file is [made in a checkout](#install), in less than a minute.)`,
    after: inPlaceOfPg(`npm:pg-conduit@^${version}`),
  },
  status: {
    before: `**Status: ${version}, not published yet.** What it does not do is said [below](#what-it-does-not-do).`,
    after: `**Status: ${version}.** What it does not do is said [below](#what-it-does-not-do).`,
  },
  install: {
    before: `The package is not published yet. A checkout makes it, for machines like the one that it is made on:

\`\`\`sh
npm install && npm pack                  # in a checkout: ${TARBALL}
npm install ../pg-conduit/${TARBALL}   # in your project
\`\`\``,
    after: `\`\`\`sh
npm install pg-conduit
\`\`\``,
  },
};

const PAGES = ['README.md', 'docs/getting-started.md'];

/**
 * @param {string} text of a page
 * @param {boolean} [isPublished]
 * @returns {string} the same with each part as it must be
 */
function fill(text, isPublished = IS_PUBLISHED) {
  return Object.entries(PARTS).reduce((filled, [name, { before, after }]) => {
    const part = new RegExp(`(<!-- ${name} -->\\n)[^]*?(\\n?<!-- end -->)`, 'g');
    return filled.replace(part, (_, start, end) => `${start}${isPublished ? after : before}${end}`);
  }, text);
}

module.exports = { IS_PUBLISHED, PAGES, PARTS, fill };

if (require.main === module) {
  for (const page of PAGES) {
    const file = path.join(ROOT, page);
    fs.writeFileSync(file, fill(fs.readFileSync(file, 'utf8')));
  }
}
