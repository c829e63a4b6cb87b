'use strict';

// lib/client.js: the face of one connection, from connect() to end(), with what it does when
// something is wrong. What it does as `pg` does is compared with `pg` itself.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { inspect, promisify } = require('node:util');
const pg = require('pg');
const {
  Client,
  ConduitError,
  ConnectionError,
  DatabaseError,
  OptionError,
  ParameterError,
  StatementRefusedError,
} = require('..');
const { startDatabase } = require('../scripts/database');
const {
  SCHEMA,
  connectionString,
  endAll,
  newClient,
  newPool,
  options,
  resetSchema,
} = require('./support/connect');

/** Unprepared, preparing, prepared, in binary. */
const EXECUTIONS = 4;

/** @param {Promise<any>} promise that must reject */
async function errorOf(promise) {
  return promise.then(
    () => assert.fail('should have been rejected'),
    (error) => error,
  );
}

/** What connecting with these options ends in; the client is closed then. */
async function connectError(config) {
  const client = new Client(config);
  try {
    return await errorOf(client.connect());
  } finally {
    await client.end();
  }
}

async function withPg(use) {
  const client = new pg.Client(options());
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** @param {(error: any, value: any) => void} call */
function called(call) {
  return new Promise((resolve) => {
    call((...args) => resolve(args));
  });
}

describe('Client', () => {
  before(resetSchema);
  afterEach(endAll);

  describe('connect()', () => {
    it('resolves to nothing, and says that it is connected', async () => {
      const client = new Client(options());
      const events = [];
      client.on('connect', () => events.push('connect'));
      assert.equal(client.processID, 0);
      assert.equal(await client.connect(), undefined);
      assert.deepEqual(events, ['connect']);
      assert.ok(client.processID > 0);
      const { rows } = await client.query('select pg_backend_pid() as pid');
      assert.deepEqual(rows, [{ pid: client.processID }]);
      await client.end();
    });

    it('takes a callback, and then returns nothing', async () => {
      const client = new Client(options());
      const [error, connected] = await called((callback) =>
        assert.equal(client.connect(callback), undefined),
      );
      assert.equal(error, null);
      assert.equal(connected, client);
      const [failure] = await called((callback) =>
        assert.equal(client.connect(callback), undefined),
      );
      assert.ok(failure instanceof ConnectionError);
      await client.end();
    });

    it('takes a connection string alone', async () => {
      const client = new Client(connectionString());
      await client.connect();
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
      await client.end();
    });

    it('rejects the second time, also while the first is under way', async () => {
      const client = new Client(options());
      const first = client.connect();
      const early = await errorOf(client.connect());
      await first;
      const late = await errorOf(client.connect());
      for (const error of [early, late]) {
        assert.ok(error instanceof ConnectionError);
        assert.match(error.message, /already been connected/);
      }
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
      await client.end();
      assert.ok((await errorOf(client.connect())) instanceof ConnectionError);
    });

    it('lets queries wait that come before it is done, in their order', async () => {
      const client = new Client(options());
      const connected = client.connect();
      const answers = [
        client.query('create temp table early (id serial, n int)'),
        ...[1, 2, 3].map((n) => client.query('insert into early (n) values ($1)', [n])),
        client.query('select array_agg(n order by id) as all from early'),
      ];
      await connected;
      assert.deepEqual((await answers.at(-1)).rows, [{ all: [1, 2, 3] }]);
      await Promise.all(answers);
      await client.end();
    });

    it('rejects the queries that have waited, when it fails', async () => {
      const client = new Client({
        ...options(),
        database: undefined,
        connectionString: undefined,
        host: '127.0.0.1',
        port: await freePort(),
        user: 'nobody',
      });
      const outcomes = await Promise.allSettled([
        client.connect(),
        client.query('select 1'),
        client.query('select 2'),
      ]);
      for (const { reason } of outcomes) {
        assert.ok(reason instanceof ConnectionError);
        assert.equal(reason.code, 'ECONNREFUSED');
        assert.equal(reason.outcome, 'not-run');
      }
      assert.notEqual(outcomes[0].reason, outcomes[1].reason);
      assert.equal((await errorOf(client.query('select 3'))).code, 'ECONNREFUSED');
      await client.end();
    });
  });

  describe('query()', () => {
    it('rejects before connect() was called', async () => {
      // In pg such a query waits for ever if nobody connects.
      const client = new Client(options());
      const error = await errorOf(client.query('select 1'));
      assert.ok(error instanceof ConnectionError);
      assert.equal(error.outcome, 'not-run');
      assert.match(error.message, /connect\(\)/);
      await client.connect();
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
      await client.end();
    });

    it('takes its arguments in all the forms of pg', async () => {
      const client = await newClient();
      const text = 'select $1::int as n';
      const forms = [
        [text, [5]],
        [{ text, values: [5] }],
        [{ text }, [5]],
        [{ text, values: [5], name: 'five' }],
        ['select 5 as n'],
        ['select 5 as n', undefined],
        ['select 5 as n', null],
        [{ text: 'select 5 as n' }],
      ];
      await withPg(async (reference) => {
        for (const form of forms) {
          assert.deepEqual((await reference.query(...form)).rows, [{ n: 5 }]);
          assert.deepEqual((await client.query(...form)).rows, [{ n: 5 }]);
          const [error, result] = await called((callback) =>
            assert.equal(client.query(...form.filter((one) => one != null), callback), undefined),
          );
          assert.equal(error, null);
          assert.deepEqual(result.rows, [{ n: 5 }]);
        }
      });
      const [error, result] = await called((callback) =>
        client.query({ text, values: [5], callback }),
      );
      assert.equal(error, null);
      assert.deepEqual(result.rows, [{ n: 5 }]);
    });

    it('calls back with an error alone', async () => {
      const client = await newClient();
      for (const form of [
        ['selec'],
        ['select $1', [Symbol('s')]],
        [{}],
        ['select 1 / $1::int', [0]],
      ]) {
        const args = await called((callback) => client.query(...form, callback));
        assert.equal(args.length, 1);
        assert.ok(args[0] instanceof ConduitError);
      }
    });

    it('gives rows as arrays when asked to', async () => {
      const client = await newClient();
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        const query = { text: "select 1 as a, 'x' as a, null as b" };
        const [objects, arrays] = await Promise.all([
          client.query(query),
          client.query({ ...query, rowMode: 'array' }),
        ]);
        assert.deepEqual(objects.rows, [{ a: 'x', b: null }]);
        assert.deepEqual(arrays.rows, [[1, 'x', null]]);
        assert.deepEqual(
          arrays.fields.map(({ name }) => name),
          ['a', 'a', 'b'],
        );
        assert.equal(arrays.rowCount, 1);
      }
    });

    it('answers an empty text as pg does', async () => {
      const client = await newClient();
      await withPg(async (reference) => {
        for (const text of ['', ' ', ';', '-- comment', '/* é */']) {
          const { command, rowCount, oid, rows, fields } = await reference.query(text);
          for (let execution = 1; execution <= EXECUTIONS; ++execution) {
            const result = await client.query(text);
            assert.deepEqual(
              [result.command, result.rowCount, result.oid, result.rows, result.fields],
              [command, rowCount, oid, rows, fields],
            );
          }
        }
      });
    });

    it('refuses several statements in one text, and runs none of them', async () => {
      // pg sends a text without values by the simple protocol, which takes several; a pipeline
      // has no such thing.
      const client = await newClient();
      await client.query('create temp table several (n int)');
      const text = 'insert into several values (1); insert into several values (2)';
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        assert.equal((await errorOf(client.query(text))).code, '42601');
      }
      const { rows } = await client.query('select count(*)::int as n from several');
      assert.deepEqual(rows, [{ n: 0 }]);
    });

    it('runs a transaction that nobody waits for step by step', async () => {
      const client = await newClient();
      await client.query('create table account (id int primary key, amount int)');
      await client.query('insert into account values (1, 100), (2, 100)');
      const transfer = (amount, end) => [
        client.query('begin'),
        client.query('update account set amount = amount - $1 where id = 1', [amount]),
        client.query('update account set amount = amount + $1 where id = 2', [amount]),
        client.query('select sum(amount)::int as sum from account'),
        client.query(end),
      ];
      for (let round = 0; round < EXECUTIONS; ++round) {
        const kept = await Promise.all(transfer(10, 'commit'));
        const undone = await Promise.all(transfer(1000, 'rollback'));
        assert.deepEqual(kept[3].rows, [{ sum: 200 }]);
        assert.deepEqual(undone[3].rows, [{ sum: 200 }]);
        assert.deepEqual([kept[4].command, undone[4].command], ['COMMIT', 'ROLLBACK']);
      }
      const { rows } = await client.query('select amount from account order by id');
      assert.deepEqual(rows, [
        { amount: 100 - 10 * EXECUTIONS },
        { amount: 100 + 10 * EXECUTIONS },
      ]);
    });

    it('rejects what comes after an error in a transaction, up to its end', async () => {
      const client = await newClient();
      await client.query('create table guarded (n int check (n > 0))');
      for (let round = 0; round < EXECUTIONS; ++round) {
        const outcomes = await Promise.allSettled([
          client.query('begin'),
          client.query('insert into guarded values ($1)', [1]),
          client.query('insert into guarded values ($1)', [-1]),
          client.query('insert into guarded values ($1)', [2]),
          client.query('select 1 as one'),
          client.query('commit'),
          client.query('select count(*)::int as n from guarded'),
        ]);
        assert.deepEqual(
          outcomes.map(({ reason }) => reason?.code),
          [undefined, undefined, '23514', '25P02', '25P02', undefined, undefined],
        );
        // The server answers a commit of a failed transaction so.
        assert.equal(outcomes[5].value.command, 'ROLLBACK');
        assert.deepEqual(outcomes[6].value.rows, [{ n: 0 }]);
      }
    });

    it('returns to a savepoint', async () => {
      const client = await newClient();
      await client.query('create temp table saved (n int)');
      const outcomes = await Promise.allSettled([
        client.query('begin'),
        client.query('insert into saved values (1)'),
        client.query('savepoint a'),
        client.query('insert into saved values (1 / 0)'),
        client.query('rollback to savepoint a'),
        client.query('insert into saved values (2)'),
        client.query('commit'),
      ]);
      assert.equal(outcomes[3].reason.code, '22012');
      assert.equal(outcomes.filter(({ status }) => status === 'rejected').length, 1);
      const { rows } = await client.query('select array_agg(n) as all from saved');
      assert.deepEqual(rows, [{ all: [1, 2] }]);
    });

    it('refuses COPY from and to the client, and goes on', async () => {
      const client = await newClient();
      await client.query('create temp table copied (n int)');
      const texts = [
        'copy copied from stdin',
        'COPY copied TO STDOUT',
        '/* a */ copy (select 1) to stdout',
        ' -- b\n copy copied (n) from stdin with (format csv)',
      ];
      for (const text of texts) {
        for (let execution = 1; execution <= EXECUTIONS; ++execution) {
          const outcomes = await Promise.allSettled([
            client.query('select 1 as one'),
            client.query(text),
            client.query('select 2 as two'),
          ]);
          assert.deepEqual(outcomes[0].value.rows, [{ one: 1 }]);
          assert.ok(outcomes[1].reason instanceof StatementRefusedError);
          assert.equal(outcomes[1].reason.code, 'ERR_PG_CONDUIT_REFUSED');
          assert.equal(outcomes[1].reason.outcome, 'not-run');
          assert.match(outcomes[1].reason.message, /COPY/);
          assert.deepEqual(outcomes[2].value.rows, [{ two: 2 }]);
        }
      }
    });

    it('passes the statements that change the session, which is its own', async () => {
      const client = await newClient();
      const texts = [
        "set application_name to 'mine'",
        'create temp table mine (n int)',
        'prepare p as select 1 as one',
        'execute p',
        'deallocate p',
        'select pg_advisory_lock(4711)',
        'select pg_advisory_unlock(4711)',
        'begin',
        'declare c cursor for select generate_series(1, 3) as n',
        'fetch 2 from c',
        'close c',
        'commit',
        'discard all',
      ];
      for (const text of texts) await client.query(text);
    });
  });

  describe('named queries', () => {
    it('are prepared at once, and answer again and again', async () => {
      const client = await newClient();
      for (let n = 0; n < 5; ++n) {
        const { rows } = await client.query({
          name: 'double',
          text: 'select $1::int * 2 as n',
          values: [n],
        });
        assert.deepEqual(rows, [{ n: n * 2 }]);
        assert.equal(await countPrepared(client), 1);
      }
    });

    it('reject when the name was used for another text, as in pg', async () => {
      const client = await newClient();
      await withPg(async (reference) => {
        for (const one of [client, reference]) {
          await one.query({ name: 'a', text: 'select 1 as n' });
          const error = await errorOf(one.query({ name: 'a', text: 'select 2 as n' }));
          assert.match(error.message, /Prepared statements must be unique - 'a'/);
          assert.deepEqual((await one.query({ name: 'a', text: 'select 1 as n' })).rows, [
            { n: 1 },
          ]);
          assert.deepEqual((await one.query({ name: 'b', text: 'select 2 as n' })).rows, [
            { n: 2 },
          ]);
        }
      });
      const error = await errorOf(client.query({ name: 'a', text: 'select 2 as n' }));
      assert.ok(error instanceof ParameterError);
      assert.equal(error.outcome, 'not-run');
    });

    it('with different names for one text, and names with quotes', async () => {
      const client = await newClient();
      for (const name of ['a', 'b', 'é"\'', 'x'.repeat(100), 'x'.repeat(101)]) {
        for (let execution = 1; execution <= 3; ++execution) {
          const { rows } = await client.query({
            name,
            text: 'select $1::text as t',
            values: [name],
          });
          assert.deepEqual(rows, [{ t: name }]);
        }
      }
    });
  });

  describe('end()', () => {
    it('waits for what is in flight', async () => {
      const client = await newClient();
      let answers = 0;
      for (let n = 0; n < 50; ++n) {
        client.query('select $1::int, pg_sleep(0.001)', [n]).then(() => ++answers);
      }
      await client.end();
      assert.equal(answers, 50);
    });

    it('rejects queries that come later', async () => {
      const client = await newClient();
      const before = client.query('select pg_sleep(0.01), 1 as one');
      const ended = client.end();
      const during = await errorOf(client.query('select 1'));
      assert.equal((await before).rows[0].one, 1);
      await ended;
      const after = await errorOf(client.query('select 1'));
      for (const error of [during, after]) {
        assert.ok(error instanceof ConnectionError);
        assert.equal(error.outcome, 'not-run');
        assert.match(error.message, /closed/);
      }
    });

    it('may be called twice, at once and afterwards', async () => {
      const client = await newClient();
      let ends = 0;
      client.on('end', () => ++ends);
      client.query('select pg_sleep(0.01)').catch(assert.ifError);
      await Promise.all([client.end(), client.end()]);
      await client.end();
      assert.equal(ends, 1);
    });

    it('takes a callback, and then returns nothing', async () => {
      const client = await newClient();
      const [error] = await called((callback) => assert.equal(client.end(callback), undefined));
      assert.equal(error, null);
      const [again] = await called((callback) => client.end(callback));
      assert.equal(again, null);
    });

    it('may be called before connect(), and while it is under way', async () => {
      await new Client(options()).end();
      const client = new Client(options());
      const connected = errorOf(client.connect());
      const query = errorOf(client.query('select 1'));
      await client.end();
      assert.ok((await connected) instanceof ConnectionError);
      assert.ok((await query) instanceof ConnectionError);
    });

    it('ends the session on the server', async () => {
      const client = await newClient();
      const watcher = await newClient();
      const pid = client.processID;
      await client.end();
      for (;;) {
        const { rows } = await watcher.query('select 1 from pg_stat_activity where pid = $1', [
          pid,
        ]);
        if (rows.length === 0) break;
      }
    });
  });

  describe('events', () => {
    it('drain comes when everything has been answered', async () => {
      const client = await newClient();
      let answers = 0;
      const drained = once(client, 'drain').then(() => answers);
      for (let n = 0; n < 20; ++n) client.query('select $1::int', [n]).then(() => ++answers);
      assert.equal(await drained, 20);
    });

    it('notice has the fields that it has in pg', async () => {
      const client = await newClient();
      const text = `do $$ begin raise notice 'é % b', 1 using detail = 'd', hint = 'h', errcode = '01234'; end $$`;
      const fieldsOf = ({
        message,
        name,
        severity,
        code,
        detail,
        hint,
        where,
        file,
        line,
        routine,
      }) => ({
        ...{ message, name, severity, code, detail, hint, where, file, line, routine },
      });
      const expected = await withPg(async (reference) => {
        const [[notice]] = await Promise.all([once(reference, 'notice'), reference.query(text)]);
        return fieldsOf(notice);
      });
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        const [[notice]] = await Promise.all([once(client, 'notice'), client.query(text)]);
        assert.deepEqual(fieldsOf(notice), expected);
      }
    });

    it('notices do not disturb the queries beside them', async () => {
      const client = await newClient();
      const notices = [];
      client.on('notice', ({ message }) => notices.push(message));
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, n) =>
          n % 2 === 0
            ? client.query(`do $$ begin raise notice '${n}'; end $$`)
            : client.query('select $1::int as n', [n]),
        ),
      );
      assert.deepEqual(
        notices,
        Array.from({ length: 50 }, (_, n) => String(2 * n)),
      );
      for (let n = 1; n < 100; n += 2) assert.deepEqual(answers[n].rows, [{ n }]);
    });

    it('notification has the fields that it has in pg', async () => {
      const client = await newClient();
      const sender = await newClient();
      await client.query('listen "Kanal é"');
      await withPg(async (reference) => {
        await reference.query('listen "Kanal é"');
        for (const payload of ['', 'text', 'ünï 😀', 'x'.repeat(7999)]) {
          const [[expected], [actual]] = await Promise.all([
            once(reference, 'notification'),
            once(client, 'notification'),
            sender.query('select pg_notify($1, $2)', ['Kanal é', payload]),
          ]);
          assert.deepEqual({ ...actual, length: 0 }, { ...expected, length: 0 });
          assert.equal(actual.processId, sender.processID);
          assert.equal(actual.payload, payload);
          assert.equal(typeof actual.length, 'number');
        }
      });
    });

    it('notifications come in order, also from oneself, and stop after unlisten', async () => {
      const client = await newClient();
      const payloads = [];
      client.on('notification', ({ payload }) => payloads.push(payload));
      await client.query('listen own');
      await Promise.all(Array.from({ length: 50 }, (_, n) => client.query(`notify own, '${n}'`)));
      await client.query('unlisten own');
      await client.query("notify own, 'late'");
      await client.query('select 1');
      assert.deepEqual(
        payloads,
        Array.from({ length: 50 }, (_, n) => String(n)),
      );
    });

    it('error and end come when the server closes the connection, and queries know it', async () => {
      const client = await newClient();
      const killer = await newClient();
      const errors = [];
      client.on('error', (error) => errors.push(error));
      const ended = once(client, 'end');
      const sleeping = errorOf(client.query('select pg_sleep(600)'));
      const behind = errorOf(client.query('select 1'));
      for (;;) {
        const { rows } = await killer.query(
          "select 1 from pg_stat_activity where pid = $1 and query like '%pg_sleep%'",
          [client.processID],
        );
        if (rows.length > 0) break;
      }
      await killer.query('select pg_terminate_backend($1)', [client.processID]);
      await ended;
      for (const error of [await sleeping, await behind]) {
        assert.ok(error instanceof ConnectionError);
        assert.equal(error.code, 'ECONNRESET');
        assert.equal(error.outcome, 'unknown');
        assert.match(error.message, /terminat/);
      }
      assert.equal(errors.length, 1);
      assert.ok(errors[0] instanceof ConnectionError);
      assert.equal(errors[0].cause?.code, '57P01');
      const late = await errorOf(client.query('select 1'));
      assert.ok(late instanceof ConnectionError);
      assert.equal(late.outcome, 'not-run');
      await client.end();
    });

    it('error comes to an idle client, too', async () => {
      const client = await newClient();
      const killer = await newClient();
      const [[error]] = await Promise.all([
        once(client, 'error'),
        once(client, 'end'),
        killer.query('select pg_terminate_backend($1)', [client.processID]),
      ]);
      assert.ok(error instanceof ConnectionError);
      assert.equal(error.cause?.code, '57P01');
    });
  });

  describe('options', () => {
    it('reach the server', async () => {
      const client = await newClient({
        application_name: "it's é\\",
        options: `-c search_path=${SCHEMA} -c work_mem=123kB -c geqo=off`,
        statement_timeout: 54321,
        lock_timeout: 4321,
        idle_in_transaction_session_timeout: 7654321,
      });
      const settings = {
        work_mem: '123kB',
        geqo: 'off',
        search_path: SCHEMA,
        statement_timeout: '54321ms',
        lock_timeout: '4321ms',
        idle_in_transaction_session_timeout: '7654321ms',
        client_encoding: 'UTF8',
      };
      for (const [name, value] of Object.entries(settings)) {
        const { rows } = await client.query('select current_setting($1) as value', [name]);
        assert.equal(rows[0].value, value, name);
      }
      // The server replaces what is not ASCII in this one.
      const { rows } = await client.query("select current_setting('application_name') as name");
      assert.match(rows[0].name, /^it's .*\\$/);
    });

    it('statement_timeout ends a query, and the next one runs', async () => {
      const client = await newClient({ statement_timeout: 150 });
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        const error = await errorOf(client.query('select pg_sleep(60)'));
        assert.equal(error.code, '57014');
        assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
      }
      const without = await newClient({ statement_timeout: false });
      const { rows } = await without.query('show statement_timeout');
      assert.deepEqual(rows, [{ statement_timeout: '0' }]);
    });

    it('may be undefined or null', async () => {
      const client = await newClient({
        max: undefined,
        password: undefined,
        int8: null,
        port: null,
        ssl: undefined,
      });
      assert.deepEqual((await client.query('select 1::int8 as n')).rows, [{ n: '1' }]);
    });

    it('of unknown names are refused, with the name that was meant', async () => {
      const meant = {
        connectionTimeout: 'connectionTimeoutMillis',
        idleTimeout: 'idleTimeoutMillis',
        statementTimeout: 'statement_timeout',
        applicationName: 'application_name',
        maxinflight: 'maxInFlight',
        username: 'user',
        hostname: 'host',
        INT8: 'int8',
        statement_cache_size: 'statementCacheSize',
        connectionSTRING: 'connectionString',
      };
      for (const [name, suggestion] of Object.entries(meant)) {
        const error = await connectError(options({ [name]: '1' }));
        assert.ok(error instanceof OptionError, name);
        assert.equal(error.code, 'ERR_PG_CONDUIT_OPTION');
        assert.ok(error.message.includes(`"${name}"`), error.message);
        assert.ok(error.message.includes(`Did you mean "${suggestion}"?`), error.message);
      }
      for (const name of ['xyz', 'q', 'toString', 'constructor', 'hasOwnProperty']) {
        const error = await connectError(options({ [name]: '1' }));
        assert.ok(error instanceof OptionError);
        assert.ok(error.message.includes(`unknown option "${name}"`), error.message);
        assert.ok(!error.message.includes('Did you mean'), error.message);
      }
    });

    const NOT_COUNTS = [-1, 1.5, 'soon', NaN, true, {}, [], '', '5s', -Infinity];
    const NOT_FLAGS = ['true', 1, 0, {}, []];
    const NOT_STRINGS = [5n, true, {}, [], Symbol('s'), () => 'x', 'a\0b'];
    const WRONG = {
      connectionTimeoutMillis: [...NOT_COUNTS, Infinity, 2 ** 31],
      idleTimeoutMillis: [...NOT_COUNTS, Infinity],
      maxLifetimeSeconds: NOT_COUNTS,
      statementCacheSize: [...NOT_COUNTS, 100001],
      statementCacheBytes: NOT_COUNTS,
      prepareThreshold: [...NOT_COUNTS, 0],
      max: [...NOT_COUNTS, 0, 10001],
      min: [...NOT_COUNTS, 10001],
      maxInFlight: [...NOT_COUNTS, 0],
      maxWaiting: NOT_COUNTS,
      maxUses: NOT_COUNTS,
      prepare: NOT_FLAGS,
      allowExitOnIdle: NOT_FLAGS,
      keepAlive: NOT_FLAGS,
      keepAliveInitialDelayMillis: NOT_COUNTS,
      int8: ['text', 'BigInt', 8, true, {}],
      types: [5, 'text', {}, { getTypeParser: 5 }],
      statement_timeout: NOT_COUNTS,
      lock_timeout: NOT_COUNTS,
      idle_in_transaction_session_timeout: NOT_COUNTS,
      port: [0, 65536, -1, 1.5, 'five', true, {}, '5432,x', Symbol('s')],
      host: NOT_STRINGS,
      user: NOT_STRINGS,
      database: NOT_STRINGS,
      application_name: NOT_STRINGS,
      password: [5n, true, {}, [], Symbol('s'), 'a\0b'],
      client_encoding: ['LATIN1', 5, {}, 'utf'],
      ssl: ['require', 5, [1], { ca: 'x' }, { rejectUnauthorized: false, key: 'x' }],
      connectionString: [5, true, {}, [], Symbol('s')],
    };

    for (const [name, values] of Object.entries(WRONG)) {
      it(`${name} is refused when it is none, before anything is sent`, async () => {
        for (const value of values) {
          const given =
            name === 'connectionString' ? { [name]: value } : { ...options(), [name]: value };
          // What stands in the connection string goes first.
          if (['host', 'port', 'user', 'database', 'password'].includes(name)) {
            delete given.connectionString;
          }
          const client = new Client(given);
          const errors = [await errorOf(client.connect()), await errorOf(client.query('select 1'))];
          for (const error of errors) {
            assert.ok(error instanceof OptionError, `${name}: ${inspect(value)}: ${error}`);
            assert.equal(error.code, 'ERR_PG_CONDUIT_OPTION');
            assert.ok(error.message.includes(`option "${name}`), error.message);
          }
          assert.notEqual(errors[0], errors[1]);
          await client.end();
        }
      });
    }

    it('are refused also when their value has no text to be shown', async () => {
      const shapeless = Object.create(null);
      // Not ssl: an object without properties asks for TLS as libpq verifies it.
      for (const name of ['max', 'prepare', 'int8', 'types', 'port', 'application_name']) {
        const error = await connectError({ [name]: shapeless });
        assert.ok(error instanceof OptionError, `${name}: ${error}`);
      }
    });

    it('must be an object or a string', async () => {
      for (const config of [5, true, Symbol('s'), () => {}]) {
        assert.ok((await connectError(config)) instanceof OptionError, String(config));
      }
    });

    it('in a URL that cannot be read are refused, with the form that is meant', async () => {
      const urls = [
        'postgresql://[::1/db',
        'postgresql://host:port:x/db',
        'postgresql://host/db?nope=1',
        'http://example.com',
        'host=x port',
        'nonsense',
      ];
      for (const url of urls) {
        const error = await connectError(url);
        assert.ok(error instanceof OptionError, `${url}: ${error}`);
        assert.equal(error.code, 'ERR_PG_CONDUIT_OPTION');
      }
    });
  });

  describe('when it cannot connect', () => {
    it('says that nobody listens at the port: ECONNREFUSED', async () => {
      const port = await freePort();
      for (const host of ['127.0.0.1', 'localhost']) {
        const error = await connectError({ host, port, user: 'nobody' });
        assert.ok(error instanceof ConnectionError);
        assert.equal(error.code, 'ECONNREFUSED');
        assert.equal(error.syscall, 'connect');
        assert.equal(error.errno, -os.constants.errno.ECONNREFUSED);
        assert.equal(error.outcome, 'not-run');
        assert.ok(error.message.includes(String(port)));
      }
    });

    it('says that there is no unix socket: ENOENT', async function () {
      if (process.platform === 'win32') this.skip();
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-'));
      try {
        const error = await connectError({ host: folder, port: 5432, user: 'nobody' });
        assert.ok(error instanceof ConnectionError);
        assert.equal(error.code, 'ENOENT');
        assert.equal(error.syscall, 'connect');
      } finally {
        fs.rmdirSync(folder);
      }
    });

    it('says that there is no such host: ENOTFOUND', async () => {
      // A name with a space is in no zone, so that nobody is asked for it.
      const error = await connectError({ host: 'no such host', user: 'nobody' });
      assert.ok(error instanceof ConnectionError);
      assert.equal(error.code, 'ENOTFOUND');
      assert.match(error.message, /no such host/);
      assert.equal(error.cause?.syscall, 'getaddrinfo');
    });

    it('says that there is no such database: 3D000', async () => {
      const client = new Client(connectionString());
      const { host, port, user } = client;
      await client.end();
      const error = await connectError({ host, port, user, database: 'no_such_database' });
      assert.ok(error instanceof DatabaseError, String(error));
      assert.equal(error.code, '3D000');
      assert.equal(error.severity, 'FATAL');
      assert.match(error.message, /no_such_database/);
    });

    it('passes on what the server says about its options', async () => {
      const error = await connectError(options({ options: '-c no_such_setting=1' }));
      assert.ok(error instanceof DatabaseError, String(error));
      assert.equal(error.code, '42704');
    });

    it('tries each of several hosts', async () => {
      const { host, port, user, database } = new Client(connectionString());
      const client = new Client({
        host: `127.0.0.1,${host}`,
        port: `${await freePort()},${port}`,
        user,
        database,
      });
      await client.connect();
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
      await client.end();
    });

    it('gives up after connectionTimeoutMillis: ETIMEDOUT, and holds nothing open', async () => {
      const sockets = new Set();
      const server = net.createServer((socket) => {
        sockets.add(socket);
        socket.on('error', () => {});
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      try {
        const config = {
          host: '127.0.0.1',
          port: server.address().port,
          user: 'x',
          connectionTimeoutMillis: 50,
        };
        const error = await connectError(config);
        assert.ok(error instanceof ConnectionError);
        assert.equal(error.code, 'ETIMEDOUT');
        assert.match(error.message, /50 ms/);
        // A process that has nothing else to do ends.
        const script = `const { Client } = require(${JSON.stringify(require.resolve('..'))});
          const client = new Client(${JSON.stringify(config)});
          client.connect().catch((error) => console.log(error.code));
          client.query('select 1').catch((error) => console.log(error.code));`;
        const { stdout } = await promisify(execFile)(process.execPath, ['-e', script]);
        assert.equal(stdout, 'ETIMEDOUT\nETIMEDOUT\n');
      } finally {
        for (const socket of sockets) socket.destroy();
        server.close();
      }
    });

    it('says that the other side is no PostgreSQL server', async () => {
      const server = net.createServer((socket) => {
        socket.on('error', () => {});
        socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      try {
        const error = await connectError({
          host: '127.0.0.1',
          port: server.address().port,
          user: 'x',
        });
        assert.ok(error instanceof ConnectionError);
        assert.ok(error.message.length > 0);
      } finally {
        server.close();
      }
    });
  });

  describe('with a password', () => {
    const SECRET = 'geheim é "\\\' %/@:?#';
    /** @type {Awaited<ReturnType<typeof startDatabase>>} */
    let database;
    let target;

    before(async function () {
      this.timeout(60000);
      database = await startDatabase({
        own: true,
        listen: true,
        hba: 'local all all trust\nhost all all all scram-sha-256',
        settings: { log_min_messages: 'fatal' },
      });
      const { port, database: name } = database.config;
      target = { host: '127.0.0.1', port, user: 'alice', database: name };
      const admin = new Client({
        host: database.socketDirectory,
        port,
        user: 'postgres',
        database: name,
      });
      await admin.connect();
      await admin.query("set password_encryption to 'scram-sha-256'");
      await admin.query(`create role alice login password ${admin.escapeLiteral(SECRET)}`);
      await admin.query('create role bob login');
      await admin.end();
    });
    after(() => database?.stop());

    async function whoAmI(config) {
      const client = new Client(config);
      await client.connect();
      try {
        return (await client.query('select current_user as name')).rows[0].name;
      } finally {
        await client.end();
      }
    }

    it('connects: as an option, in a URL, from a function, from an async one', async () => {
      assert.equal(await whoAmI({ ...target, password: SECRET }), 'alice');
      const { host, port, database: name } = target;
      const url = `postgresql://alice:${encodeURIComponent(SECRET)}@${host}:${port}/${name}`;
      assert.equal(await whoAmI(url), 'alice');
      assert.equal(await whoAmI({ connectionString: url }), 'alice');
      assert.equal(await whoAmI({ ...target, password: () => SECRET }), 'alice');
      const later = async () => {
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
        return SECRET;
      };
      assert.equal(await whoAmI({ ...target, password: later }), 'alice');
    });

    it('that is wrong, or missing, is refused by the server', async () => {
      for (const password of ['wrong', '', () => 'wrong', async () => 'wrong']) {
        const error = await connectError({ ...target, password });
        if (password === '') {
          assert.ok(error instanceof ConduitError);
          continue;
        }
        assert.ok(error instanceof DatabaseError, String(error));
        assert.equal(error.code, '28P01');
        assert.equal(error.severity, 'FATAL');
        assert.match(error.message, /password authentication failed for user "alice"/);
        assert.equal(typeof error.hint, 'string');
      }
      const missing = await connectError(target);
      assert.ok(missing instanceof ConnectionError);
      assert.match(missing.message, /password/);
      assert.equal((await connectError({ ...target, user: 'bob', password: 'x' })).code, '28P01');
    });

    it('whose function fails rejects connect() with that error', async () => {
      const failure = new RangeError('vault closed');
      for (const password of [
        () => {
          throw failure;
        },
        () => Promise.reject(failure),
      ]) {
        assert.equal(await connectError({ ...target, password }), failure);
      }
      for (const value of [undefined, null, 5, {}]) {
        const error = await connectError({ ...target, password: () => value });
        assert.ok(error instanceof ConnectionError);
        assert.match(error.message, /password function/);
      }
    });

    it('asks its function once for each connection', async () => {
      let asked = 0;
      const password = async () => {
        ++asked;
        return SECRET;
      };
      for (let connections = 1; connections <= 3; ++connections) {
        assert.equal(await whoAmI({ ...target, password }), 'alice');
        assert.equal(asked, connections);
      }
    });

    it('shows it in no error and in no inspected client', async () => {
      const secret = 'hunter2';
      const port = await freePort();
      const { host, database: name } = target;
      const configs = [
        { ...target, password: secret },
        { ...target, password: async () => secret },
        `postgresql://alice:${secret}@${host}:${target.port}/${name}`,
        // Nobody listens.
        { host, port, user: 'alice', password: secret },
        `postgresql://alice:${secret}@${host}:${port}/${name}`,
        `host=${host} port=${port} user=alice password=${secret}`,
        // Written wrongly.
        `postgresql://alice:${secret}%zz@${host}/${name}`,
        `postgresql://alice:50%${secret}@${host}/${name}`,
        `postgresql://alice:${secret}/x@${host}/${name}`,
        `postgresql://alice:x/${secret}@${host}:${port}/${name}`,
        `postgresql://alice:${secret}@${host}:port/${name}`,
        `postgresql://alice:${secret}@[::1/${name}`,
        `postgresql://alice:${secret}@${host}/${name}?nope=1`,
        `postgresql://${host}:${port}/${name}?user=alice&password=${secret}&nope=1`,
        `postgresql://${host}:${port}/${name}?user=alice&password=${secret}%zz`,
        `alice:${secret}@${host}/${name}`,
        `http://alice:${secret}@${host}/${name}`,
        `host=${host} user=alice password=very ${secret}`,
        `host=${host} user=alice password='${secret}`,
        `host=${host} user=alice passwd=${secret}`,
        `host=${host} password=${secret} port=x user=alice`,
        `password=${secret} nonsense`,
        // Of the wrong type.
        { ...target, password: [secret] },
        { ...target, password: { secret, toString: () => secret } },
        { ...target, password: `${secret}\0` },
        { ...target, sslpassword: `${secret}\0` },
        { connectionString: new URL(`postgresql://alice:${secret}@${host}/${name}`) },
        { connectionString: `postgresql://alice:${secret}\0@${host}/${name}` },
        { connectionString: [`postgresql://alice:${secret}@${host}/${name}`] },
        { ...target, passwordd: secret },
        { ...target, password: () => ({ secret, toString: () => secret }) },
      ];
      const leaks = [];
      for (const config of configs) {
        const client = new Client(config);
        const errors = [await errorOf(client.connect()), await errorOf(client.query('select 1'))];
        await client.end();
        const leak = [...errors, client, { ...client }]
          .map((shown) => inspect(shown, { depth: 10, showHidden: true }))
          .find((text) => text.includes(secret));
        if (leak !== undefined) leaks.push(leak.split('\n')[0]);
      }
      assert.deepEqual(leaks, []);
    });
  });

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
      'a null in a column that takes none': ['insert into checked values (2, null, 1)'],
      'a check constraint': ["insert into checked values (3, 'three', -1)"],
      'a domain constraint': ["insert into checked values (4, 'four', 1, null, 3)"],
      'a deferred foreign key': ["insert into checked values (5, 'five', 1, 99)"],
      'a string that is too long': ["insert into checked values (6, 'six', 1, null, 2, 'long')"],
      'a syntax error': ['select 1 +'],
      'a syntax error behind characters that are not ASCII': ["select 'é😀', from"],
      'an unknown table': ['select * from no_such_table'],
      'an unknown column, with a hint': ['select lable from checked'],
      'a division by zero': ['select 1 / 0'],
      'a value that is none of its type': ["select 'x'::int"],
      'a parameter that is none of its type': ['select $1::int', ['x']],
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

    it('name the functions that wait for the query', async () => {
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

    it('are one error for each query', async () => {
      const client = await newClient();
      const errors = await Promise.all(
        Array.from({ length: 10 }, () => errorOf(client.query('select 1 / 0'))),
      );
      assert.equal(new Set(errors).size, 10);
    });

    it('do not count as unhandled where they are handled late, in the same tick', async () => {
      const client = await newClient();
      const promise = client.query('select 1 / 0');
      const other = client.query('select 1 as one');
      promise.catch(() => {});
      assert.deepEqual((await other).rows, [{ one: 1 }]);
      assert.equal((await errorOf(promise)).code, '22012');
    });
  });

  describe('prepared statements', () => {
    it('are made at the second use of a text', async () => {
      const client = await newClient();
      const counts = [];
      for (let execution = 1; execution <= 4; ++execution) {
        await client.query('select 1 as one');
        counts.push(await countPrepared(client));
      }
      assert.deepEqual(counts, [0, 1, 1, 1]);
    });

    it('are made at the use that prepareThreshold says', async () => {
      for (const prepareThreshold of [1, 3]) {
        const client = await newClient({ prepareThreshold });
        const counts = [];
        for (let execution = 1; execution <= 4; ++execution) {
          await client.query('select 1 as one');
          counts.push(await countPrepared(client));
        }
        assert.deepEqual(counts, prepareThreshold === 1 ? [1, 1, 1, 1] : [0, 0, 1, 1]);
      }
    });

    it('are not made with prepare: false, of a client or of a query', async () => {
      const client = await newClient({ prepare: false });
      for (let n = 0; n < 5; ++n) {
        await client.query('select 1 as one');
        await client.query({ name: 'named', text: 'select 2 as two' });
      }
      assert.equal(await countPrepared(client), 0);
      await client.query({ text: 'select 1 as one', prepare: true });
      assert.equal(await countPrepared(client), 1);
      const other = await newClient();
      for (let n = 0; n < 5; ++n) await other.query({ text: 'select 1 as one', prepare: false });
      assert.equal(await countPrepared(other), 0);
    });

    it('stay within statementCacheSize, the least recently used out first', async () => {
      const client = await newClient({ statementCacheSize: 4, prepareThreshold: 1 });
      const used = (n) => client.query(`select ${n} as n`);
      for (let n = 0; n < 60; ++n) {
        await used(n);
        await used(1000);
        assert.ok((await countPrepared(client)) <= 4);
      }
      const { rows } = await client.query({
        text: "select array_agg(statement order by prepare_time) as all from pg_prepared_statements where statement like 'select %'",
        prepare: false,
      });
      assert.deepEqual(rows[0].all, [
        'select 1000 as n',
        ...['select 57 as n', 'select 58 as n', 'select 59 as n'],
      ]);
    });

    it('stay within it also when all are in flight at once', async () => {
      const client = await newClient({ statementCacheSize: 4, prepareThreshold: 1 });
      for (let round = 0; round < 5; ++round) {
        const answers = await Promise.all(
          Array.from({ length: 60 }, (_, n) => client.query(`select ${(n * 7 + round) % 20} as n`)),
        );
        for (const [n, { rows }] of answers.entries()) {
          assert.deepEqual(rows, [{ n: (n * 7 + round) % 20 }]);
        }
        assert.ok((await countPrepared(client)) <= 4);
      }
    });

    it('stay within it when others make them stale all the time', async () => {
      const client = await newClient({ statementCacheSize: 4, prepareThreshold: 1 });
      for (let round = 0; round < 20; ++round) {
        await Promise.all([
          client.query('select 1 as one'),
          client.query(`create temp table stale_${round} (n int)`),
          client.query('select 1 as one'),
          client.query('select 2 as two'),
        ]);
      }
      assert.ok((await countPrepared(client)) <= 4);
    });

    it('are none with statementCacheSize: 0', async () => {
      const client = await newClient({ statementCacheSize: 0, prepareThreshold: 1 });
      for (let n = 0; n < 3; ++n) {
        await client.query('select 1 as one');
        await client.query({ name: 'a', text: 'select 2 as two' });
      }
      assert.equal(await countPrepared(client), 0);
    });

    it('stay within statementCacheBytes', async () => {
      const client = await newClient({ statementCacheBytes: 2000, prepareThreshold: 1 });
      for (let n = 0; n < 20; ++n) await client.query(`select ${n} as n -- ${'x'.repeat(400)}`);
      assert.ok((await countPrepared(client)) <= 4);
      await client.query(`select 1 as n -- ${'x'.repeat(4000)}`);
      assert.ok((await countPrepared(client)) <= 4);
    });
  });

  describe('heals a statement', () => {
    /** Every kind of access once, until the statement is used in binary. */
    async function warmUp(one, text, values) {
      for (let execution = 1; execution <= EXECUTIONS; ++execution) await one.query(text, values);
    }

    for (const kind of ['client', 'pool']) {
      const make = () => (kind === 'pool' ? newPool({ max: 1 }) : newClient());

      it(`whose table has been altered by another connection, on a ${kind}`, async () => {
        const one = await make();
        const other = await newClient();
        await other.query('drop table if exists altered');
        await other.query('create table altered (a int)');
        await other.query('insert into altered values (1)');
        const text = 'select * from altered';
        await warmUp(one, text);
        const steps = [
          ['alter table altered add column b int', { a: 1, b: null }],
          ['alter table altered alter column a type text', { a: '1', b: null }],
          [
            'alter table altered alter column b type point using point(1, 2)',
            { a: '1', b: { x: 1, y: 2 } },
          ],
          ['alter table altered drop column b', { a: '1' }],
          ['alter table altered alter column a type int8 using 5', { a: '5' }],
          ['alter table altered rename column a to "__proto__"', null],
        ];
        for (const [ddl, row] of steps) {
          await other.query(ddl);
          for (let execution = 1; execution <= EXECUTIONS; ++execution) {
            const { rows, fields } = await one.query(text);
            if (row === null) {
              assert.deepEqual(Object.entries(rows[0]), [['__proto__', '5']]);
              continue;
            }
            assert.deepEqual(rows, [row]);
            assert.deepEqual(
              fields.map(({ name }) => name),
              Object.keys(row),
            );
          }
        }
        await other.query('drop table altered');
      });

      it(`that was dropped by DISCARD ALL or DEALLOCATE, on a ${kind}`, async () => {
        const pool = kind === 'pool' ? newPool({ max: 1 }) : undefined;
        const one = pool ?? (await newClient());
        const session = pool === undefined ? one : undefined;
        for (const text of ['discard all', 'deallocate all', 'DEALLOCATE PREPARE ALL']) {
          await warmUp(one, 'select $1::int as n', [1]);
          if (session !== undefined) {
            await session.query(text);
          } else {
            const borrowed = await pool.connect();
            await borrowed.query(text);
            borrowed.release();
          }
          for (let execution = 1; execution <= EXECUTIONS; ++execution) {
            assert.deepEqual((await one.query('select $1::int as n', [execution])).rows, [
              { n: execution },
            ]);
          }
        }
      });
    }

    it('that a function has deallocated behind our back', async () => {
      const client = await newClient();
      await warmUp(client, 'select $1::int as n', [1]);
      await client.query("do $$ begin execute 'deallocate all'; end $$");
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        assert.deepEqual((await client.query('select $1::int as n', [execution])).rows, [
          { n: execution },
        ]);
      }
    });

    it('in a pipeline with DISCARD ALL', async () => {
      const client = await newClient();
      await warmUp(client, 'select $1::int as n', [1]);
      const outcomes = await Promise.all([
        client.query('select $1::int as n', [1]),
        client.query('discard all'),
        client.query('select $1::int as n', [2]),
        client.query('select $1::int as n', [3]),
      ]);
      assert.deepEqual(
        outcomes.map(({ rows }) => rows[0]?.n),
        [1, undefined, 2, 3],
      );
    });

    it('for each of many that were in flight on a pool', async () => {
      const pool = newPool({ max: 1 });
      const other = await newClient();
      await other.query('create table busy (a int)');
      await other.query('insert into busy values (7)');
      await warmUp(pool, 'select * from busy');
      for (const type of ['text', 'float8', 'numeric', 'int']) {
        await other.query(`alter table busy alter column a type ${type} using a::${type}`);
        const answers = await Promise.all([
          ...Array.from({ length: 50 }, () => pool.query('select * from busy')),
          ...Array.from({ length: 50 }, (_, n) => pool.query('select $1::int as n', [n])),
        ]);
        const value = type === 'text' || type === 'numeric' ? '7' : 7;
        for (const { rows } of answers.slice(0, 50)) assert.deepEqual(rows, [{ a: value }]);
        for (const [n, { rows }] of answers.slice(50).entries()) assert.deepEqual(rows, [{ n }]);
      }
      assert.equal(pool.totalCount, 1);
    });

    it('but not in a transaction, where the error comes out and the next one works', async () => {
      const client = await newClient();
      const other = await newClient();
      await other.query('create table in_transaction (a int)');
      await warmUp(client, 'select * from in_transaction');
      await other.query('alter table in_transaction add column b int');
      await client.query('begin');
      assert.equal((await errorOf(client.query('select * from in_transaction'))).code, '0A000');
      assert.equal((await errorOf(client.query('select 1'))).code, '25P02');
      await client.query('rollback');
      assert.deepEqual((await client.query('select * from in_transaction')).rows, []);
    });

    it('and runs nothing twice meanwhile', async () => {
      const pool = newPool({ max: 1 });
      const other = await newClient();
      await other.query('create table once_only (a int)');
      const insert = 'insert into once_only values (1) returning *';
      await warmUp(pool, insert);
      await other.query('truncate once_only');
      await other.query('alter table once_only add column b int');
      await Promise.all(Array.from({ length: 20 }, () => pool.query(insert)));
      const { rows } = await other.query('select count(*)::int as n from once_only');
      assert.deepEqual(rows, [{ n: 20 }]);
    });
  });

  describe('of a pool, when the first to prepare a text fails', () => {
    it('each follower of the same tick gets an error of its own', async () => {
      const pool = newPool({ max: 1, prepareThreshold: 1 });
      for (const [text, code] of [
        ['select * from not_there_yet where n = $1', '42P01'],
        ['selec $1', '42601'],
        ['select no_such_function($1)', '42883'],
      ]) {
        for (let round = 0; round < 3; ++round) {
          const errors = await Promise.all([
            ...Array.from({ length: 20 }, (_, n) => errorOf(pool.query(text, [n]))),
          ]);
          assert.deepEqual(
            errors.map((error) => error.code),
            new Array(20).fill(code),
          );
          for (const error of errors) assert.equal(error.outcome, 'not-run');
          assert.equal(new Set(errors).size, 20);
          assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
        }
      }
    });

    it('and neighbours get their answers', async () => {
      const pool = newPool({ max: 1, prepareThreshold: 1 });
      const outcomes = await Promise.allSettled(
        Array.from({ length: 90 }, (_, n) =>
          n % 3 === 0
            ? pool.query('select * from nowhere where n = $1', [n])
            : pool.query('select $1::int as n', [n]),
        ),
      );
      for (const [n, { value, reason }] of outcomes.entries()) {
        if (n % 3 === 0) assert.equal(reason.code, '42P01');
        else assert.deepEqual(value.rows, [{ n }]);
      }
    });

    it('they work once the table is there', async () => {
      const pool = newPool({ max: 1, prepareThreshold: 1 });
      const text = 'select n from appears where n = $1';
      const before = await Promise.allSettled([1, 2, 3].map((n) => pool.query(text, [n])));
      assert.ok(before.every(({ reason }) => reason.code === '42P01'));
      const other = await newClient();
      await other.query('create table appears as select generate_series(1, 3) as n');
      for (let round = 0; round < 3; ++round) {
        const after = await Promise.all([1, 2, 3].map((n) => pool.query(text, [n])));
        assert.deepEqual(
          after.map(({ rows }) => rows),
          [[{ n: 1 }], [{ n: 2 }], [{ n: 3 }]],
        );
      }
      assert.ok((await countPrepared(pool)) <= 1);
    });
  });

  describe('has what pg has besides', () => {
    it('escapeIdentifier() and escapeLiteral()', async () => {
      const client = await newClient();
      await withPg(async (reference) => {
        for (const text of ['', 'a', 'a"b', "it's", 'back\\slash', '\\\'"', 'é😀']) {
          assert.equal(client.escapeIdentifier(text), reference.escapeIdentifier(text));
          assert.equal(client.escapeLiteral(text), reference.escapeLiteral(text));
          const { rows } = await client.query(`select ${client.escapeLiteral(text)} as v`);
          assert.deepEqual(rows, [{ v: text }]);
        }
      });
    });

    it('user, database, host and port', async () => {
      const client = new Client({ user: 'u', database: 'd', host: 'h', port: 1234 });
      assert.deepEqual(
        [client.user, client.database, client.host, client.port],
        ['u', 'd', 'h', 1234],
      );
      const other = new Client('postgresql://v:secret@i:4321/e');
      assert.deepEqual([other.user, other.database, other.host, other.port], ['v', 'e', 'i', 4321]);
      await Promise.all([client.end(), other.end()]);
    });

    it('unref(), with which an idle client does not keep the process alive', async () => {
      const script = `const { Client } = require(${JSON.stringify(require.resolve('..'))});
        const client = new Client(${JSON.stringify(options())});
        client.connect().then(async () => {
          console.log((await client.query('select 1 as one')).rows[0].one);
          client.unref();
        });`;
      const { stdout } = await promisify(execFile)(process.execPath, ['-e', script]);
      assert.equal(stdout, '1\n');
    });
  });
});

/** Prepared statements of a client's session, or of a pool with one connection. */
async function countPrepared(one) {
  const { rows } = await one.query({
    text: 'select count(*)::int as n from pg_prepared_statements',
    prepare: false,
  });
  return rows[0].n;
}

/** @returns {Promise<number>} a port where nobody listens */
async function freePort() {
  const server = net.createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
