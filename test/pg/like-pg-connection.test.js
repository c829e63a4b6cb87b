'use strict';

// `client.connection` and its stream, as tools use them: the same scenario with a client of `pg` and with one of ours, whose
// logs must be equal.

const assert = require('node:assert/strict');
const net = require('node:net');
const { once } = require('node:events');
const { setTimeout: delay } = require('node:timers/promises');
const pg = require('pg');
const conduit = require('../..');
const { endAll, newPool, options } = require('../support/connect');
const { observeServer } = require('../support/outside');

const EVENTS = ['connect', 'backendKeyData', 'error', 'errorMessage', 'end', 'notice'];

/** @type {any[]} */
let opened = [];

/** @param {(context: { client: any, log: any[] }) => Promise<void>} scenario @param {Record<string, any>} [given] */
async function sameInBoth(scenario, given) {
  const logs = [];
  for (const driver of [pg, conduit]) {
    const client = new driver.Client(options(given));
    opened.push(client);
    const log = [];
    for (const event of [...EVENTS, 'notification']) {
      client.connection.on(event, (message) =>
        log.push(`connection ${event} ${message?.payload ?? message?.message ?? ''}`),
      );
    }
    for (const event of ['close', 'error']) {
      client.connection.stream.on(event, (value) => log.push(`stream ${event} ${value}`));
    }
    client.on('error', (error) => log.push(`error ${error.message}`));
    client.on('end', () => log.push('end'));
    await scenario({ client, log });
    logs.push(log);
  }
  assert.deepEqual(logs[1], logs[0]);
  assert.notEqual(logs[0].length, 0);
}

/** @param {Promise<any>} promise */
const messageOf = (promise) =>
  promise.then(
    () => 'fulfilled',
    (error) => error.message,
  );

/** Not by once(), which an `error` event rejects. @param {import('node:events').EventEmitter} emitter */
const endOf = (emitter) =>
  new Promise((resolve) => {
    emitter.once('end', resolve);
  });

/** What a program may look at. */
const look = ({ destroyed, readyState, writable, readable }) => [
  destroyed,
  readyState,
  writable,
  readable,
];

describe('client.connection', () => {
  const observer = observeServer();

  afterEach(async () => {
    const clients = opened;
    opened = [];
    await Promise.all(clients.map((client) => client.end().catch(() => {})));
    await endAll();
  });

  it('tells how the connection was made, what comes by itself, and its end', async () => {
    await sameInBoth(async ({ client, log }) => {
      const { connection } = client;
      const parameters = [];
      connection.on('parameterStatus', ({ parameterName }) => parameters.push(parameterName));
      const ready = once(connection, 'readyForQuery');
      log.push(look(connection.stream).slice(0, 2));
      await client.connect();
      const [{ status }] = await ready;
      log.push(status, parameters.includes('server_version'), look(connection.stream));
      await client.query("do $$ begin raise notice 'hi'; end $$");
      await client.query('listen heard');
      const heard = once(client, 'notification');
      await client.query("notify heard, 'word'");
      await heard;
      await client.end();
      await delay(10);
      log.push(look(connection.stream));
    });
  });

  it('is ready for each next query', async () => {
    await sameInBoth(async ({ client, log }) => {
      await client.connect();
      for (const text of ['select 1', 'begin', 'select 1', 'select nonsense', 'rollback']) {
        const ready = once(client.connection, 'readyForQuery');
        log.push(await messageOf(client.query(text)));
        await ready;
      }
      // Errors of single queries are told to their callers only.
      log.splice(0, log.length, ...log.filter((line) => !line.startsWith('connection errorM')));
    });
  });

  it('has a stream that can be destroyed while the client is idle', async () => {
    await sameInBoth(async ({ client, log }) => {
      await client.connect();
      const ended = endOf(client);
      log.push(client.connection.stream.destroy() === client.connection.stream);
      log.push(client.connection.stream.destroyed);
      await ended;
      log.push(await messageOf(client.query('select 1')), await messageOf(client.end()));
    });
  });

  it('has a stream that can be destroyed in the middle of a query', async () => {
    await sameInBoth(async ({ client, log }) => {
      await client.connect();
      const ended = endOf(client);
      const query = messageOf(client.query('select pg_sleep(60)'));
      await delay(20);
      client.connection.stream.destroy();
      const [message] = await Promise.all([query, ended]);
      log.push(message);
    });
  });

  it('has a stream that can be destroyed while the client connects', async () => {
    const silent = net.createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = /** @type {net.AddressInfo} */ (silent.address());
    try {
      const given = { connectionString: `postgres://127.0.0.1:${port}/x`, ssl: false };
      await sameInBoth(async ({ client, log }) => {
        const ended = endOf(client);
        const connected = messageOf(client.connect());
        await delay(20);
        client.connection.stream.destroy();
        const [message] = await Promise.all([connected, ended]);
        // libpq does not tell when the socket is connected, before the server has answered.
        log.splice(
          0,
          log.length,
          message,
          ...log.filter((line) => !line.endsWith('connect ')).sort(),
        );
      }, given);
    } finally {
      silent.close();
    }
  });

  it('has a stream that may be destroyed with an error, which queries are rejected with', async () => {
    for (const driver of [pg, conduit]) {
      const client = new driver.Client(options());
      opened.push(client);
      const seen = [];
      client.on('error', (error) => seen.push(error));
      client.connection.on('error', (error) => seen.push(error));
      await client.connect();
      const query = client.query('select pg_sleep(60)').catch((error) => error);
      await delay(20);
      const boom = new Error('boom');
      client.connection.stream.destroy(boom);
      assert.equal((await query).message, 'boom');
      assert.deepEqual(
        seen.slice(0, 2).map(({ message }) => message),
        ['boom', 'boom'],
      );
    }
  });

  it('ends by end(), behind what is in flight, and the client takes that for a loss', async () => {
    await sameInBoth(async ({ client, log }) => {
      await client.connect();
      const ended = endOf(client);
      const query = client.query('select pg_sleep(0.05)').then(() => log.push('answered'));
      await delay(10);
      client.connection.end();
      await Promise.all([query, ended]);
      // The rest of what the stream of pg says comes later than its client's end.
      log.splice(0, log.length, ...log.filter((line) => !String(line).startsWith('stream')));
    });
  });

  it('tells what the server says when it ends the session', async () => {
    await sameInBoth(async ({ client, log }) => {
      await client.connect();
      const ended = endOf(client);
      await observer.ask(`select pg_terminate_backend(${client.processID})`);
      await ended;
      // A second error of pg's, that the connection was terminated unexpectedly, is left out.
      log.splice(0, log.length, ...log.filter((line) => !/unexpectedly|stream/.test(line)));
    });
  });

  it('has a stream that takes the calls of a socket', async () => {
    await sameInBoth(async ({ client, log }) => {
      const { stream } = client.connection;
      stream.setKeepAlive(true, 30_000);
      await client.connect();
      for (const call of [
        () => stream.setKeepAlive(true, 10_000),
        () => stream.setKeepAlive(),
        () => stream.setNoDelay(true),
        () => stream.setTimeout(0),
        () => stream.unref(),
        () => stream.ref(),
      ]) {
        log.push(call() === stream);
      }
      client.connection.unref();
      client.connection.ref();
      log.push((await client.query('select 1 as i')).rows);
    });
  });

  it('refuses to write to a socket that is not its own', async () => {
    const client = new conduit.Client(options());
    opened.push(client);
    assert.throws(() => client.connection.stream.write('x'), { code: 'ERR_PG_CONDUIT_REFUSED' });
  });

  it('that a program has made does nothing', () => {
    const connection = new conduit.Connection();
    assert.equal(connection.stream.destroyed, false);
    connection.stream.setKeepAlive(true);
    connection.stream.destroy();
    connection.end();
  });

  it('of a borrowed client tells, and loses, what it has', async () => {
    for (const multiplex of ['off', 'reads']) {
      const pool = newPool({ max: 2, multiplex });
      pool.on('connect', ({ connection }) => connection.stream.setKeepAlive(true, 5000));
      const client = await pool.connect();
      client.on('error', () => {});
      await client.query('begin');
      await client.query('select 1');
      assert.equal(client.connection.stream.destroyed, false);
      const ended = endOf(client.connection);
      client.connection.stream.destroy();
      await ended;
      await assert.rejects(client.query('select 1'));
      client.release();
      assert.deepEqual((await pool.query('select 1 as i')).rows, [{ i: 1 }]);
      const floating = await pool.connect();
      floating.connection.stream.destroy();
      await assert.rejects(floating.query('select 1'));
      floating.release();
      assert.deepEqual((await pool.query('select 1 as i')).rows, [{ i: 1 }]);
    }
  });
});
