'use strict';

// examples/prometheus: the counts of a pool as prom-client tells them.

const assert = require('node:assert/strict');
const { Registry } = require('prom-client');
const { register } = require('../../examples/prometheus/metrics');
const { endAll, newPool } = require('../support/connect');

describe('the example with Prometheus', () => {
  afterEach(endAll);

  it('exports the counts of the pool and the durations of queries', async () => {
    const pool = newPool({ max: 2 });
    const registry = new Registry();
    register(pool, registry);
    await pool.query('select 1');
    await pool.query('select 1 / 0').catch(() => {});
    for (let scrape = 1; scrape <= 2; ++scrape) {
      const text = await registry.metrics();
      assert.match(text, /^pg_pool_queries_total 2$/m);
      assert.match(text, /^pg_pool_syncs_total 2$/m);
      assert.match(text, /^pg_pool_connections 1$/m);
      assert.match(text, /^pg_pool_waiting 0$/m);
      assert.match(text, /^pg_query_duration_seconds_count\{outcome="ok"\} 1$/m);
      assert.match(text, /^pg_query_duration_seconds_count\{outcome="error"\} 1$/m);
    }
  });
});
