'use strict';

// lib/query/outcome.js and lib/statements/transactional.js: an error never says 'not-run' of work that the server has kept. Each
// statement is combined with each way of failing, and the outcome is compared with what the server has.

const assert = require('node:assert/strict');
const { ConnectionError } = require('../..');
const { StatementInfo } = require('../../lib/statements/registry');
const { startDatabase } = require('../../scripts/database');
const { endAll, newClient, newPool } = require('../support/connect');
const { errorOf } = require('../support/outcomes');
const { Observer } = require('../support/outside');
const { IS_LONG } = require('../support/property');
const { Proxy } = require('../support/proxy');

/** All that a statement of these tests can leave behind. */
const STATE = `select json_build_object(
  'marks', (select json_agg(n order by n) from marks),
  'held', (select count(*) from held.marks),
  'prepared', (select json_agg(gid order by gid) from pg_prepared_xacts),
  'databases', (select json_agg(datname order by datname) from pg_database),
  'tablespaces', (select json_agg(spcname order by spcname) from pg_tablespace),
  'roles', (select json_agg(rolname order by rolname) from pg_roles),
  'publications', (select json_agg(pubname order by pubname) from pg_publication),
  'subscriptions', (select json_agg(subname order by subname) from pg_subscription),
  'settings', (select json_agg(name order by name) from pg_file_settings),
  'routines', (select json_agg(proname order by proname) from pg_proc where pronamespace = 'public'::regnamespace),
  'relations', (select json_agg(concat_ws(' ', relname, relkind, relfilenode) order by relname)
    from pg_class where relnamespace = 'public'::regnamespace),
  'columns', (select json_agg(concat_ws(' ', attrelid::regclass, attname) order by attrelid, attnum)
    from pg_attribute a join pg_class c on c.oid = attrelid where relnamespace = 'public'::regnamespace),
  'statistics', (select count(*) from pg_statistic s join pg_class c on c.oid = starelid
    where relnamespace = 'public'::regnamespace),
  'partitions', (select count(*) from pg_inherits),
  'descriptions', (select count(*) from pg_description where objoid = 'marks'::regclass)
)::text as state`;

const CLEAN = [
  'drop schema public cascade',
  'create schema public',
  'create table marks (n int)',
  'insert into marks values (1), (2), (2)',
  'create table other (n int primary key)',
  'insert into other select generate_series(1, 100)',
  'create index other_n on other (n)',
  'create table parted (n int) partition by range (n)',
  'create table part partition of parted for values from (0) to (10)',
  `create procedure commits() language plpgsql as $$ begin insert into marks values (10); commit; end $$`,
  `create procedure commits_and_fails() language plpgsql as $$
    begin insert into marks values (11); commit; perform 1 / 0; end $$`,
  `create procedure commits_and_dies() language plpgsql as $$
    begin insert into marks values (12); commit; perform pg_terminate_backend(pg_backend_pid()); end $$`,
  `create procedure commits_and_sleeps() language plpgsql as $$
    begin insert into marks values (13); commit; perform pg_sleep(30); end $$`,
  `create function fails(int) returns int language plpgsql immutable as $$ begin return 1 / ($1 - $1); end $$`,
];

/** They commit, or act outside of transactions: as a whole, or in the middle of their work. */
const LASTING = [
  "commit prepared 'conduit_one'",
  "rollback prepared 'conduit_one'",
  'call commits()',
  'do $$ begin insert into marks values (20); commit; end $$',
  '/* a comment */ ; create database conduit_made',
  'drop database conduit_there',
  "alter system set work_mem = '5MB'",
  "create tablespace conduit_space location ''",
  'vacuum other',
  'vacuum full other',
  'analyze other, marks',
  'analyze',
  'cluster other using other_n',
  'reindex table other',
  'reindex (verbose) schema public',
  'create index concurrently on other (n)',
  `/* ${'x'.repeat(300)} */ create unique index concurrently other_again on other (n)`,
  'drop index concurrently other_n',
  'reindex index concurrently other_n',
  'alter table parted detach partition part concurrently',
  `alter /* ${'x'.repeat(70_000)} */ table parted detach partition /* concurrently */ part concurrently`,
  "create subscription conduit_sub connection 'dbname=none' publication p with (connect = false)",
];

/** A rollback undoes all that they do, so their outcome is 'not-run'. */
const UNDONE = [
  'insert into marks values (3)',
  '(select 1) union (select 2)',
  'with made as (insert into marks values (4) returning n) select n from made',
  'update marks set n = 5',
  'delete from marks',
  'merge into marks using other on marks.n = other.n when matched then delete',
  'values (1)',
  'table marks',
  'explain analyze insert into marks values (6)',
  'show work_mem',
  'truncate marks',
  "comment on table marks is 'concurrently'",
  'grant select on marks to public',
  'create table made (n int)',
  'create unlogged table made as select 1 as n',
  'select 1 as n into made',
  'create unique index made on other (n)',
  'drop index other_n',
  'alter index other_n rename to renamed',
  'alter table marks add column added text',
  'alter table parted detach partition part',
  'drop table part',
  'create or replace view made as select 1 as n',
  'create materialized view made as select 1 as n',
  "create type made as enum ('a')",
  'create sequence made',
  'create schema made create table t (n int)',
  'create role conduit_role',
  'create publication conduit_pub for table marks',
  'create function made() returns int language sql as $$ select 1 $$',
  'create or replace procedure made() language sql as $$ insert into marks values (1) $$',
  'drop procedure commits()',
  'notify conduit_channel',
  'lock table marks',
];

describe('The outcome of an error', function () {
  this.timeout(40_000);

  let database;
  /** @type {Observer} */
  let observer;

  before(async () => {
    database = await startDatabase({
      own: true,
      settings: {
        max_prepared_transactions: 10,
        autovacuum: 'off',
        allow_in_place_tablespaces: 'on',
        fsync: 'off',
      },
    });
    observer = await Observer.open(database.config);
  });
  after(async () => {
    await observer?.client.end();
    await database?.stop();
  });
  afterEach(endAll);

  let isDirty = true;

  async function clean() {
    isDirty = true;
    const ask = (text) => observer.ask(text);
    for (const { gid } of await ask('select gid from pg_prepared_xacts')) {
      await ask(`rollback prepared '${gid}'`);
    }
    await ask('drop database if exists conduit_made');
    if (!(await ask("select 1 from pg_database where datname = 'conduit_there'")).length) {
      await ask('create database conduit_there');
    }
    for (const { name } of await ask('select name from pg_file_settings')) {
      if (name === 'work_mem') await ask('alter system reset work_mem');
    }
    for (const { subname } of await ask('select subname from pg_subscription')) {
      await ask(`alter subscription ${subname} set (slot_name = none)`);
      await ask(`drop subscription ${subname}`);
    }
    await ask('drop tablespace if exists conduit_space');
    await ask(CLEAN.join(';\n'));
    // In a schema of its own: the prepared transaction holds a lock.
    await ask('create schema if not exists held; create table if not exists held.marks (n int)');
    await ask('truncate held.marks');
    await ask("begin; insert into held.marks values (1); prepare transaction 'conduit_one'");
  }

  const state = async () => (await observer.ask(STATE))[0].state;

  const pool = () => newPool({ connectionString: database.connectionString, options: '', max: 1 });
  const client = async () => {
    const made = await newClient({ connectionString: database.connectionString, options: '' });
    made.on('error', () => {});
    return made;
  };

  /**
   * @param {(text: string) => Promise<any>} fail what is to be rejected
   * @param {string} text
   * @returns {Promise<{ error: any, lasts: boolean }>}
   */
  async function tried(fail, text) {
    // Where nothing lasted it is clean still.
    if (isDirty) await clean();
    isDirty = true;
    const before = await state();
    const error = await errorOf(fail(text));
    // What was in flight comes to its end on the server.
    await endAll();
    for (;;) {
      const busy = await observer.ask(
        "select 1 from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
      );
      if (busy.length === 0) break;
    }
    isDirty = (await state()) !== before;
    return { error, lasts: isDirty };
  }

  const DIES = 'select pg_terminate_backend(pg_backend_pid())';
  const large = () => ({
    text: 'select length($1::text)',
    values: ['x'.repeat(8 << 20)],
    prepare: false,
  });

  /** @type {Record<string, (text: string) => Promise<any>>} */
  const WAYS = {
    'a later statement of its batch fails, on a pool': (text) =>
      pool().batch([text, 'select 1 / 0']),
    'a later statement of its batch fails, on a client': async (text) =>
      (await client()).batch([text, 'select 1', 'select 1 / 0', 'select 2']),
    'a later statement of its batch fails at Parse': (text) =>
      pool().batch([text, { text: 'selekt 1', name: 'wrong' }]),
    'a later statement of its text fails': async (text) =>
      (await client()).query(`${text}; select 1 / 0`),
    'a later statement of its text fails, on a pool': (text) =>
      pool().query(`${text}; select 1 / 0`),
    'its text leaves a transaction open': (text) => pool().query(`${text}; begin`),
    'a later statement of its batch ends the connection': async (text) =>
      (await client()).batch([text, DIES]),
    'a later statement of its batch ends the connection, while the batch is being written': async (
      text,
    ) => (await client()).batch([text, DIES, ...Array.from({ length: 3 }, large)]),
    'a later statement of its batch is cancelled': async (text) =>
      (await client()).batch([text, 'select pg_sleep(30)'], { timeoutMillis: 150 }),
    'it is in a transaction() that fails': async (text) =>
      (await client()).transaction(async (transaction) => {
        await transaction.query(text).catch(() => {});
        await transaction.query('select 1 / 0');
      }),
  };

  /** Where nobody can know, though all is undone. */
  const IN_DOUBT = new Set([
    'a later statement of its batch ends the connection',
    'a later statement of its batch ends the connection, while the batch is being written',
  ]);

  for (const [number, [way, fail]] of Object.entries(WAYS).entries()) {
    /** In the short form each text has a third of the ways. */
    const isChosen = (_text, index) => IS_LONG || index % 3 === number % 3;

    describe(`when ${way}`, () => {
      for (const text of LASTING.filter(isChosen)) {
        it(`is never 'not-run' where the server keeps the work: ${text.slice(0, 60)}`, async () => {
          const { error, lasts } = await tried(fail, text);
          if (lasts) assert.equal(error.outcome, 'unknown', error.message);
        });
      }
      it("is 'not-run' where a rollback undoes the work", async () => {
        const isSlow = way.endsWith('is being written');
        const texts = isSlow
          ? UNDONE.filter((_text, index) => index % 5 === 0)
          : UNDONE.filter(isChosen);
        for (const text of texts) {
          // A lock table needs a transaction to be in.
          if (/^lock|^create unlogged/.test(text) && /pool/.test(way)) continue;
          const { error, lasts } = await tried(fail, text);
          if (lasts) assert.equal(error.outcome, 'unknown', `${text}: ${error.message}`);
          if (!IN_DOUBT.has(way)) {
            assert.equal(error.outcome, 'not-run', `${text}: ${error.message}`);
          }
          assert.ok(!lasts, text);
        }
      });
    });
  }

  describe('of a single statement', () => {
    for (const [text, lasts] of [
      ['create unique index concurrently on marks (n)', true],
      [`/* ${'x'.repeat(260)} */ create unique index concurrently on marks (n)`, true],
      [`-- ${'x'.repeat(260)}\ncreate unique index concurrently on marks (n)`, true],
      ['create unique index on marks (n)', false],
      ['call commits_and_fails()', true],
      ['do $$ begin insert into marks values (21); commit; perform 1 / 0; end $$', true],
      ['analyze other, parted, never_made', false],
      ['insert into other values (1)', false],
      ['call never_made()', false],
      ["commit prepared 'never_made'", false],
      ['select fails(n) from other', false],
    ]) {
      for (const [how, run] of [
        ['query()', async (db) => db.query(text)],
        ['an unprepared query()', async (db) => db.query({ text, prepare: false })],
        ['a named query()', async (db) => db.query({ text, name: 'one' })],
        ['stream()', async (db) => db.stream(text).toArray()],
        ['batch()', async (db) => db.batch([text])],
      ]) {
        it(`agrees with what the server keeps, by ${how}: ${text.slice(0, 60)}`, async () => {
          for (const open of [async () => pool(), client]) {
            const seen = await tried(async () => run(await open()), text);
            assert.equal(seen.lasts, lasts, 'what the test is about');
            if (lasts) assert.equal(seen.error.outcome, 'unknown', seen.error.message);
          }
        });
      }
    }

    it("is 'unknown' when ANALYZE of several tables fails at the second", async () => {
      await clean();
      // It fails from the moment on when the index has been made.
      await observer.ask('create table turned (n int)');
      await observer.ask(`create function turns(int) returns int language plpgsql immutable as
        $$ begin return 1 / (1 - (select count(*)::int from public.turned)); end $$`);
      await observer.ask('create index turning on marks (turns(n))');
      await observer.ask('insert into turned values (1)');
      for (const db of [pool(), await client()]) {
        await observer.ask('delete from pg_statistic where starelid = $1::regclass', ['other']);
        const before = await state();
        const error = await errorOf(db.query('analyze other, marks'));
        assert.notEqual(await state(), before);
        assert.deepEqual([error.code, error.outcome], ['22012', 'unknown']);
      }
    });

    it("is 'not-run' for a syntax error in the text, and 'unknown' for one in code that it runs", async () => {
      for (const db of [pool(), await client()]) {
        for (const query of [
          'selekt 1',
          { text: 'selekt 1', prepare: false },
          'select 1; selekt 2',
        ]) {
          const error = await errorOf(db.query(query));
          assert.deepEqual([error.code, error.outcome], ['42601', 'not-run']);
        }
        const error = await errorOf(db.batch(['selekt 1', 'call commits()']));
        assert.deepEqual([error.code, error.outcome], ['42601', 'not-run']);
      }
      await clean();
      const error = await errorOf(
        pool().query(
          "do $$ begin insert into marks values (30); commit; execute 'selekt 1'; end $$",
        ),
      );
      assert.deepEqual([error.code, error.outcome], ['42601', 'unknown']);
    });

    it("is not 'not-run' for copyFrom() with a COPY TO that has written", async () => {
      await clean();
      const stream = pool().copyFrom('copy (insert into marks values (40) returning n) to stdout');
      const error = await errorOf(
        new Promise((resolve, reject) => {
          stream.on('error', reject).on('finish', resolve).end('x');
        }),
      );
      const rows = await observer.ask('select n from marks where n = 40');
      assert.equal(error.outcome === 'not-run' && rows.length > 0, false, error.message);
    });
  });

  it("is 'unknown' for a batch that has taken a session lock", async () => {
    const db = await client();
    const error = await errorOf(db.batch(['select pg_advisory_lock(77)', 'select 1 / 0']));
    const [{ n }] = await observer.ask(
      "select count(*)::int as n from pg_locks where locktype = 'advisory' and objid = 77",
    );
    assert.deepEqual([n, error.outcome], [1, 'unknown']);
  });

  it("is 'unknown' when a procedure has committed and its connection ends while 8 to 56 MB are written", async () => {
    for (const count of [1, 2, 7]) {
      await clean();
      const db = await client();
      const members = Array.from({ length: count }, large);
      const error = await errorOf(db.batch(['call commits_and_dies()', ...members]));
      assert.ok(error instanceof ConnectionError, String(error));
      assert.equal((await observer.ask('select n from marks where n = 12')).length, 1);
      assert.equal(error.outcome, 'unknown');
    }
  });

  it('is decided for each query, when a connection ends with several in flight', async () => {
    await clean();
    const db = await client();
    const outcomes = await Promise.all(
      [DIES, 'call commits()', { text: 'insert into marks values (50)' }].map((query) =>
        errorOf(db.query(query)).then(({ outcome }) => outcome),
      ),
    );
    assert.deepEqual(outcomes, ['unknown', 'unknown', 'unknown']);
    const error = await errorOf(db.query('call commits()'));
    assert.equal(error.outcome, 'not-run');
  });

  describe('in transaction()', () => {
    it("is 'unknown' before the server has answered BEGIN", async () => {
      // If BEGIN has failed, what was sent behind it has run by itself.
      await clean();
      const proxy = await Proxy.open(database.connectionString);
      try {
        const db = await newClient(proxy.options());
        db.on('error', () => {});
        proxy.mute = { at: 'insert into marks', reaches: true };
        const errors = [];
        const error = await errorOf(
          db.transaction(async (transaction) => {
            const writing = errorOf(transaction.query('insert into marks values (60)'));
            setTimeout(() => proxy.close(), 200);
            errors.push(await writing);
            throw errors[0];
          }),
        );
        assert.equal(error, errors[0]);
        assert.equal(error.outcome, 'unknown');
      } finally {
        await proxy.close();
      }
    });

    it("is 'unknown' when a text in it may contain a COMMIT, and the transaction is not retried", async () => {
      await clean();
      const db = await client();
      // The body's end is hidden behind a column that is called "case".
      const text = `select 1; create function hidden() returns int begin atomic select 1 as case; end;
        insert into marks values (70); commit;
        do $$ begin raise exception 'again' using errcode = '40001'; end $$`;
      let runs = 0;
      const error = await errorOf(
        db.transaction(
          async (transaction) => {
            runs += 1;
            await transaction.query(text);
          },
          { retry: { serialization: 3 } },
        ),
      );
      assert.equal((await observer.ask('select n from marks where n = 70')).length, 1);
      assert.deepEqual([error.outcome, runs], ['unknown', 1]);
    });

    it("is 'unknown' when its connection ends at COMMIT", async () => {
      await clean();
      await observer.ask(`create function dies() returns trigger language plpgsql as
        $$ begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(1); return null; end $$`);
      await observer.ask(
        `create constraint trigger dies after insert on marks deferrable initially deferred
          for each row execute function dies()`,
      );
      const db = await client();
      const error = await errorOf(
        db.transaction(async (transaction) => transaction.query('insert into marks values (80)')),
      );
      assert.equal(error.outcome, 'unknown');
    });

    it("is 'not-run' when its connection ends before COMMIT", async () => {
      await clean();
      const db = await client();
      const error = await errorOf(
        db.transaction(async (transaction) => {
          await transaction.query('insert into marks values (81)');
          await transaction.query(DIES);
        }),
      );
      assert.equal(error.outcome, 'not-run');
      assert.deepEqual(await observer.ask('select n from marks where n = 81'), []);
    });
  });

  it('is decided by a closed list of statements, for every statement of a text', () => {
    const mayOutlast = (text) => new StatementInfo(text).mayOutlast;
    for (const text of [
      ...LASTING,
      'frobnicate',
      'prepare p as select 1',
      'deallocate p',
      'close c',
    ]) {
      assert.equal(mayOutlast(text), true, text);
    }
    for (const text of [
      "copy t to '/tmp/x'",
      "copy t from program 'x'",
      'checkpoint',
      'discard all',
    ]) {
      assert.equal(mayOutlast(text), true, text);
    }
    for (const text of [
      'commit; select 1',
      'select 1; commit',
      "select 'a\\'; commit; select '",
      'select 1; call p()',
      'select 1;;/* */ ; vacuum',
    ]) {
      assert.equal(mayOutlast(text), true, text);
    }
    for (const text of [
      ...UNDONE,
      '',
      ';',
      'commit',
      'rollback',
      'end',
      'begin',
      'copy t from stdin',
    ]) {
      assert.equal(mayOutlast(text), false, text);
    }
    for (const text of [
      'begin; select 1; rollback',
      "insert into t values ('; commit;'); select 1",
    ]) {
      assert.equal(mayOutlast(text), false, text);
    }
    for (const text of [
      'create or replace function f() returns int language sql as $$ vacuum $$',
      'create temp table t (n int)',
      'drop text search dictionary d',
      'create foreign data wrapper w',
      'alter default privileges grant select on tables to public',
      'create event trigger e on ddl_command_start execute function f()',
      'create user mapping for a server b',
      'refresh materialized view concurrently v',
      "alter type t add value 'x'",
    ]) {
      assert.equal(mayOutlast(text), false, text);
    }
  });
});
