'use strict';

// Parsers that are set on the clients of a pool, as pgvector's documentation says, beside `pg`.

const assert = require('node:assert/strict');
const pg = require('pg');
const ours = require('../..');
const { endAll, options } = require('../support/connect');

const INT4 = 23;
const MANY = 20;

/** Asks for something first, as those do who need the OID of a type. @param {any} client */
async function setParser(client) {
  const { rows } = await client.query("select oid::text from pg_type where typname = 'int4'");
  client.setTypeParser(Number(rows[0].oid), 'text', (/** @type {string} */ text) => `int ${text}`);
}

for (const [name, { Pool, TypeOverrides }] of Object.entries({ pg, 'pg-conduit': ours })) {
  describe(`type parsers on the clients of a pool, ${name}`, () => {
    let pool;

    afterEach(async () => {
      await pool.end();
      await endAll();
    });

    for (const [how, set] of Object.entries({
      'in a listener of connect that does not wait': (made) =>
        made.on('connect', (client) => client.setTypeParser(INT4, 'text', (text) => `int ${text}`)),
      'in a listener of connect that asks the server first': (made) =>
        made.on('connect', setParser),
      'in onConnect': (made) => {
        made.options.onConnect = setParser;
      },
    })) {
      it(`count for every query, if they are set ${how}`, async () => {
        pool = new Pool({ ...options(), max: 3 });
        set(pool);
        const ask = () => pool.query('select 1::int as i');
        const results = await Promise.all(Array.from({ length: MANY }, ask));
        const client = await pool.connect();
        results.push(await client.query('select 1::int as i'));
        client.release();
        results.push(await ask());
        for (const { rows } of results) assert.deepEqual(rows, [{ i: 'int 1' }]);
      });
    }

    it('do not count for a query that has its own', async () => {
      pool = new Pool({ ...options(), max: 1 });
      pool.on('connect', setParser);
      await pool.query('select 1');
      const types = new TypeOverrides();
      types.setTypeParser(INT4, 'text', (text) => `own ${text}`);
      const { rows } = await pool.query({ text: 'select 1::int as i', types });
      assert.deepEqual(rows, [{ i: 'own 1' }]);
    });

    it('are asked by no query of another client', async () => {
      pool = new Pool({ ...options(), max: 2 });
      let made = 0;
      pool.on('connect', (client) => {
        const own = ++made;
        client.setTypeParser(INT4, 'text', () => own);
      });
      const text = 'select pg_backend_pid()::text as pid, 1::int as i, pg_sleep(0.01)';
      const results = await Promise.all(Array.from({ length: MANY }, () => pool.query(text)));
      const byConnection = new Map(results.map(({ rows }) => [rows[0].pid, rows[0].i]));
      for (const { rows } of results) assert.equal(rows[0].i, byConnection.get(rows[0].pid));
      assert.equal(new Set(byConnection.values()).size, made);
    });
  });
}
