'use strict';

// Errors from the server: they have the same fields as in `pg`, and a stack
// that names the functions that await the query.

const assert = require('node:assert/strict');
const { DatabaseError } = require('../..');
const { endAll, newClient, newPool, resetSchema } = require('../support/connect');
const { EXECUTIONS, withPg } = require('../support/like-pg');
const { errorOf } = require('../support/outcomes');

describe('Client', () => {
  before(resetSchema);
  afterEach(endAll);

  describe('errors of the server', () => {
    before(async () => {
      const client = await newClient();
      await client.query(`create domain even as int constraint is_even check (value % 2 = 0)`);
      await client.query(`create table checked (
        id int primary key, label text not null, n int constraint positive check (n > 0),
        parent int references checked deferrable initially deferred, e even, short varchar(3))`);
      await client.query("insert into checked values (1, 'one', 1)");
      await client.query(`create function failing(depth int) returns int language plpgsql as $$
        begin
          if depth > 0 then return failing(depth - 1); end if;
          return 1 / depth;
        end $$`);
      await endAll();
    });

    const FIELDS = [
      ...['message', 'name', 'severity', 'code', 'detail', 'hint', 'position', 'internalPosition'],
      ...['internalQuery', 'where', 'schema', 'table', 'column', 'dataType', 'constraint'],
      ...['file', 'line', 'routine'],
    ];
    const fieldsOf = (error) => Object.fromEntries(FIELDS.map((name) => [name, error[name]]));

    const FAILING = {
      'a unique violation': ["insert into checked values (1, 'again', 1)"],
      'a null in a NOT NULL column': ['insert into checked values (2, null, 1)'],
      'a check constraint': ["insert into checked values (3, 'three', -1)"],
      'a domain constraint': ["insert into checked values (4, 'four', 1, null, 3)"],
      'a deferred foreign key': ["insert into checked values (5, 'five', 1, 99)"],
      'a string that is too long': ["insert into checked values (6, 'six', 1, null, 2, 'long')"],
      'a syntax error': ['select 1 +'],
      'a syntax error behind characters that are not ASCII': ["select 'é😀', from"],
      'an unknown table': ['select * from no_such_table'],
      'an unknown column, with a hint': ['select lable from checked'],
      'a division by zero': ['select 1 / 0'],
      'a value that is invalid for its type': ["select 'x'::int"],
      'a parameter that is invalid for its type': ['select $1::int', ['x']],
      'an unknown function': ['select no_such_function(1)'],
      'an error inside of a function': ['select failing(3)'],
      'an internal query': [`do $$ begin execute 'selec é 1'; end $$`],
      'an exception with all fields': [
        `do $$ begin raise exception 'é "message"' using detail = 'ein Detail', hint = 'a hint',
          errcode = 'ZZ123', column = 'c', constraint = 'k', datatype = 'd', table = 't', schema = 's'; end $$`,
      ],
      'an exception with empty fields and line breaks': [
        `do $$ begin raise exception E'two\nlines' using detail = '', hint = E'\n'; end $$`,
      ],
      'an exception with a long message': [
        `do $$ begin raise exception '%', repeat('long é ', 20000); end $$`,
      ],
    };

    for (const [name, [text, values]] of Object.entries(FAILING)) {
      it(`have the fields of pg: ${name}`, async () => {
        const client = await newClient();
        const expected = await withPg((reference) => errorOf(reference.query(text, values)));
        for (let execution = 1; execution <= EXECUTIONS; ++execution) {
          const error = await errorOf(client.query(text, values));
          assert.ok(error instanceof DatabaseError);
          assert.ok(error instanceof Error);
          // A DO block may have committed before it failed.
          assert.equal(error.outcome, text.startsWith('do ') ? 'unknown' : 'not-run');
          assert.deepEqual(fieldsOf(error), fieldsOf(expected));
          // The length of the message on the wire: nobody's business, but it is there.
          assert.equal(typeof error.length, 'number');
          for (const key of Object.keys(expected)) assert.ok(Object.hasOwn(error, key), key);
        }
      });
    }

    it('name the functions that await the query', async () => {
      const client = await newClient();
      async function innermost(text) {
        return await client.query(text);
      }
      async function between() {
        await client.query('select 1');
        await innermost('select 1 / 0');
      }
      async function outermost() {
        await Promise.all([innermost('select 1'), between(), innermost('select 2')]);
      }
      async function directly() {
        await Promise.all([client.query('select 1'), client.query('selec 1')]);
      }
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        const { stack } = await errorOf(outermost());
        assert.match(stack, /innermost[^]*between[^]*Promise\.all[^]*outermost/);
        assert.ok(stack.startsWith('error: division by zero\n'), stack);
        assert.match((await errorOf(directly())).stack, /Promise\.all[^]*directly/);
      }
      const pool = newPool();
      async function usesPool() {
        await pool.query('select 1 / 0');
      }
      assert.match((await errorOf(usesPool())).stack, /usesPool/);
      async function sendsNothing() {
        await client.query('select $1', [Symbol('s')]);
      }
      assert.match((await errorOf(sendsNothing())).stack, /sendsNothing/);
    });

    it('are truncated between two characters if their text is very long', async () => {
      const client = await newClient();
      for (const letter of ['x', 'é', '漢', '😀']) {
        const { code, message } = await errorOf(
          client.query(`do $$ begin raise exception '%', repeat('${letter}', 1200000); end $$`),
        );
        assert.equal(code, 'P0001');
        assert.ok(Buffer.byteLength(message) > (1 << 20) - 4 && message.length <= 1 << 20);
        assert.ok(message === letter.repeat(message.length / letter.length));
      }
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
    });

    it('are a separate object for each query', async () => {
      const client = await newClient();
      const errors = await Promise.all(
        Array.from({ length: 10 }, () => errorOf(client.query('select 1 / 0'))),
      );
      assert.equal(new Set(errors).size, 10);
    });

    it('are not unhandled rejections if a handler is added later in the same tick', async () => {
      const client = await newClient();
      const promise = client.query('select 1 / 0');
      const other = client.query('select 1 as one');
      promise.catch(() => {});
      assert.deepEqual((await other).rows, [{ one: 1 }]);
      assert.equal((await errorOf(promise)).code, '22012');
    });
  });
});
