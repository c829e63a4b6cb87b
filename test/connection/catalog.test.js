'use strict';

// lib/connection/catalog.js: texts that a database gives another meaning share no Sync, however harmless they
// look; when the catalog is asked, and for how long its answer is believed.

const assert = require('node:assert/strict');
const { mock } = require('node:test');
const { setTimeout: delay } = require('node:timers/promises');
const { Catalog, MAX_AGE_MILLIS } = require('../../lib/connection/catalog');
const { errorOf } = require('../support/outcomes');
const { applicationName, until } = require('../support/outside');
const { newPool, teach, usePools, warm } = require('../support/pools');
const { someOf } = require('../support/property');
const {
  MANY,
  atOnce,
  counted,
  makeKnown,
  untilShared,
  withoutOtherQuestions,
} = require('../support/sync-groups');
const { newClient } = require('../support/connect');

const READ = 'select $1::int as i';

describe('The catalog of a database', function () {
  this.timeout(30000);

  const observer = usePools();
  withoutOtherQuestions();

  /** What none of the tests below changes for the others. */
  const BEFORE = `
    set search_path to conduit_test;
    create table plain (id int primary key, n int);
    create table rows_of (id int);
    insert into plain values (1, 1);
    insert into rows_of values (1);
    create function remember(text) returns text language plpgsql as $$
      declare before text := current_setting('conduit.caller', true);
      begin perform set_config('conduit.caller', $1, true); return before; end $$;`;

  before(() => observer.ask(BEFORE));

  /** A pool of one connection that knows the catalog. */
  async function openPool(given) {
    const pool = newPool({ max: 1, ...given });
    await warm(pool, 1);
    await makeKnown(pool, [READ, [0]]);
    return pool;
  }

  /** @param {string} ddl that a test undoes by itself */
  async function withDdl(ddl, undo, test) {
    await observer.ask(`set search_path to conduit_test; ${ddl}`);
    try {
      await test();
    } finally {
      await observer.ask(`set search_path to conduit_test; ${undo}`);
    }
  }

  /** None of them shares a Sync, though each was used often enough. */
  async function assertApart(pool, text, values = () => []) {
    await teach(pool, text, values(0));
    const sent = await counted(pool, () => atOnce(MANY, (i) => pool.query(text, values(i))));
    assert.deepEqual([sent.queries, sent.syncs], [MANY, MANY], text);
    return sent.value;
  }

  describe('about functions with the names of built-in ones', () => {
    it('keeps a caller from seeing settings of the transaction of another one', () =>
      withDdl(
        "create function log(text) returns text language sql as 'select remember($1)'",
        'drop function log(text)',
        async () => {
          const pool = await openPool();
          const results = await assertApart(pool, 'select log($1::text) as seen', (i) => [`c${i}`]);
          for (const { rows } of results) assert.deepEqual(rows, [{ seen: '' }]);
        },
      ));

    it('keeps equal notifications of several callers from being merged', () =>
      withDdl(
        `create function repeat(text) returns void language plpgsql as
           $$ begin perform pg_notify('catalog', $1); end $$`,
        'drop function repeat(text)',
        async () => {
          const pool = await openPool();
          const client = await newClient();
          let count = 0;
          const done = new Promise((resolve) => {
            client.on('notification', ({ payload }) => {
              if (payload === 'done') resolve();
              if (payload === 'same') ++count;
            });
          });
          const text = 'select repeat($1::text)';
          await teach(pool, text, ['teach']);
          await client.query('listen catalog');
          await atOnce(MANY, () => pool.query(text, ['same']));
          await pool.query(text, ['done']);
          await done;
          assert.equal(count, MANY);
        },
      ));

    it('keeps callers from sharing a transaction id', () =>
      withDdl(
        `create function abs(text) returns text language plpgsql stable as
           $$ begin return txid_current()::text; end $$`,
        'drop function abs(text)',
        async () => {
          const pool = await openPool();
          const results = await assertApart(pool, 'select abs($1::text) as id', () => ['']);
          assert.equal(new Set(results.map(({ rows }) => rows[0].id)).size, MANY);
        },
      ));

    it('is respected for aggregates, too', () =>
      withDdl(
        `create function add_up(text, text) returns text language sql as 'select remember($2)';
         create aggregate avg(text) (sfunc = add_up, stype = text)`,
        'drop aggregate avg(text); drop function add_up(text, text)',
        async () => {
          const pool = await openPool();
          await assertApart(pool, 'select avg(id::text) from rows_of');
        },
      ));

    it('does not keep statements from sharing a Sync that do not call them', () =>
      withDdl(
        "create function log(text) returns text language sql as 'select remember($1)'",
        'drop function log(text)',
        async () => {
          const pool = await openPool();
          const text = 'select id as log, round($1::numeric) as r from plain';
          await makeKnown(pool, [text, [1]]);
        },
      ));
  });

  for (const [what, ddl, undo, text] of [
    [
      'functions that are called as an attribute',
      "create function eff(rows_of) returns text language sql as 'select remember(null)'",
      'drop function eff(rows_of)',
      'select rows_of.eff from rows_of',
    ],
    [
      'functions that are called as a quoted attribute',
      `create function "Eff ""2"""(rows_of) returns text language sql as 'select remember(null)'`,
      'drop function "Eff ""2"""(rows_of)',
      'select r . /* the row */ "Eff ""2""" from rows_of r',
    ],
    [
      'functions with defaults that are called as an attribute',
      "create function eff(rows_of, int default 1) returns text language sql as 'select remember(null)'",
      'drop function eff(rows_of, int)',
      'select (r).EFF from rows_of as r',
    ],
    [
      "PostgreSQL's own that are called as an attribute",
      '',
      '',
      'select (id::bigint).pg_advisory_xact_lock from plain',
    ],
    [
      'operators',
      `create function op(text, text) returns text language sql as 'select remember($1)';
       create operator === (leftarg = text, rightarg = text, function = op)`,
      'drop operator === (text, text); drop function op(text, text)',
      "select 'a'::text === 'b'::text",
    ],
    [
      "operators of PostgreSQL's own functions",
      'create operator === (leftarg = text, rightarg = text, function = pg_catalog.pg_notify)',
      'drop operator === (text, text)',
      "select 'catalog_test'::text === 'b'::text",
    ],
    [
      'casts',
      `create type made as (t text);
       create function to_made(int) returns made language sql as 'select row(remember(null))::made';
       create cast (int as made) with function to_made(int)`,
      'drop cast (int as made); drop function to_made(int); drop type made',
      'select 1::made',
    ],
    [
      'domains',
      `create function check_it(int) returns boolean language sql as 'select remember(null) is null or true';
       create domain checked as int check (check_it(value))`,
      'drop domain checked; drop function check_it(int)',
      'select 1::checked',
    ],
    [
      'the order of types',
      `create function compare(oid, oid) returns int language sql as
         'select coalesce(length(remember(null)), 0)';
       create operator class backwards for type oid using btree as
         operator 1 <, operator 3 =, function 1 compare(oid, oid)`,
      `drop operator family backwards using btree; drop function compare(oid, oid)`,
      'select 1 as one order by 1',
    ],
    [
      'views that call what is not known',
      'create view sets as select remember(null) as r',
      'drop view sets',
      'select r from sets',
    ],
    [
      "views that call what is not known of PostgreSQL's own functions, and views of them",
      `create view sets as select set_config('conduit.caller', 'view', true) as r;
       create view of_sets as select r from sets`,
      'drop view of_sets; drop view sets',
      'select r from of_sets',
    ],
    [
      'tables whose policies call what is not known',
      `create table guarded (id int); alter table guarded enable row level security;
       create policy p on guarded using (set_config('conduit.caller', 'policy', true) is not null)`,
      'drop table guarded',
      'select id from guarded',
    ],
    [
      'partitioned tables',
      'create table parted (id int) partition by list (id)',
      'drop table parted',
      'select id from parted',
    ],
    [
      'parents, and views of them',
      `create table parent_of (id int); create table child_of () inherits (parent_of);
       create view of_parent as select id from parent_of`,
      'drop view of_parent; drop table child_of, parent_of',
      'select "id" from "of_parent"',
    ],
  ]) {
    it(`about ${what} keeps a Sync from being shared`, () =>
      withDdl(ddl, undo, async () => {
        // Its operators, casts and types count for all texts.
        const pool = newPool({ max: 1 });
        await warm(pool, 1);
        await teach(pool, READ, [0]);
        await until('the catalog is asked', async () => {
          const { queries } = await counted(pool, () => atOnce(MANY, (i) => pool.query(READ, [i])));
          return queries > MANY;
        });
        // Behind it, on the only connection.
        await pool.query(READ, [0]);
        await assertApart(pool, text);
      }));
  }

  it('about harmless views, policies, types and operators does not keep a Sync from being shared', () =>
    withDdl(
      `create view fine as select lower(n::text) as t, now() - interval '1 day' as at from plain;
       create table guarded (id int); alter table guarded enable row level security;
       create policy p on guarded using (id::text = current_setting('conduit.caller', true));
       create type mood as enum ('fine'); create type span as range (subtype = float8);
       create domain positive as int check (value > 0)`,
      `drop view fine; drop table guarded; drop type mood; drop type span; drop domain positive`,
      async () => {
        const pool = await openPool();
        await makeKnown(
          pool,
          ['select t, at from fine'],
          ['select id from guarded'],
          ["select 'fine'::mood, span(1, $1::int), 1::positive", [2]],
        );
      },
    ));

  describe('is read', () => {
    it('never for callers who wait for each answer, whatever they send', async () => {
      const pool = newPool({ max: 2 });
      for (let i = 0; i < 100; ++i) await pool.query(READ, [i]);
      const { queries, syncs } = pool.stats();
      assert.deepEqual([queries, syncs], [100, 100]);
    });

    it('never with syncGroup: off or all', async () => {
      for (const syncGroup of ['off', 'all']) {
        // With 'all' it would be asked once whether that is one server.
        const pool = newPool({ max: 1, syncGroup, distributed: false });
        await teach(pool, READ, [0], 10);
        for (let burst = 0; burst < 10; ++burst) {
          await atOnce(10, (i) => pool.query(READ, [i]));
        }
        assert.equal(pool.stats().queries, 110);
      }
    });

    /** Bursts of reads until one of them has made the pool ask. @returns {Promise<number>} how many */
    async function untilAsked(pool) {
      let own = 0;
      await until('the catalog is asked', async () => {
        own += 10;
        const { value, queries } = await counted(pool, () =>
          atOnce(10, (i) => pool.query(READ, [i])),
        );
        for (const [i, { rows }] of value.entries()) assert.deepEqual(rows, [{ i }]);
        return queries > 10;
      });
      return own;
    }

    it('once, behind the first two that could share a Sync', async () => {
      const pool = newPool({ max: 1 });
      const own = await untilAsked(pool);
      await untilShared(pool, () => atOnce(MANY, (i) => pool.query(READ, [i])));
      const { queries } = await counted(pool, async () => {
        for (let burst = 0; burst < 20; ++burst) await atOnce(10, (i) => pool.query(READ, [i]));
      });
      assert.equal(queries, 200, `after ${own}`);
    });

    it('again before its next use when DDL has passed through the pool', async () => {
      const pool = await openPool();
      const text = 'select degrees(id) as d from plain';
      const create = `create function degrees(int) returns text language sql as 'select remember(null)'`;
      const undo = 'drop function conduit_test.degrees(int)';
      const ways = [
        () => pool.query(create),
        () => pool.query(`${create}; select 1`),
        () => pool.batch([create, 'select 1']),
        () => pool.transaction((tx) => tx.query(create)),
        async () => {
          const client = await pool.connect();
          await client.query('begin');
          await client.query(create);
          await client.query('commit');
          client.release();
        },
      ];
      for (const run of someOf(ways, 3)) {
        await makeKnown(pool, [text]);
        await run();
        const { syncs } = await counted(pool, () => atOnce(MANY, () => pool.query(text)));
        assert.ok(syncs >= MANY, `${syncs} Syncs behind ${run}`);
        await observer.ask(undo);
        await untilShared(pool, () => atOnce(MANY, (i) => pool.query(READ, [i])));
        // What another session has dropped is seen when the next one is.
        await pool.query('create table one_more (); drop table one_more');
      }
    });

    it('not again for temporary tables of borrowed clients', async () => {
      const pool = newPool({ max: 2 });
      await warm(pool, 2);
      await makeKnown(pool, [READ, [0]]);
      const client = await pool.connect();
      await client.query('create temporary table mine (id int)');
      let own = 0;
      const { queries } = await counted(pool, () =>
        untilShared(pool, () => {
          own += 64;
          return atOnce(64, (i) => pool.query(READ, [i]));
        }),
      );
      client.release(true);
      assert.equal(queries, own);
    });

    it('again when a connection is lost with something in flight, which may have been DDL', async () => {
      const name = applicationName();
      const pool = newPool({ max: 2, application_name: name });
      await warm(pool, 2);
      await makeKnown(pool, [READ, [0]]);
      const text = 'select tan(id) as t from plain';
      await makeKnown(pool, [text]);
      const lost = errorOf(
        pool.query(`create function tan(int) returns text language sql as 'select remember(null)';
                    commit; select pg_terminate_backend(pg_backend_pid())`),
      );
      assert.equal((await lost)?.outcome, 'unknown');
      const { syncs } = await counted(pool, () => atOnce(MANY, () => pool.query(text)));
      await observer.ask('drop function conduit_test.tan(int)');
      assert.ok(syncs >= MANY, `${syncs} Syncs`);
    });

    it('and when that fails, no caller gets the error, and nothing shares a Sync', async () => {
      await observer.ask('create role conduit_blind');
      try {
        await observer.ask('grant conduit_blind to current_user');
        await observer.ask('grant usage on schema conduit_test to conduit_blind');
        await observer.ask('revoke select on pg_catalog.pg_amproc from public');
        const blind = newPool({
          max: 1,
          options: '-c role=conduit_blind -c search_path=conduit_test',
        });
        const own = await untilAsked(blind);
        for (let burst = 0; burst < 20; ++burst) await atOnce(10, (i) => blind.query(READ, [i]));
        const { queries, syncs } = blind.stats();
        assert.deepEqual([queries, syncs], [own + 201, own + 201]);
        await blind.end();
      } finally {
        await observer.ask('grant select on pg_catalog.pg_amproc to public');
        await observer.ask('drop owned by conduit_blind; drop role conduit_blind');
      }
    });

    it('without keeping a pool from ending', async () => {
      const pool = newPool({ max: 1 });
      await teach(pool, READ, [0]);
      await Promise.all([atOnce(10, (i) => pool.query(READ, [i])), pool.end()]);
      assert.equal(pool.totalCount, 0);
    });
  });

  describe('is trusted', () => {
    const ANSWER = {
      isStrange: false,
      calls: ['log'],
      attributes: [],
      relations: [],
      isSessionBound: false,
      sessionRelations: [],
      writeRelations: [],
      sequenceRelations: [],
      asksSequences: false,
    };

    /** Stands for a shared connection of a server that gives these answers. */
    function newConnection() {
      const asked = [];
      return {
        asked,
        state: 'ready',
        isShared: true,
        afterDelivery: queueMicrotask,
        submit: (query) => asked.push(query),
        abort: (query, error) => query.reject(error),
        async answer(found) {
          asked.at(-1).resolve({ rows: [{ found: JSON.stringify(found) }] });
          await delay(0);
        },
      };
    }

    /** @returns {(millis: number) => void} lets so much time pass; nothing else does */
    function stopTheClock() {
      let now = Math.ceil(performance.now());
      mock.timers.enable({ apis: ['setTimeout'] });
      mock.method(performance, 'now', () => now);
      return (millis) => {
        now += millis;
        mock.timers.tick(millis);
      };
    }

    afterEach(() => mock.reset());

    it('until it is too old, and is read again before that without a delay for callers', async () => {
      const pass = stopTheClock();
      const catalog = new Catalog();
      const connection = newConnection();
      assert.equal(catalog.find(connection, true), undefined);
      await delay(0);
      await connection.answer(ANSWER);
      const { names } = catalog;
      assert.ok(names?.calls.has('LOG'));
      pass(MAX_AGE_MILLIS / 2);
      assert.equal(catalog.names, undefined, 'it is to be renewed');
      assert.equal(catalog.find(connection, false), names, 'it is good until then');
      await delay(0);
      assert.equal(connection.asked.length, 2);
      await connection.answer(ANSWER);
      assert.equal(catalog.names, names, 'no text is judged anew');
      pass(MAX_AGE_MILLIS / 2);
      assert.equal(catalog.names, undefined, 'it is to be renewed again');
      assert.equal(catalog.find(connection, false), names);
      await delay(0);
      pass(MAX_AGE_MILLIS / 2);
      assert.equal(catalog.names, undefined, 'it is too old');
      assert.equal(catalog.find(connection, false), undefined);
    });

    it('no longer once DDL is seen, and neither is an answer that was in flight', async () => {
      const catalog = new Catalog();
      const connection = newConnection();
      catalog.find(connection, true);
      await delay(0);
      catalog.onSchemaChange();
      await connection.answer(ANSWER);
      assert.equal(catalog.names, undefined);
      catalog.find(connection, true);
      await delay(0);
      assert.equal(connection.asked.length, 1, 'not twice in a second');
      await until('it is asked again', () => {
        catalog.find(connection, true);
        return connection.asked.length === 2;
      });
      await connection.answer(ANSWER);
      assert.notEqual(catalog.names, undefined);
      catalog.onSchemaChange();
      assert.equal(catalog.names, undefined);
    });

    it('only if the answer is valid', async () => {
      const catalog = new Catalog();
      const connection = newConnection();
      catalog.find(connection, true);
      await delay(0);
      connection.asked[0].resolve({ rows: [] });
      await delay(0);
      assert.equal(catalog.names, undefined);
    });
  });
});
