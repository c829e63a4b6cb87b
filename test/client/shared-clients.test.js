'use strict';

// Clients without a pool that share connections (the option `multiplex`) are as a client of `pg`: each script runs on
// that, on a client of ours that is alone on its connection, and on one that shares connections with two others.
// How many connections there are: test/client/shared-connections.test.js.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { setTimeout: delay } = require('node:timers/promises');
const pg = require('pg');
const Cursor = require('pg-cursor');
const QueryStream = require('pg-query-stream');
const { Client, Query } = require('../..');
const { options, SCHEMA } = require('../support/connect');
const { describeResult } = require('../support/like-pg');
const { until } = require('../support/outside');
const { connectAll, makeClient, useSharedClients } = require('../support/shared-clients');

const THING = `select name from ${SCHEMA}.things where id = $1`;

/** @param {Promise<any>} promise */
const outcomeOf = (promise) =>
  promise.then(
    (result) => (Array.isArray(result) ? result.map(described) : described(result)),
    ({ code, message }) => (code === undefined || code.startsWith('ERR_') ? message : code),
  );

/** Without the number of the table: each run makes its own. @param {any} result */
function described(result) {
  const { fields, ...others } = describeResult(result);
  return { ...others, fields: fields.map((field) => ({ ...field, tableID: undefined })) };
}

/** @param {any} client @param {string[]} texts */
async function each(client, texts) {
  const outcomes = [];
  for (const text of texts) outcomes.push(await outcomeOf(client.query(text)));
  return outcomes;
}

/**
 * What a client of `pg` and one of ours both can, and what comes out: the same for both.
 * @type {Record<string, (client: any, driver: any) => Promise<any>>}
 */
const SCRIPTS = {
  'reads that float, again and again': async (client) => {
    const results = [];
    for (let i = 0; i < 8; ++i) {
      results.push(describeResult(await client.query(THING, [1 + (i % 3)])));
      results.push(
        describeResult(await client.query({ text: 'select 1 as one', rowMode: 'array' })),
      );
    }
    return results;
  },
  'statements that are not awaited, in their order': async (client) => {
    const texts = ['select 1 as one', 'begin', 'insert into things values (7)', 'select 1 as one'];
    const all = [
      ...texts,
      'select count(*) from things',
      'rollback',
      'select count(*) from things',
    ];
    return Promise.all(all.map((text) => outcomeOf(client.query(text))));
  },
  'errors, inside and outside of a transaction': (client) =>
    each(client, [
      'select 1 / 0',
      'select nothing',
      'begin',
      'select 1 / 0',
      'select 1 as one',
      'rollback',
      'select 1 as one',
      'selec 1',
      'insert into things values (1)',
      'select 1; select 1 / 0; select 2',
    ]),
  'a session of its own: settings, temporary tables, prepared statements, cursors, sequences': (
    client,
  ) =>
    each(client, [
      "set app.tenant = 'mine'",
      "select current_setting('app.tenant', true) as tenant",
      'create temporary table mine (i int)',
      'insert into mine values (1), (2) returning i',
      'select * from mine',
      'prepare doubled (int) as select $1 * 2 as twice',
      'execute doubled (4)',
      'begin',
      'declare one cursor for select 1 as one',
      'fetch one',
      'commit',
      "select nextval('counted')",
      "select currval('counted') = lastval() as same",
      'select pg_advisory_lock(5)',
      'select pg_advisory_unlock(5) as held, pg_advisory_unlock(6) as not_held',
      'show app.tenant',
      'reset all',
      'show app.tenant',
    ]),
  'named statements, whose names are its own': async (client) => {
    const outcomes = [];
    for (let i = 0; i < 3; ++i) {
      const read = { name: 'thing', text: THING, values: [i] };
      outcomes.push(await outcomeOf(client.query(read)));
    }
    return [...outcomes, await outcomeOf(client.query({ name: 'thing', text: 'select 1' }))];
  },
  'callbacks, also of connect() and end()': async (client) => {
    const [error, { rows }] = await new Promise((resolve) => {
      client.query(THING, [1], (...given) => resolve(given));
    });
    const failure = await new Promise((resolve) => {
      client.query('select 1 / 0', resolve);
    });
    const ended = await new Promise((resolve) => {
      client.end((...given) => resolve(given.length));
    });
    return [error, rows, failure.code, ended];
  },
  'notices, as long as somebody listens': async (client) => {
    const notices = [];
    const listener = ({ message, severity }) => notices.push(`${severity} ${message}`);
    await client.query('select noticed(0)');
    client.on('notice', listener);
    for (let i = 1; i < 4; ++i) await client.query('select noticed($1)', [i]);
    await delay(0);
    client.off('notice', listener);
    await client.query('select noticed(9)');
    return notices;
  },
  notifications: async (client) => {
    await client.query('listen somewhere');
    const [notified] = await Promise.all([
      once(client, 'notification'),
      client.query("notify somewhere, 'hello'"),
    ]);
    const [{ channel, payload, processId }] = notified;
    return [channel, payload, processId === client.processID];
  },
  'its process id': async (client) => {
    const { rows } = await client.query('select pg_backend_pid() as pid');
    const again = await client.query('select pg_backend_pid() as pid');
    return [rows[0].pid === client.processID, again.rows[0].pid === client.processID];
  },
  "'drain' and 'end'": async (client) => {
    const events = [];
    const drained = once(client, 'drain');
    for (const event of ['drain', 'end']) client.on(event, () => events.push(event));
    await client.query(THING, [1]);
    await drained;
    await client.end();
    await delay(1);
    return [...new Set(events)];
  },
  'parsers of its own': async (client) => {
    client.setTypeParser(23, (text) => `int ${text}`);
    const { rows } = await client.query('select 1 as one, array[1]::int[] as many');
    return rows;
  },
  'Query, pg-cursor and pg-query-stream': async (client, driver) => {
    const query = client.query(new driver.Query('select i from generate_series(1, 5) i'));
    const rows = [];
    query.on('row', (row) => rows.push(row.i));
    await once(query, 'end');
    const cursor = client.query(new Cursor('select i from generate_series(1, 9) i'));
    const some = await cursor.read(4);
    await cursor.close();
    for await (const { i } of client.query(
      new QueryStream('select i from generate_series(1, 3) i'),
    )) {
      rows.push(i);
    }
    return [rows, some, describeResult(await client.query('select 1 as one'))];
  },
  'connect() and end() once more, and queries behind the end': async (client) => {
    const again = await outcomeOf(client.connect());
    const read = client.query(THING, [1]).then(({ rows }) => rows);
    await client.query('select 1 as one');
    await client.end();
    return [again, await read, await outcomeOf(client.query('select 1'))];
  },
};

describe('A client that shares connections is as one of pg:', function () {
  this.timeout(30_000);

  const { observer } = useSharedClients();

  before(async () => {
    await observer.ask(`create table ${SCHEMA}.things (id int primary key, name text)`);
    await observer.ask(
      `insert into ${SCHEMA}.things select i, 'thing ' || i from generate_series(1, 3) i`,
    );
    await observer.ask(`create sequence ${SCHEMA}.counted`);
    await observer.ask(`create function ${SCHEMA}.noticed(i int) returns int language plpgsql as
      $$ begin raise notice 'number %', i; return i; end $$`);
  });
  beforeEach(() => observer.ask(`alter sequence ${SCHEMA}.counted restart`));

  /** @param {(client: any, driver: any) => Promise<any>} script */
  async function runEverywhere(script) {
    const results = [];
    const ours = { Client, Query };
    for (const [driver, client] of [
      [pg, new pg.Client(options())],
      [ours, new Client(options())],
      [ours, makeClient()],
    ]) {
      const others = driver === ours ? await connectAll(2) : [];
      await client.connect();
      try {
        results.push(await script(client, driver));
      } finally {
        await Promise.all([client, ...others].map((one) => one.end().catch(() => {})));
      }
      await observer.ask(`alter sequence ${SCHEMA}.counted restart`);
    }
    return results;
  }

  for (const [name, script] of Object.entries(SCRIPTS)) {
    it(name, async () => {
      const [expected, alone, shared] = await runEverywhere(script);
      assert.deepEqual(alone, expected);
      assert.deepEqual(shared, expected);
    });
  }

  it('it takes what is sent before connect() is done, in its order', async () => {
    const run = async (client) => {
      const texts = [
        'begin',
        "set local app.x = 'y'",
        'show app.x',
        'commit',
        'select 1; select 2',
      ];
      const outcomes = texts.map((text) =>
        client.query(text).then(({ rows }) => rows ?? 'several'),
      );
      const transaction = client.transaction?.((tx) => tx.query('select 3 as three'));
      await client.connect();
      const { rows } = (await transaction) ?? (await client.query('select 3 as three'));
      return [await Promise.all(outcomes), rows];
    };
    await connectAll(2);
    const reference = new pg.Client(options());
    const expected = await run(reference);
    await reference.end();
    assert.deepEqual(await run(makeClient()), expected);
  });

  it('it reports the parameters of the server on `connection`', async () => {
    const parametersOf = async (client) => {
      const parameters = {};
      client.connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
        parameters[parameterName] = parameterValue;
      });
      await client.connect();
      return parameters;
    };
    await connectAll(2);
    const reference = new pg.Client(options());
    const expected = await parametersOf(reference);
    await reference.end();
    delete expected.application_name;
    const shared = await parametersOf(makeClient());
    delete shared.application_name;
    assert.deepEqual(shared, expected);
  });

  it('its query() may be wrapped, as tracing tools do: each statement is seen once', async () => {
    const { query } = Client.prototype;
    const seen = [];
    Client.prototype.query = function wrapped(...given) {
      seen.push(given[0].text ?? given[0]);
      return query.apply(this, given);
    };
    try {
      const [client] = await connectAll(3);
      for (let i = 0; i < 4; ++i) await client.query('select 1 as one');
      await client.query('begin');
      await client.query('commit');
    } finally {
      Client.prototype.query = query;
    }
    assert.deepEqual(seen, [...Array(4).fill('select 1 as one'), 'begin', 'commit']);
  });

  it('it has batch(), transaction(), stream(), COPY and cancel()', async () => {
    const [client, other] = await connectAll(3);
    const results = await client.batch(['select 1 as one', 'select 2 as two']);
    assert.deepEqual(
      results.map(({ rows }) => rows[0]),
      [{ one: 1 }, { two: 2 }],
    );
    await other.transaction(async (tx) => {
      await tx.query('create table copied (i int)');
      await tx.transaction((inner) => inner.query('select 1 / 0')).catch(() => {});
    });
    assert.deepEqual(await client.copyRows('copied', ['i'], [[1], [2]]), { rowCount: 2 });
    const rows = [];
    for await (const row of other.stream('select i from copied order by i')) rows.push(row.i);
    assert.deepEqual(rows, [1, 2]);
    const running = outcomeOf(client.query('select pg_sleep(20)'));
    await until('it sleeps', async () => {
      await client.cancel();
      return Promise.race([running, delay(50)]);
    });
    assert.equal(await running, '57014');
  });
});
