'use strict';

// @fastify/postgres.

const assert = require('node:assert/strict');
const makeFastify = require('fastify');
const { NUMBERS, SCHEMA, atOnce, useTool } = require('./support/tool');

describe('@fastify/postgres', () => {
  const tool = useTool('@fastify/postgres', { schema: SCHEMA });
  let app;

  before(async () => {
    app = makeFastify();
    app.register(require('@fastify/postgres'), { connectionString: tool.url, max: 5 });
    app.get('/number/:i', async ({ params }) => {
      const { rows } = await app.pg.query('select $1::int as i', [params.i]);
      return rows[0];
    });
    app.post('/account/:email', ({ params }) =>
      app.pg.transact(async (client) => {
        const { rows } = await client.query(
          'insert into accounts (email) values ($1) returning email',
          [params.email],
        );
        if (rows[0].email === 'gone') throw app.httpError;
        return rows[0];
      }),
    );
    app.get('/accounts', async () => {
      const client = await app.pg.connect();
      try {
        return (await client.query('select email from accounts')).rows;
      } finally {
        client.release();
      }
    });
    app.httpError = Object.assign(new Error('changed my mind'), { statusCode: 409 });
    await app.ready();
  });

  tool.close(() => app.close());

  it('serves transactions, committed and rolled back', async () => {
    const kept = await app.inject({ method: 'POST', url: '/account/kept' });
    assert.deepEqual(kept.json(), { email: 'kept' });
    assert.equal((await app.inject({ method: 'POST', url: '/account/gone' })).statusCode, 409);
    const again = await app.inject({ method: 'POST', url: '/account/kept' });
    assert.equal(again.json().code, '23505');
    assert.deepEqual((await app.inject('/accounts')).json(), [{ email: 'kept' }]);
  });

  it('serves many requests at once', async () => {
    const answers = await atOnce((i) => app.inject(`/number/${i}`));
    assert.deepEqual(
      answers.map((answer) => answer.json().i),
      NUMBERS,
    );
  });
});
