'use strict';

// pool.subscribe() when something is wrong: servers that restart, connections that are cut, slots that others use or
// drop, servers and roles that are not set up for it. No change is lost or told twice without a word.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const { DatabaseError, Pool, ReplicationError } = require('../..');
const { startDatabase } = require('../../scripts/database');
const { slotState, until, useNews } = require('../support/logical-server');
const { Proxy } = require('../support/proxy');

describe('subscribe() when something is wrong', function () {
  const news = useNews({ wal_sender_timeout: '2s' });
  const { newPool } = news;
  /** @type {Pool} */
  let pool;
  let told = [];
  const ids = () => told.map(({ row }) => row.id);
  const collect = (change) => {
    told.push(change);
  };

  beforeEach(() => {
    told = [];
    ({ pool } = news);
  });

  const insert = (from, to) =>
    pool.query(
      "insert into notes select n, repeat('x', 1000) from generate_series($1::int, $2::int) n",
      [from, to],
    );
  const terminate = (slot) =>
    pool.query(
      'select pg_terminate_backend(active_pid) from pg_replication_slots where slot_name = $1',
      [slot],
    );
  const range = (from, to) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

  describe('in the middle', () => {
    it('goes on after the server was restarted, without a change too many or too few', async () => {
      await pool.subscribe('news', collect, { slot: 'lasting' });
      await insert(1, 10);
      await until(() => told.length === 10, 'ten changes');
      await news.server.restart();
      await until(() => insert(11, 20).then(Boolean, () => false), 'the server is back');
      await until(() => told.length >= 20, 'twenty changes');
      assert.deepEqual(ids(), range(1, 20));
    });

    for (const streaming of [false, true]) {
      it(`goes on within a transaction that was cut off${streaming ? ', streamed' : ''}`, async () => {
        await pool.query('alter role current_user set logical_decoding_work_mem = 64');
        let cuts = 0;
        await pool.subscribe(
          'news',
          async (change) => {
            collect(change);
            if ([500, 501, 9000].includes(told.length)) {
              ++cuts;
              await terminate('lasting');
              await until(async () => !(await slotState(pool, 'lasting')).active, 'it is cut');
            }
          },
          { slot: 'lasting', streaming },
        );
        await insert(1, 10_000);
        await insert(10_001, 10_010);
        await until(() => told.length >= 10_010, 'all changes');
        assert.equal(cuts, 3);
        assert.deepEqual(ids(), range(1, 10_010));
        assert.equal(new Set(told.map(({ transaction }) => transaction.xid)).size, 2);
      });
    }

    it('lets the server keep a transaction that is too large to be kept here', async () => {
      await pool.query('alter role current_user set logical_decoding_work_mem = 64');
      await pool.subscribe('news', collect, {
        slot: 'lasting',
        streaming: true,
        maxStreamedBytes: 100_000,
      });
      await insert(1, 20_000);
      await until(() => told.length >= 20_000, 'all changes');
      assert.deepEqual(ids(), range(1, 20_000));
    });

    it('reports the loss of the connection by the event error of the pool, once', async () => {
      const errors = [];
      const other = newPool();
      other.on('error', (error) => errors.push(error));
      await other.subscribe('news', collect, { slot: 'lasting' });
      await terminate('lasting');
      await insert(1, 1);
      await until(() => told.length === 1, 'a change');
      assert.deepEqual(
        errors.map(({ code }) => code),
        ['57P01'],
      );
    });

    it('answers the server while the handler is slow, for longer than wal_sender_timeout', async () => {
      const errors = [];
      const other = newPool();
      other.on('error', (error) => errors.push(error));
      await other.subscribe(
        'news',
        async (change) => {
          collect(change);
          if (told.length === 1) await delay(4500);
        },
        { slot: 'lasting' },
      );
      await insert(1, 20_000);
      await until(() => told.length === 20_000, 'all changes');
      assert.deepEqual(errors, []);
    }).timeout(40_000);

    it('notices that the network is silent', async () => {
      const proxy = await Proxy.open(news.server.config);
      try {
        const other = newPool(proxy.options());
        let error;
        other.on('error', (one) => (error = one));
        await other.subscribe('news', collect, { slot: 'lasting' });
        proxy.hold();
        await insert(1, 3);
        await until(() => error?.code === 'ETIMEDOUT', 'the connection is given up');
        proxy.release();
        await until(() => told.length >= 3, 'the changes come by another connection');
        assert.deepEqual(ids(), [1, 2, 3]);
      } finally {
        await proxy.close();
      }
    });

    it('is closed, and says what was not confirmed, while the server does not answer', async () => {
      const proxy = await Proxy.open(news.server.config);
      try {
        const subscription = await newPool(proxy.options()).subscribe('news', collect, {
          slot: 'lasting',
        });
        proxy.hold();
        proxy.sever();
        const ended = subscription.ended.catch((error) => error);
        await delay(200);
        await subscription.close();
        const error = await ended;
        assert.ok(error instanceof ReplicationError, String(error));
        assert.match(error.message, /could not be told what it has read: that comes again/);
      } finally {
        await proxy.close();
      }
    });

    it('is closed when the rest of a transaction that was cut off does not come', async () => {
      const proxy = await Proxy.open(news.server.config);
      try {
        const subscription = await newPool(proxy.options()).subscribe(
          'news',
          async (change) => {
            collect(change);
            if (told.length > 1) return;
            proxy.change = (type, bytes) =>
              type === 'd' && bytes[5] === 'w'.charCodeAt(0) ? Buffer.alloc(0) : bytes;
            await terminate('lasting');
          },
          { slot: 'lasting' },
        );
        const ended = subscription.ended.catch((error) => error);
        await insert(1, 10_000);
        await until(() => told.length > 0, 'the first change');
        const before = await slotState(pool, 'lasting');
        await until(async () => {
          const { rows } = await pool.query(
            "select 1 from pg_stat_replication where state = 'streaming'",
          );
          return rows.length > 0;
        }, 'it has connected again');
        await subscription.close();
        assert.match((await ended).message, /could not be told what it has read: that comes again/);
        const { confirmed } = await slotState(pool, 'lasting');
        assert.equal(confirmed, before.confirmed);
      } finally {
        await proxy.close();
      }
    }).timeout(20_000);

    it('does not begin when the pool is ended meanwhile', async () => {
      const other = newPool();
      const refused = other.subscribe('news', collect, { slot: 'lasting' }).catch((error) => error);
      await other.end();
      assert.equal((await refused).code, 'ERR_PG_CONDUIT_POOL_ENDED');
      await until(async () => !(await slotState(pool, 'lasting'))?.active, 'nobody reads the slot');
    });

    it('may be closed while there is no server', async () => {
      const subscription = await pool.subscribe('news', collect, { slot: 'lasting' });
      const restarted = news.server.restart();
      await subscription.close();
      await subscription.ended;
      await restarted;
    });
  });

  describe('where changes are missing', () => {
    const gaps = [];
    beforeEach(() => {
      gaps.length = 0;
    });
    const onGap = (gap) => {
      gaps.push(gap);
    };
    const reasons = () => gaps.map(({ reason }) => reason);

    it('tells of it for a temporary slot, which ends with its connection', async () => {
      const subscription = await pool.subscribe('news', collect, { onGap });
      await insert(1, 2);
      await until(() => told.length === 2, 'two changes');
      const { position } = subscription;
      await terminate(subscription.slot);
      await until(() => gaps.length === 2, 'the gap');
      await insert(3, 3);
      await until(() => told.length === 3, 'the third');
      assert.deepEqual(reasons(), ['slot-created', 'slot-lost']);
      assert.equal(gaps[1].from, position);
      assert.match(gaps[1].snapshot, /./);
    });

    it('ends, if nobody is to be told of it', async () => {
      const subscription = await pool.subscribe('news', collect);
      await terminate(subscription.slot);
      const error = await subscription.ended.catch((e) => e);
      assert.ok(error instanceof ReplicationError);
      assert.equal(error.code, 'ERR_PG_CONDUIT_REPLICATION');
      assert.match(error.message, /^changes behind .* cannot be told: the slot is gone/);
      assert.match(error.hint, /onGap/);
    });

    /** Cuts the subscription off, and has somebody else use the slot before it is back. */
    const meanwhile = (what) =>
      until(async () => {
        await terminate('lasting');
        await pool.query("select pg_logical_emit_message(true, 'some', 'log')");
        return pool.query(`select ${what}`).then(Boolean, () => false);
      }, 'the slot was free');

    it('tells of it when the slot was dropped', async () => {
      await pool.subscribe('news', collect, { slot: 'lasting', onGap });
      await meanwhile("pg_drop_replication_slot('lasting')");
      await until(() => gaps.length === 2, 'the gap');
      assert.deepEqual(reasons(), ['slot-created', 'slot-lost']);
      await insert(1, 1);
      await until(() => told.length === 1, 'a change');
    });

    it('tells of it when somebody else has read the slot', async () => {
      const subscription = await pool.subscribe('news', collect, { slot: 'lasting', onGap });
      const { position } = subscription;
      await pool.query('begin; insert into notes values (1); commit');
      await until(() => told.length === 1, 'a change');
      await meanwhile("pg_replication_slot_advance('lasting', pg_current_wal_lsn())");
      await insert(2, 3);
      await until(() => told.length === 3, 'what came afterwards');
      const { from, to, ...gap } = gaps[1];
      assert.deepEqual(gap, { reason: 'slot-moved', slot: 'lasting', snapshot: null });
      assert.ok(from > position && to > from, `${position}, ${from}, ${to}`);
      assert.deepEqual(ids(), [1, 2, 3]);
    });

    it('does not take a slot that has moved on by itself for one that others have read', async () => {
      const first = await pool.subscribe('news', collect, { slot: 'lasting' });
      await insert(1, 1);
      await until(() => told.length === 1, 'a change');
      const { after } = told[0].transaction;
      await pool.query('drop publication news; create publication news for table notes');
      await pool.query('create table others as select generate_series(1, 100)');
      await until(async () => (await slotState(pool, 'lasting')).isCurrent, 'it has moved on');
      await first.close();
      await pool.subscribe('news', collect, { slot: 'lasting', from: after, onGap });
      await insert(2, 2);
      await until(() => told.length === 2, 'a change');
      assert.deepEqual(gaps, []);
    });

    it('tells of it when the server has removed the log that the slot needs', async () => {
      const first = await pool.subscribe('news', collect, { slot: 'lasting' });
      await first.close();
      await pool.query("alter system set max_slot_wal_keep_size = '1MB'");
      await pool.query('select pg_reload_conf()');
      try {
        const isLost = async () => {
          await pool.query(
            "select pg_logical_emit_message(false, '', repeat('x', 1000000)), pg_switch_wal()",
          );
          await pool.query('checkpoint');
          const { rows } = await pool.query('select wal_status from pg_replication_slots');
          return rows[0].wal_status === 'lost';
        };
        await until(isLost, 'the log is removed');
        const refused = await pool.subscribe('news', collect, { slot: 'lasting' }).catch((e) => e);
        assert.match(
          refused.message,
          /^changes behind the beginning cannot be told: the slot is gone/,
        );
        await pool.subscribe('news', collect, { slot: 'lasting', onGap });
        assert.deepEqual(reasons(), ['slot-lost']);
        await insert(1, 1);
        await until(() => told.length === 1, 'a change');
      } finally {
        await pool.query('alter system reset max_slot_wal_keep_size');
        await pool.query('select pg_reload_conf()');
      }
    });

    it('tells of it when the server has not come so far', async () => {
      await pool.query("select pg_create_logical_replication_slot('lasting', 'pgoutput')");
      const from = 'FF/0';
      await pool.subscribe('news', collect, { slot: 'lasting', from, onGap });
      assert.deepEqual(reasons(), ['server-behind']);
      await insert(1, 1);
      await until(() => told.length === 1, 'a change');
    });

    it('waits for what onGap does, and ends with what it throws', async () => {
      const failed = await pool
        .subscribe('news', collect, {
          slot: 'lasting',
          async onGap() {
            await delay(1);
            throw new Error('of onGap');
          },
        })
        .catch((error) => error);
      assert.equal(failed.message, 'of onGap');
      await until(async () => {
        const { rows } = await pool.query('select 1 from pg_stat_replication');
        return rows.length === 0;
      }, 'the connection is closed');
    });

    it('tells it again where onGap has failed: no slot is left that was made for it', async () => {
      const failing = async (gap) => {
        onGap(gap);
        throw new Error('of onGap');
      };
      for (const given of [failing, failing, onGap]) {
        await pool.subscribe('news', collect, { slot: 'lasting', onGap: given }).catch(() => {});
      }
      assert.deepEqual(reasons(), ['slot-created', 'slot-created', 'slot-created']);
      await insert(1, 1);
      await until(() => told.length === 1, 'a change');
    });

    it('leaves no slot that was made for it when the pool is ended while onGap runs', async () => {
      const other = newPool();
      const refused = other
        .subscribe('news', collect, {
          slot: 'lasting',
          onGap: () => other.end(),
        })
        .catch((error) => error);
      assert.equal((await refused).code, 'ERR_PG_CONDUIT_POOL_ENDED');
      assert.equal(await slotState(pool, 'lasting'), undefined);
    });

    it('leaves a slot that somebody else reads meanwhile', async () => {
      await pool
        .subscribe('news', collect, {
          slot: 'lasting',
          async onGap() {
            await newPool().subscribe('news', collect, { slot: 'lasting' });
          },
        })
        .catch(() => {});
      await insert(1, 1);
      await until(() => told.length === 1, 'the other one reads');
    });
  });

  describe('before it begins', () => {
    const refusal = (given = {}, one = pool, name = 'news') =>
      one.subscribe(name, collect, given).then(
        () => assert.fail('it was not refused'),
        (error) => error,
      );

    it('says that there is no such publication, and leaves no slot', async () => {
      const error = await refusal({ slot: 'lasting' }, pool, ['news', "it's", 'none']);
      assert.ok(error instanceof ReplicationError);
      assert.equal(
        error.message,
        'publications "it\'s", "none" do not exist in database "postgres"',
      );
      assert.match(error.hint, /create publication/);
      assert.equal(await slotState(pool, 'lasting'), undefined);
    });

    it('takes publications of any name', async () => {
      await pool.query(`create publication "It's ""mine"", \\ all" for table notes`);
      await pool.subscribe(['news', `It's "mine", \\ all`], collect);
      await insert(1, 1);
      await until(() => told.length === 1, 'a change');
      await pool.query(`drop publication "It's ""mine"", \\ all"`);
    });

    it('says that the slot is in use', async () => {
      await pool.subscribe('news', collect, { slot: 'lasting' });
      const error = await refusal({ slot: 'lasting' });
      assert.ok(error instanceof DatabaseError);
      assert.equal(error.code, '55006');
      assert.match(error.hint, /slot of its own/);
      await insert(1, 1);
      await until(() => told.length === 1, 'the first one goes on');
    });

    it('says that the slot is of another kind or database', async () => {
      await pool.query("select pg_create_physical_replication_slot('lasting')");
      assert.match((await refusal({ slot: 'lasting' })).message, /physical replication/);
      await pool.query("select pg_drop_replication_slot('lasting')");
      await pool
        .query("select pg_create_logical_replication_slot('lasting', 'test_decoding')")
        .catch(() => {});
      if ((await slotState(pool, 'lasting')) !== undefined) {
        assert.match((await refusal({ slot: 'lasting' })).message, /plugin test_decoding/);
        await pool.query("select pg_drop_replication_slot('lasting')");
      }
      const other = newPool({ database: 'template1' });
      await other.query("select pg_create_logical_replication_slot('lasting', 'pgoutput')");
      await other.end();
      assert.match((await refusal({ slot: 'lasting' })).message, /database "template1"/);
    });

    it('says that the role lacks REPLICATION', async () => {
      await pool.query('drop role if exists plain; create role plain login');
      const error = await refusal({}, newPool({ user: 'plain' }));
      assert.equal(error.code, '42501');
      assert.match(error.hint, /alter role … replication/);
    });

    it('says that wal_level is not logical', async () => {
      const plain = await startDatabase({ own: true, keepsCluster: true });
      const other = new Pool(plain.config);
      try {
        const error = await refusal({}, other);
        assert.ok(error instanceof ReplicationError);
        assert.match(error.message, /wal_level = replica/);
        assert.match(error.hint, /alter system set wal_level = logical/);
      } finally {
        await other.end();
        await plain.stop();
      }
    });

    for (const at of ['pg_replication_slots', 'START_REPLICATION']) {
      it(`does not wait without end for a server that is silent at ${at}`, async () => {
        const proxy = await Proxy.open(news.server.config);
        try {
          proxy.mute = { at };
          const error = await refusal(
            { slot: 'lasting' },
            newPool({ ...proxy.options(), query_timeout: 300 }),
          );
          assert.ok(error instanceof Error);
        } finally {
          await proxy.close();
        }
      });
    }

    it('says that there is no server', async () => {
      const error = await refusal({}, newPool({ host: '127.0.0.1', port: 1 }));
      assert.equal(error.code, 'ECONNREFUSED');
    });

    it('ends with an error that stays', async () => {
      const subscription = await pool.subscribe('news', collect, { slot: 'lasting' });
      await pool.query('drop publication news');
      await terminate('lasting');
      const error = await subscription.ended.catch((e) => e);
      assert.ok(error instanceof ReplicationError, String(error));
      assert.match(error.message, /publication "news" does not exist/);
    });
  });
});
