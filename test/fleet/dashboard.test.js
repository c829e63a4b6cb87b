'use strict';

// examples/prometheus/dashboard.json: its queries are PromQL, of metrics and labels that metrics.js exports.

const assert = require('node:assert/strict');
const { Registry } = require('prom-client');
const { parser } = require('@prometheus-io/lezer-promql');
const dashboard = require('../../examples/prometheus/dashboard.json');
const { register } = require('../../examples/prometheus/metrics');
const { endAll, newPool } = require('../support/connect');

/** Given by Prometheus to all that it asks. */
const OF_PROMETHEUS = ['job', 'instance'];
/** What Grafana puts in, as it might. */
const VARIABLES = { $__rate_interval: '5m', $job: '.*' };

/** @param {string} given @returns {{ metrics: Set<string>, labels: Set<string> }} */
function readQuery(given) {
  let text = given;
  for (const [name, value] of Object.entries(VARIABLES)) text = text.replaceAll(name, value);
  const found = { metrics: new Set(), labels: new Set() };
  parser.parse(text).iterate({
    enter({ type, from, to }) {
      assert.ok(!type.isError, `no PromQL at ${from}: ${text}`);
      // The name of a metric, not of a function or keyword.
      if (type.name === 'Identifier') found.metrics.add(text.slice(from, to));
      else if (type.name === 'LabelName') found.labels.add(text.slice(from, to));
    },
  });
  return found;
}

describe('the Grafana dashboard', () => {
  afterEach(endAll);

  it('asks for nothing that is not exported', async () => {
    const pool = newPool();
    const registry = new Registry();
    register(pool, registry);
    await pool.query('select 1');
    await pool.query('select 1 / 0').catch(() => {});
    const samples = (await registry.metrics()).split('\n').filter((line) => /^\w/.test(line));
    const exported = new Set(samples.map((line) => line.split(/[{ ]/, 1)[0]));
    const labels = new Set([
      ...OF_PROMETHEUS,
      ...samples.flatMap((line) => [...line.matchAll(/[{,](\w+)="/g)].map(([, name]) => name)),
    ]);
    const [, { query }] = dashboard.templating.list;
    const [, listed] = /^label_values\((\w+), \w+\)$/.exec(/** @type {any} */ (query).query);
    assert.ok(exported.has(listed), listed);
    const asked = new Set();
    for (const { title, targets } of dashboard.panels) {
      for (const { expr } of targets) {
        const found = readQuery(expr);
        assert.ok(found.metrics.size > 0, `${title}: no metric in ${expr}`);
        for (const name of found.metrics) assert.ok(exported.has(name), `${title}: ${name}`);
        for (const name of found.labels) assert.ok(labels.has(name), `${title}: label ${name}`);
        for (const name of found.metrics) asked.add(name);
      }
    }
    // And all that is exported is shown.
    const families = (await registry.getMetricsAsJSON()).map(({ name }) => name);
    for (const name of families) {
      assert.ok(
        [...asked].some((one) => one.startsWith(name)),
        `${name} is not shown`,
      );
    }
  });

  it('would be told of a slip in a name or in the syntax', () => {
    assert.throws(() => readQuery('sum(rate(pg_pool_queries_total[5m])'), /no PromQL/);
    const { metrics, labels } = readQuery('sum by (le) (rate(a_bucket{job=~"$job"}[5m])) / b');
    assert.deepEqual([...metrics], ['a_bucket', 'b']);
    assert.deepEqual([...labels].sort(), ['job', 'le']);
  });
});
