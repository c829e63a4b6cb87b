'use strict';

// One database on several servers: what a caller is told of each kind of write is compared with what is there, while
// neighbours fail, callers give up, and backends are ended on the coordinator and on the workers. With PG_CONDUIT_CITUS
// that is Citus, else postgres_fdw (test/support/cluster.js). PG_CONDUIT_TESTS=long has 20,000 statements and 50 ended
// backends for each option.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const { Pool } = require('../..');
const { startCluster } = require('../support/cluster');
const { errorOf, outcomeOf } = require('../support/outcomes');
const { IS_LONG } = require('../support/property');

const STATEMENTS = IS_LONG ? 20_000 : 1500;
const ENDED = IS_LONG ? 50 : 8;
const CALLERS = 24;
const TENANTS = 16;
const INSERT = 'insert into jobs values ($1, $2, 0)';
const SLOW = 'insert into jobs select $1, $2, 0 from pg_sleep(0.02)';
const ADD = 'update counts set n = n + 1 where tenant = $1';
/** Rows that are there: to insert them again fails. */
const TAKEN = 1;

const tenant = () => Math.floor(Math.random() * TENANTS);

/** What callers have done, and what they were told. */
class Ledger {
  #nextId = 1000;
  /** @type {{ kind: string, ids: number[], told: string, error: any }[]} */
  entries = [];
  /** Increments of each tenant. */
  counts = Array.from({ length: TENANTS }, () => ({ done: 0, unknown: 0 }));

  id() {
    return ++this.#nextId;
  }

  /** @param {string} kind @param {number[]} ids @param {Promise<any>} promise */
  async tell(kind, ids, promise) {
    const { error } = await outcomeOf(promise);
    const told = error === undefined ? 'done' : (error.outcome ?? 'not-run');
    this.entries.push({ kind, ids, told, error });
    return told;
  }

  get summary() {
    const told = {};
    for (const { kind, told: what } of this.entries) {
      told[kind] ??= {};
      told[kind][what] = (told[kind][what] ?? 0) + 1;
    }
    return told;
  }
}

/** @type {Record<string, (pool: Pool, ledger: Ledger) => Promise<unknown>>} */
const KINDS = {
  insert: (pool, ledger) => {
    const id = ledger.id();
    return ledger.tell('insert', [id], pool.query(INSERT, [tenant(), id]));
  },
  failing: (pool, ledger) => ledger.tell('failing', [], pool.query(INSERT, [tenant(), TAKEN])),
  aborted: (pool, ledger) => {
    const id = ledger.id();
    const signal = AbortSignal.timeout(Math.ceil(Math.random() * 40));
    return ledger.tell('aborted', [id], pool.query({ text: SLOW, values: [tenant(), id], signal }));
  },
  timeout: (pool, ledger) => {
    const id = ledger.id();
    const timeoutMillis = Math.ceil(Math.random() * 40);
    return ledger.tell(
      'timeout',
      [id],
      pool.query({ text: SLOW, values: [tenant(), id], timeoutMillis }),
    );
  },
  increment: async (pool, ledger) => {
    const which = tenant();
    const told = await ledger.tell('increment', [], pool.query(ADD, [which]));
    if (told !== 'not-run') ++ledger.counts[which][told];
  },
  batch: (pool, ledger) => {
    const ids = [ledger.id(), ledger.id(), ledger.id()];
    const list = ids.map((id) => ({ text: INSERT, values: [tenant(), id] }));
    return ledger.tell('batch', ids, pool.batch(list));
  },
  failingBatch: (pool, ledger) => {
    const ids = [ledger.id(), ledger.id()];
    const list = [...ids, TAKEN].map((id) => ({ text: INSERT, values: [tenant(), id] }));
    return ledger.tell('failingBatch', ids, pool.batch(list));
  },
  abortedBatch: (pool, ledger) => {
    const ids = [ledger.id(), ledger.id()];
    const list = ids.map((id) => ({ text: SLOW, values: [tenant(), id] }));
    const signal = AbortSignal.timeout(Math.ceil(Math.random() * 80));
    return ledger.tell('abortedBatch', ids, pool.batch(list, { signal }));
  },
  transaction: (pool, ledger) => {
    const ids = [ledger.id(), ledger.id()];
    const work = pool.transaction(async (tx) => {
      await Promise.all(ids.map((id) => tx.query(INSERT, [tenant(), id])));
    });
    return ledger.tell('transaction', ids, work);
  },
  failingTransaction: (pool, ledger) => {
    const ids = [ledger.id()];
    const work = pool.transaction(async (tx) => {
      await tx.query(INSERT, [tenant(), ids[0]]);
      await tx.query(INSERT, [tenant(), TAKEN]);
    });
    return ledger.tell('failingTransaction', ids, work);
  },
  text: (pool, ledger) => {
    const ids = [ledger.id(), ledger.id()];
    const text = ids.map((id) => `insert into jobs values (${tenant()}, ${id}, 0)`).join(';');
    return ledger.tell('text', ids, pool.query(text));
  },
  read: (pool, ledger) =>
    ledger.tell(
      'read',
      [],
      pool.query('select id from jobs where tenant = $1 and id = $2', [tenant(), TAKEN]),
    ),
};
const NAMES = Object.keys(KINDS);
/** Those that take long are fewer. */
const SELDOM = new Set(['aborted', 'timeout', 'abortedBatch', 'text']);

describe('A database on several servers', function () {
  this.timeout(IS_LONG ? 1_200_000 : 60_000);
  /** @type {import('../support/cluster').Cluster} */
  let cluster;

  before(async () => {
    cluster = await startCluster();
  });
  after(() => cluster?.stop());
  beforeEach(async () => {
    await cluster.ask(cluster.config, 'delete from jobs');
    await cluster.ask(cluster.config, 'delete from counts');
    for (let which = 0; which < TENANTS; ++which) {
      await cluster.ask(cluster.config, INSERT, [which, TAKEN]);
      await cluster.ask(cluster.config, 'insert into counts values ($1, 0)', [which]);
    }
  });

  /** Ends a backend that works for others, on any of the servers. */
  async function endOne() {
    const server = cluster.servers[Math.floor(Math.random() * cluster.servers.length)];
    await cluster.ask(
      server,
      `select pg_terminate_backend(pid) from pg_stat_activity
        where pid <> pg_backend_pid() and backend_type = 'client backend' order by random() limit 1`,
    );
  }

  /** @param {Pool} pool @param {Ledger} ledger */
  async function work(pool, ledger) {
    let left = STATEMENTS;
    let isOver = false;
    const caller = async () => {
      while (left-- > 0) {
        let name = NAMES[Math.floor(Math.random() * NAMES.length)];
        if (SELDOM.has(name) && Math.random() < 0.8) name = 'increment';
        await KINDS[name](pool, ledger);
      }
    };
    const ending = (async () => {
      for (let ended = 0; ended < ENDED; ++ended) {
        const at = (STATEMENTS * (ended + 1)) / (ENDED + 1);
        while (!isOver && STATEMENTS - left < at) await delay(5);
        await endOne();
      }
    })();
    await Promise.all(Array.from({ length: CALLERS }, caller));
    isOver = true;
    await ending;
  }

  /** What is there, once all servers are done with what they were told. */
  async function rowsThere() {
    // What was prepared on a worker is committed, or rolled back, in a while.
    if (cluster.kind === 'Citus') {
      await cluster.ask(cluster.config, 'select recover_prepared_transactions()');
    }
    const times = new Map();
    for (const { id } of await cluster.ask(cluster.config, 'select id::int from jobs')) {
      times.set(id, (times.get(id) ?? 0) + 1);
    }
    return times;
  }

  /** @param {Ledger} ledger */
  async function findLies(ledger) {
    const times = await rowsThere();
    const lies = [];
    for (const { kind, ids, told, error } of ledger.entries) {
      for (const id of ids) {
        const there = times.get(id) ?? 0;
        const isTrue =
          (told === 'done' && there === 1) ||
          (told === 'not-run' && there === 0) ||
          (told === 'unknown' && there <= 1);
        if (!isTrue) lies.push({ kind, told, there, code: error?.code, message: error?.message });
      }
    }
    for (const { tenant: which, n } of await cluster.ask(
      cluster.config,
      'select tenant, n from counts',
    )) {
      const { done, unknown } = ledger.counts[which];
      if (n < done || n > done + unknown) lies.push({ kind: 'increment', done, unknown, there: n });
    }
    return lies;
  }

  for (const given of [
    { syncGroup: 'off' },
    { syncGroup: 'reads' },
    { syncGroup: 'all' },
    { syncGroup: 'all', distributed: true },
  ]) {
    it(`never tells what is not so: ${JSON.stringify(given)}`, async () => {
      const pool = new Pool({ ...cluster.config, max: 4, ...given });
      pool.on('error', () => {});
      const ledger = new Ledger();
      try {
        await work(pool, ledger);
      } finally {
        await pool.end();
      }
      if (IS_LONG) {
        process.stdout.write(`${cluster.kind} ${JSON.stringify([given, ledger.summary])}\n`);
      }
      assert.deepEqual(await findLies(ledger), []);
      const { batch, transaction, insert, failingBatch } = ledger.summary;
      for (const { done } of [batch, transaction, insert]) assert.ok(done > 0);
      assert.equal(failingBatch.done, undefined);
    });
  }

  it('never tells not-run of a commit at which a server is lost', async () => {
    const pool = new Pool({ ...cluster.config, max: 1 });
    pool.on('error', () => {});
    const ledger = new Ledger();
    try {
      for (let round = 0; round < (IS_LONG ? 200 : 20); ++round) {
        const ids = Array.from({ length: 8 }, () => ledger.id());
        const rows = ids.map((id) => `(${id % TENANTS}, ${id}, 0)`).join();
        const ending = delay(Math.random() * 4).then(endOne);
        await ledger.tell('insert', ids, pool.query(`insert into jobs values ${rows}`));
        await ending;
      }
    } finally {
      await pool.end();
    }
    assert.deepEqual(await findLies(ledger), []);
  });

  it('runs a batch of all kinds of statements, and one that fails in any place leaves nothing', async () => {
    const pool = new Pool({ ...cluster.config, max: 2 });
    const insert = (id) => ({ text: INSERT, values: [id % TENANTS, id] });
    try {
      for (let place = 0; place < 4; ++place) {
        const list = [insert(2001), insert(2002), insert(2003)];
        list.splice(place, 0, insert(TAKEN));
        const error = await errorOf(pool.batch(list));
        assert.deepEqual([error.code, error.index, error.outcome], ['23505', place, 'not-run']);
      }
      assert.equal((await rowsThere()).size, 1);
      await pool.batch([insert(2001), 'select count(*) from jobs', insert(2002)]);
      assert.deepEqual([...(await rowsThere()).keys()].sort(), [1, 2001, 2002]);
    } finally {
      await pool.end();
    }
  });
});
