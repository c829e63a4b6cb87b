'use strict';

// lib/connection/look-up.js: for which tables a write is plain, and which advance sequences, by the catalog of a real
// server. In texts (test/statements/plain-writes.test.js) only their names count.

const assert = require('node:assert/strict');
const { setImmediate: nextTurn } = require('node:timers/promises');
const { LOOK_UP, PARAMETERS } = require('../../lib/connection/look-up');
const { Catalog } = require('../../lib/connection');
const { StatementInfo } = require('../../lib/statements');
const { observeServer, until } = require('../support/outside');

describe('What the catalog of a database says about writes', function () {
  this.timeout(20_000);

  const observer = observeServer();

  /** What the server says inside of a transaction that is rolled back. @param {string} ddl */
  async function namesAfter(ddl) {
    await observer.ask('begin');
    try {
      await observer.ask(`
        set local search_path to conduit_test;
        create function effect(v anyelement) returns anyelement language plpgsql immutable as
          $$ begin perform set_config('app.effect', v::text, false); return v; end $$;
        create function on_change() returns trigger language plpgsql as $$ begin return new; end $$;
        create table plain (id int primary key, n int, t text);
        ${ddl}`);
      const catalog = new Catalog();
      catalog.find(
        {
          state: 'ready',
          isShared: true,
          submit: async (query) => query.resolve(await observer.client.query(LOOK_UP, PARAMETERS)),
        },
        true,
      );
      return await until('the catalog has answered', async () => {
        await nextTurn();
        return catalog.names;
      });
    } finally {
      await observer.ask('rollback');
    }
  }

  /** @param {any} names @param {string} table */
  function isPlain(names, table) {
    const info = new StatementInfo(`insert into conduit_test.${table} values (1) returning id`);
    info.learnEffect('INSERT');
    return info.writesPlain(names);
  }

  for (const [what, ddl, plain, special] of [
    ['a table', '', ['plain'], []],
    [
      'defaults and checks that call what is known',
      `create table made (id int default length('abc'), at timestamptz default now(), u uuid default gen_random_uuid(),
         who text default current_user, n int check (abs(n) < 9), g int generated always as (id * 2) stored);
       create index on made (lower(who)) where n > 0; create type mood as enum ('calm'); create table moody (m mood)`,
      ['made', 'moody'],
      [],
    ],
    [
      'triggers of rows and of statements, enabled or not',
      `create table a (id int); create table b (id int); create table c (id int);
       create trigger t before insert on a for each row execute function on_change();
       create trigger t after update on b for each statement execute function on_change();
       create trigger t after delete on c for each row execute function suppress_redundant_updates_trigger();
       alter table c disable trigger t`,
      ['plain'],
      ['a', 'b', 'c'],
    ],
    [
      'constraint triggers',
      `create table a (id int);
       create constraint trigger t after insert on a deferrable for each row execute function on_change()`,
      ['plain'],
      ['a'],
    ],
    [
      'rules',
      'create table a (id int); create rule also as on update to a do also select effect(1)',
      ['plain'],
      ['a'],
    ],
    [
      'row security and policies',
      `create table a (id int); alter table a enable row level security;
       create table b (id int); create policy p on b using (true)`,
      ['plain'],
      ['a', 'b'],
    ],
    [
      "defaults of a user's function",
      "create table a (id int, t text default effect('x'::text))",
      ['plain'],
      ['a'],
    ],
    [
      'defaults that ask the session',
      `create table a (id int, t text default current_setting('app.t', true));
       create table b (id int, pid int default pg_backend_pid())`,
      ['plain'],
      ['a', 'b'],
    ],
    [
      "defaults of PostgreSQL's functions that do more",
      "create table a (id int, t text default set_config('app.t', 'x', false))",
      ['plain'],
      ['a'],
    ],
    [
      'defaults of a domain',
      `create domain d as text default effect('x'::text); create domain e as text default 'x';
       create table a (id int, t d); create table b (id int, t d default 'own'); create table c (id int, t e)`,
      ['plain', 'c'],
      ['a', 'b'],
    ],
    [
      'checks',
      'create table a (id int, n int check (effect(n) > 0)); create table b (id int, check (effect(id) = 1))',
      ['plain'],
      ['a', 'b'],
    ],
    [
      'generated columns',
      'create table a (id int, n int generated always as (effect(id)) stored)',
      ['plain'],
      ['a'],
    ],
    [
      'index expressions and predicates',
      `create table a (id int); create index on a (effect(id));
       create table b (id int); create index on b (id) where effect(id) > 0;
       create table c (id int, exclude using btree ((effect(id)) with =))`,
      ['plain'],
      ['a', 'b', 'c'],
    ],
    [
      'partition keys',
      `create table a (id int) partition by list (effect(id)); create table a1 partition of a for values in (1);
       create table b (id int) partition by list (abs(id)); create table b1 partition of b for values in (1)`,
      ['plain', 'b', 'b1'],
      ['a', 'a1'],
    ],
    [
      'partitions',
      `create table a (id int) partition by range (id); create table a1 partition of a for values from (0) to (10);
       create table a2 partition of a for values from (10) to (20) partition by range (id);
       create table a3 partition of a2 for values from (10) to (15);
       create trigger t before insert on a3 for each row execute function on_change();
       create table b (id int) partition by range (id); create table b1 partition of b for values from (0) to (10)`,
      ['plain', 'b', 'b1'],
      ['a', 'a2', 'a3'],
    ],
    [
      'inheritance',
      `create table a (id int); create table a1 () inherits (a); create table b (id int); create table b1 () inherits (b);
       create trigger t before update on a1 for each row execute function on_change()`,
      ['plain', 'b', 'b1'],
      ['a', 'a1'],
    ],
    [
      'actions of foreign keys',
      `create table a (id int primary key); create table a1 (id int primary key references a on delete cascade);
       create table a2 (id int references a1 on update set null);
       create trigger t before update on a2 for each row execute function on_change();
       create table b (id int primary key); create table b1 (id int references b);
       create trigger t before update on b1 for each row execute function on_change();
       create table c (id int primary key); create table c1 (id int references c on delete cascade)`,
      ['plain', 'b', 'c', 'c1'],
      ['a', 'a1', 'a2', 'b1'],
    ],
    [
      'foreign keys that set a default',
      `create table a (id int primary key);
       create table a1 (id int default effect(1) references a on delete set default)`,
      ['plain'],
      ['a', 'a1'],
    ],
    [
      'views',
      'create view a as select id from plain; create view b as select 1 as id',
      [],
      ['a', 'b'],
    ],
    ['temporary tables', 'create temp table a (id int)', ['plain'], ['a', 'pg_temp.plain']],
    [
      'a name that is plain in one schema only',
      'create schema other; create view other.plain as select 1 as id',
      [],
      ['plain'],
    ],
    ['tables of the system', '', ['plain'], ['pg_class']],
  ]) {
    it(`counts ${what}`, async () => {
      const names = await namesAfter(ddl);
      for (const table of plain) assert.ok(isPlain(names, table), `${table} is plain`);
      for (const table of special) assert.ok(!isPlain(names, table), `${table} is not plain`);
    });
  }

  it('counts foreign tables', async () => {
    // A wrapper without a handler makes them, too, and needs no extension.
    const names =
      await namesAfter(`create foreign data wrapper nothing; create server files foreign data wrapper nothing;
      create foreign table a (id int) server files`);
    assert.ok(!isPlain(names, 'a'));
  });

  for (const [what, ddl] of [
    ['checks of a domain', 'create domain d as int check (effect(value) > 0)'],
    [
      'operators',
      `create function op(int, int) returns int language sql as 'select effect($1)';
       create operator === (leftarg = int, rightarg = int, function = op)`,
    ],
  ]) {
    it(`counts ${what} for all tables, since no text names them`, async () => {
      assert.ok(!isPlain(await namesAfter(ddl), 'plain'));
    });
  }

  describe('knows which tables advance sequences', () => {
    it('by identity columns and defaults, of domains too', async () => {
      const names = await namesAfter(`
        create table a (id serial); create table b (id int generated always as identity);
        create sequence s; create domain d as bigint default nextval('s'); create table c (id d);
        create table e (id int, n int default 1 + nextval('s')::int)`);
      for (const table of ['a', 'b', 'c', 'e']) {
        assert.ok(names.sequenceRelations.has(table.toUpperCase()), table);
        assert.ok(isPlain(names, table), table);
      }
      assert.ok(!names.sequenceRelations.has('PLAIN'));
    });

    it('by partitions, and by actions of foreign keys', async () => {
      const names = await namesAfter(`
        create table a (id int, n serial) partition by list (id); create table a1 partition of a for values in (1);
        create table b (id int primary key);
        create table b1 (id serial references b on delete set default)`);
      for (const table of ['A', 'A1', 'B', 'B1']) {
        assert.ok(names.sequenceRelations.has(table), table);
        assert.ok(isPlain(names, table), table);
      }
    });

    it('and those whose sessions take several numbers at a time are not plain', async () => {
      const names = await namesAfter(`
        create sequence stocked cache 10;
        create table a (id int default nextval('stocked'));
        create table b (id int generated always as identity (cache 5)); create table c (id serial)`);
      for (const name of ['STOCKED', 'A', 'B']) assert.ok(names.writeRelations.has(name), name);
      assert.ok(isPlain(names, 'c'));
    });
  });

  describe('knows whether last values of sequences are asked for', () => {
    it('nowhere', async () => {
      const names = await namesAfter('create table a (id serial)');
      assert.equal(names.asksSequences, false);
    });

    for (const [where, ddl] of [
      ['a function', "create function f() returns bigint language sql as 'select LASTVAL()'"],
      ['a function in standard SQL', 'create function f() returns bigint return lastval()'],
      ['a view', "create sequence s; create view v as select currval('s') as c"],
      ['a rule', 'create rule r as on insert to plain do also select lastval()'],
      ['a policy', 'create policy p on plain with check (n = lastval())'],
      ['a default', 'create table a (id serial, parent int default lastval())'],
      ['a check', 'create table a (id serial, parent int check (parent = lastval()))'],
      [
        'a trigger',
        'create trigger t before insert on plain for each row when (lastval() > 0) execute function on_change()',
      ],
    ]) {
      it(`in ${where}`, async function () {
        const names = await namesAfter(ddl);
        assert.equal(names.asksSequences, true);
      });
    }
  });
});
