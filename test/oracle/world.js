'use strict';

// The tables and functions that scripts use, as SQL. Each place where a script runs has a schema of its own with
// all of them (`home`), and an empty one for what the script creates (`extra`); a third one is read by all. What has
// an effect on the session is made in every way that PostgreSQL hides a call: views, triggers, defaults, operators,
// casts, aggregates, checks, rules, generated columns, columns that are functions. Used by places.js.

const SHARED = 'oracle_shared';
/** They own nothing and are no superusers, so that row security applies to them. */
const ROLES = ['oracle_tenant', 'oracle_other'];
const LOCK_KEY = 7401;

/**
 * Once for a server.
 * @param {string[]} places names of the places
 */
function serverSql(places) {
  return `
    do $$ begin
      perform pg_advisory_xact_lock(${LOCK_KEY});
      ${ROLES.map(
        (role) => `if not exists (select from pg_roles where rolname = '${role}') then
        create role ${role}; end if;`,
      ).join('\n')}
    end $$;
    -- Where a script that has reset its search_path would leave what others find.
    drop schema if exists public cascade;
    drop schema if exists ${SHARED} cascade;
    create schema ${SHARED};
    create table ${SHARED}.people (id int primary key, name text, born date, tags text[], data jsonb);
    insert into ${SHARED}.people
      select i, 'name' || i, date '1970-01-01' + i * 37, array['a' || i % 3, 'b'], jsonb_build_object('i', i)
      from generate_series(1, 40) i;
    create table ${SHARED}.orders (id int primary key, person int, total numeric(10, 2), placed timestamptz);
    insert into ${SHARED}.orders
      select i, 1 + i % 40, i * 1.25, timestamptz '2024-01-01 00:00:00+00' + i * interval '1 hour'
      from generate_series(1, 120) i;
    create view ${SHARED}.rich as
      select p.id, p.name, sum(o.total) as total from ${SHARED}.people p
      join ${SHARED}.orders o on o.person = p.id group by p.id, p.name;
    create function ${SHARED}.twice(i int) returns int language sql immutable as 'select 2 * i';
    grant usage on schema ${SHARED} to public;
    grant select on all tables in schema ${SHARED} to public;
    create function ${SHARED}.contents(namespace text) returns text language plpgsql as $$
      ${CONTENTS}
    $$;
    ${places.map((place) => `drop schema if exists ${place}, ${place}x cascade;`).join('\n')}`;
}

/** What a script has left in the schema `namespace`, as a text that is alike for the same contents. */
const CONTENTS = `
  declare
    found record;
    said text := '';
    line text;
  begin
    for found in
      select c.oid, c.relname, c.relkind, coalesce((select string_agg(attname || ' ' || format_type(atttypid, atttypmod)
          || attnotnull || coalesce(pg_get_expr(adbin, adrelid), ''), ', ' order by attnum)
        from pg_attribute a left join pg_attrdef d on adrelid = attrelid and adnum = attnum
        where attrelid = c.oid and attnum > 0 and not attisdropped), '') as columns
      from pg_class c where relnamespace = namespace::regnamespace order by relname
    loop
      line := case found.relkind
        when 'v' then pg_get_viewdef(found.oid)
        when 'i' then pg_get_indexdef(found.oid)
        else '' end;
      if found.relkind in ('r', 'm', 'S') then
        begin
          execute format('select coalesce(string_agg(line::text, %L order by line::text), %L) from %I.%I line', ' ', '',
            namespace, found.relname) into line;
        exception when others then
          line := sqlerrm;
        end;
      end if;
      said := said || found.relkind::text || ' ' || found.relname || ' (' || found.columns || ') ' || line || chr(10);
    end loop;
    for found in
      select 'function ' || proname || ' ' || prosrc as line from pg_proc where pronamespace = namespace::regnamespace
      union all
      select 'type ' || typname || ' ' || coalesce((select string_agg(enumlabel, ',' order by enumsortorder)
        from pg_enum where enumtypid = t.oid), '')
      from pg_type t where typnamespace = namespace::regnamespace and typtype in ('e', 'd')
      order by 1
    loop
      said := said || found.line || chr(10);
    end loop;
    return said;
  end`;

/** Tables of a place, with the rows that each script finds in them. */
const TABLES = {
  plain: "(1, 10, 'one'), (2, 20, 'two'), (3, 30, null)",
  counters: '(1, 0), (2, 0), (3, 0)',
  serial: "(0, 'first')",
  ident: "(0, 'first')",
  child: '(1, 1), (2, 2)',
  triggered: "(1, 'old')",
  noisy: '(1, 0)',
  defaulted: "(1, 'given')",
  checked: '',
  generated: '',
  ruled: '(1, 1)',
  secured: "(1, 'red', 'r1'), (2, 'blue', 'b1'), (3, 'red', 'r2')",
  logged: '',
  guarded: "(1, 'red'), (2, 'blue')",
  parted: "(1, 'low'), (11, 'high')",
  parent: '(1), (2)',
  cascaded: '(1, 1), (2, 2)',
};
const SEQUENCES = ['seq', 'serial_id_seq', 'ident_id_seq'];

/**
 * @param {string} home
 * @param {boolean} isStrict whether NULL and '' of a custom parameter are told apart
 * @param {boolean} isCalm without operators, casts and domains that call functions: where there are some, no statement
 *   is known to be harmless, and nothing floats
 */
function placeSql(home, isStrict, isCalm) {
  const extra = `${home}x`;
  const app = (name) => {
    const read = `current_setting(${name}, true)`;
    return isStrict ? read : `coalesce(${read}, '')`;
  };
  const code = (head, body, language = 'plpgsql') =>
    `create function ${home}.${head} language ${language} as $f$ ${body} $f$;`;
  return `
    create schema ${home};
    create schema ${extra};
    grant usage on schema ${home}, ${extra} to public;
    create table ${home}.logged (id int, t text);
    create sequence ${home}.seq;
    ${code(
      'touch(v text) returns text',
      `begin perform set_config('work_mem', (64 + length(coalesce(v, ''))) || 'kB', false); return v; end`,
    )}
    ${code(
      'touch_int(v int) returns int',
      `begin perform set_config('work_mem', (64 + abs(v % 64)) || 'kB', false); return v; end`,
    )}
    ${code('touch_local(v text) returns text', `begin perform set_config('app.local', v, true); return v; end`)}
    ${code('peek() returns text', `begin return concat_ws('|', ${app(`'app.touched'`)}, current_setting('work_mem'), current_setting('application_name')); end`)}
    ${code('grow(v int) returns int', `begin insert into ${home}.logged values (v, 'grown'); return v; end`)}
    ${code('quiet(v int) returns int immutable', 'select v + 1', 'sql')}
    ${code('next_one() returns bigint', `select nextval('${home}.seq')`, 'sql')}
    ${code(
      'make_temp(v int) returns int',
      `begin create temp table if not exists made (a int); insert into made values (v);
       return (select count(*) from made); end`,
    )}
    ${code(`take_lock(c int, k int) returns void`, `begin perform pg_advisory_lock(c, k); end`)}
    ${code('hear(c text) returns void', `begin execute format('listen %I', c); end`)}
    ${code('ready(v int) returns void', `begin execute 'prepare ready as select ' || v || ' as ready'; end`)}
    ${code('fails(c text) returns int', `begin raise exception 'it fails' using errcode = c, detail = 'a detail', hint = 'a hint'; end`)}
    ${code('noise(v text) returns text', `begin raise notice 'noise %', v; raise warning 'loud %', v; return v; end`)}
    ${code(
      'opens() returns refcursor',
      `declare c refcursor := 'opened'; begin open c for select id, name from ${SHARED}.people order by id; return c; end`,
    )}
    create function ${home}.with_set() returns text language sql set work_mem = '77kB' as $f$ select current_setting('work_mem') $f$;
    ${code('lower(v text) returns text', `begin perform set_config('app.touched', 'lower', false); return 'mine'; end`)}
    ${code('lies(v int) returns text immutable', `begin perform set_config('app.touched', 'lie' || v, false); return v; end`)}
    create table ${home}.plain (id int primary key, n int, t text);
    create table ${home}.counters (id int primary key, n int not null check (n < 1000));
    create table ${home}.serial (id serial primary key, t text);
    create table ${home}.ident (id int generated by default as identity primary key, t text);
    create table ${home}.child (id int primary key, parent int references ${home}.plain deferrable initially deferred);
    create table ${home}.triggered (id int, t text);
    create table ${home}.noisy (id int, n int);
    create table ${home}.defaulted (id int, t text default ${home}.touch('default'));
    create table ${home}.checked (id int, n int check (${home}.touch_int(n) > 0));
    create table ${home}.generated (id int, g text generated always as (${home}.lies(id)) stored);
    create table ${home}.ruled (id int, n int);
    create table ${home}.secured (id int, tenant text, t text);
    ${code(
      'on_change() returns trigger',
      `begin perform set_config(case when new.id > 4 then 'app.trace' else 'application_name' end, TG_OP || new.id, false);
       insert into ${home}.logged values (new.id, TG_OP); return new; end`,
    )}
    create trigger changes before insert or update on ${home}.triggered for each row execute function ${home}.on_change();
    ${code('on_noise() returns trigger', `begin raise notice 'changed %', new.id; return new; end`)}
    create trigger tells after insert or update on ${home}.noisy for each row execute function ${home}.on_noise();
    create rule also as on update to ${home}.ruled do also select ${home}.touch('rule');
    alter table ${home}.secured enable row level security;
    create policy tenants on ${home}.secured using (tenant = current_setting('app.tenant', true));
    ${code(`shout(p ${home}.plain) returns text`, `begin return ${home}.touch(upper(p.t)); end`)}
    create table ${home}.guarded (id int, t text);
    alter table ${home}.guarded enable row level security;
    create policy guards on ${home}.guarded using (${home}.touch(t) is not null);
    create table ${home}.parted (id int, t text) partition by range (id);
    create table ${home}.parted_low partition of ${home}.parted for values from (0) to (10);
    create table ${home}.parted_high partition of ${home}.parted for values from (10) to (100);
    ${code('on_part() returns trigger', `begin perform ${home}.touch_int(new.id); return new; end`)}
    create trigger changes before insert or update on ${home}.parted_high for each row execute function ${home}.on_part();
    create table ${home}.parent (id int primary key);
    create table ${home}.cascaded (id int, parent int references ${home}.parent on delete cascade);
    ${code('on_delete() returns trigger', `begin perform ${home}.touch_int(old.id); return old; end`)}
    create trigger goes before delete on ${home}.cascaded for each row execute function ${home}.on_delete();
    create view ${home}.through as select id, t from ${home}.triggered;
    create view ${home}.instead as select id from ${home}.plain;
    ${code('on_instead() returns trigger', `begin perform ${home}.touch_int(new.id); return new; end`)}
    create trigger takes instead of insert on ${home}.instead for each row execute function ${home}.on_instead();
    create view ${home}.calm as select id, n from ${home}.plain;
    create view ${home}.touching as select id, ${home}.touch(t) as t from ${home}.plain;
    create view ${home}.deep as select id, t from ${home}.touching where id < 3;
    create view ${home}.growing as select ${home}.grow(id) as id from ${home}.plain;
    create view ${home}.asking as select current_setting('work_mem') as memory, current_user::text as who;
    ${code('touch_two(a int, b int) returns int', `begin perform ${home}.touch_int(b); return a + b; end`)}
    ${isCalm ? '' : `create operator ${home}.<~> (leftarg = int, rightarg = int, function = ${home}.touch_two);`}
    create type ${home}.mood as enum ('calm', 'happy');
    create type ${home}.pair as (x int, y text);
    ${code(`mood_int(m ${home}.mood) returns int`, `begin return ${home}.touch_int(7); end`)}
    ${isCalm ? '' : `create cast (${home}.mood as int) with function ${home}.mood_int(${home}.mood);`}
    create aggregate ${home}.touch_sum(int) (sfunc = ${home}.touch_two, stype = int, initcond = '0');
    ${isCalm ? '' : `create domain ${home}.positive as int check (${home}.touch_int(value) > 0);`}
    create procedure ${home}.adds(v int) language plpgsql as $f$
      begin insert into ${home}.logged values (v, 'added'); perform set_config('app.touched', 'call', false); end $f$;
    create procedure ${home}.commits(v int) language plpgsql as $f$
      begin insert into ${home}.logged values (v, 'kept'); commit; insert into ${home}.logged values (v, 'lost'); rollback; end $f$;
    grant all on all tables in schema ${home} to public;
    grant all on all sequences in schema ${home} to public;`;
}

/**
 * The rows and sequences that a script finds, as texts to be sent one after the other. Between a DELETE and the rows
 * comes VACUUM: they lie in the same order for each script then, and TRUNCATE takes ten times as long. Triggers do
 * not fire.
 * @param {string} home
 * @param {string[]} changed tables and sequences
 */
function restoreSql(home, changed) {
  const tables = changed.filter((name) => TABLES[name] !== undefined);
  const names = tables.map((name) => `${home}.${name}`);
  const silently = (/** @type {string[]} */ texts) =>
    `set session_replication_role = replica; ${texts.join('; ')}; reset session_replication_role`;
  const sequences = changed
    .filter((name) => SEQUENCES.includes(name))
    .map((name) => `select setval('${home}.${name}', 1, false)`);
  const texts = [silently([...names.map((name) => `delete from ${name}`), ...sequences])];
  if (names.length > 0) texts.push(`vacuum ${names.join(', ')}`);
  const inserts = tables
    .filter((name) => TABLES[name] !== '')
    .map((name) => `insert into ${home}.${name} values ${TABLES[name]}`);
  if (inserts.length > 0) texts.push(silently(inserts));
  return texts;
}

module.exports = { SEQUENCES, SHARED, TABLES, placeSql, restoreSql, serverSql };
