'use strict';

// What `pg` calls submittables: its Query, pg-cursor, pg-query-stream. Each scenario is run on a
// client of `pg` and on one of ours, and both must report the same in the same order.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { setTimeout: delay } = require('node:timers/promises');
const { finished } = require('node:stream/promises');
const pg = require('pg');
const Cursor = require('pg-cursor');
const QueryStream = require('pg-query-stream');
const conduit = require('../..');
const { options } = require('../support/connect');
const { observeServer, until } = require('../support/outside');

const DRIVERS = { pg, conduit };

/** @type {any[]} */
let opened = [];

/** @param {typeof pg | typeof conduit} driver @param {Record<string, any>} [given] */
async function connect(driver, given) {
  const client = new driver.Client(options(given));
  opened.push(client);
  // Where a test cuts the connection.
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function endAll() {
  const clients = opened;
  opened = [];
  await Promise.all(clients.map((client) => client.end().catch(() => {})));
}

/** What tells of an error in both. */
const nameError = ({ code, message }) =>
  code === undefined || code.startsWith('ERR_') ? message : code;

/**
 * @param {(context: { client: any, driver: any, log: any[] }) => Promise<any>} scenario
 * @param {Record<string, any>} [given]
 */
async function sameInBoth(scenario, given) {
  const logs = {};
  for (const [name, driver] of Object.entries(DRIVERS)) {
    const log = [];
    const client = await connect(driver, given);
    await scenario({ client, driver, log });
    // Whatever has happened, it can be used.
    const { rows } = await client.query('select 1 as usable');
    log.push(rows[0]);
    logs[name] = log;
  }
  assert.deepEqual(logs.conduit, logs.pg);
  return logs.pg;
}

/**
 * @param {any} query of either driver
 * @param {any[]} log gets its events
 * @returns {Promise<void>} when it has ended or failed
 */
function logEvents(query, log, name = '') {
  return new Promise((resolve) => {
    query.on('row', (row) => log.push(`${name}row ${JSON.stringify(row)}`));
    query.on('error', (error) => {
      log.push(`${name}error ${nameError(error)}`);
      resolve();
    });
    query.on('end', (result) => {
      for (const { command, rowCount, rows, fields } of [result].flat()) {
        const names = fields.map((field) => field.name);
        // In pages, pg has the count of the last one.
        const count = query.rows ? 'any' : rowCount;
        log.push([`${name}end`, command, count, rows.length, names]);
      }
      resolve();
    });
  });
}

const ERRORS = {
  'in its text': ['select nonsense'],
  'in its syntax': ['selekt 1'],
  'in a value': ['select $1::int', ['x']],
  'in the middle of its rows': ['select 1 / (3 - i) from generate_series(1, 5) i'],
  'at its commit': ['insert into deferred values (1), (1)'],
};

describe('a submittable', () => {
  const observer = observeServer();

  before(() => observer.makeTable('deferred', 'i int unique deferrable initially deferred'));
  beforeEach(() => observer.makeTable('written', 'i int'));
  afterEach(endAll);

  describe('that is a Query', () => {
    const queryOf = (driver, ...args) => new driver.Query(...args);

    for (const [name, args] of Object.entries({
      'a text': ['select i from generate_series(1, 3) i'],
      values: ['select $1::int as i, $2::text as t', [1, 'x']],
      'rows as arrays': [{ text: "select 1 as a, now() > '2020-01-01' as b", rowMode: 'array' }],
      'a page at a time': [{ text: 'select i from generate_series(1, 7) i', rows: 3 }],
      'full pages': [{ text: 'select i from generate_series(1, 6) i', rows: 3 }],
      'no rows': ['select 1 where false'],
      'a statement without rows': ['insert into written values ($1), (2)', [1]],
      'an empty text': [''],
      'several statements': ['select 1 as a; insert into written values (1); select 2 as b'],
      'NULL, dates and bytes': ["select null as n, '2020-01-01'::date as d, '\\x00ff'::bytea as b"],
    })) {
      it(`reports by events: ${name}`, async () => {
        await sameInBoth(async ({ client, driver, log }) => {
          const query = queryOf(driver, ...args);
          assert.equal(client.query(query), query);
          await logEvents(query, log);
        });
      });
    }

    it('calls back with all rows', async () => {
      await sameInBoth(async ({ client, driver, log }) => {
        for (const args of [
          ['select i from generate_series(1, 3) i'],
          ['select $1::int as i', [1]],
          [{ text: 'select 1 as i; select 2 as i' }],
          ['select 1 / 0'],
        ]) {
          await new Promise((resolve) => {
            client.query(
              queryOf(driver, ...args, (error, result) => {
                log.push(error ? nameError(error) : [result].flat().map(({ rows }) => rows));
                resolve();
              }),
            );
          });
          // The callback beside it.
          await new Promise((resolve) => {
            client.query(queryOf(driver, ...args), (error, result) => {
              log.push(error ? nameError(error) : [result].flat().map(({ rows }) => rows));
              resolve();
            });
          });
        }
      });
    });

    it('may have a name, for one text only', async () => {
      await sameInBoth(async ({ client, driver, log }) => {
        for (const [text, value] of [
          ['select $1::int as i', 1],
          ['select $1::int as i', 2],
          ['select $1::text as t', 3],
        ]) {
          const query = queryOf(driver, { name: 'one', text, values: [value] });
          client.query(query);
          await logEvents(query, log);
        }
      });
    });

    it('fails without a text, and with values that are not an array', async () => {
      await sameInBoth(async ({ client, driver, log }) => {
        for (const config of [{}, { text: 'select $1', values: 'x' }]) {
          const query = queryOf(driver, config);
          const ended = logEvents(query, log);
          client.query(query);
          await ended;
        }
      });
    });

    for (const [where, args] of Object.entries(ERRORS)) {
      it(`reports an error ${where}`, async () => {
        await sameInBoth(async ({ client, driver, log }) => {
          const query = queryOf(driver, { text: args[0], values: args[1] });
          client.query(query);
          const events = [];
          await logEvents(query, events);
          // Of the rows before it we give whole batches only.
          log.push(events.filter((event) => !String(event).startsWith('row')));
        });
        // With pages, pg waits for ever.
        const client = await connect(conduit);
        const query = queryOf(conduit, { text: args[0], values: args[1], rows: 2 });
        client.query(query);
        const log = [];
        await logEvents(query, log);
        assert.match(log.at(-1), /^error /);
        assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
      });
    }

    it('uses the parsers of its client, and its own', async () => {
      const shout = { getTypeParser: () => (text) => `shout ${text}` };
      await sameInBoth(async ({ client, driver, log }) => {
        client.setTypeParser(23, (text) => `client ${text}`);
        for (const types of [undefined, shout]) {
          const query = queryOf(driver, { text: 'select 1 as i; select 2 as j', types });
          client.query(query);
          await logEvents(query, log);
        }
        const cursor = client.query(new Cursor('select 3 as k'));
        log.push(await cursor.read(10));
        await cursor.close();
      });
      const client = await connect(conduit, { int8: 'number' });
      const query = client.query(new conduit.Query('select 1::int8 as i'));
      assert.deepEqual(await once(query, 'row').then(([row]) => row), { i: 1 });
    });

    it('reports an error thrown by a parser', async () => {
      await sameInBoth(async ({ client, driver, log }) => {
        client.setTypeParser(23, () => {
          throw new Error('cannot parse');
        });
        const query = queryOf(driver, 'select i from generate_series(1, 3) i');
        client.query(query);
        await logEvents(query, log);
        client.setTypeParser(23, Number);
      });
    });
  });

  describe('that is a cursor', () => {
    it('reads the given number of rows at a time, to the end and beyond', async () => {
      await sameInBoth(async ({ client, log }) => {
        for (const size of [2, 3, 6, 100]) {
          const cursor = client.query(new Cursor('select generate_series(1, $1) as i', [6]));
          for (let i = 0; i < 5; ++i) log.push((await cursor.read(size)).map((row) => row.i));
          await cursor.close();
        }
      });
    });

    it('runs statements without rows, with their results', async () => {
      await sameInBoth(async ({ client, log }) => {
        const cursor = client.query(new Cursor('insert into written values (1), (2)'));
        const [rows, { command, rowCount }] = await new Promise((resolve, reject) => {
          cursor.read(1, (error, ...args) => (error ? reject(error) : resolve(args)));
        });
        log.push([rows, command, rowCount]);
        await cursor.close();
      });
      assert.equal((await observer.rowsOf('written')).length, 4);
    });

    for (const [where, args] of Object.entries(ERRORS)) {
      it(`reports an error ${where}`, async () => {
        const scenario = async ({ client, log }) => {
          const cursor = client.query(new Cursor(...args));
          const read = () =>
            cursor.read(10).then(
              (rows) => log.push(rows.length),
              (error) => log.push(nameError(error)),
            );
          await read();
          await read();
        };
        // There, pg-cursor on pg never answers.
        if (where !== 'at its commit') await sameInBoth(scenario);
        // There, pg waits for whatever comes next.
        const client = await connect(conduit);
        const cursor = client.query(new Cursor(...args));
        await assert.rejects(cursor.read(10));
        await cursor.close();
      });
    }

    it('closed early does not fail its transaction', async () => {
      await sameInBoth(async ({ client, log }) => {
        await client.query('truncate written');
        await client.query('begin');
        await client.query('insert into written values (1)');
        const cursor = client.query(new Cursor('select generate_series(1, 100000) as i'));
        log.push((await cursor.read(3)).length);
        await cursor.close();
        await client.query('insert into written values (2)');
        const { command } = await client.query('commit');
        log.push(command, (await client.query('select * from written order by i')).rows);
      });
    });

    it('closed at once, or twice, does not block other queries', async () => {
      await sameInBoth(async ({ client, log }) => {
        const cursor = client.query(new Cursor('select generate_series(1, 100000) as i'));
        const closed = cursor.close();
        const asked = client.query('select 2 as two');
        await closed;
        await cursor.close();
        log.push((await asked).rows, await cursor.read(1));
      });
    });
  });

  describe('that is a stream', () => {
    it('gives all rows, in objects and in arrays', async () => {
      await sameInBoth(async ({ client, log }) => {
        for (const rowMode of [undefined, 'array']) {
          const stream = client.query(
            new QueryStream('select i, i::text as t from generate_series(1, $1) i', [250], {
              rowMode,
              batchSize: 100,
            }),
          );
          log.push(await stream.toArray());
        }
      });
    });

    it('may be destroyed or left in the middle', async () => {
      await sameInBoth(async ({ client, log }) => {
        for await (const row of client.query(
          new QueryStream('select generate_series(1, 100000) as i', [], { batchSize: 10 }),
        )) {
          log.push(row);
          if (row.i === 25) break;
        }
        const stream = client.query(new QueryStream('select generate_series(1, 100000) as i'));
        await once(stream, 'readable');
        stream.destroy(new Error('no more'));
        await finished(stream).catch((error) => log.push(error.message));
      });
    });

    it('is destroyed by an error', async () => {
      await sameInBoth(async ({ client, log }) => {
        for (const [where, args] of Object.entries(ERRORS)) {
          if (where === 'at its commit') continue;
          await client
            .query(new QueryStream(...args))
            .toArray()
            .catch((error) => log.push(nameError(error)));
        }
      });
      // On pg it does not end.
      const client = await connect(conduit);
      const stream = client.query(new QueryStream(...ERRORS['at its commit']));
      await assert.rejects(stream.toArray(), { code: '23505' });
    });

    it('stops the server while it is not read', async () => {
      const client = await connect(conduit);
      const text = `select generate_series(1, 1000000) as i, repeat('x', 200) as t`;
      const before = process.memoryUsage.rss();
      const stream = client.query(new QueryStream(text));
      let count = 0;
      for await (const { i } of stream) {
        assert.equal(i, ++count);
        if (count === 50_000) {
          await until('the server waits for us', async () => {
            const rows = await observer.ask(
              "select from pg_stat_activity where query = $1 and wait_event = 'ClientWrite'",
              [text],
            );
            return rows.length > 0;
          });
          break;
        }
      }
      // All of it would be 200 MB and more.
      const grown = process.memoryUsage.rss() - before;
      assert.ok(grown < 100 << 20, `${grown >> 20} MB`);
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
    });
  });

  it('runs in the order of the calls, among other queries', async () => {
    await sameInBoth(async ({ client, driver, log }) => {
      const done = (name) => log.push(name);
      const cursor = new Cursor('select generate_series(1, 5) as i');
      const stream = new QueryStream('select generate_series(1, 300) as i');
      const first = new driver.Query('select 1 as i; select 2 as i');
      const second = new driver.Query({ text: 'select generate_series(1, 5) as i', rows: 2 });
      const failing = new driver.Query('select 1 / 0');
      const asked = [
        client.query('select 1').then(() => done('text')),
        logEvents(client.query(first), log, 'first '),
        client.query('select $1::int', [1]).then(() => done('values')),
        (async () => {
          client.query(cursor);
          done(['cursor', await cursor.read(2)]);
          await cursor.close();
        })(),
        logEvents(client.query(failing), log, 'failing '),
        client
          .query(stream)
          .toArray()
          .then((rows) => assert.equal(rows.length, 300)),
        logEvents(client.query(second), log, 'second '),
        client.query('select 3 as three').then(({ rows }) => done(rows)),
      ];
      await Promise.all(asked);
    });
  });

  it('gets an error when its connection is lost, as do those behind it', async () => {
    const client = await connect(conduit);
    const [{ pid }] = (await client.query('select pg_backend_pid() as pid')).rows;
    const log = [];
    const cursor = client.query(new Cursor('select pg_sleep(60)'));
    const asked = [
      cursor.read(1).catch((error) => log.push(['cursor', error.outcome])),
      client
        .query(new QueryStream('select 1'))
        .toArray()
        .catch((error) => log.push(['stream', error.outcome])),
      client.query('select 1').catch((error) => log.push(['text', error.outcome])),
      new Promise((resolve) => {
        client.query(new conduit.Query('select 1')).on('error', (error) => {
          log.push(['query', error.outcome]);
          resolve();
        });
      }),
    ];
    await observer.untilAsleep(pid);
    await observer.terminate(pid);
    await Promise.all(asked);
    assert.deepEqual(log.sort(), [
      ['cursor', 'unknown'],
      ['query', 'not-run'],
      ['stream', 'not-run'],
      ['text', 'not-run'],
    ]);
    await cursor.close();
    await client.end();
  });

  it('gets an error when its client has already ended', async () => {
    const client = await connect(conduit);
    await client.end();
    const query = new conduit.Query('select 1');
    const [error] = await once(client.query(query), 'error').catch((reason) => [reason]);
    assert.equal(error.outcome, 'not-run');
    await assert.rejects(client.query(new QueryStream('select 1')).toArray());
    const cursor = client.query(new Cursor('select 1'));
    await assert.rejects(cursor.read(1));
  });

  it('whose listener throws raises an uncaught exception, and the client continues', async () => {
    const client = await connect(conduit);
    const listeners = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    const thrown = once(process, 'uncaughtException');
    const query = new conduit.Query('select 1 as i');
    query.on('row', () => {
      throw new Error('thrown by a listener');
    });
    client.query(query);
    const [error] = await thrown;
    for (const listener of listeners) process.on('uncaughtException', listener);
    assert.match(error.message, /thrown by a listener/);
    await delay(0);
    assert.deepEqual((await client.query('select 2 as two')).rows, [{ two: 2 }]);
  });
});
