'use strict';

// lib/client/client.js: one connection, from connect() to end(), with its events and other methods.
// Queries: test/query/queries.test.js; options: test/options/options.test.js.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { once } = require('node:events');
const { promisify } = require('node:util');
const { Client, ConnectionError } = require('../..');
const { connectionString, endAll, newClient, options, resetSchema } = require('../support/connect');
const { EXECUTIONS, withPg } = require('../support/like-pg');
const { called, errorOf } = require('../support/outcomes');
const { deadPort } = require('../support/ports');

/** Unlike once(), whatever errors come before. */
const ofEnd = (client) =>
  new Promise((resolve) => {
    client.once('end', resolve);
  });

describe('Client', () => {
  before(resetSchema);
  afterEach(endAll);

  describe('connect()', () => {
    it("resolves to the client, and emits 'connect'", async () => {
      const client = new Client(options());
      const events = [];
      client.on('connect', () => events.push('connect'));
      assert.equal(client.processID, 0);
      assert.equal(await client.connect(), client);
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

    it('makes earlier queries wait, and runs them in order', async () => {
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

    it('rejects the waiting queries when it fails', async () => {
      const client = new Client({
        ...options(),
        database: undefined,
        connectionString: undefined,
        host: '127.0.0.1',
        port: await deadPort(),
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

  describe('end()', () => {
    it('waits for what is in flight with the option pipeline, as in pg', async () => {
      const client = await newClient({ pipeline: true });
      let answers = 0;
      for (let n = 0; n < 50; ++n) {
        client.query('select $1::int, pg_sleep(0.001)', [n]).then(() => ++answers);
      }
      await client.end();
      assert.equal(answers, 50);
    });

    it('rejects later queries', async () => {
      const client = await newClient({ pipeline: true });
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
      const query = errorOf(client.query('select pg_sleep(0.01)'));
      await Promise.all([client.end(), client.end()]);
      await client.end();
      assert.equal(ends, 1);
      assert.equal((await query).message, 'Connection terminated');
    });

    it('takes a callback, and then returns nothing', async () => {
      const client = await newClient();
      const [error] = await called((callback) => assert.equal(client.end(callback), undefined));
      assert.equal(error, undefined);
      const [again] = await called((callback) => client.end(callback));
      assert.equal(again, undefined);
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
    it("'drain' is emitted when everything has been answered", async () => {
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
        length,
        severity,
        code,
        detail,
        hint,
        where,
        file,
        line,
        routine,
      }) => ({
        ...{ message, name, length, severity, code, detail, hint, where, file, line, routine },
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

    it('notices do not disturb other queries', async () => {
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
          assert.deepEqual({ ...actual }, { ...expected });
          assert.equal(actual.processId, sender.processID);
          assert.equal(actual.payload, payload);
        }
      });
    });

    it('notifications arrive in order, also those of the client itself, and stop after UNLISTEN', async () => {
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

    it('error and end are emitted when the server closes the connection, and queries are rejected', async () => {
      const client = await newClient();
      const killer = await newClient();
      const errors = [];
      client.on('error', (error) => errors.push(error));
      const ended = ofEnd(client);
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
      for (const [error, code] of [
        [await sleeping, '57P01'],
        [await behind, 'ECONNRESET'],
      ]) {
        assert.ok(error instanceof ConnectionError);
        assert.equal(error.code, code);
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

    it('error is emitted before end, as in pg', async () => {
      const killer = await newClient();
      const eventsOf = async (client) => {
        const events = [];
        for (const event of ['error', 'end']) client.on(event, () => events.push(event));
        await killer.query('select pg_terminate_backend($1)', [client.processID]);
        if (!events.includes('end')) await ofEnd(client);
        return [...new Set(events)];
      };
      const expected = await withPg(eventsOf);
      assert.deepEqual(await eventsOf(await newClient()), expected);
      assert.deepEqual(expected, ['error', 'end']);
    });

    it('error is emitted by an idle client, too', async () => {
      const client = await newClient();
      const killer = await newClient();
      const [[error]] = await Promise.all([
        once(client, 'error'),
        ofEnd(client),
        killer.query('select pg_terminate_backend($1)', [client.processID]),
      ]);
      assert.ok(error instanceof ConnectionError);
      assert.equal(error.cause?.code, '57P01');
    });
  });

  describe('has other members of pg:', () => {
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
      const script = `const { Client } = require(${JSON.stringify(require.resolve('../..'))});
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
