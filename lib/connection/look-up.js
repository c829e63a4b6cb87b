'use strict';

// The query by which catalog.js learns what names mean in a database.

const { KNOWN_NAMES, LAST_VALUE_FUNCTIONS, SESSION_FUNCTIONS } = require('../statements');

/**
 * FirstNormalObjectId in PostgreSQL's access/transam.h: objects with a lower oid come with the
 * server.
 */
const FIRST_OWN_OID = 16384;

/**
 * A function is harmless if it comes with the server and is on our list, is immutable, or
 * implements one of the server's operators or casts. Of the others only those of extensions that
 * are not volatile are harmless, and those that the server makes for a range type. The label of an
 * application's own function is not trusted: `stable` does not keep PL/pgSQL from calling
 * set_config() or pg_notify().
 *
 * - isStrange: an operator, a cast, a type, a domain or the ordering of a type calls a harmful
 *   function
 * - calls: names of harmful functions that hide one on our list
 * - attributes: names of all harmful functions that take one argument: `t.f` calls f(t)
 * - relations: views and tables whose rules or policies call a harmful function; tables whose
 *   partitions or children are locked depending on values; foreign tables, whose locks are on
 *   another server; and everything whose rules or policies use one of these
 * - isSessionBound: an operator, a cast or a type calls a function whose answer depends on the session
 * - sessionRelations: views and tables whose rules or policies call one, or read a view of the system; and everything
 *   whose rules or policies use one of these
 * - writeRelations: relations for which a write does more than to change rows of tables, or not the same in each
 *   session: views and foreign tables; tables with triggers, rules, row security, and those whose defaults, checks,
 *   indexes or partition keys call a harmful function, or one whose answer depends on the session; temporary tables;
 *   and everything that leads to one of these by inheritance or the action of a foreign key. Besides, sequences whose
 *   sessions take several numbers at a time, and their tables
 * - sequenceRelations: tables for which a write may call nextval()
 * - asksSequences: a function, rule, policy, default or check may call lastval() or currval(). Their names are written
 *   so that this query is not taken for one that asks, too
 */
const LOOK_UP = `
with recursive harmful_oids as (
  select oid from pg_catalog.pg_proc
  except all (
    select oid from pg_catalog.pg_proc where oid < ${FIRST_OWN_OID} and provolatile = 'i'
    union
    select oid from pg_catalog.pg_proc where oid < ${FIRST_OWN_OID} and proname = any ($1::text[])
    union
    select oprcode from pg_catalog.pg_operator where oid < ${FIRST_OWN_OID}
    union
    select castfunc from pg_catalog.pg_cast where oid < ${FIRST_OWN_OID}
    union
    select p.oid from pg_catalog.pg_proc p join pg_catalog.pg_language l on l.oid = p.prolang
    where p.oid >= ${FIRST_OWN_OID} and p.provolatile = 'i' and l.lanname = 'internal' and p.prokind = 'f'
    union
    select p.oid from pg_catalog.pg_proc p join pg_catalog.pg_depend d on d.objid = p.oid
    where p.oid >= ${FIRST_OWN_OID} and p.provolatile <> 'v'
      and d.classid = 'pg_catalog.pg_proc'::regclass and d.deptype = 'e'
  )
), harmful as (
  select p.oid, p.proname, p.pronargs, p.pronargdefaults
  from pg_catalog.pg_proc p join harmful_oids h on h.oid = p.oid
), asking as (
  select oid from pg_catalog.pg_proc where oid < ${FIRST_OWN_OID} and proname = any ($2::text[])
), nextval as (
  select oid from pg_catalog.pg_proc where oid < ${FIRST_OWN_OID} and proname = 'nextval'
), last_value as (
  select oid from pg_catalog.pg_proc where oid < ${FIRST_OWN_OID} and proname = any ($3::text[])
), expressions as (
  select 'relation' as kind, r.ev_class as oid, r.ev_action::text as tree
  from pg_catalog.pg_rewrite r where r.oid >= ${FIRST_OWN_OID} and r.ev_type = '1'
  union all
  select 'relation', p.polrelid, p.polqual::text from pg_catalog.pg_policy p
  union all
  select 'type', c.contypid, c.conbin::text
  from pg_catalog.pg_constraint c where c.oid >= ${FIRST_OWN_OID} and c.contypid <> 0
), calls as (
  select distinct e.kind, e.oid, m[1]::oid as function from expressions e,
    pg_catalog.regexp_matches(e.tree, ':\\w*(?:funcid|fnoid|tsmhandler) ([0-9]+)', 'g') m
), callers as (
  select distinct kind, oid from calls where function in (select oid from harmful)
), system_views as (
  select c.oid, c.relname from pg_catalog.pg_class c where c.relkind = 'v' and c.oid < ${FIRST_OWN_OID}
), askers as (
  select distinct kind, oid from calls where function in (select oid from asking)
  union
  select distinct e.kind, e.oid from expressions e,
    pg_catalog.regexp_matches(e.tree, ':relid ([0-9]+)', 'g') m
  where m[1]::oid in (select oid from system_views)
), uses as (
  select d.refobjid as used, r.ev_class as oid
  from pg_catalog.pg_depend d join pg_catalog.pg_rewrite r on r.oid = d.objid
  where d.classid = 'pg_catalog.pg_rewrite'::regclass and d.refclassid = 'pg_catalog.pg_class'::regclass
  union
  select d.refobjid, p.polrelid
  from pg_catalog.pg_depend d join pg_catalog.pg_policy p on p.oid = d.objid
  where d.classid = 'pg_catalog.pg_policy'::regclass and d.refclassid = 'pg_catalog.pg_class'::regclass
), special as (
  select c.oid from pg_catalog.pg_class c where c.relkind in ('p', 'f')
  union
  select i.inhparent from pg_catalog.pg_inherits i
  union
  select c.oid from callers c where c.kind = 'relation'
  union
  select u.oid from special s join uses u on u.used = s.oid
), bound as (
  select a.oid from askers a where a.kind = 'relation'
  union
  select u.oid from bound b join uses u on u.used = b.oid
), written_trees as (
  select d.adrelid as oid, d.adbin::text as tree from pg_catalog.pg_attrdef d
  union all
  select c.conrelid, c.conbin::text
  from pg_catalog.pg_constraint c where c.oid >= ${FIRST_OWN_OID} and c.contype = 'c' and c.conrelid <> 0
  union all
  select a.attrelid, t.typdefaultbin::text
  from pg_catalog.pg_type t join pg_catalog.pg_attribute a on a.atttypid = t.oid
  where t.oid >= ${FIRST_OWN_OID} and t.typdefaultbin is not null and not a.attisdropped
  union all
  select i.indrelid, pg_catalog.concat(i.indexprs::text, i.indpred::text)
  from pg_catalog.pg_index i where i.indexprs is not null or i.indpred is not null
  union all
  select p.partrelid, p.partexprs::text from pg_catalog.pg_partitioned_table p
  union all
  select p.polrelid, p.polwithcheck::text from pg_catalog.pg_policy p
  union all
  select t.tgrelid, t.tgqual::text from pg_catalog.pg_trigger t where t.tgqual is not null
  union all
  select r.ev_class, pg_catalog.concat(r.ev_qual::text, r.ev_action::text)
  from pg_catalog.pg_rewrite r where r.oid >= ${FIRST_OWN_OID} and r.ev_type <> '1'
), written_calls as (
  -- There may be thousands, and a regular expression takes longer. What operators call, isStrange tells.
  select e.oid, pg_catalog.split_part(part, ' ', 1)::oid as function
  from written_trees e, pg_catalog.unnest((pg_catalog.string_to_array(e.tree, ':funcid '))[2:]) part
  where pg_catalog.strpos(e.tree, ':funcid ') > 0
), effects as (
  select oid from harmful union select oid from asking except select oid from nextval
), stocked as (
  select s.seqrelid as oid from pg_catalog.pg_sequence s where s.seqcache > 1
), touchy as (
  select c.oid from pg_catalog.pg_class c
  where c.oid >= ${FIRST_OWN_OID} and (c.relkind in ('v', 'f')
    or c.relkind in ('r', 'p') and (c.relpersistence = 't' or c.relrowsecurity))
  union
  select p.polrelid from pg_catalog.pg_policy p
  union
  select r.ev_class from pg_catalog.pg_rewrite r where r.oid >= ${FIRST_OWN_OID} and r.ev_type <> '1'
  union
  select t.tgrelid from pg_catalog.pg_trigger t where not t.tgisinternal or t.tgfoid >= ${FIRST_OWN_OID}
  union
  -- Without "is true" it is a join, of which the planner expects so much that it compiles the query for a second.
  select c.oid from written_calls c where (c.function in (select oid from effects)) is true
  union
  select s.oid from stocked s
  union
  select d.refobjid from pg_catalog.pg_depend d join stocked s on s.oid = d.objid
  where d.classid = 'pg_catalog.pg_class'::regclass and d.refclassid = 'pg_catalog.pg_class'::regclass
  union
  select a.adrelid from pg_catalog.pg_depend d join stocked s on s.oid = d.refobjid
  join pg_catalog.pg_attrdef a on a.oid = d.objid
  where d.classid = 'pg_catalog.pg_attrdef'::regclass and d.refclassid = 'pg_catalog.pg_class'::regclass
), advancing as (
  select a.attrelid as oid from pg_catalog.pg_attribute a where a.attidentity <> ''
  union
  select c.oid from written_calls c where (c.function in (select oid from nextval)) is true
), leads as (
  -- A write to the second may be one to the first.
  select i.inhrelid as used, i.inhparent as oid from pg_catalog.pg_inherits i
  union all
  select i.inhparent, i.inhrelid from pg_catalog.pg_inherits i
  union all
  select c.conrelid, c.confrelid from pg_catalog.pg_constraint c
  where c.contype = 'f' and (c.confdeltype in ('c', 'n', 'd') or c.confupdtype in ('c', 'n', 'd'))
), to_touchy as (
  select l.oid from leads l where l.used in (select oid from touchy)
  union
  select l.oid from to_touchy t join leads l on l.used = t.oid
), to_advancing as (
  select l.oid from leads l where l.used in (select oid from advancing)
  union
  select l.oid from to_advancing t join leads l on l.used = t.oid
)
select pg_catalog.json_build_object(
  'isStrange', exists (select from callers where kind = 'type')
    or exists (select from pg_catalog.pg_operator
      where oid >= ${FIRST_OWN_OID} and oprcode in (select oid from harmful))
    or exists (select from pg_catalog.pg_cast
      where oid >= ${FIRST_OWN_OID} and castfunc in (select oid from harmful))
    or exists (select from pg_catalog.pg_amproc
      where oid >= ${FIRST_OWN_OID} and amproc in (select oid from harmful))
    or exists (select from pg_catalog.pg_range, pg_catalog.unnest(array[rngcanonical::oid, rngsubdiff]) f
      where rngtypid >= ${FIRST_OWN_OID} and f in (select oid from harmful))
    or exists (select from pg_catalog.pg_type t, pg_catalog.unnest(array[t.typinput::oid, t.typoutput,
        t.typreceive, t.typsend, t.typmodin, t.typmodout]) f
      where t.oid >= ${FIRST_OWN_OID} and f >= ${FIRST_OWN_OID} and f in (select oid from harmful)),
  'calls', array(select distinct proname::text from harmful
    where oid >= ${FIRST_OWN_OID} and proname = any ($1::text[]) order by 1),
  'attributes', array(select distinct proname::text from harmful
    where pronargs > 0 and pronargs - pronargdefaults <= 1 order by 1),
  'relations', array(select distinct c.relname::text
    from special s join pg_catalog.pg_class c on c.oid = s.oid where c.relkind <> 'I' order by 1),
  'isSessionBound', exists (select from askers where kind = 'type')
    or exists (select from pg_catalog.pg_operator
      where oid >= ${FIRST_OWN_OID} and oprcode in (select oid from asking))
    or exists (select from pg_catalog.pg_cast
      where oid >= ${FIRST_OWN_OID} and castfunc in (select oid from asking)),
  'sessionRelations', array(
    select distinct c.relname::text from bound b join pg_catalog.pg_class c on c.oid = b.oid
    union
    select v.relname::text from system_views v
    where pg_catalog.pg_table_is_visible(v.oid) and v.relname not like 'pg\\_%' order by 1),
  'writeRelations', array(select distinct c.relname::text
    from pg_catalog.pg_class c where c.oid in (select oid from touchy union all select oid from to_touchy) order by 1),
  'sequenceRelations', array(select distinct c.relname::text
    from pg_catalog.pg_class c where c.oid in (select oid from advancing union all select oid from to_advancing)
    order by 1),
  'asksSequences', exists (select from calls where function in (select oid from last_value))
    or exists (select from written_calls where function in (select oid from last_value))
    or exists (select from pg_catalog.pg_proc p where p.oid >= ${FIRST_OWN_OID} and case p.prosrc
      -- The body of a function in standard SQL; the column is not there before PostgreSQL 14.
      when '' then exists (select from last_value l where pg_catalog.to_jsonb(p) ->> 'prosqlbody'
        ~ (':\\w*funcid ' || l.oid || '\\M'))
      else p.prosrc ~* pg_catalog.array_to_string($3::text[], '|') end)
)::text as found, pg_catalog.pg_backend_pid() as pid`;

/** Names as values: a text with lastval in it would count as one that asks for it. */
const PARAMETERS = [KNOWN_NAMES, [...SESSION_FUNCTIONS], LAST_VALUE_FUNCTIONS].map(
  (names) => `{${names.map((name) => name.toLowerCase()).join(',')}}`,
);

module.exports = { LOOK_UP, PARAMETERS };
