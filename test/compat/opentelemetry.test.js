'use strict';

// OpenTelemetry's instrumentation of `pg`: the spans of an application's requests and queries. It
// must be loaded before `pg` is: so it runs in a process of its own, traced.js.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { SCHEMA, useTool } = require('./support/tool');

const MANY = 50;
const TEXT = 'select $1::int as i, current_query() as text';

describe('@opentelemetry/instrumentation-pg', () => {
  const tool = useTool('@opentelemetry/instrumentation-pg', { requirers: [], schema: SCHEMA });

  /** @param {Record<string, any>} [options] of the instrumentation @param {'require' | 'import'} [way] */
  function trace(options = {}, way = 'require') {
    const output = execFileSync(
      process.execPath,
      [path.join(__dirname, 'support', 'traced.js'), JSON.stringify(options), String(MANY), way],
      { env: { ...process.env, DATABASE_URL: tool.url }, encoding: 'utf8' },
    );
    const { spans, texts } = JSON.parse(output);
    tool.texts.push(...texts);
    const database = new URL(tool.url).pathname.slice(1);
    return {
      spans,
      texts,
      /** @param {string} name of a request @returns {any[]} the spans below it */
      below: (name) => {
        const found = spans.find((span) => span.name === name);
        assert.ok(found, `no request "${name}"`);
        const { id } = found;
        return spans.filter(({ parent }) => parent === id);
      },
      select: `pg.query:SELECT ${database}`,
      insert: `pg.query:INSERT ${database}`,
    };
  }

  it('makes a span of each query, below that of the request', () => {
    const { below, spans, select } = trace();
    const many = Array.from({ length: MANY }, (_, i) => `many ${i}`);
    for (const request of ['pool', 'callback', 'client', 'prepared', ...many]) {
      const queries = below(request).filter(({ name }) => name.startsWith('pg.query'));
      assert.equal(queries.length, 1, request);
      const [{ name, attributes, status }] = queries;
      assert.equal(name, request === 'prepared' ? select.replace('SELECT', 'a text') : select);
      assert.equal(attributes['db.query.text'] ?? attributes['db.statement'], TEXT);
      assert.equal(status.code, 0);
    }
    assert.ok(spans.some(({ name }) => name === 'pg.connect'));
  });

  it('makes the same spans where the application is an ES module', () => {
    /** @param {any[]} spans */
    const names = (spans) => spans.map(({ name }) => name).sort();
    assert.deepEqual(names(trace({}, 'import').spans), names(trace().spans));
  });

  it('records errors', () => {
    const { below, insert } = trace();
    const [{ name, status, events }] = below('error').slice(-1);
    assert.equal(name, insert);
    assert.equal(status.code, 2);
    assert.match(status.message, /accounts_email_key/);
    assert.equal(events[0].name, 'exception');
  });

  it('sees the statements of a transaction', () => {
    const names = trace()
      .below('transaction')
      .map(({ name }) => name.split(' ')[0]);
    assert.deepEqual(names, ['pg.query:INSERT', 'pg.query:SELECT']);
  });

  it('may add the context of the trace to the text of a query', () => {
    const { below, texts } = trace({ addSqlCommenterCommentToQueries: true });
    const [{ id, trace: traceId }] = below('pool').slice(-1);
    const [commented, prepared] = texts;
    assert.equal(commented, `${TEXT} /*traceparent='00-${traceId}-${id}-01'*/`);
    // With a comment it would be another statement each time.
    assert.equal(prepared, TEXT);
  });
});
