'use strict';

// The option fetchTypes, with which arrays of enums, domains and types of extensions are arrays.

const assert = require('node:assert/strict');
const { TypeOverrides } = require('../..');
const { endAll, newClient, newPool, resetSchema } = require('../support/connect');
const { RESULT_EXECUTIONS } = require('../support/like-pg');

const MOODS = `select '{sad,"so so",NULL}'::mood[] as moods, 'sad'::mood as mood`;
const READ_MOODS = { moods: ['sad', 'so so', null], mood: 'sad' };

describe('fetchTypes', () => {
  before(async () => {
    await resetSchema();
    const client = await newClient();
    await client.query(`
      create type mood as enum ('sad', 'so so', 'happy');
      create domain age as int check (value >= 0);
      create domain old_age as age;
      create domain day as date;
      create table person (name text, age age)`);
  });

  afterEach(endAll);

  it('is off by default: arrays of enums are texts, as in pg', async () => {
    const client = await newClient();
    const { rows } = await client.query(MOODS);
    assert.deepEqual(rows, [{ moods: '{sad,"so so",NULL}', mood: 'sad' }]);
  });

  it('returns arrays of enums as arrays, in every method', async () => {
    for (const one of [await newClient({ fetchTypes: true }), newPool({ fetchTypes: true })]) {
      for (let execution = 1; execution <= RESULT_EXECUTIONS; ++execution) {
        assert.deepEqual((await one.query(MOODS)).rows, [READ_MOODS]);
      }
      const [{ rows }] = await one.batch([MOODS]);
      assert.deepEqual(rows, [READ_MOODS]);
      assert.deepEqual(await one.stream(MOODS).toArray(), [READ_MOODS]);
      const arrays = await one.query({ text: MOODS, rowMode: 'array' });
      assert.deepEqual(arrays.rows, [[READ_MOODS.moods, 'sad']]);
    }
  });

  it('parses elements of domains as their base type, and leaves elements of row types as texts', async () => {
    const client = await newClient({ fetchTypes: true, int8: 'number', date: 'string' });
    const { rows } =
      await client.query(`select '{1,2}'::age[] as ages, '{{1},{2}}'::old_age[] as old,
      '{2024-02-29}'::day[] as days, array[row('a', 1)::person] as people`);
    assert.deepEqual(rows, [
      { ages: [1, 2], old: [[1], [2]], days: ['2024-02-29'], people: ['(a,1)'] },
    ]);
  });

  it('knows types that are created later, also on another connection', async () => {
    const pool = newPool({ fetchTypes: true, max: 1 });
    const other = await newClient();
    await pool.query('select 1');
    await other.query(`create type late as enum ('a'); create type later as enum ('b')`);
    const text = `select '{a}'::late[] as list, '{a}'::late[] as list, null::late[] as none`;
    const answers = await Promise.all([pool.query(text), pool.query(text)]);
    for (const { rows } of answers) assert.deepEqual(rows, [{ list: ['a'], none: null }]);
    await pool.transaction(async (tx) => {
      const [{ rows }] = await tx.batch([
        { text: `select '{b}'::later[] as list`, rowMode: 'array' },
      ]);
      assert.deepEqual(rows, [[['b']]]);
    });
    await other.query('drop type late; drop type later');
  });

  it('fetches types in the middle of a transaction, which continues', async () => {
    const pool = newPool({ fetchTypes: true, max: 1 });
    await pool.query('select 1');
    await pool
      .transaction(async (tx) => {
        await tx.query(`create type inner_mood as enum ('in')`);
        const { rows } = await tx.query(`select '{in}'::inner_mood[] as list`);
        assert.deepEqual(rows, [{ list: ['in'] }]);
        throw new Error('back');
      })
      .catch(({ message }) => assert.equal(message, 'back'));
  });

  it('does not replace parsers of the user, for the array type or for the query', async () => {
    const client = await newClient({ fetchTypes: true });
    const { fields } = await client.query(MOODS);
    const asText = { getTypeParser: () => (text) => `<${text}>` };
    const { rows } = await client.query({ text: MOODS, types: asText });
    assert.deepEqual(rows, [{ moods: '<{sad,"so so",NULL}>', mood: '<sad>' }]);
    client.setTypeParser(fields[0].dataTypeID, (text) => text.length);
    assert.deepEqual((await client.query(MOODS)).rows, [{ moods: 18, mood: 'sad' }]);
  });

  it('uses the parser of the element type in the option types', async () => {
    const types = new TypeOverrides();
    const client = await newClient({ fetchTypes: true, types });
    const { fields } = await client.query(MOODS);
    types.setTypeParser(fields[1].dataTypeID, (text) => text.toUpperCase());
    const { rows } = await client.query(MOODS);
    assert.deepEqual(rows, [{ moods: ['SAD', 'SO SO', null], mood: 'SAD' }]);
  });

  it('queries pg_type once for all connections of a pool', async () => {
    // Where statements are prepared, the server is asked once whether a pooler is between.
    const pool = newPool({ fetchTypes: true, max: 3, multiplex: 'off', prepare: false });
    const clients = [await pool.connect(), await pool.connect(), await pool.connect()];
    for (const client of clients) assert.deepEqual((await client.query(MOODS)).rows, [READ_MOODS]);
    const counts = clients.map((client) => client.release());
    assert.equal(counts.length, 3);
    assert.equal(pool.stats().queries, 4);
  });

  it('returns the text if the types cannot be fetched because of an unread stream', async () => {
    const client = await newClient({ fetchTypes: true });
    const other = await newClient();
    await other.query(`create type behind_stream as enum ('a')`);
    const answer = client.query(`select '{a}'::behind_stream[] as list`);
    const stream = client.stream(`select repeat('x', 1000) as x, generate_series(1, 100000)`);
    assert.deepEqual((await answer).rows, [{ list: '{a}' }]);
    stream.destroy();
    await other.query('drop type behind_stream');
  });

  it('returns the text if the types cannot be fetched in a failed transaction', async () => {
    const client = await newClient({ fetchTypes: true });
    const other = await newClient();
    await other.query(`create type unasked as enum ('a')`);
    await client.query('begin');
    const answer = client.query(`select '{a}'::unasked[] as list`);
    await assert.rejects(client.query('select 1/0'), { code: '22012' });
    assert.deepEqual((await answer).rows, [{ list: '{a}' }]);
    await client.query('rollback');
    assert.deepEqual((await client.query(`select '{a}'::unasked[] as list`)).rows, [
      { list: ['a'] },
    ]);
    await other.query('drop type unasked');
  });
});
