'use strict';

// What the report page says about the figures of one or several runs, ready for page.eta. Called by
// make.js.

const {
  claims,
  describeMachine,
  driverTable,
  failures,
  groupTables,
  ratioSummary,
  ratioTables,
} = require('./overview');
const { buildSection } = require('./sections');

/** @typedef {import('../figures').Figures} Figures */

/** @param {Figures[]} all */
function buildView(all) {
  const runs = all.map(buildRun);
  const blocks = runs.flatMap(({ sections }) => sections.flatMap((section) => section.blocks));
  const product = productOf(all[0]);
  return {
    title: `Benchmarks of ${product}`,
    product,
    commands: [...new Set(runs.map(({ command }) => command))],
    runs,
    plots: blocks.flatMap(({ plots }) => plots),
  };
}

/** @param {Figures} figures */
function productOf({ product, ours }) {
  return product ?? ours;
}

/** What was measured elsewhere than usual says so. @param {Figures} figures @param {string} version of our driver */
function titleOf({ ours, date, network, machine }, version) {
  const place = network?.tcp ? `, over ${machine.connection}` : '';
  return `${ours} ${version}, ${String(date).slice(0, 10)}${place}`;
}

/** @param {Figures} figures @param {number} index */
function buildRun(figures, index) {
  const id = `run-${index + 1}`;
  const { ours, command, machine, workloads, drivers } = figures;
  const version = drivers.find(({ name }) => name === ours)?.version ?? '';
  return {
    id,
    title: figures.title ?? titleOf(figures, version),
    about: figures.about,
    ours,
    command,
    quick: Boolean(machine.quick),
    facts: describeMachine(figures),
    claims: claims(figures),
    failures: failures(figures),
    drivers: driverTable(figures),
    ratios: [ratioSummary(figures), ...ratioTables(figures), ...groupTables(figures)].filter(
      ({ rows }) => rows.length > 0,
    ),
    // A quick run leaves some workloads out.
    sections: workloads
      .map((workload) => buildSection(figures, workload, `${id}-${workload.id}`))
      .filter(({ blocks }) => blocks.length > 0),
  };
}

module.exports = { buildView };
