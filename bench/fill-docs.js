'use strict';

// `npm run docs:figures [-- FILE...]`: puts what was measured into the tables of the documentation, those of the files or
// of the last runs. What a table is made of is said by experiments/fill-docs.js, factors.js, callers.js, http-parts.js and tool-factors.js.

const fs = require('node:fs');
const path = require('node:path');
const { PAGES: OF_EXPERIMENTS, fill } = require('./experiments/fill-docs');
const { fillCallers } = require('./callers');
const { fillFactors } = require('./factors');
const { latestFiles, readFigures } = require('./figures');
const { fillHttpParts } = require('./http-parts');
const { fillToolFactors } = require('./tool-factors');

const ROOT = path.join(__dirname, '..');
/** Of pages that compare drivers. */
const OF_DRIVERS = ['README.md', 'docs/performance.md'].map((name) => path.join(ROOT, name));
/** Of pages that tell what tools gain. */
const OF_TOOLS = ['README.md', 'docs/compatibility.md'].map((name) => path.join(ROOT, name));

/** @param {string[]} pages @param {(text: string) => string} change */
function rewrite(pages, change) {
  for (const page of pages) fs.writeFileSync(page, change(fs.readFileSync(page, 'utf8')));
}

function main() {
  const files = process.argv.slice(2);
  const all = (files.length > 0 ? files : latestFiles()).flatMap(readFigures);
  rewrite(OF_EXPERIMENTS, (text) => fill(text, all));
  rewrite(OF_DRIVERS, (text) => fillHttpParts(fillCallers(fillFactors(text, all), all), all));
  rewrite(OF_TOOLS, (text) => fillToolFactors(text, all));
}

if (require.main === module) main();

module.exports = { OF_DRIVERS, OF_TOOLS };
