'use strict';

// A server of a file's own that decodes its write-ahead log, for tests of logical replication, and what
// they ask of it.

const { setTimeout: delay } = require('node:timers/promises');
const { Pool } = require('../..');
const { startDatabase } = require('../../scripts/database');

/** @param {Record<string, string | number>} [settings] */
function startLogicalServer(settings) {
  return startDatabase({
    own: true,
    keepsCluster: true,
    settings: {
      wal_level: 'logical',
      max_wal_senders: 20,
      max_replication_slots: 20,
      // What is committed is sent at once, and not when the server writes its log the next time.
      synchronous_commit: 'on',
      ...settings,
    },
  });
}

/**
 * @param {() => any} condition may be asynchronous
 * @param {string} what
 */
async function until(condition, what) {
  const end = performance.now() + 20_000;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within 20 s: ${what}`);
    await delay(5);
  }
}

/** @param {{ query: Function }} one @param {string} slot */
async function slotState(one, slot) {
  const { rows } = await one.query({
    text: `select active, confirmed_flush_lsn as confirmed, temporary,
      confirmed_flush_lsn >= pg_current_wal_lsn() as "isCurrent"
      from pg_replication_slots where slot_name = $1`,
    values: [slot],
  });
  return rows[0];
}

/** Drops all slots, once nobody uses them. @param {{ query: Function }} one */
async function dropSlots(one) {
  await one.query('select pg_terminate_backend(active_pid) from pg_replication_slots where active');
  const left = async () => {
    await one.query(
      `select pg_drop_replication_slot(slot_name) from pg_replication_slots where not active and not temporary`,
    );
    return (await one.query('select 1 from pg_replication_slots')).rows.length === 0;
  };
  await until(left, 'the slots are dropped');
}

/**
 * Such a server for the tests of a describe block: before each of them a pool, and the table `notes` with the publication
 * `news`; afterwards no pool and no slot is left.
 * @param {Record<string, string | number>} settings
 */
function useNews(settings) {
  /** @type {Pool[]} */
  let pools = [];
  const news = {
    /** @type {Awaited<ReturnType<typeof startDatabase>>} */
    server: /** @type {any} */ (undefined),
    /** @type {Pool} */
    pool: /** @type {any} */ (undefined),
    /** @param {Record<string, any>} [given] */
    newPool(given) {
      const made = new Pool({ ...news.server.config, ...given });
      made.on('error', () => {});
      pools.push(made);
      return made;
    },
  };

  before(async () => {
    news.server = await startLogicalServer(settings);
  });

  after(() => news.server?.stop());

  beforeEach(async () => {
    news.pool = news.newPool();
    await news.pool.query(
      'drop schema public cascade; create schema public; drop publication if exists news',
    );
    await news.pool.query('create table notes (id int primary key, note text)');
    await news.pool.query('create publication news for all tables');
  });

  afterEach(async () => {
    const all = pools;
    pools = [];
    await Promise.all(all.map((one) => one.ending || one.end()));
    const admin = new Pool(news.server.config);
    await dropSlots(admin);
    await admin.end();
  });

  return news;
}

module.exports = { dropSlots, slotState, startLogicalServer, until, useNews };
