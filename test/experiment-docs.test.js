'use strict';

// The tables of docs/experiments.md and docs/scaling.md, which `npm run docs:figures` fills with what was measured: no
// way to do it is left out, and no mark names what there is not. Run by mocha.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { EXPERIMENTS } = require('../bench/experiments');
const { PAGES, fill } = require('../bench/experiments/fill-docs');
const { METRICS } = require('../bench/page/metrics');

const SPREAD = { median: 2, min: 1, max: 3 };
const MARK = /^<!-- figures /gm;

/** As a full run would leave them, all figures the same. */
function madeUpFigures({ title, arms, ours, workloads: plan }) {
  const workloads = plan('full');
  const spreads = Object.fromEntries(Object.values(METRICS).map(({ key }) => [key, SPREAD]));
  return {
    title,
    ours,
    limits: [],
    drivers: arms.map(({ name, ours: isOurs }) => ({ name, ours: isOurs })),
    workloads,
    results: workloads.flatMap(({ id, cases }) =>
      cases.flatMap((one) =>
        arms
          .filter((arm) => !one.takesPart || one.takesPart(arm))
          .map(({ name }) => ({
            workload: id,
            case: one.name,
            series: one.series,
            x: one.x,
            driver: name,
            published: one.published?.[name],
            ...spreads,
          })),
      ),
    ),
  };
}

/** The first cells of all tables that are marked. */
function rowsOf(page) {
  const tables = page.match(/<!-- figures [^]*?<!-- end of figures -->/g) ?? [];
  return tables.map((table) =>
    [...table.matchAll(/^\| ([^|]*) \|/gm)].map(([, cell]) => cell).slice(2),
  );
}

describe('npm run docs:figures', () => {
  const all = EXPERIMENTS.map(madeUpFigures);

  for (const file of PAGES) {
    it(`finds what each mark of ${path.basename(file)} names, and the page has all rows`, () => {
      const page = fs.readFileSync(file, 'utf8');
      const filled = fill(page, all);
      const marks = page.match(MARK) ?? [];
      assert.ok(marks.length > 0);
      assert.equal(rowsOf(page).length, marks.length);
      assert.deepEqual(rowsOf(page), rowsOf(filled));
    });
  }

  it('has a table for each case of each experiment', () => {
    const pages = PAGES.map((file) => fs.readFileSync(file, 'utf8')).join('\n');
    for (const { id, workloads } of EXPERIMENTS) {
      for (const workload of workloads('full')) {
        for (const { name, series } of workload.cases) {
          const mark = `<!-- figures ${id}/${workload.id}${series ? '' : ` "${name}"`}: `;
          assert.ok(pages.includes(mark), mark);
        }
      }
    }
  });

  it('writes the median with the range, ours in bold, and leaves out what was not run', () => {
    const [start, end] = [
      '<!-- figures costs/opening "one connection": time -->',
      '<!-- end of figures -->',
    ];
    const page = `before\n\n${start}\nold\n${end}\n\nafter`;
    const table = '| | Time, ms |\n| --- | --- |\n| **pg-conduit** | 2.00 (1.00–3.00) |';
    const filled = fill(page, all);
    assert.ok(filled.includes(`${start}\n\n${table}\n| pg | 2.00`.replace('| |', '|  |')), filled);
    assert.ok(filled.startsWith('before\n') && filled.endsWith(`\n${end}\n\nafter`));
    assert.equal(fill(page, []), page);
  });

  it('refuses a mark that names nothing', () => {
    const end = '\n<!-- end of figures -->';
    for (const [mark, message] of [
      ['<!-- figures teleport/calm: time -->', /There is no experiment teleport/],
      ['<!-- figures fleet/calm: time -->', /No such figures: <!-- figures fleet\/calm/],
      ['<!-- figures costs/queries: speed -->', /There is no metric speed: time, /],
    ]) {
      assert.throws(() => fill(mark + end, all), { message });
    }
  });
});
