'use strict';

// pg-cursor, pg-query-stream and pg-copy-streams, which speak to the connection of `pg` itself.

const assert = require('node:assert/strict');
const { pipeline } = require('node:stream/promises');
const { Readable } = require('node:stream');
const { Client, Pool, StatementRefusedError } = require('pg');
const { from, to } = require('pg-copy-streams');
const Cursor = require('pg-cursor');
const QueryStream = require('pg-query-stream');
const { collect, errorOf, useTool } = require('./support/tool');

describe('pg-cursor and pg-query-stream', () => {
  const tool = useTool('pg-cursor', { requirers: ['pg-cursor', 'pg-query-stream'] });
  let client;

  beforeEach(async () => {
    client = new Client(tool.url);
    await client.connect();
  });

  afterEach(() => client.end());

  it('read so many rows at a time', async () => {
    const cursor = client.query(new Cursor('select generate_series(1, $1::int) as i', [25]));
    assert.equal((await cursor.read(10)).length, 10);
    assert.equal((await cursor.read(10)).length, 10);
    assert.deepEqual((await cursor.read(10)).at(-1), { i: 25 });
    assert.deepEqual(await cursor.read(10), []);
    await cursor.close();
    assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
  });

  it('stream rows, in objects and in arrays', async () => {
    const text = "select i, timestamptz '2026-01-02Z' as at from generate_series(1, 1000) i";
    const rows = await collect(client.query(new QueryStream(text)));
    assert.equal(rows.length, 1000);
    assert.ok(rows[0].at instanceof Date);
    const arrays = client.query(new QueryStream(text, [], { rowMode: 'array', batchSize: 7 }));
    assert.deepEqual((await collect(arrays))[999][0], 1000);
  });

  it('tell of errors, and the client goes on', async () => {
    const broken = new QueryStream('select 1 / (i - 500) from generate_series(1, 1000) i');
    assert.equal((await errorOf(collect(client.query(broken)))).code, '22012');
    const cursor = client.query(new Cursor('select nonsense'));
    assert.equal((await errorOf(cursor.read(1))).code, '42703');
    assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
  });

  it('run on a client of a pool', async () => {
    const pool = new Pool({ connectionString: tool.url, max: 1 });
    const lent = await pool.connect();
    const rows = await collect(lent.query(new QueryStream('select generate_series(1, 300) as i')));
    lent.release();
    assert.equal(rows.length, 300);
    assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
    await pool.end();
  });
});

describe('pg-copy-streams', () => {
  const tool = useTool('pg-copy-streams', {
    requirers: [],
    schema: 'create table numbers (i int)',
  });

  it('is refused, and copyFrom() and copyTo() stand in for it', async () => {
    const client = new Client(tool.url);
    await client.connect();
    for (const stream of [from('copy numbers from stdin'), to('copy numbers to stdout')]) {
      const error = await new Promise((resolve) => {
        client.query(stream).once('error', resolve);
      });
      assert.ok(error instanceof StatementRefusedError, error.stack);
      assert.match(error.message, /copyFrom\(text\).*copyTo\(text\)/);
    }
    await pipeline(Readable.from(['1\n', '2\n']), client.copyFrom('copy numbers from stdin'));
    const chunks = await collect(client.copyTo('copy numbers to stdout'));
    assert.equal(Buffer.concat(chunks).toString(), '1\n2\n');
    await client.end();
  });
});
