'use strict';

// query() of lib/client/client.js: the forms of its arguments, its results, transactions, and what
// it refuses. What it does like `pg` is compared with `pg` itself.

const assert = require('node:assert/strict');
const { ConduitError, StatementRefusedError, Client } = require('../..');
const { endAll, newClient, options, resetSchema } = require('../support/connect');
const { EXECUTIONS, withPg } = require('../support/like-pg');
const { called, errorOf } = require('../support/outcomes');
const { deadPort } = require('../support/ports');

describe('Client', () => {
  before(resetSchema);
  afterEach(endAll);

  describe('query()', () => {
    it('waits until the client is connected, up to its time limit', async () => {
      const client = new Client(options());
      const late = errorOf(client.query({ text: 'select 1', query_timeout: 1 }));
      const waiting = [
        client.query('create temp table early (n int)'),
        client.query('insert into early values ($1)', [1]),
        client.batch(['insert into early values (2)', 'select count(*)::int as n from early']),
        client.transaction((tx) => tx.query('insert into early values (3)')),
      ];
      const beside = errorOf(client.query('insert into early values (4)'));
      assert.equal((await late).message, 'Query read timeout');
      assert.equal((await late).outcome, 'not-run');
      await client.connect();
      assert.deepEqual((await waiting[2])[1].rows, [{ n: 2 }]);
      await waiting[3];
      assert.match((await beside).message, /^a transaction is open on this client/);
      assert.deepEqual(
        (await client.query('select array_agg(n order by n) as all from early')).rows,
        [{ all: [1, 2, 3] }],
      );
      await client.end();
    });

    it('is rejected with the reason when the client cannot connect', async () => {
      const client = new Client({ host: '127.0.0.1', port: await deadPort(), user: 'nobody' });
      const early = errorOf(client.query('select 1'));
      const error = await errorOf(client.connect());
      assert.equal(error.code, 'ECONNREFUSED');
      assert.equal((await early).message, error.message);
      assert.equal((await early).outcome, 'not-run');
      assert.notEqual(await early, error);
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

    it('calls back with the error only', async () => {
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

    it('refuses several statements in one text that has values, and runs none of them', async () => {
      const client = await newClient();
      await client.query('create temp table several (n int)');
      const text = 'insert into several values ($1); insert into several values (2)';
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        assert.equal((await errorOf(client.query(text, [1]))).code, '42601');
      }
      const { rows } = await client.query('select count(*)::int as n from several');
      assert.deepEqual(rows, [{ n: 0 }]);
    });

    it('runs a transaction whose statements are sent without waiting for each other', async () => {
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

    it('rejects the statements after an error in a transaction, up to its end', async () => {
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

    it('refuses COPY FROM STDIN and TO STDOUT, and continues', async () => {
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

    it('allows statements that change the session', async () => {
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
});
