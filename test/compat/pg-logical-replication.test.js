'use strict';

// pg-logical-replication: the changes of a publication, on a client with the option `replication`.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { setTimeout: delay } = require('node:timers/promises');
const { Pool } = require('pg');
const { LogicalReplicationService, PgoutputPlugin } = require('pg-logical-replication');
const { MANY, SCHEMA, atOnce, errorOf, useTool } = require('./support/tool');

const SLOT = 'compat';

describe('pg-logical-replication', () => {
  const tool = useTool('pg-logical-replication', { schema: SCHEMA });
  const plugin = new PgoutputPlugin({ protoVersion: 1, publicationNames: ['all_of_it'] });
  /** @type {Pool} */
  let pool;

  before(async () => {
    pool = new Pool({ connectionString: tool.url });
    await pool.query('create publication all_of_it for all tables');
    await pool.query('select pg_create_logical_replication_slot($1, $2)', [SLOT, 'pgoutput']);
    tool.close(async () => {
      await isFree();
      await pool.query('select pg_drop_replication_slot($1)', [SLOT]);
      await pool.end();
    });
  });

  async function slot() {
    const text = `select active, confirmed_flush_lsn as confirmed from pg_replication_slots where slot_name = $1`;
    return (await pool.query(text, [SLOT])).rows[0];
  }

  async function isFree() {
    while ((await slot()).active) await delay(5);
  }

  /** @param {Record<string, any>} [options] */
  async function open(options) {
    const service = new LogicalReplicationService({ connectionString: tool.url }, options);
    const seen = [];
    service.on('data', (lsn, message) => {
      if (message.tag === 'insert') seen.push(message.new.email);
    });
    const ended = service.subscribe(plugin, SLOT);
    await once(service, 'start');
    const until = async (count) => {
      while (seen.length < count) await delay(5);
      return seen;
    };
    const close = async () => {
      await service.stop();
      await ended;
      await isFree();
    };
    return { service, seen, until, close };
  }

  for (const flowControl of [false, true]) {
    it(`tells each change, and acknowledges it${flowControl ? ', with flow control' : ''}`, async () => {
      const before = await slot();
      const { until, close } = await open({ flowControl: { enabled: flowControl } });
      await atOnce((i) =>
        pool.query('insert into accounts (email) values ($1)', [`${flowControl} ${i}`]),
      );
      await pool.query('begin; insert into accounts (email) values (0); rollback');
      assert.equal(new Set(await until(MANY)).size, MANY);
      while ((await slot()).confirmed === before.confirmed) await delay(5);
      await close();
    });
  }

  it('goes on where it was stopped', async () => {
    const first = await open();
    await pool.query("insert into accounts (email) values ('before')");
    await first.until(1);
    await first.close();
    await pool.query("insert into accounts (email) values ('meanwhile')");
    const second = await open();
    await pool.query("insert into accounts (email) values ('after')");
    assert.deepEqual(await second.until(2), ['meanwhile', 'after']);
    await second.close();
  });

  it('reports what is wrong', async () => {
    const service = new LogicalReplicationService({ connectionString: tool.url });
    service.on('error', () => {});
    const error = await errorOf(service.subscribe(plugin, 'none'));
    assert.equal(error.code, '42704');
    await service.stop();
  });
});
