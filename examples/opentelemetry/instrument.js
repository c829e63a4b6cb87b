'use strict';

// Spans and metrics of OpenTelemetry for pools, from the tracing channels and the pools' counts, under the
// names of its semantic conventions for database clients: traceQueries() once for the process, watchPool()
// once for each pool. Copy it into an application.

const { metrics, SpanKind, SpanStatusCode, trace } = require('@opentelemetry/api');
const { tracingChannel } = require('node:diagnostics_channel');

const SYSTEM = { 'db.system.name': 'postgresql' };
/** Seconds, as the conventions advise. */
const DURATION_BOUNDARIES = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];
/** Texts are parametrized, and so have no secrets; but they may be long. */
const MAX_TEXT_LENGTH = 2048;

/** @param {string} text @param {number | undefined} batchSize */
function operationOf(text, batchSize) {
  const keyword = /^\s*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? 'QUERY';
  return batchSize === undefined ? keyword : `BATCH ${keyword}`;
}

/**
 * @param {Record<string, string | number>} [where] attributes such as db.namespace and server.address,
 *   of a process with one database
 * @returns {() => void} ends it
 */
function traceQueries(where = {}) {
  const tracer = trace.getTracer('pg-conduit');
  const durations = metrics.getMeter('pg-conduit').createHistogram('db.client.operation.duration', {
    description: 'Duration of database client operations',
    unit: 's',
    advice: { explicitBucketBoundaries: DURATION_BOUNDARIES },
  });
  const target = where['db.namespace'] ?? '';
  /** @type {WeakMap<object, { span: import('@opentelemetry/api').Span, attributes: any }>} */
  const begun = new WeakMap();
  const subscribers = {
    /** In the context of the caller, whose span is the parent. @param {any} query */
    start(query) {
      const { text, batchSize } = query;
      const operation = operationOf(text, batchSize);
      const attributes = { ...SYSTEM, ...where, 'db.operation.name': operation };
      const span = tracer.startSpan(`${operation} ${target}`.trim(), {
        kind: SpanKind.CLIENT,
        attributes: {
          ...attributes,
          'db.query.text': text.slice(0, MAX_TEXT_LENGTH),
          ...(batchSize !== undefined && { 'db.operation.batch.size': batchSize }),
        },
      });
      begun.set(query, { span, attributes });
    },
    /** @param {any} query */
    asyncEnd(query) {
      const entry = begun.get(query);
      if (entry === undefined) return;
      const { error, rowCount, durationMillis } = query;
      const { span, attributes } = entry;
      if (error !== undefined) {
        const failure = {
          'error.type': error.code ?? error.name,
          ...(error.severity !== undefined && { 'db.response.status_code': error.code }),
        };
        Object.assign(attributes, failure);
        span.setAttributes(failure);
        span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
      } else if (rowCount !== null) {
        span.setAttribute('db.response.returned_rows', rowCount);
      }
      span.end();
      durations.record(durationMillis / 1000, attributes);
    },
  };
  const channel = tracingChannel('pg-conduit:query');
  channel.subscribe(/** @type {any} */ (subscribers));
  return () => channel.unsubscribe(/** @type {any} */ (subscribers));
}

/**
 * @param {import('../..').Pool} pool
 * @param {string} name of the pool, for those who look
 */
function watchPool(pool, name) {
  const meter = metrics.getMeter('pg-conduit');
  const attributes = { 'db.client.connection.pool.name': name };
  const connections = meter.createObservableUpDownCounter('db.client.connection.count', {
    description: 'Connections in each state',
    unit: '{connection}',
  });
  const most = meter.createObservableUpDownCounter('db.client.connection.max', {
    description: 'Connections that may be open',
    unit: '{connection}',
  });
  const pending = meter.createObservableUpDownCounter('db.client.connection.pending_requests', {
    description: 'Queries and borrowers that wait for a connection',
    unit: '{request}',
  });
  meter.addBatchObservableCallback(
    (result) => {
      const { totalCount, idleCount, waitingCount } = pool;
      const state = 'db.client.connection.state';
      result.observe(connections, idleCount, { ...attributes, [state]: 'idle' });
      result.observe(connections, totalCount - idleCount, { ...attributes, [state]: 'used' });
      result.observe(most, Number(pool.options.max), attributes);
      result.observe(pending, waitingCount, attributes);
    },
    [connections, most, pending],
  );
}

module.exports = { traceQueries, watchPool };
