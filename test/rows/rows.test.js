'use strict';

// Rows with any names and numbers of columns, and the properties of results: command, rowCount and
// fields, compared with those of `pg` on the same server.

const assert = require('node:assert/strict');
const { ResultError } = require('../..');
const { endAll, newClient, resetSchema } = require('../support/connect');
const {
  RESULT_EXECUTIONS,
  closeReference,
  openReference,
  sameAsPg,
} = require('../support/like-pg');
const { Proxy } = require('../support/proxy');
const { ITEMS } = require('../support/sql');

/** @type {import('pg').Client} */
let reference;

describe('results', () => {
  before(async () => {
    await resetSchema();
    reference = await openReference();
    await reference.query(ITEMS);
  });
  after(closeReference);
  afterEach(endAll);

  describe('have the same command, rowCount and fields as in pg', () => {
    it('for each kind of command', async () => {
      const client = await newClient();
      await client.query('create table counted (id int)');
      const texts = [
        'insert into counted select generate_series(1, 3)',
        'insert into counted values (4) returning id, id as again',
        'update counted set id = id + 0 where id > 2',
        'update counted set id = id where false',
        'update counted set id = id returning *',
        'delete from counted where id = 99',
        'delete from counted where id = 99 returning *',
        'values (1, 2), (3, 4)',
        'table items',
        'with x as (select 1 as one) select * from x',
        'explain (costs off) select 1',
        'show server_version_num',
        'select 1 where false',
        'select null as nothing',
        'create table if not exists counted (id int)',
        'alter table counted add column if not exists id int',
        "comment on table counted is 'é'",
        'truncate counted',
        'begin',
        'savepoint a',
        'release a',
        'commit',
        "set application_name to 'x'",
        'reset application_name',
        'lock table counted in access share mode',
        'do $$ begin null; end $$',
        'listen channel',
        'unlisten *',
        'notify channel',
        'analyze counted',
        'vacuum counted',
        'discard temp',
        '',
        ' -- nothing but a comment',
        ';',
      ];
      await reference.query("set client_min_messages to 'error'");
      await client.query("set client_min_messages to 'error'");
      for (const text of texts) {
        if (text.startsWith('lock')) {
          // Needs a transaction; both drivers get one.
          for (const one of [reference, client]) await one.query('begin');
        }
        await sameAsPg(client, text);
        if (text.startsWith('lock')) {
          for (const one of [reference, client]) await one.query('rollback');
        }
      }
      await reference.query('reset client_min_messages');
    });

    it('for MERGE, and for an INSERT of many rows', async () => {
      const client = await newClient();
      await client.query('create table merged (id int)');
      const [{ version }] = (
        await reference.query("select current_setting('server_version_num')::int as version")
      ).rows;
      // MERGE came with PostgreSQL 15.
      if (version >= 150000) {
        await sameAsPg(
          client,
          'merge into merged using generate_series(1, 2) g on id = g when not matched and g < 0 then insert values (g)',
        );
      }
      await sameAsPg(client, 'insert into merged select 1 from generate_series(1, 12345)');
    });

    it('with the table, column, type and type modifier of fields', async () => {
      const client = await newClient();
      await sameAsPg(client, 'select *, id + 1 as next, label as other from items order by id');
      await sameAsPg(
        client,
        'select oid, relname, relkind, reloptions from pg_class where oid = 1259',
      );
    });

    it('when there are no rows', async () => {
      const client = await newClient();
      await sameAsPg(client, 'select * from items where false');
      await sameAsPg(client, { text: 'select * from items where false', rowMode: 'array' });
    });
  });

  describe('have the rows of pg', () => {
    it('for columns of the same name, of which the last one is kept', async () => {
      const client = await newClient();
      const text = "select 1 as a, 2 as b, 'x' as a, null as b, 3 as c, 4.5::float8 as c";
      await sameAsPg(client, text);
      const rows = await sameAsPg(client, { text, rowMode: 'array' });
      assert.deepEqual(rows, [[1, 2, 'x', null, 3, 4.5]]);
    });

    it('for column names with a meaning in JavaScript', async () => {
      const client = await newClient();
      const names = [
        ...['constructor', 'prototype', 'toString', 'hasOwnProperty', 'length', 'then', 'rows'],
        ...['arguments', 'await', 'this', 'new', 'get', 'async', '__defineGetter__', '_', '$'],
        ...[
          '"',
          "'",
          '`',
          '\\',
          '\\"',
          '\\u0041',
          '$' + '{x}',
          '*/',
          '//',
          '/*',
          ']',
          '}',
          '"]:1,["a',
        ],
        ...['\n', '\r', '\t', '\u2028', '\u2029', '\u0001', '\u007f', ' ', 'a b', '-', '?column?'],
        ...['é', '漢字', '😀', '\ufeff', '\u202e', 'ﬀ', 'İ'],
      ];
      const columns = names.map((name, n) => `${n} as ${client.escapeIdentifier(name)}`);
      const text = `select ${columns.join(', ')}`;
      const [row] = await sameAsPg(client, text);
      assert.deepEqual(Object.keys(row), names);
      await sameAsPg(client, { text, rowMode: 'array' });
      for (const [n, name] of names.entries()) {
        await sameAsPg(
          client,
          `select ${columns[n]}, '${n}' as ${client.escapeIdentifier(`${name}.`)}`,
          { executions: 3 },
        );
      }
    });

    it('for column names that are integers', async () => {
      const client = await newClient();
      const names = ['2', '10', '1', '0', '-1', '01', '4294967294', '4294967295', '1.5', '1e3'];
      const columns = names.map((name, n) => `${n} as "${name}"`);
      await sameAsPg(client, `select ${columns.join(', ')}, 'last' as a`);
    });

    it('for names truncated by the server', async () => {
      const client = await newClient();
      await sameAsPg(client, `select 1 as ${'x'.repeat(100)}, 2 as ${'é'.repeat(50)}`);
    });

    it('for 1,600 columns of many types', async () => {
      const client = await newClient();
      const samples = [
        ...['g', 'g::int8', "g || 'é'", "g || 'e'", 'g % 2 = 0', 'g / 3.0::float8', 'null::text'],
        ...["'2020-01-01'::timestamptz + g * interval '1 day'", 'g::numeric / 8', "'{}'::jsonb"],
        ...["decode('00ff', 'hex')", 'null::int4'],
      ];
      const columns = Array.from(
        { length: 1600 },
        (_, n) => `${samples[n % samples.length]} as c${n}`,
      );
      const text = `select ${columns.join(', ')} from generate_series(1, 5) g`;
      await sameAsPg(client, text);
      await sameAsPg(client, { text, rowMode: 'array' });
    });

    it('for no columns at all', async () => {
      const client = await newClient();
      await sameAsPg(client, 'select');
      await sameAsPg(client, 'select from generate_series(1, 100)');
      await sameAsPg(client, { text: 'select from generate_series(1, 3)', rowMode: 'array' });
      await sameAsPg(client, 'select where false');
    });

    it('but keep a column named __proto__, which pg loses', async () => {
      const client = await newClient();
      for (const type of ['int4', 'text', 'jsonb', 'point']) {
        const text = `select 1 as a, '${{ text: 'x', jsonb: '{"b": 1}', point: '(1,2)' }[type] ?? 7}'::${type} as "__proto__", 2 as c`;
        for (let execution = 1; execution <= RESULT_EXECUTIONS; ++execution) {
          const { rows } = await client.query(text);
          const [row] = rows;
          assert.equal(Object.getPrototypeOf(row), Object.prototype);
          assert.deepEqual(Object.keys(row), ['a', '__proto__', 'c']);
          const expected = { int4: 7, text: 'x', jsonb: { b: 1 }, point: { x: 1, y: 2 } }[type];
          assert.deepEqual(Object.getOwnPropertyDescriptor(row, '__proto__'), {
            value: expected,
            writable: true,
            enumerable: true,
            configurable: true,
          });
          assert.deepEqual([row.a, row.c], [1, 2]);
        }
      }
      const { rows } = await client.query('select null as "__proto__", 1 as "__proto__"');
      assert.deepEqual(Object.entries(rows[0]), [['__proto__', 1]]);
    });
  });

  it('with a value that cannot be parsed reject with the name of its column, without affecting other queries', async () => {
    const proxy = await Proxy.open();
    try {
      const client = await newClient(proxy.options());
      const text = 'select 1 as a, g as "the number" from generate_series($1::int, $1 + 4) g';
      const damaged = (type, bytes) =>
        type === 'D' && bytes.includes('777')
          ? Buffer.from(bytes.toString('latin1').replace('777', '7x7'), 'latin1')
          : bytes;
      for (const change of [damaged, (_, bytes) => bytes]) {
        proxy.change = change;
        const settled = await Promise.allSettled(
          [100, 775, 200].map((first) => client.query({ text, values: [first], prepare: false })),
        );
        for (const [n, { status, value, reason }] of settled.entries()) {
          if (n === 1 && change === damaged) {
            assert.ok(reason instanceof ResultError);
            assert.match(reason.message, /^column "the number" of the result cannot be read/);
            assert.equal(reason.outcome, 'unknown');
          } else {
            assert.equal(status, 'fulfilled');
            assert.equal(value.rows[4]['the number'], [100, 775, 200][n] + 4);
          }
        }
      }
    } finally {
      await proxy.close();
    }
  });
});
