'use strict';

// The runtime of PgTyped: queries with named parameters, on whatever has query().

const assert = require('node:assert/strict');
const { Pool } = require('pg');
const { PreparedQuery, sql } = require('@pgtyped/runtime');
const { NUMBERS, SCHEMA, assertDuplicate, atOnce, useTool } = require('./support/tool');

/** @type {any} what its compiler makes of `select :i!::int as "i!"` */
const IR = {
  usedParamSet: { i: true },
  params: [{ name: 'i', required: true, transform: { type: 'scalar' }, locs: [{ a: 7, b: 9 }] }],
  statement: 'select :i!::int as "i!"',
};

const addAccount = sql`insert into accounts (email) values ($email) returning id`;
const addNotes = sql`insert into notes (account_id, body) values $$notes(accountId, body)`;
const findNotes = sql`
  select email, body from notes join accounts on accounts.id = account_id
  where body in $$bodies order by body`;

describe('@pgtyped/runtime', () => {
  const tool = useTool('@pgtyped/runtime', { requirers: [], schema: SCHEMA });
  let pool;

  before(() => {
    pool = new Pool({ connectionString: tool.url, max: 5 });
  });

  tool.close(() => pool.end());

  it('inserts, and selects with a join', async () => {
    const [{ id }] = await addAccount.run({ email: 'a@b.c' }, pool);
    const notes = ['one', 'two', 'three'].map((body) => ({ accountId: id, body }));
    await addNotes.run({ notes }, pool);
    const rows = await findNotes.run({ bodies: ['one', 'two'] }, pool);
    assert.deepEqual(rows, [
      { email: 'a@b.c', body: 'one' },
      { email: 'a@b.c', body: 'two' },
    ]);
  });

  it('rolls back on a client', async () => {
    const client = await pool.connect();
    await client.query('begin');
    await addAccount.run({ email: 'gone@b.c' }, client);
    await client.query('rollback');
    client.release();
    const { rows } = await pool.query("select from accounts where email = 'gone@b.c'");
    assert.deepEqual(rows, []);
  });

  it('tells which constraint was broken', async () => {
    await addAccount.run({ email: 'twice@b.c' }, pool);
    await assertDuplicate(addAccount.run({ email: 'twice@b.c' }, pool));
  });

  it('runs many at once', async () => {
    const select = new PreparedQuery(IR);
    const rows = await atOnce((i) => select.run({ i }, pool));
    assert.deepEqual(
      rows.map(([{ i }]) => i),
      NUMBERS,
    );
  });
});
