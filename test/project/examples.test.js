'use strict';

// The examples, each as a process of its own on the run's server, asked as their users would. They end
// when they are told to, and leave nothing behind. Run by mocha.

const assert = require('node:assert/strict');
const { execFile, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const { cannotRun } = require('../support/cannot-run');
const { SCHEMA, connectionString, resetSchema } = require('../support/connect');
const { Observer, applicationName, until } = require('../support/outside');
const { Program, killAll } = require('../support/program');

const EXAMPLES = path.join(__dirname, '..', '..', 'examples');
/** So that nothing of others is counted or cut: the server may be somebody's. */
const NAME = applicationName();

describe('examples', function () {
  this.timeout(60_000);

  /** @type {Observer} */
  let observer;
  /** @type {Program} */
  let program;
  let url = '';

  before(async () => {
    observer = await Observer.open();
  });
  after(() => observer.client.end());
  afterEach(killAll);

  /** @param {string[]} args @param {Record<string, string>} [env] */
  function run([file, ...args], env) {
    const ours = { PG_CONDUIT_DATABASE_URL: connectionString(), PGAPPNAME: NAME };
    return new Program([path.join(EXAMPLES, file), ...args], { env: { ...ours, ...env } });
  }

  /** @param {string} file that serves */
  async function serve(file) {
    program = run([file]);
    [, url] = await program.printed(/listening on (\S+)/);
  }

  /** @returns {Promise<[status: number, body: any]>} */
  async function ask(method, where, body) {
    const response = await fetch(url + where, {
      method,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return [response.status, await response.json()];
  }

  /** The commands that it prints. @returns {Promise<any[]>} the answers */
  async function tryOut() {
    const commands = program.output.match(/(?<=^ {2})curl .*$/gm) ?? [];
    const answers = [];
    for (const command of commands) {
      const { stdout, stderr } = await promisify(execFile)('sh', ['-c', `${command} -sSf`]);
      assert.equal(stderr, '');
      answers.push(JSON.parse(stdout));
    }
    return answers;
  }

  /** It ends as a service does: its schema is gone, and no connection is left. */
  async function stop(schema) {
    await program.stop();
    const schemas = await observer.ask('select 1 from pg_namespace where nspname = $1', [schema]);
    assert.deepEqual(schemas, []);
  }

  it('express: transfers all of an amount or nothing, and reports what is wrong', async () => {
    await serve('express/server.js');
    const transfer = (from, to, amount) => ask('POST', '/transfers', { from, to, amount });
    assert.equal((await transfer('ada', 'grace', 60))[0], 201);
    assert.deepEqual(await ask('GET', '/accounts/ada'), [200, { name: 'ada', balance: 40 }]);
    assert.deepEqual(await transfer('ada', 'grace', 60), [409, { error: 'not enough money' }]);
    assert.deepEqual(await transfer('ada', 'nobody', 1), [404, { error: 'no such account' }]);
    assert.equal((await transfer('ada', 'grace', -1))[0], 400);
    assert.deepEqual(await transfer('ada', 'grace', 1e99), [400, { error: 'bad values' }]);
    assert.equal((await ask('GET', '/accounts/nobody'))[0], 404);
    const transfers = Array.from({ length: 40 }, (_, i) =>
      i % 2 ? transfer('ada', 'grace', 1) : transfer('grace', 'ada', 1),
    );
    for (const [status] of await Promise.all(transfers)) assert.equal(status, 201);
    assert.deepEqual(await ask('GET', '/accounts/grace'), [200, { name: 'grace', balance: 60 }]);
    await stop('conduit_express');
  });

  it('fastify: lists and adds books, and validates them', async () => {
    await serve('fastify/server.js');
    const [, { total, books }] = await ask('GET', '/books?from=1950');
    assert.equal(total, 2);
    assert.deepEqual(books[0], {
      id: 2,
      title: 'Computing Machinery and Intelligence',
      year: 1950,
    });
    const book = { title: 'Structure and Interpretation of Computer Programs', year: 1985 };
    assert.deepEqual(await ask('POST', '/books', book), [201, { id: 4 }]);
    assert.equal((await ask('POST', '/books', book))[0], 409);
    assert.equal((await ask('POST', '/books', { title: '' }))[0], 400);
    assert.equal((await ask('GET', '/books?from=nonsense'))[0], 400);
    await stop('conduit_fastify');
  });

  it('nextjs-handler: has one pool, whichever modules are reloaded', async () => {
    await serve('nextjs-handler/server.js');
    for (let i = 1; i <= 20; ++i) {
      assert.deepEqual(await ask('POST', '/api/notes', { body: `${i}` }), [
        201,
        { id: i, body: `${i}` },
      ]);
    }
    const lists = await Promise.all(Array.from({ length: 20 }, () => ask('GET', '/api/notes')));
    for (const [status, notes] of lists) assert.deepEqual([status, notes.length], [200, 20]);
    const [{ connections }] = await observer.ask(
      `select count(*)::int as connections from pg_stat_activity where application_name = 'nextjs-handler'`,
    );
    assert.ok(connections >= 1 && connections <= 4, `${connections} connections`);
    assert.equal((await ask('POST', '/api/notes', {}))[0], 400);
    assert.equal((await ask('GET', '/'))[0], 404);
    await stop('conduit_nextjs');
  });

  it('worker-threads: computes in other threads, and serves requests meanwhile', async () => {
    await serve('worker-threads/server.js');
    const [first, second, [, count]] = await Promise.all([
      ask('GET', '/statistics?sensor=0'),
      ask('GET', '/statistics?sensor=1'),
      ask('GET', '/'),
    ]);
    assert.deepEqual(count, { readings: 40_000 });
    for (const [status, { readings, deviation }] of [first, second]) {
      assert.deepEqual([status, readings], [200, 10_000]);
      assert.ok(Math.abs(deviation - 100 / Math.SQRT2) < 1); // of a sine
    }
    assert.notEqual(first[1].threadId, second[1].threadId);
    await stop('conduit_threads');
  });

  it('cluster: processes share a port, have two connections each, and are replaced when they die', async () => {
    await serve('cluster/server.js');
    const [, processes] = await program.printed(/in (\d+) processes/);
    const visits = await Promise.all(Array.from({ length: 100 }, () => ask('GET', '/')));
    assert.deepEqual(
      visits.map(([, answer]) => answer.visits).sort((a, b) => a - b),
      Array.from({ length: 100 }, (_, i) => i + 1),
    );
    const pids = new Set(visits.map(([, answer]) => answer.process));
    assert.ok(pids.size > 1, `${pids.size} processes`);
    const [{ connections }] = await observer.ask(
      'select count(*)::int as connections from pg_stat_activity where application_name = $1',
      [NAME],
    );
    assert.ok(connections <= 2 * Number(processes), `${connections} connections`);
    assert.equal((await ask('GET', '/elsewhere'))[0], 404);
    const [dead] = pids;
    process.kill(dead, 'SIGKILL');
    await program.printed(new RegExp(`process ${dead} has ended by SIGKILL`));
    assert.equal((await ask('GET', '/'))[1].visits, 101);
    await stop('conduit_cluster');
  });

  describe('print commands to try, which work as printed', () => {
    for (const [file, schema, answers] of [
      [
        'express/server.js',
        'conduit_express',
        [
          { name: 'ada', balance: 100 },
          { from: 'ada', to: 'grace', amount: 60 },
        ],
      ],
      [
        'fastify/server.js',
        'conduit_fastify',
        [
          {
            total: 2,
            books: [
              { id: 2, title: 'Computing Machinery and Intelligence', year: 1950 },
              { id: 3, title: 'The Art of Computer Programming', year: 1968 },
            ],
          },
          { id: 4 },
        ],
      ],
      [
        'nextjs-handler/server.js',
        'conduit_nextjs',
        [{ id: 1, body: 'hello' }, [{ id: 1, body: 'hello' }]],
      ],
    ]) {
      it(file, async function () {
        if (spawnSync('curl', ['--version']).error) cannotRun(this, 'there is no curl');
        await serve(file);
        await program.printed(/curl .*\n.*curl .*\n/);
        assert.deepEqual(await tryOut(), answers);
        await stop(schema);
      });
    }
  });

  it('compare: lists its options, and does no more, with --help', async () => {
    const output = await run(['written-for-pg/compare.js', '--help']).toEnd();
    assert.match(output, /^npm run compare .*\n {2}--seconds N /);
    const mistaken = run(['written-for-pg/compare.js', '--seconds', 'many']);
    assert.deepEqual((await mistaken.closed)[0], 2);
    assert.match(mistaken.errors, /--seconds is "many": give a number above 0\n\nnpm run compare/);
  });

  describe('csv-import', () => {
    let folder = '';

    beforeEach(async () => {
      folder = fs.mkdtempSync(path.join(os.tmpdir(), 'csv-test-'));
      await resetSchema();
    });
    afterEach(() => fs.rmSync(folder, { recursive: true }));

    /** @param {string} text of the file */
    function load(text) {
      const file = path.join(folder, 'given.csv');
      fs.writeFileSync(file, text);
      const env = { PGOPTIONS: `-c search_path=${SCHEMA}` };
      return run(['csv-import/import.js', file, 'loaded'], env);
    }

    it('loads a file into a table with its columns', async () => {
      const output = await load('id, the note\n1,"a, b"\n2,\n').toEnd();
      assert.match(output, /2 rows into "loaded" in [\d.]+ s/);
      const rows = await observer.ask(`select * from ${SCHEMA}.loaded order by id`);
      assert.deepEqual(rows, [
        { id: '1', 'the note': 'a, b' },
        { id: '2', 'the note': null },
      ]);
    });

    it('reports the invalid line, and commits nothing', async () => {
      const failed = load('id,note\n1,a\n2,b,c\n');
      const [exitCode] = await failed.closed;
      assert.equal(exitCode, 1);
      assert.match(failed.errors, /extra data after last expected column.*line 3/);
      assert.deepEqual(await observer.ask(`select to_regclass('${SCHEMA}.loaded') as it`), [
        { it: null },
      ]);
    });

    it('commits nothing when it is interrupted', async () => {
      const stopped = load(`id,note\n${'1,a\n'.repeat(10_000_000)}`);
      await until('it copies', async () => {
        const copies = await observer.ask(
          `select 1 from pg_stat_progress_copy join pg_stat_activity using (pid)
           where application_name = $1`,
          [NAME],
        );
        return copies.length > 0;
      });
      stopped.child.kill('SIGTERM');
      const [exitCode] = await stopped.closed;
      assert.equal(exitCode, 1, stopped.output);
      assert.match(stopped.errors, /aborted.*Nothing of it was kept/s);
      assert.deepEqual(await observer.ask(`select to_regclass('${SCHEMA}.loaded') as it`), [
        { it: null },
      ]);
    });
  });

  describe('server-sent-events', () => {
    /** What a browser has got so far. */
    class Listener {
      text = '';

      /** @param {Record<string, string>} [headers] */
      async open(headers) {
        this.response = await fetch(`${url}/events`, { headers });
        this.ended = (async () => {
          const decoder = new TextDecoder();
          for await (const chunk of this.response.body) this.text += decoder.decode(chunk);
        })();
        return this;
      }

      get messages() {
        return [...this.text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data));
      }

      /** @param {number} count */
      async has(count) {
        await until(`${count} messages are there`, () => this.messages.length >= count);
        return this.messages;
      }
    }

    it('sends each message once to every reader, also those that a reader has missed', async () => {
      await serve('server-sent-events/server.js');
      const send = (body) => fetch(`${url}/messages`, { method: 'POST', body });
      assert.match(await (await fetch(url)).text(), /EventSource/);
      // Whose connection is kept comes again on it, and the server never ends.
      const kept = await new Listener().open();
      assert.equal(kept.response.headers.get('connection'), 'close');
      const listeners = await Promise.all([new Listener().open(), new Listener().open()]);
      assert.equal((await send('one\ntwo')).status, 204);
      for (const listener of listeners) assert.deepEqual(await listener.has(1), ['one\ntwo']);

      const bodies = Array.from({ length: 50 }, (_, i) => `message ${i}`);
      await Promise.all(bodies.map(send));
      for (const listener of listeners) {
        const messages = (await listener.has(51)).slice(1);
        assert.deepEqual([...messages].sort(), [...bodies].sort());
      }
      // A browser that comes again says what it had last.
      const again = await new Listener().open({ 'last-event-id': '49' });
      assert.deepEqual(await again.has(2), listeners[0].messages.slice(49));

      // The server's connection is cut, and what comes meanwhile is not missed.
      const cut = await observer.ask(
        `select pg_terminate_backend(pid) as it from pg_stat_activity
         where query ilike 'listen%' and application_name = $1`,
        [NAME],
      );
      assert.deepEqual(cut, [{ it: true }]);
      await send('meanwhile');
      await until('it came', () => again.messages.includes('meanwhile'));
      program.child.kill('SIGTERM');
      await Promise.all([kept, ...listeners, again].map(({ ended }) => ended));
      const [exitCode] = await program.closed;
      assert.equal(exitCode, 0, program.errors);
    });
  });
});
