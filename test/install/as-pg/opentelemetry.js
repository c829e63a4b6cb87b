'use strict';

// Prints the texts of the spans that OpenTelemetry makes.

const { PgInstrumentation } = require('@opentelemetry/instrumentation-pg');
const {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
} = require('@opentelemetry/sdk-trace-node');

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
provider.register();
new PgInstrumentation().setTracerProvider(provider);

require('./application')().then(() => {
  const texts = exporter
    .getFinishedSpans()
    .map(({ attributes }) => attributes['db.query.text'] ?? attributes['db.statement']);
  console.log(JSON.stringify(texts.filter((text) => text !== undefined)));
});
