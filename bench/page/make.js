'use strict';

// `npm run bench:report`: from the figures of a run, or of several, to one HTML page that needs nothing
// else. This file reads the options and puts the page together; what it says is decided in view.js, how
// it looks in page.eta and page.css, and plots.js draws the plots in the browser.

const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { Eta } = require('eta');
const { LATEST, latestFiles, readFigures } = require('../figures');
const { buildView } = require('./view');

const OUTPUT = path.join(path.dirname(LATEST), 'report.html');

const USAGE = `npm run bench:report -- [options] [FILE.json ...]
  FILE.json          figures that "npm run bench" or "npm run bench:experiments" wrote (the last ones of both, in
                     ${path.relative('.', path.dirname(LATEST))})
  --output FILE      the page (${path.relative('.', OUTPUT)})
  --help`;

/** Plot is drawn with d3, and wants it as a global: both as their packages have them for browsers. */
function libraries() {
  const plot = require.resolve('@observablehq/plot');
  const d3 = require.resolve('d3', { paths: [plot] });
  return [
    path.join(path.dirname(d3), 'd3.min.js'),
    path.join(path.dirname(plot), '..', 'dist', 'plot.umd.min.js'),
  ];
}

/** @param {import('../figures').Figures[]} all */
function renderPage(all) {
  const files = [...libraries(), path.join(__dirname, 'plots.js')];
  // Inside of a script element nothing can be escaped but by the script's own means.
  const scripts = files.map((file) =>
    fs.readFileSync(file, 'utf8').replaceAll(/<(?=\/script|script|!--)/gi, '\\x3c'),
  );
  const view = buildView(all);
  const eta = new Eta({ views: __dirname });
  return eta.render('./page', {
    ...view,
    style: fs.readFileSync(path.join(__dirname, 'page.css'), 'utf8'),
    scripts,
    // Only these scripts run, whatever the figures bring along.
    policy: scripts.map((text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`),
    plots: JSON.stringify(view.plots).replaceAll('<', '\\u003c'),
  });
}

function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      output: { type: 'string', default: OUTPUT },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const files = positionals.length > 0 ? positionals : latestFiles();
  const page = renderPage(files.flatMap(readFigures));
  fs.mkdirSync(path.dirname(values.output), { recursive: true });
  fs.writeFileSync(values.output, page);
  console.log(values.output);
}

try {
  main();
} catch (error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  console.error(code?.startsWith('ERR_PARSE_ARGS') ? `${message}\n\n${USAGE}` : message);
  process.exitCode = code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1;
}
