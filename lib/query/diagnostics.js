'use strict';

// Tracing channels (node:diagnostics_channel) for tools that watch an application:
// pg-conduit:query, pg-conduit:connect and pg-conduit:transaction. Without subscribers nothing is
// measured or allocated. Used by client.js, pool.js and connection.js.

// Marked experimental in Node 20; APM tools use it all the same.
// eslint-disable-next-line n/no-unsupported-features/node-builtins
const { tracingChannel } = require('node:diagnostics_channel');
const { afterDelivery, callApart, callLocked, duringCall } = require('../base');

/**
 * @typedef {import('./query').Query} Query
 * @typedef {import('./batch').Batch} Batch
 */

const queries = tracingChannel('pg-conduit:query');
const connects = tracingChannel('pg-conduit:connect');
const transactions = tracingChannel('pg-conduit:transaction');

/**
 * What subscribers get for one query, filled in as the query proceeds. It has no values of
 * parameters, which may be secrets.
 */
class QueryTrace {
  /** Process id of the server's backend; 0 before it is sent. */
  processId = 0;
  /** Queries in flight on its connection when it was sent. */
  position = 0;
  /** Milliseconds until it was sent, and in total. */
  queuedMillis = 0;
  durationMillis = 0;
  /** @type {number | null} */
  rowCount = null;
  /** @type {any} */
  result = undefined;
  /** @type {Error | undefined} */
  error = undefined;

  /** @param {Query | Batch} work */
  constructor(work) {
    if ('members' in work) {
      this.text = work.members.map(({ text }) => text).join('; ');
      this.name = undefined;
      /** The number of statements in a batch. @type {number | undefined} */
      this.batchSize = work.members.length;
    } else {
      this.text = work.text;
      this.name = work.name;
      this.batchSize = undefined;
    }
  }
}

/**
 * Fills in a trace. Subscribers have the same object: they may have frozen it, or put accessors
 * into it.
 */
class TraceWriter {
  trace;
  #begunAt = performance.now();

  /** @param {Query | Batch} work */
  constructor(work) {
    this.trace = new QueryTrace(work);
  }

  /** @param {import('./work').Carrier} connection */
  sent({ processID, load }) {
    this.#write({
      processId: processID,
      position: Math.max(0, load.sent - 1),
      queuedMillis: performance.now() - this.#begunAt,
    });
  }

  /** @param {any} result @param {Error} [error] */
  settled(result, error) {
    const { trace } = this;
    const durationMillis = performance.now() - this.#begunAt;
    // A subscriber may send a query, which must not happen in the middle of a delivery.
    afterDelivery(() => {
      this.#write({ durationMillis, result, rowCount: result?.rowCount ?? null, error });
      if (error !== undefined) queries.error.publish(trace);
      queries.asyncStart.runStores(trace, () => queries.asyncEnd.publish(trace));
    });
  }

  /** @param {Partial<QueryTrace>} fields */
  #write(fields) {
    // A subscriber may have frozen the trace, which must not throw here.
    callApart(() =>
      callLocked(() => {
        for (const [name, value] of Object.entries(fields)) Reflect.set(this.trace, name, value);
      }),
    );
  }
}

/**
 * Begins what a caller has requested, within the caller's call.
 * @param {Query | Batch} query
 * @param {() => void} run sends it, or rejects it
 */
function beginTraced(query, run) {
  if (!queries.hasSubscribers) {
    duringCall(query, run);
    return;
  }
  const writer = new TraceWriter(query);
  // A query that came through a wrapper has a trace already, which passes on what it is told.
  if (query.trace === undefined) query.trace = writer;
  else query.trace.next = writer;
  let hasRun = false;
  // The channel writes to the trace, too.
  callApart(() =>
    queries.traceSync(() => {
      hasRun = true;
      duringCall(query, run);
    }, writer.trace),
  );
  if (!hasRun) duringCall(query, run);
}

/**
 * @template T
 * @param {typeof connects} channel
 * @param {object} context
 * @param {() => Promise<T>} run
 * @returns {Promise<T>} that of run(), whatever the subscribers do to the context
 */
async function tracePromise(channel, context, run) {
  if (!channel.hasSubscribers) return run();
  /** @type {Promise<T> | undefined} */
  let promise;
  // The channel gets a promise of its own: a promise with two handlers hides who awaits it
  // (caller-stack.js).
  /** @type {(outcome: any) => void} */
  let settle = () => {};
  const shown = new Promise((resolve) => {
    settle = resolve;
  });
  shown.catch(() => {});
  callApart(() => {
    const traced = channel.tracePromise(() => {
      promise = run();
      return shown;
    }, context);
    traced.catch(() => {});
  });
  try {
    const value = await (promise ?? run());
    settle(value);
    return value;
  } catch (error) {
    settle(Promise.reject(error));
    throw error;
  }
}

/**
 * @template T
 * @param {import('../options').Settings} settings
 * @param {() => Promise<T>} run
 */
function traceConnect({ conninfo: { host, port, user, dbname } }, run) {
  return tracePromise(connects, { host, port, user, database: dbname }, run);
}

/**
 * @template T
 * @param {object | undefined} options of the transaction
 * @param {() => Promise<T>} run
 */
function traceTransaction(options, run) {
  return tracePromise(transactions, { options }, run);
}

module.exports = { TraceWriter, beginTraced, traceConnect, traceTransaction };
