'use strict';

// The tables of the documentation that `npm run docs:figures` fills with what was measured. Those of docs/experiments.md and
// docs/scaling.md: no way to do it is left out, and no mark names what there is not. Those that compare drivers: nothing is
// made larger than it is. Run by mocha.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { EXPERIMENTS } = require('../../bench/experiments');
const { PAGES, fill } = require('../../bench/experiments/fill-docs');
const { TABLES, fillFactors } = require('../../bench/factors');
const { SERIES, fillCallers } = require('../../bench/callers');
const { OF_DRIVERS, OF_TOOLS } = require('../../bench/fill-docs');
const { fillHttpParts } = require('../../bench/http-parts');
const { METRICS } = require('../../bench/page/metrics');
const { PLACES, fillToolFactors } = require('../../bench/tool-factors');
const { WORKLOADS } = require('../../bench/workloads');

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
    it(`finds the figures for each mark of ${path.basename(file)}, and the page has all rows`, () => {
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

  it('writes the median with the range, pg-conduit in bold, and omits what was not run', () => {
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

  it('refuses a mark for unknown figures', () => {
    const end = '\n<!-- end of figures -->';
    for (const [mark, message] of [
      ['<!-- figures teleport/calm: time -->', /There is no experiment teleport/],
      ['<!-- figures fleet/calm: time -->', /No such figures: <!-- figures fleet\/calm/],
      ['<!-- figures costs/queries: speed -->', /There is no metric speed: time, /],
    ]) {
      assert.throws(() => fill(mark + end, all), { message });
    }
  });

  describe('for the tables that compare drivers', () => {
    const page = 'before\n<!-- factors short -->\nold\n<!-- end of factors -->\nafter';

    /** A run of which all cases have come out alike. @param {object} result of the other drivers */
    function madeUpRun(result, drivers = ['pg-conduit', 'pg', 'postgres']) {
      return {
        command: 'npm run bench -- --rounds 3',
        machine: { rounds: 3, node: 'v20.0.0', server: '15.1', cpu: '2 x some' },
        ours: 'pg-conduit',
        drivers: drivers.map((name) => ({ name, version: '8.23.1' })),
        workloads: WORKLOADS,
        results: WORKLOADS.flatMap(({ id, cases }) =>
          cases.flatMap(({ name }) =>
            drivers.map((driver) => ({ workload: id, case: name, driver, ...result })),
          ),
        ),
      };
    }

    it('finds each case, and the pages have all rows', () => {
      const run = madeUpRun({ throughputRatio: 1, cpuRatio: 1 });
      for (const { rows } of Object.values(TABLES)) {
        for (const { workload, name } of rows) {
          const found = run.results.some((one) => one.workload === workload && one.case === name);
          assert.ok(found, `${workload} ${name}`);
        }
      }
      const [readme, performance] = OF_DRIVERS.map((file) => fs.readFileSync(file, 'utf8'));
      for (const [text, { rows }] of [
        [readme, TABLES.short],
        [performance, TABLES.full],
      ]) {
        for (const { words } of rows) {
          assert.match(
            text,
            new RegExp(`^\\| ${words.replaceAll(/[(),`']/g, '.')} \\| \\*\\*`, 'm'),
          );
        }
        assert.notEqual(fillFactors(text, [run]), text);
      }
    });

    for (const [throughputRatio, cpuRatio, text] of [
      [13.9, 7.9, '**13x** the queries/s, **1/7** of the CPU'],
      [2.39, 2.99, '**2.3x** the queries/s, **1/2** of the CPU'],
      [1.04, 1.99, '**1.0x** the queries/s, **51 %** of the CPU'],
      [0.99, 0.9, '**0.9x** the queries/s, **112 %** of the CPU'],
    ]) {
      it(`says ${text} for ${throughputRatio} and ${cpuRatio}: never more than was measured`, () => {
        const filled = fillFactors(page, [madeUpRun({ throughputRatio, cpuRatio })]);
        assert.ok(filled.includes(`| 256 callers, one connection | ${text} | ${text} |`), filled);
        assert.ok(
          filled.includes('| compared with `pg` 8.23 | compared with `postgres` 8.23 |'),
          filled,
        );
        assert.ok(
          filled.includes('Measured by `npm run bench -- --rounds 3`: medians of 3 rounds, '),
        );
        assert.match(filled, /^before\n[^]*\nafter$/);
      });
    }

    it('names failed drivers, and does not change a table of which a row was not run', () => {
      const failed = fillFactors(page, [madeUpRun({ error: 'it broke' })]);
      assert.match(failed, /\| failed: it broke \| failed: it broke \|/);
      const run = madeUpRun({ throughputRatio: 1, cpuRatio: 1 });
      run.results = run.results.filter(({ workload }) => workload !== 'w5');
      assert.equal(fillFactors(page, [run]), page);
      assert.throws(() => fillFactors(page.replace('short', 'tiny'), []), {
        message: 'There is no table tiny: short, full, tls, away',
      });
    });
  });

  describe('for the tables of other networks', () => {
    const performance = fs.readFileSync(OF_DRIVERS[1], 'utf8');

    /** @param {object} [network] over which all cases have come out alike */
    function madeUpRun(network) {
      const drivers = ['pg-conduit', 'pg'];
      return {
        command: 'npm run bench -- --some',
        machine: { rounds: 3, node: 'v20.0.0', server: '15.1', cpu: '2 x some' },
        ours: 'pg-conduit',
        network,
        drivers: drivers.map((name) => ({ name, version: '8.23.1' })),
        workloads: WORKLOADS,
        results: WORKLOADS.flatMap(({ id, cases }) =>
          cases.flatMap(({ name }) =>
            drivers.map((driver) => ({
              ...{ workload: id, case: name, driver, throughputRatio: 3, cpuRatio: 3 },
              ...{ perSecond: SPREAD, cpuMicros: SPREAD },
            })),
          ),
        ),
      };
    }

    /** @param {string} text @returns {string[]} the marks below which it differs from the page */
    function changed(text) {
      /** @param {string} page */
      const parts = (page) => page.split(/(?=<!-- (?!end))/);
      const before = parts(performance);
      return parts(text)
        .filter((part, index) => part !== before[index])
        .map((part) => part.slice(0, part.indexOf('\n')));
    }

    it('fills each table with figures of its network only', () => {
      const plain = { tcp: false, tls: false, latencyMillis: 0 };
      for (const [network, marks] of [
        [undefined, ['<!-- factors full -->']],
        [plain, ['<!-- factors full -->']],
        [{ ...plain, tcp: true, tls: true }, ['<!-- factors tls -->']],
        [{ ...plain, tcp: true, latencyMillis: 1 }, ['<!-- factors away -->']],
        [{ ...plain, tcp: true }, []],
        [{ tcp: true, tls: true, latencyMillis: 1 }, []],
        [{ ...plain, tcp: true, latencyMillis: 2 }, []],
      ]) {
        const filled = fillFactors(performance, [madeUpRun(network)]);
        assert.deepEqual(changed(filled), marks, JSON.stringify(network));
      }
    });

    it('fills those of callers and of tools with figures of the usual network only', () => {
      const away = madeUpRun({ tcp: true, tls: false, latencyMillis: 1 });
      assert.equal(fillCallers(performance, [away]), performance);
      const tools = '<!-- tools near -->\nold\n<!-- end of tools -->';
      assert.equal(fillToolFactors(tools, [away]), tools);
    });
  });

  describe('for the tables of callers', () => {
    const page = `before\n<!-- callers "${SERIES[0]}" -->\nold\n<!-- end of callers -->\nafter`;
    const { id, cases } = WORKLOADS.find((workload) => workload.id === 'w9');
    const drivers = ['pg-conduit', 'pg', 'postgres', 'tokio-postgres', 'c-limit'];

    /** @param {(result: { driver: string, case: string }) => object | undefined} change */
    function madeUpRun(change = () => undefined) {
      return {
        command: 'npm run bench -- --workload w9',
        machine: { rounds: 5, node: 'v20.0.0', server: '15.1', cpu: '2 x some' },
        ours: 'pg-conduit',
        limits: ['c-limit'],
        anchors: ['tokio-postgres'],
        drivers: drivers.map((name) => ({ name, version: '8.23.1' })),
        workloads: WORKLOADS,
        results: cases.flatMap(({ name }) =>
          drivers.map((driver) => ({
            ...{ workload: id, case: name, driver, measurements: [{}, {}, {}] },
            perSecond: { median: 123_456, min: 1, max: 200_000 },
            cpuMicros: { median: 4.567, min: 1, max: 9 },
            ...change({ driver, case: name }),
          })),
        ),
      };
    }

    it('has a mark for each series on a page, with a row for each number of callers', () => {
      const text = fs.readFileSync(OF_DRIVERS[1], 'utf8');
      for (const series of SERIES) assert.ok(text.includes(`<!-- callers "${series}" -->`), series);
      const filled = fillCallers(page, [madeUpRun()]);
      const rows = filled.split('\n').filter((line) => line.startsWith('| '));
      assert.equal(
        rows[0],
        '| callers | pg-conduit | `pg` 8.23 | `postgres` 8.23 | `tokio-postgres` 8.23, anchor | `c-limit` 8.23, limit |',
      );
      const counts = rows.slice(2).map((row) => Number(row.split('|')[1]));
      assert.deepEqual(counts, [1, 2, 4, 8, 16, 32, 64, 128, 256]);
      assert.equal(rows[2], `| 1 | **123,000 (4.57)** |${' 123,000 (4.57) |'.repeat(4)}`);
      assert.match(filled, /Measured by `npm run bench -- --workload w9`: medians of 3 rounds, /);
      assert.match(filled, /^before\n[^]*\nafter$/);
    });

    it('names what has failed, and does not change a table of which a row was not run', () => {
      const failing = madeUpRun(({ driver }) => driver === 'pg' && { error: 'it broke' });
      assert.match(fillCallers(page, [failing]), /\*\* \| failed: it broke \| 123,000/);
      const run = madeUpRun();
      run.results = run.results.filter((one) => one.case !== cases[0].name);
      assert.equal(fillCallers(page, [run]), page);
      assert.throws(() => fillCallers(page.replace('one', 'no'), []), {
        message: `There is no series callers, no connection: ${SERIES.join('; ')}`,
      });
    });
  });

  it('fills the table of HTTP servers with parts of the one without a database, rounded down', () => {
    const page = 'before\n<!-- http -->\nold\n<!-- end of http -->\nafter';
    const parts = { 'pg-conduit': 0.809, pg: 0.2, 'no-database': 1 };
    const run = {
      command: 'npm run bench -- --workload w5',
      machine: { rounds: 3, node: 'v20.0.0', server: '15.1', cpu: '2 x some' },
      ours: 'pg-conduit',
      drivers: Object.keys(parts).map((name) => ({ name, version: '8.23.1' })),
      results: WORKLOADS.find(({ id }) => id === 'w5').cases.flatMap(({ name }) =>
        Object.entries(parts).map(([driver, boundPart]) => ({
          ...{ workload: 'w5', case: name, driver, boundPart, perSecond: { median: 12_345 } },
        })),
      ),
    };
    const filled = fillHttpParts(page, [run]);
    const rows = filled.split('\n').filter((line) => line.startsWith('| '));
    assert.equal(rows[0], '|  | no database, requests/s | pg-conduit | `pg` 8.23 |');
    assert.equal(rows[2], '| `/db` | 12,345 | 80 % | 20 % |');
    assert.match(filled, /^before\n[^]*--workload w5`: medians of 3 rounds, [^]*\nafter$/);
    const network = { tcp: true, tls: true, latencyMillis: 0 };
    assert.equal(fillHttpParts(page, [{ ...run, network }]), page);
    const performance = fs.readFileSync(OF_DRIVERS[1], 'utf8');
    assert.notEqual(fillHttpParts(performance, [run]), performance);
  });

  describe('for the tables of the gains of tools', () => {
    const page = 'before\n<!-- tools away -->\nold\n<!-- end of tools -->\nafter';
    const { id, cases } = WORKLOADS.find((workload) => workload.id === 'w8');

    /** A run of which all cases have come out alike. @param {object} result of `pg` */
    function madeUpRun(result) {
      const connections = { 'pg-conduit': 4, pg: 10 };
      return {
        command: 'npm run bench -- --workload w8',
        machine: { rounds: 1, node: 'v20.0.0', server: '15.1', cpu: '2 x some' },
        ours: 'pg-conduit',
        drivers: [{ name: 'pg', version: '8.23.1' }],
        workloads: WORKLOADS,
        results: cases.flatMap(({ name }) =>
          Object.entries(connections).map(([driver, count]) => ({
            workload: id,
            case: name,
            driver,
            connections: { median: count, min: count, max: count },
            ...(driver === 'pg' && result),
          })),
        ),
      };
    }

    it('has a mark for each place on a page, and fills it', () => {
      const text = OF_TOOLS.map((file) => fs.readFileSync(file, 'utf8')).join('');
      for (const place of PLACES) assert.ok(text.includes(`<!-- tools ${place} -->`), place);
      const filled = fillToolFactors(text, [madeUpRun({ throughputRatio: 1, cpuRatio: 1 })]);
      assert.notEqual(filled, text);
      assert.equal(fillToolFactors(filled, []), filled);
    });

    it('has a row for each tool, with its minimal gain and the connections', () => {
      const filled = fillToolFactors(page, [madeUpRun({ throughputRatio: 11.9, cpuRatio: 1.99 })]);
      const rows = filled.split('\n').filter((line) => line.startsWith('| '));
      assert.equal(rows.length, 2 + new Set(cases.map(({ tool }) => tool)).size);
      assert.match(rows[0], /^\| {2}\| point selects, 200 callers \| .*connections, `pg` /);
      const cell = '**11x** (51 %)';
      assert.ok(rows.includes(`| kysely |${` ${cell} |`.repeat(4)} 10 → 4 |`), filled);
      assert.match(
        filled,
        /as a multiple of those with `pg` 8\.23, .*npm run bench -- --workload w8`: one round/,
      );
      assert.match(filled, /^before\n[^]*\nafter$/);
    });

    it('names what has failed, and does not change a table of which a row was not run', () => {
      assert.match(
        fillToolFactors(page, [madeUpRun({ error: 'it broke' })]),
        /\| slonik \| failed: it broke \|/,
      );
      const run = madeUpRun({ throughputRatio: 1, cpuRatio: 1 });
      run.results = run.results.filter((result) => !result.case.startsWith('slonik'));
      assert.equal(fillToolFactors(page, [run]), page);
      assert.throws(() => fillToolFactors(page.replace('away', 'abroad'), []), {
        message: 'There is no place abroad: near, away',
      });
    });
  });
});
