'use strict';

// A server of a file's own that decodes its write-ahead log, for tests of logical replication, and what
// they ask of it.

const { setTimeout: delay } = require('node:timers/promises');
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

module.exports = { dropSlots, slotState, startLogicalServer, until };
