'use strict';

// An application whose queries are traced: prints its spans, and the texts that the server got.
// Run by opentelemetry.test.js:
//   node traced.js OPTIONS MANY require|import

const { promisify } = require('node:util');
const { trace } = require('@opentelemetry/api');
const { PgInstrumentation } = require('@opentelemetry/instrumentation-pg');
const {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
} = require('@opentelemetry/sdk-trace-node');

const [, , options, many, way] = process.argv;
const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
provider.register();
const instrumentation = new PgInstrumentation(JSON.parse(options));
instrumentation.setTracerProvider(provider);

const text = 'select $1::int as i, current_query() as text';
const connectionString = process.env.DATABASE_URL;
const tracer = trace.getTracer('an application');

/** @param {string} name @param {() => any} serve */
const request = (name, serve) =>
  tracer.startActiveSpan(name, async (span) => {
    try {
      return await serve();
    } finally {
      span.end();
    }
  });

/** @returns {Promise<string[]>} two texts as the server got them */
async function serveAll() {
  // An ES module gets the class by other hooks: those of the files, not that of the package.
  const { Client, Pool } = way === 'import' ? (await import('pg')).default : require('pg');
  const pool = new Pool({ connectionString, max: 2, maxInFlight: 4 });
  const insert = () => pool.query("insert into accounts (email) values ('a@b.c')");
  const asked = [
    await request('pool', () => pool.query(text, [1])),
    await request('prepared', () => pool.query({ text, values: [1], name: 'a text' })),
  ];
  const texts = asked.map(({ rows }) => rows[0].text);
  await request('callback', () => promisify(pool.query).call(pool, text, [1]));
  await request('client', async () => {
    const client = await pool.connect();
    await client.query(text, [1]);
    client.release();
  });
  await Promise.all(
    Array.from({ length: Number(many) }, (_, i) =>
      request(`many ${i}`, () => pool.query(text, [i])),
    ),
  );
  await insert().catch(() => {});
  await request('error', insert).catch(() => {});
  await request('transaction', () =>
    pool.transaction(async (tx) => {
      await tx.query("insert into notes (account_id, body) values (1, 'x')");
      await tx.query(text, [1]);
    }),
  );
  await pool.query('truncate accounts, notes restart identity');
  await pool.end();
  const client = new Client(connectionString);
  await request('connect', () => client.connect());
  await client.end();
  return texts;
}

serveAll().then((texts) => {
  const spans = exporter.getFinishedSpans().map((span) => ({
    name: span.name,
    id: span.spanContext().spanId,
    trace: span.spanContext().traceId,
    parent: span.parentSpanContext?.spanId,
    attributes: span.attributes,
    status: span.status,
    events: span.events,
  }));
  process.stdout.write(JSON.stringify({ spans, texts }));
});
