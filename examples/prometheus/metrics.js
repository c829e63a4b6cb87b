'use strict';

// What a pool counts as Prometheus metrics, by prom-client: register() once for each pool, and serve
// `await registry.metrics()` under /metrics. Copy it into an application.

const { Counter, Gauge, Histogram } = require('prom-client');
const { tracingChannel } = require('node:diagnostics_channel');

/** Counts since the pool was made, and what they mean. */
const COUNTERS = {
  queries: 'Queries sent to the server',
  parses: 'Statements prepared',
  syncs: 'Syncs sent: transactions, where a Sync group is one',
  flushes: 'Times that something was written to a socket',
  wakeups: 'Times that something was read from a socket',
};

/** What there is now: the name of the metric, and its meaning. @type {Record<string, [string, string]>} */
const GAUGES = {
  totalCount: ['connections', 'Connections, those that are being opened included'],
  idleCount: ['idle_connections', 'Connections with nothing in flight that are not lent'],
  waitingCount: ['waiting', 'Queries and borrowers that wait for a connection'],
};

/**
 * @param {import('../..').Pool} pool
 * @param {import('prom-client').Registry} registry
 */
function register(pool, registry) {
  const registers = [registry];
  for (const [name, help] of Object.entries(COUNTERS)) {
    const counter = new Counter({
      name: `pg_pool_${name}_total`,
      help,
      registers,
      collect() {
        counter.reset();
        counter.inc(/** @type {any} */ (pool.stats())[name]);
      },
    });
  }
  for (const [property, [name, help]] of Object.entries(GAUGES)) {
    const gauge = new Gauge({
      name: `pg_pool_${name}`,
      help,
      registers,
      collect() {
        gauge.set(/** @type {any} */ (pool)[property]);
      },
    });
  }
  const durations = new Histogram({
    name: 'pg_query_duration_seconds',
    help: 'From query() to its result',
    labelNames: ['outcome'],
    registers,
  });
  const subscribers = {
    asyncEnd(/** @type {any} */ { durationMillis, error }) {
      durations.observe({ outcome: error ? 'error' : 'ok' }, durationMillis / 1000);
    },
  };
  // The declarations of Node.js ask for all five of them.
  tracingChannel('pg-conduit:query').subscribe(/** @type {any} */ (subscribers));
}

module.exports = { register };
