'use strict';

// pgvector for Node.js: the parser of its type on a client, and on each of a pool as its documentation has it. The type itself is made here, since
// servers rarely have the extension: it has a name and an OID of its own, and the text of a vector.

const assert = require('node:assert/strict');
const { Client, Pool } = require('pg');
const pgvector = require('pgvector/pg');
const { NUMBERS, atOnce, errorOf, useTool } = require('./support/tool');

const TYPE = `
  create type vector;
  create function vector_in(cstring) returns vector language internal immutable strict as 'textin';
  create function vector_out(vector) returns cstring language internal immutable strict as 'textout';
  create type vector (input = vector_in, output = vector_out, like = text);
  create table items (id int primary key, embedding vector)`;

describe('pgvector', () => {
  const tool = useTool('pgvector', { requirers: [], schema: TYPE });
  let pool;

  before(() => {
    pool = new Pool({ connectionString: tool.url, max: 3 });
    pool.on('connect', async (client) => {
      await pgvector.registerTypes(client);
    });
  });

  tool.close(() => pool.end());

  it('parses vectors on a client that has registered them', async () => {
    const client = new Client(tool.url);
    await client.connect();
    const ask = () => client.query("select '[1,2,3]'::vector as v");
    assert.deepEqual((await ask()).rows, [{ v: '[1,2,3]' }]);
    await pgvector.registerTypes(client);
    assert.deepEqual((await ask()).rows, [{ v: [1, 2, 3] }]);
    await client.end();
  });

  it('stores and reads vectors, many at once, on all connections of a pool', async () => {
    await atOnce((i) =>
      pool.query('insert into items values ($1, $2)', [i, pgvector.toSql([i, i / 2])]),
    );
    const rows = await atOnce((i) => pool.query('select embedding from items where id = $1', [i]));
    assert.deepEqual(
      rows.map((result) => result.rows[0].embedding),
      NUMBERS.map((i) => [i, i / 2]),
    );
  });

  it('says where the type is missing', async () => {
    await pool.query('alter type vector rename to hidden');
    const client = new Client(tool.url);
    await client.connect();
    assert.match((await errorOf(pgvector.registerTypes(client))).message, /not found/);
    await client.end();
    await pool.query('alter type hidden rename to vector');
  });
});
