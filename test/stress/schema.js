'use strict';

// The tables and functions that the actions use, and the view from outside of the driver: through `pg`,
// so that a fault of ours does not hide itself. Used by the rounds.

const { SCHEMA, resetSchema } = require('../support/connect');
const { Observer } = require('../support/outside');

const OBJECTS = `
  set search_path to ${SCHEMA};
  create table effects (id int not null, part int not null default 0);
  create table keyed (id int primary key);
  create table counters (id int primary key, n int not null default 0);
  create table parents (id int primary key);
  create table child (parent int references parents deferrable initially deferred);
  create table changing (a int);
  create table vanishing (a int);
  insert into vanishing values (1);
  insert into keyed values (0);
  insert into counters select i from generate_series(0, 7) i;
  insert into parents values (1);
  insert into changing values (1);
  create function remember(int) returns int language plpgsql as
    'begin insert into ${SCHEMA}.effects values ($1); return $1; end';
  create function raises(int, boolean) returns int language plpgsql as $$
    begin
      insert into ${SCHEMA}.effects values ($1);
      if $2 then raise 'raised on purpose'; end if;
      return $1;
    end $$;
  create procedure commits(int, int, boolean) language plpgsql as $$
    begin
      insert into ${SCHEMA}.effects values ($1);
      commit;
      insert into ${SCHEMA}.effects values ($2);
      if $3 then raise 'raised on purpose'; end if;
    end $$;
  create procedure commits_into(name text) language plpgsql as $$
    begin
      execute format('insert into ${SCHEMA}.%I values (1)', name);
      commit;
      perform pg_sleep(0.01);
    end $$;
  create function noisy(int) returns int language plpgsql as $$
    begin
      insert into ${SCHEMA}.effects values ($1);
      raise notice 'noise of %', $1;
      return $1;
    end $$;
  create function forget_statements() returns int language plpgsql as
    $$ begin execute 'deallocate all'; return 1; end $$;`;

const PREFIX = 'conduit_stress';
/** Sessions that the storm does not touch. */
const CALM = `${PREFIX}_calm`;

class Outside extends Observer {
  /** @type {Promise<any>} */
  #last = Promise.resolve();

  /** One after the other. @override @param {string} text @param {unknown[]} [values] */
  ask(text, values) {
    const rows = this.#last.then(() => super.ask(text, values));
    this.#last = rows.catch(() => {});
    return rows;
  }

  /** The tables anew. @param {any} [config] of `pg` */
  static async open(config) {
    await resetSchema();
    const outside = new Outside();
    await outside.connect(config);
    await outside.ask(OBJECTS);
    return outside;
  }

  /** @returns {Promise<Map<number, number>>} rows of effects by id */
  async countEffects() {
    const rows = await this.ask(
      `select id, count(*)::int as n from ${SCHEMA}.effects group by id order by id`,
    );
    return new Map(rows.map(({ id, n }) => [id, n]));
  }

  /** @param {number[]} ids */
  async countRows(ids) {
    const [{ n }] = await this.ask(
      `select count(*)::int as n from ${SCHEMA}.effects where id = any($1)`,
      [ids],
    );
    return n;
  }

  async clear() {
    await this.ask(
      `truncate ${SCHEMA}.effects, ${SCHEMA}.keyed, ${SCHEMA}.child; insert into ${SCHEMA}.keyed values (0)`,
    );
  }

  /** Backends that the driver has made. */
  sessions() {
    return this.ask(
      `select pid, application_name, state, wait_event, left(query, 120) as query, backend_xid
       from pg_stat_activity where application_name like '${PREFIX}%' order by pid`,
    );
  }

  /** @param {string} table and what to do with it @returns {Promise<any>} */
  alter(table) {
    return this.ask(`set lock_timeout = '2s'; alter table ${SCHEMA}.${table}`);
  }
}

module.exports = { CALM, Outside, PREFIX };
