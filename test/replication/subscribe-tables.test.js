'use strict';

// A hundred thousand changes of random transactions, applied as they are told to tables of their own, while
// connections are cut, subscriptions are closed and begun again, and the server restarts: both sides are the same at
// the end, and each change was told once.

const assert = require('node:assert/strict');
const { Pool } = require('../..');
const { dropSlots, startLogicalServer, until } = require('../support/logical-server');

const WRITERS = 4;
const IDS = 500;

/** Transactions of several statements on two tables, some of which roll back, in part or as a whole. */
const WORK = `create procedure work(writer int, rounds int) language plpgsql as $$
  declare
    chosen int;
    kind int;
  begin
    perform setseed(writer / 10.0);
    for round in 1 .. rounds loop
      for step in 1 .. 1 + (random() * 20)::int loop
        chosen := writer * 1000 + (random() * ${IDS})::int;
        kind := (random() * 10)::int;
        begin
          if kind < 5 then
            insert into stock values (chosen, kind, repeat('x', (random() * 50)::int), null)
              on conflict (id) do update set amount = stock.amount + 1;
          elsif kind < 7 then
            update stock set amount = amount + 1, big = repeat(kind::text, 3000) where id = chosen;
          elsif kind = 7 then
            delete from stock where id = chosen;
          elsif kind = 8 then
            update stock set amount = -amount where id between chosen and chosen + 20;
          else
            insert into log (writer, what) values (writer, round || '.' || step);
          end if;
          if random() < 0.02 then
            raise exception 'undone';
          end if;
        exception when raise_exception then
          null;
        end;
      end loop;
      if random() < 0.05 then
        rollback;
      else
        commit;
      end if;
    end loop;
  end $$`;

const IS_LONG = process.env.PG_CONDUIT_TESTS === 'long';

describe('random changes', function () {
  this.timeout(120_000);
  let server;
  /** @type {Pool} */
  let pool;

  before(async () => {
    server = await startLogicalServer({ logical_decoding_work_mem: '64kB' });
  });

  after(() => server?.stop());

  beforeEach(async () => {
    pool = new Pool(server.config);
    pool.on('error', () => {});
    await pool.query(
      'drop schema public cascade; create schema public; drop publication if exists all_of_it',
    );
    await pool.query('create table stock (id int primary key, amount int, text text, big text)');
    await pool.query('alter table stock alter big set storage external');
    await pool.query('create table log (id bigserial primary key, writer int, what text)');
    await pool.query('create publication all_of_it for table stock, log');
    await pool.query(WORK);
  });

  afterEach(async () => {
    await pool.end();
    const admin = new Pool(server.config);
    await dropSlots(admin);
    await admin.end();
  });

  /** Applies changes to tables in memory, and fails on any that cannot be. */
  class Mirror {
    tables = { stock: new Map(), log: new Map() };
    told = 0;

    apply({ kind, table, row, old, unchanged }) {
      ++this.told;
      const rows = this.tables[table];
      const key = (old ?? row).id;
      const before = rows.get(key);
      if (kind === 'insert') {
        assert.equal(before, undefined, `${table} ${key} is inserted twice`);
        rows.set(key, row);
      } else if (kind === 'update') {
        assert.notEqual(before, undefined, `${table} ${key} is updated and was not there`);
        for (const name of unchanged) row[name] = before[name];
        rows.delete(key);
        rows.set(row.id, row);
      } else {
        assert.ok(rows.delete(key), `${table} ${key} is deleted and was not there`);
      }
    }

    content(table) {
      return [...this.tables[table].values()].sort((a, b) => Number(a.id) - Number(b.id));
    }
  }

  /** @param {number} writer @param {{ told: number }} mirror @param {number} enough changes told */
  async function write(writer, mirror, enough) {
    while (mirror.told < enough) {
      await pool.query('call work($1::int, 200)', [writer]).catch(() => {});
      await new Promise(setImmediate);
    }
  }

  for (const [streaming, total] of [
    [false, IS_LONG ? 100_000 : 8_000],
    [true, IS_LONG ? 40_000 : 4_000],
  ]) {
    it(`(${total}${streaming ? ', streamed' : ''}) come out as the tables are, in spite of faults`, async () => {
      const mirror = new Mirror();
      const gaps = [];
      const begin = () =>
        pool.subscribe('all_of_it', (change) => mirror.apply(change), {
          slot: 'mirror',
          streaming,
          onGap: (gap) => gaps.push(gap.reason),
        });
      let subscription = await begin();
      const writers = Promise.all(
        Array.from({ length: WRITERS }, (_, index) => write(index + 1, mirror, total)),
      );
      let cuts = 0;
      for (let at = total / 20; at < total; at += total / 20) {
        await until(() => mirror.told >= at, `${at} changes`);
        ++cuts;
        if (cuts === 10) {
          await server.restart();
        } else if (cuts % 3 === 0) {
          await subscription.close();
          subscription = await begin();
        } else {
          await pool
            .query('select pg_terminate_backend(active_pid) from pg_replication_slots where active')
            .catch(() => {});
        }
      }
      await writers;
      await pool.query("insert into log (writer, what) values (0, 'last')");
      await until(() => [...mirror.tables.log.values()].at(-1)?.what === 'last', 'the last change');
      for (const table of ['stock', 'log']) {
        const { rows } = await pool.query(`select * from ${table} order by id`);
        assert.deepEqual(mirror.content(table), rows, table);
      }
      assert.ok(mirror.told > total && cuts > 15);
      assert.deepEqual(gaps, ['slot-created']);
    });
  }
});
