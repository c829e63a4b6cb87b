'use strict';

// The install instructions of README.md, docs/getting-started.md and docs/compatibility.md. They differ until the package
// is in npm's registry. For a release: IS_PUBLISHED = true, then `node scripts/install-docs.js`, which rewrites the parts
// of the pages between their marks. test/project/documentation.test.js compares them, release-check.js asks for the constant.

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

/** The same, for the tools in node_modules too. @param {string} specifier */
const inPlaceOfAllPg = (specifier) => `\`\`\`json
{
  "dependencies": { "pg": "${specifier}" },
  "overrides": { "pg": "$pg" }
}
\`\`\``;

const FROM_FILE = `file:../pg-conduit/${TARBALL}`;
const FROM_REGISTRY = `npm:pg-conduit@^${version}`;

/** By the name of a part: what it says before and after the first release. */
const PARTS = {
  'in the place of pg': {
    before: `${inPlaceOfPg(FROM_FILE)}

(Until the package is published, [build this file in a checkout](#install). It takes less than a minute.)`,
    after: inPlaceOfPg(FROM_REGISTRY),
  },
  'in the place of pg, for tools': {
    before: `${inPlaceOfPg(FROM_FILE)}

(The package is not published yet: [getting started](getting-started.md#install) shows how to build this file in a checkout.)`,
    after: inPlaceOfPg(FROM_REGISTRY),
  },
  overrides: {
    before: inPlaceOfAllPg(FROM_FILE),
    after: inPlaceOfAllPg(FROM_REGISTRY),
  },
  status: {
    before: `**Status: ${version}, not published yet.** Known limits are listed [below](#what-it-does-not-do).`,
    after: `**Status: ${version}.** Known limits are listed [below](#what-it-does-not-do).`,
  },
  install: {
    before: `The package is not published yet. A checkout builds it, for machines like the one that it is built on:

\`\`\`sh
npm install && npm pack                  # in a checkout: ${TARBALL}
npm install ../pg-conduit/${TARBALL}   # in your project
\`\`\``,
    after: `\`\`\`sh
npm install pg-conduit
\`\`\``,
  },
};

const PAGES = ['README.md', 'docs/getting-started.md', 'docs/compatibility.md'];

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
