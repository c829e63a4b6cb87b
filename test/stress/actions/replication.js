'use strict';

// subscribe() on the table that all actions write to, while its connection is cut: what is told must be what the server
// itself gives out of a second slot, in the same order, nothing twice; what is missing must lie in a gap that was told.

const { setTimeout: delay } = require('node:timers/promises');
const { ConnectionError } = require('../../..');
const { driverError } = require('../../support/driver-error');
const { outcomeOf } = require('../../support/outcomes');
const { SCHEMA, calmOptions, withPgClient, withPool } = require('../calm');

/** A slot is made when the transactions of its time have ended. */
const PATIENCE_MILLIS = 30_000;
/** For a change that is not lost. */
const HEARD_MILLIS = 500;
const LOST = ['slot-created', 'slot-lost'];

/** @typedef {{ id: number, lsn: bigint }} Insert and where its transaction was committed */

/** @param {string} text of an LSN */
function readLsn(text) {
  const [high, low] = text.split('/').map((part) => BigInt(`0x${part}`));
  return (high << 32n) + low;
}

/**
 * The inserted ids in what pgoutput says. It is read here once more, without the driver.
 * @param {Buffer[]} messages
 * @returns {Insert[]}
 */
function readInserts(messages) {
  let lsn = 0n;
  const inserts = [];
  for (const message of messages) {
    const type = String.fromCharCode(message[0]);
    if (type === 'B') lsn = message.readBigUInt64BE(1);
    if (type !== 'I') continue;
    // Relation, 'N', number of columns, then 't', length and text of the first.
    const length = message.readUInt32BE(9);
    inserts.push({ id: Number(message.toString('latin1', 13, 13 + length)), lsn });
  }
  return inserts;
}

/** What one subscription was told. */
class Subscriber {
  /** @type {Insert[]} */
  told = [];
  /** @type {{ from: bigint, to: bigint }[]} */
  gaps = [];
  /** The server cannot read the slot any more. */
  isUndecodable = false;
  #action;

  /** @param {any} action */
  constructor(action) {
    this.#action = action;
  }

  /** @param {any} change */
  hear({ kind, row, transaction }) {
    if (kind === 'insert') this.told.push({ id: row.id, lsn: readLsn(transaction.lsn) });
  }

  /** @param {any} gap */
  onGap({ reason, from, to }) {
    this.#action.log(`gap: ${reason}, ${from} to ${to}`);
    this.#action.round.journal.count('subscribe', reason);
    if (!LOST.includes(reason)) this.#action.fault(`a gap for no reason: ${reason}`);
    this.gaps.push({ from: from === null ? 0n : readLsn(from), to: readLsn(to) });
  }

  /** @param {number} id */
  hasHeard(id) {
    return this.told.some((each) => each.id === id);
  }

  /**
   * @param {Insert[]} expected of the server
   * @returns {string | undefined} what is wrong
   */
  compare(expected) {
    let next = 0;
    for (const { id, lsn } of expected) {
      const told = this.told[next];
      if (told !== undefined && told.id === id && told.lsn === lsn) ++next;
      else if (!this.gaps.some(({ from, to }) => from <= lsn && lsn <= to)) {
        return `not told ${id} of ${lsn}, but ${told?.id} of ${told?.lsn}`;
      }
    }
    if (next === this.told.length) return undefined;
    return `told ${this.told[next].id}, which the server has not there, or told before`;
  }
}

/** Rows from outside, in one transaction, whose place in the order of commits is known. @returns {Promise<number>} the last one */
async function insert(action, client, count = 1) {
  const ids = Array.from({ length: count }, () => action.ledger.newId());
  const unit = action.openUnit(ids.map((id) => [id, 1]));
  await client.ask(`insert into ${SCHEMA}.effects select unnest($1::int[])`, [ids]);
  unit.told = 'committed';
  return ids.at(-1);
}

/**
 * A slot that is made while somebody else's transaction rewrites a table may never get past that one: so PostgreSQL 15.18
 * tells whoever reads it, `pg` and SQL functions too.
 * @param {any} error
 */
function isUndecodable(error) {
  return error?.code === 'XX000' && /could not map filenode/.test(error.message);
}

/** Changes that come until one is told: all before it were told, or are in a gap. */
async function hearLast(action, client, subscriber) {
  let told = -1;
  let deadline = 0;
  for (;;) {
    // It may have many changes of others before it.
    if (subscriber.told.length > told) deadline = performance.now() + PATIENCE_MILLIS;
    told = subscriber.told.length;
    if (performance.now() > deadline) break;
    if (subscriber.isUndecodable) return undefined;
    const id = await insert(action, client);
    const until = performance.now() + HEARD_MILLIS;
    while (performance.now() < until) {
      if (subscriber.hasHeard(id)) return id;
      await delay(5);
    }
  }
  action.fault('a subscription is deaf');
  return undefined;
}

/** Subscribes for a while. */
async function subscribe(action) {
  const { random, round } = action;
  const name = `stress_${process.pid}_${action.name.replaceAll('/', '_')}`;
  const isLasting = random.chance(0.6);
  const options = {
    slot: isLasting ? name : undefined,
    streaming: random.chance(0.3),
  };
  const millis = random.small(0, 400);
  const pause = random.pick([0, 0, 1, 5]);
  // Each takes far longer where the process is busy, and all other actions write meanwhile.
  let pauses = 50;
  let cuts = random.int(0, 3);
  action.log(JSON.stringify({ ...options, cuts, pause }));
  const relay = round.pickRelay(random);
  const subscriber = new Subscriber(action);

  /** @param {any} client of `pg` @param {any} place */
  async function run(client, place) {
    const { value: subscription, error } = await outcomeOf(
      place.on.subscribe(
        name,
        async (/** @type {any} */ change) => {
          if (pause > 0 && pauses > 0 && random.chance(0.1)) {
            --pauses;
            await delay(pause);
          }
          // In the middle of a transaction, more often than not.
          if (cuts > 0 && random.chance(0.05)) {
            --cuts;
            const { rowCount } = await client.ask(
              'select pg_terminate_backend(pid) from pg_stat_replication where application_name = $1',
              [name],
            );
            round.journal.count('subscribe', 'terminated', rowCount);
            await delay(random.int(0, 30));
          }
          subscriber.hear(change);
        },
        { ...options, onGap: (/** @type {any} */ gap) => subscriber.onGap(gap) },
      ),
    );
    round.journal.count('subscribe', error === undefined ? 'subscribed' : 'refused');
    if (subscription === undefined) {
      // The relay may have cut the connection before there was anything to go on with.
      if (relay === undefined || !(driverError(error) instanceof ConnectionError)) {
        action.fault(`not subscribed: ${error?.stack}`);
      }
      action.log(`not subscribed: ${error}`);
      return;
    }
    const isEnded = subscription.ended.then(
      () => {},
      (/** @type {any} */ reason) => {
        subscriber.isUndecodable = isUndecodable(reason);
        if (subscriber.isUndecodable) round.journal.count('subscribe', 'undecodable');
        else action.fault(`the subscription has ended: ${reason.stack}`);
      },
    );
    // The first gap is the time before it.
    subscriber.gaps = [];
    const first = await insert(action, client);
    for (let left = random.int(0, 3); left > 0; --left) {
      await insert(action, client, random.int(1, 40));
      await delay(millis / 3);
    }
    const last = await hearLast(action, client, subscriber);
    await action.inTime('close()', subscription.close(), PATIENCE_MILLIS);
    await isEnded;
    if (last !== undefined) await compare(client, first, last);
  }

  /** @param {any} client @param {number} first @param {number} last */
  async function compare(client, first, last) {
    const { value, error } = await outcomeOf(
      client.ask(
        `select data from pg_logical_slot_get_binary_changes($1, null, null, 'proto_version', '1', 'publication_names', $2)`,
        [`${name}_outside`, name],
      ),
    );
    if (isUndecodable(error)) {
      round.journal.count('subscribe', 'undecodable outside');
      return;
    }
    if (error !== undefined) throw error;
    const all = readInserts(value.rows.map(({ data }) => data));
    const indexOf = (id) => all.findIndex((each) => each.id === id);
    const expected = all.slice(indexOf(first), indexOf(last) + 1);
    const ids = new Set(expected.map(({ id }) => id));
    // What came before the first marker is not compared: the two slots do not begin at the same time.
    const begins = subscriber.told.findIndex(({ lsn }) => lsn >= expected[0].lsn);
    const ends = subscriber.told.findIndex(({ id }) => id === last);
    subscriber.told = subscriber.told.slice(begins, ends + 1);
    round.journal.count('subscribe', 'changes told', subscriber.told.length);
    const wrong = subscriber.compare(expected);
    if (wrong !== undefined) {
      action.fault(
        `${wrong}; ${subscriber.told.length} told, ${expected.length} (${ids.size} ids) there`,
      );
    }
  }

  await withPgClient(action, {}, async (client) => {
    await client.query(
      `create publication ${name} for table ${SCHEMA}.effects with (publish = 'insert')`,
    );
    try {
      await client.query(`select pg_create_logical_replication_slot($1, 'pgoutput')`, [
        `${name}_outside`,
      ]);
      const given = { ...calmOptions(random), application_name: name };
      await withPool(action, 'pool', given, (place) => run(client, place), { relay });
    } finally {
      await dropSlots(client, name);
      await client.query(`drop publication ${name}`);
    }
  });
}

/** The server may not have noticed yet that nobody reads them. @param {any} client @param {string} name */
async function dropSlots(client, name) {
  for (;;) {
    const { rows } = await client.query(
      `select slot_name, active from pg_replication_slots where slot_name like $1 and not temporary`,
      [`${name}%`],
    );
    for (const { slot_name: slot, active } of rows) {
      if (!active) await client.query('select pg_drop_replication_slot($1)', [slot]);
    }
    if (rows.length === 0) return;
    await delay(5);
  }
}

module.exports = { subscribe };
