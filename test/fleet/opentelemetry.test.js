'use strict';

// examples/opentelemetry with OpenTelemetry's own SDK: the spans and metrics that an exporter gets.

const assert = require('node:assert/strict');
const { context, metrics, SpanKind, SpanStatusCode, trace } = require('@opentelemetry/api');
const { AsyncLocalStorageContextManager } = require('@opentelemetry/context-async-hooks');
const {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} = require('@opentelemetry/sdk-metrics');
const {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} = require('@opentelemetry/sdk-trace-base');
const { traceQueries, watchPool } = require('../../examples/opentelemetry/instrument');
const { endAll, newPool } = require('../support/connect');

describe('the example with OpenTelemetry', () => {
  const spans = new InMemorySpanExporter();
  const points = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({
    exporter: points,
    exportIntervalMillis: 3_600_000,
  });
  let meters;
  let stop;

  before(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    trace.setGlobalTracerProvider(
      new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }),
    );
    meters = new MeterProvider({ readers: [reader] });
    metrics.setGlobalMeterProvider(meters);
    stop = traceQueries({ 'db.namespace': 'shop', 'server.address': 'db.example' });
  });

  afterEach(async () => {
    spans.reset();
    await endAll();
  });

  after(async () => {
    stop();
    await meters.shutdown();
    for (const api of [context, trace, metrics]) api.disable();
  });

  /** @returns {Promise<any[]>} */
  async function finished(count) {
    // They end behind the delivery that settles their promises.
    for (let turn = 0; turn < 100 && spans.getFinishedSpans().length < count; ++turn) {
      await new Promise(setImmediate);
    }
    return spans.getFinishedSpans();
  }

  it('has a span for each query, below the one that it was asked in', async () => {
    const pool = newPool({ max: 2 });
    const tracer = trace.getTracer('test');
    await Promise.all(
      ['one', 'two'].map((name, index) =>
        tracer.startActiveSpan(name, async (span) => {
          await pool.query('select $1::int as i from generate_series(1, 3)', [index]);
          await pool.query('select 1 / $1::int', [0]).catch(() => {});
          span.end();
        }),
      ),
    );
    await pool.batch(['insert into nowhere values (1)', 'select 1']).catch(() => {});
    const all = await finished(7);
    for (const name of ['one', 'two']) {
      const parent = all.find((span) => span.name === name);
      const below = all.filter(
        (span) => span.parentSpanContext?.spanId === parent.spanContext().spanId,
      );
      assert.deepEqual(
        below.map((span) => [span.name, span.kind, span.status.code]),
        [
          ['SELECT shop', SpanKind.CLIENT, SpanStatusCode.UNSET],
          ['SELECT shop', SpanKind.CLIENT, SpanStatusCode.ERROR],
        ],
      );
      assert.deepEqual(below[0].attributes, {
        'db.system.name': 'postgresql',
        'db.namespace': 'shop',
        'server.address': 'db.example',
        'db.operation.name': 'SELECT',
        'db.query.text': 'select $1::int as i from generate_series(1, 3)',
        'db.response.returned_rows': 3,
      });
      const { attributes } = below[1];
      assert.equal(attributes['error.type'], '22012');
      assert.equal(attributes['db.response.status_code'], '22012');
    }
    const batch = all.find(({ name }) => name === 'BATCH INSERT shop');
    assert.equal(batch.attributes['db.operation.batch.size'], 2);
    assert.equal(batch.attributes['error.type'], '42P01');
  });

  it('has the metrics of the conventions', async () => {
    const pool = newPool({ max: 3 });
    watchPool(pool, 'main');
    await pool.query('select 2');
    await finished(1);
    points.reset();
    await reader.forceFlush();
    const [{ scopeMetrics }] = points.getMetrics();
    const byName = new Map(
      scopeMetrics.flatMap((scope) => scope.metrics).map((one) => [one.descriptor.name, one]),
    );
    const valuesOf = (name) =>
      byName
        .get(name)
        .dataPoints.map(({ attributes, value }) => [
          attributes['db.client.connection.state'],
          value,
        ]);
    assert.deepEqual(valuesOf('db.client.connection.count'), [
      ['idle', 1],
      ['used', 0],
    ]);
    assert.deepEqual(valuesOf('db.client.connection.max'), [[undefined, 3]]);
    assert.deepEqual(valuesOf('db.client.connection.pending_requests'), [[undefined, 0]]);
    const { descriptor, dataPoints } = byName.get('db.client.operation.duration');
    assert.equal(descriptor.unit, 's');
    const good = dataPoints.find(
      ({ attributes }) =>
        attributes['db.operation.name'] === 'SELECT' && attributes['error.type'] === undefined,
    );
    assert.ok(good.value.count > 0 && good.value.sum > 0 && good.value.sum < 60);
  });
});
