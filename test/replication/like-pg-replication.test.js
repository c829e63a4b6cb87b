'use strict';

// Clients with the option `replication`, as packages such as pg-logical-replication use them: the same script on
// pg and on this driver, side by side.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { setTimeout: delay } = require('node:timers/promises');
const pg = require('pg');
const ours = require('../..');
const { dropSlots, slotState, startLogicalServer, until } = require('../support/logical-server');

const DRIVERS = { pg, ours };
const START = `START_REPLICATION SLOT "changes" LOGICAL 0/0 (proto_version '1', publication_names 'notes')`;
const XLOG_DATA = 'w';
const KEEPALIVE = 'k';

/** A standby status update. @param {bigint} lsn @param {boolean} [asksForReply] */
function statusUpdate(lsn, asksForReply = false) {
  const message = Buffer.alloc(34);
  message.write('r');
  for (const at of [1, 9, 17]) message.writeBigUInt64BE(lsn, at);
  message[33] = asksForReply ? 1 : 0;
  return message;
}

describe('a client with the option replication, as with pg', function () {
  let server;
  /** @type {pg.Client} */
  let admin;
  let opened = [];

  before(async () => {
    server = await startLogicalServer();
    admin = new pg.Client(server.config);
    await admin.connect();
    await admin.query('create table notes (id int primary key, note text)');
    await admin.query('create publication notes for table notes');
  });

  after(async () => {
    await admin?.end();
    await server?.stop();
  });

  beforeEach(async () => {
    await admin.query('truncate notes');
    await admin.query("select pg_create_logical_replication_slot('changes', 'pgoutput')");
  });

  afterEach(async () => {
    const all = opened;
    opened = [];
    for (const client of all) await client.end().catch(() => {});
    await dropSlots(admin);
  });

  /** @param {any} driver @param {Record<string, any>} [given] */
  async function connect(driver, given) {
    const client = new driver.Client({ ...server.config, replication: 'database', ...given });
    opened.push(client);
    client.on('error', () => {});
    await client.connect();
    return client;
  }

  /** The next client begins with what comes now. */
  async function skipAll() {
    await admin.query('truncate notes');
    await until(async () => !(await slotState(admin, 'changes')).active, 'the slot is free');
    await admin.query("select pg_replication_slot_advance('changes', pg_current_wal_lsn())");
  }

  /** Runs a script on each driver. @param {(driver: any) => Promise<unknown>} script */
  async function same(script) {
    const expected = await script(DRIVERS.pg);
    const actual = await script(DRIVERS.ours);
    assert.deepEqual(actual, expected);
    return expected;
  }

  it('answers the commands of replication and SQL, and refuses parameters', async () => {
    const seen = await same(async (driver) => {
      const client = await connect(driver);
      const system = await client.query('IDENTIFY_SYSTEM');
      const created = await client.query(
        'CREATE_REPLICATION_SLOT "other" TEMPORARY LOGICAL pgoutput NOEXPORT_SNAPSHOT',
      );
      const dropped = await client.query('DROP_REPLICATION_SLOT "other"');
      const one = await client.query("select 1::int as a, 'x' as b");
      const refused = await client.query('select $1::int', [1]).catch((error) => error);
      const several = await client.query('select 2 as c; select 3 as d');
      const failed = await client
        .query('START_REPLICATION SLOT "none" LOGICAL 0/0')
        .catch((e) => e);
      await client.end();
      return {
        system: [system.command, Object.keys(system.rows[0])],
        created: [created.command, Object.keys(created.rows[0]), created.rows[0].output_plugin],
        one: one.rows,
        refused: [refused.code, refused.message],
        several: several.map(({ rows }) => rows),
        failed: [failed.code, failed.message],
        dropped: dropped.command,
      };
    });
    assert.equal(seen.refused[0], '08P01');
    assert.equal(seen.failed[0], '42704');
  });

  it('takes the values of the option that the server takes', async () => {
    await same(async (driver) => {
      const client = await connect(driver, { replication: true });
      const system = await client.query('IDENTIFY_SYSTEM');
      const error = await client.query('select 1').catch((e) => e);
      await client.end();
      return [system.rows[0].dbname, error.code];
    });
    for (const replication of [false, '', 'false', 0]) {
      const client = new ours.Client({ ...server.config, replication });
      opened.push(client);
      await client.connect();
      assert.deepEqual((await client.query('select $1::int as n', [1])).rows, [{ n: 1 }]);
    }
  });

  it('emits replicationStart and copyData, a message of the server at a time', async () => {
    await same(async (driver) => {
      await skipAll();
      const client = await connect(driver);
      const events = [];
      let last = 0n;
      const { connection } = client;
      connection.on('replicationStart', () => events.push('start'));
      connection.on('copyData', ({ chunk }) => {
        const kind = String.fromCharCode(chunk[0]);
        if (kind !== XLOG_DATA) return;
        events.push(String.fromCharCode(chunk[25]));
        last = chunk.readBigUInt64BE(9);
      });
      const ended = client.query(START).catch((error) => error.message);
      await once(connection, 'replicationStart');
      await admin.query("insert into notes values (1, 'one'), (2, 'two')");
      await admin.query("update notes set note = repeat('x', 100000) where id = 2");
      await admin.query('delete from notes where id = 1');
      const commits = () => events.filter((kind) => kind === 'C').length;
      await until(() => commits() === 3, 'three transactions');
      connection.sendCopyFromChunk(statusUpdate(last + 1n));
      await until(
        async () => (await slotState(admin, 'changes')).isCurrent,
        'the position is known',
      );
      await client.end();
      return { events, ended: await ended };
    });
  });

  it('answers while it sends', async () => {
    await same(async (driver) => {
      const client = await connect(driver);
      const { connection } = client;
      let replies = 0;
      connection.on('copyData', ({ chunk }) => {
        if (String.fromCharCode(chunk[0]) === KEEPALIVE) ++replies;
      });
      const ended = client.query(START).catch((error) => error.message);
      await once(connection, 'replicationStart');
      for (let round = 1; round <= 3; ++round) {
        connection.sendCopyFromChunk(statusUpdate(1n, true));
        await until(() => replies >= round, 'a keepalive in reply');
      }
      await client.end();
      return ended;
    });
  });

  it('goes on with queries when both sides have ended the COPY', async () => {
    const seen = await same(async (driver) => {
      const client = await connect(driver);
      const ended = client.query(START);
      await once(client.connection, 'replicationStart');
      client.connection.endCopyFrom();
      const results = [await ended].flat();
      const { rows } = await client.query('select 1 as one');
      await client.end();
      return { commands: results.map(({ command }) => command), rows };
    });
    assert.deepEqual(seen.rows, [{ one: 1 }]);
  });

  it('rejects the query when the server ends the session in the middle', async () => {
    await same(async (driver) => {
      const client = await connect(driver);
      const failed = client.query(START).catch((error) => error);
      await once(client.connection, 'replicationStart');
      const state = await slotState(admin, 'changes');
      await admin.query(
        'select pg_terminate_backend(active_pid) from pg_replication_slots where active',
      );
      const error = await failed;
      return { wasActive: state.active, code: error.code, message: error.message };
    });
  });

  it('is closed at once, also when a query behind START_REPLICATION was given up', async () => {
    const client = await connect(ours);
    const started = once(client.connection, 'replicationStart');
    client.query(START).catch(() => {});
    await started;
    const controller = new AbortController();
    const queued = client.query('select 1', undefined, { signal: controller.signal });
    controller.abort();
    await assert.rejects(queued);
    // As end(), but that it would wait for what is in flight.
    const closed = client[Symbol.asyncDispose]().then(() => true);
    const isClosed = await Promise.race([closed, delay(2000, false)]);
    assert.equal(isClosed, true);
  });

  it('stops reading while its stream is paused, and loses nothing', async () => {
    await same(async (driver) => {
      await skipAll();
      const client = await connect(driver);
      const { connection } = client;
      let inserts = 0;
      connection.on('copyData', ({ chunk }) => {
        if (chunk[0] === XLOG_DATA.charCodeAt(0) && chunk[25] === 'I'.charCodeAt(0)) ++inserts;
      });
      const ended = client.query(START).catch((error) => error.message);
      await once(connection, 'replicationStart');
      connection.stream.pause();
      await admin.query('insert into notes select n from generate_series(1, 20000) n');
      await delay(20);
      const whilePaused = inserts;
      connection.stream.resume();
      await until(() => inserts === 20000, 'all rows');
      await client.end();
      return { whilePaused, ended: await ended };
    });
  });

  it('passes on what listeners throw without losing messages', async () => {
    const client = await connect(ours);
    const thrown = [];
    const before = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => thrown.push(error.message));
    try {
      let inserts = 0;
      client.connection.on('copyData', ({ chunk }) => {
        if (chunk[0] !== XLOG_DATA.charCodeAt(0) || chunk[25] !== 'I'.charCodeAt(0)) return;
        ++inserts;
        throw new Error('of the listener');
      });
      client.query(START).catch(() => {});
      await once(client.connection, 'replicationStart');
      await admin.query('insert into notes values (1), (2), (3)');
      await until(() => inserts === 3 && thrown.length === 3, 'three rows');
      assert.deepEqual(new Set(thrown), new Set(['of the listener']));
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const listener of before) process.on('uncaughtException', listener);
    }
  });

  it('refuses START_REPLICATION on any other client', async () => {
    const client = await connect(ours, { replication: undefined });
    const error = await client.query(START).catch((e) => e);
    assert.equal(error.code, '42601');
    assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
  });
});
