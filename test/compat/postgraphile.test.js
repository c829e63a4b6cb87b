'use strict';

// PostGraphile: a GraphQL schema of a database, and each request in a transaction of a borrowed client.

const assert = require('node:assert/strict');
const { createRequire } = require('node:module');
const { Pool } = require('pg');
const { createPostGraphileSchema, withPostGraphileContext } = require('postgraphile');
const { NUMBERS, SCHEMA, atOnce, useTool } = require('./support/tool');

// Of the version that PostGraphile makes its schema with.
const { graphql } = createRequire(require.resolve('postgraphile'))('graphql');

const ADD =
  'mutation ($email: String!) { createAccount(input: { account: { email: $email } }) { account { id } } }';

describe('postgraphile', () => {
  const tool = useTool('postgraphile', {
    schema: `${SCHEMA};
      create function twice(i int) returns int language sql immutable as 'select 2 * i';
      create function setting(name text) returns text language sql stable as
        'select current_setting(name, true)';`,
  });
  let pool;
  let schema;

  before(async () => {
    pool = new Pool({ connectionString: tool.url, max: 5 });
    schema = await createPostGraphileSchema(pool, ['public']);
  });

  tool.close(() => pool.end());

  /** @param {string} source @param {Record<string, unknown>} [variableValues] @param {Record<string, unknown>} [pgSettings] */
  function run(source, variableValues, pgSettings) {
    return withPostGraphileContext({ pgPool: pool, pgSettings }, (contextValue) =>
      graphql({ schema, source, contextValue, variableValues }),
    );
  }

  it('inserts, and selects with a join', async () => {
    const { data, errors } = await run(ADD, { email: 'a@b.c' });
    assert.equal(errors, undefined);
    const accountId = data.createAccount.account.id;
    for (const body of ['one', 'two']) {
      const note = { accountId, body, tags: ['x'], detail: JSON.stringify({ body }) };
      const added = await run(
        'mutation ($note: NoteInput!) { createNote(input: { note: $note }) { note { tags } } }',
        { note },
      );
      assert.deepEqual(added.data.createNote.note.tags, ['x']);
    }
    const read = await run(
      `query ($id: Int!) { accountById(id: $id) { email
        notesByAccountId(orderBy: BODY_DESC) { nodes { body } totalCount } } }`,
      { id: accountId },
    );
    assert.deepEqual(JSON.parse(JSON.stringify(read.data.accountById)), {
      email: 'a@b.c',
      notesByAccountId: { nodes: [{ body: 'two' }, { body: 'one' }], totalCount: 2 },
    });
  });

  it('rolls back to the savepoint of a mutation that has failed, and tells the constraint', async () => {
    const { data, errors } = await run(
      `mutation { a: createAccount(input: { account: { email: "twice@b.c" } }) { account { email } }
        b: createAccount(input: { account: { email: "twice@b.c" } }) { account { email } }
        c: createAccount(input: { account: { email: "third@b.c" } }) { account { email } } }`,
    );
    assert.equal(data.b, null);
    assert.equal(data.c.account.email, 'third@b.c');
    assert.equal(errors.length, 1);
    assert.equal(errors[0].originalError.code, '23505');
    assert.equal(errors[0].originalError.constraint, 'accounts_email_key');
    const { data: read } = await run('{ allAccounts { nodes { email } } }');
    const emails = read.allAccounts.nodes.map(({ email }) => email);
    assert.deepEqual(
      emails.filter((email) => email !== 'a@b.c'),
      ['twice@b.c', 'third@b.c'],
    );
  });

  it('has the settings of each request, and of no other one', async () => {
    const read = (settings) => run('{ setting(name: "jwt.claims.user") }', {}, settings);
    const all = await atOnce((i) => read(i % 2 === 0 ? { 'jwt.claims.user': `${i}` } : undefined));
    all.forEach(({ data }, i) => {
      if (i % 2 === 0) assert.equal(data.setting, `${i}`);
      else assert.ok(['', null].includes(data.setting));
    });
  });

  it('runs many at once', async () => {
    const answers = await atOnce((i) => run('query ($i: Int) { twice(i: $i) }', { i }));
    assert.deepEqual(
      answers.map(({ data }) => data.twice),
      NUMBERS.map((i) => 2 * i),
    );
  });
});
