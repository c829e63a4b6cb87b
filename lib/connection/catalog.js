'use strict';

// What the catalog of a database says about texts that seem to only read: which names mean
// something else there, and which relations make the locks of a text depend on its values. It is
// queried in the background as soon as it is all that keeps two queries from sharing a Sync, and
// again while it is used. Owned by statements/registry.js, used by sync-candidates.js.

const { afterDelivery, DatabaseError } = require('../base');
const { OWN_DEFAULTS, Query, watch } = require('../query');
const { KNOWN_NAMES, SESSION_FUNCTIONS } = require('../statements');

/**
 * What takes the query: a connection, or a pool.
 * @typedef {{ state: string, isShared: boolean, submit: (query: Query) => void }} Carrier
 *
 * @typedef {import('../statements').CatalogNames} CatalogNames
 */

/** An answer is used for at most this long: other sessions create functions, too. */
const MAX_AGE_MILLIS = 60_000;
/** An answer that is older than this, and still used, is requested again. */
const RENEW_MILLIS = MAX_AGE_MILLIS / 2;
/** At least this long between two requests, however much DDL there is. */
const PAUSE_MILLIS = 1000;
/** The same after an error: the server does not allow the query, or is not PostgreSQL. */
const PAUSE_REFUSED_MILLIS = 300_000;
const PATIENCE_MILLIS = 10_000;

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
    where pg_catalog.pg_table_is_visible(v.oid) and v.relname not like 'pg\\_%' order by 1)
)::text as found, pg_catalog.pg_backend_pid() as pid`;

const PARAMETERS = [KNOWN_NAMES, [...SESSION_FUNCTIONS]].map(
  (names) => `{${names.map((name) => name.toLowerCase()).join(',')}}`,
);

/** All values as text: no parser of the user's is called. */
const AS_TEXT = { getTypeParser: () => (/** @type {string} */ text) => text };

/** @param {string[]} names */
function upperCased(names) {
  return new Set(names.map((name) => name.toUpperCase()));
}

/** @param {string} found @returns {CatalogNames} */
function readNames(found) {
  const { isStrange, calls, attributes, relations, ...session } = JSON.parse(found);
  return {
    isStrange,
    calls: upperCased(calls),
    attributes: upperCased(attributes),
    relations: upperCased(relations),
    isSessionBound: session.isSessionBound,
    sessionRelations: upperCased(session.sessionRelations),
  };
}

class Catalog {
  /**
   * The names in use, read for each query; undefined when they must be looked up.
   * @type {CatalogNames | undefined}
   */
  names = undefined;
  /**
   * A connection leads to another process than the one that answered: a pooler is between, which may
   * lead to several servers.
   */
  isBehindPooler = false;
  /** The last answer. @type {{ names: CatalogNames, text: string, askedAt: number } | undefined} */
  #last = undefined;
  #isAsking = false;
  #notBefore = -Infinity;
  /** Incremented when the answer to an earlier request becomes worthless. */
  #epoch = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;

  /**
   * Called while `names` is undefined: returns the last answer if it is not too old, and requests a
   * new one if that is of use.
   * @param {Carrier} carrier that is shared
   * @param {boolean} isOfUse
   * @returns {CatalogNames | undefined}
   */
  find(carrier, isOfUse) {
    const now = performance.now();
    const last = this.#last;
    if (last !== undefined && now - last.askedAt < MAX_AGE_MILLIS) {
      this.#know(last, MAX_AGE_MILLIS, now);
      this.#ask(carrier, now);
      return this.names;
    }
    this.#last = undefined;
    if (isOfUse) this.#ask(carrier, now);
    return undefined;
  }

  /** DDL was committed, or may have been. */
  onSchemaChange() {
    ++this.#epoch;
    this.#last = undefined;
    this.names = undefined;
  }

  /**
   * @param {{ names: CatalogNames, text: string, askedAt: number }} answer
   * @param {number} ageMillis up to which it is used without another request
   * @param {number} now performance.now()
   */
  #know(answer, ageMillis, now) {
    this.#last = answer;
    this.names = answer.names;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        this.names = undefined;
      },
      answer.askedAt + ageMillis - now,
    );
    this.#timer.unref();
  }

  /** @param {Carrier} carrier @param {number} now performance.now() */
  #ask(carrier, now) {
    if (this.#isAsking || now < this.#notBefore) return;
    this.#isAsking = true;
    this.#notBefore = now + PAUSE_MILLIS;
    // The query that made this necessary is just being sent.
    afterDelivery(() => this.#send(carrier));
  }

  /** @param {Carrier} carrier */
  #send(carrier) {
    if (carrier.state !== 'ready' || !carrier.isShared) {
      this.#isAsking = false;
      return;
    }
    const query = new Query(
      LOOK_UP,
      PARAMETERS,
      { prepare: false, syncGroup: 'off', types: AS_TEXT },
      OWN_DEFAULTS,
    );
    const epoch = this.#epoch;
    const askedAt = performance.now();
    watch(query, PATIENCE_MILLIS, (error) => {
      if (query.connection === undefined) query.reject(error);
      else query.connection.abort(query, error);
    });
    query.promise
      .then(({ rows: [{ found, pid }] }) => {
        if (Number(pid) !== query.connection?.processID) this.isBehindPooler = true;
        this.#learn(found, epoch, askedAt);
      })
      .catch((error) => this.#onFailed(error));
    carrier.submit(query);
  }

  /** @param {string} text @param {number} epoch @param {number} askedAt */
  #learn(text, epoch, askedAt) {
    this.#isAsking = false;
    if (epoch !== this.#epoch) return;
    // As a rule nothing has changed, and no text needs to be checked again.
    const names = this.#last?.text === text ? this.#last.names : readNames(text);
    this.#know({ names, text, askedAt }, RENEW_MILLIS, performance.now());
  }

  /** The last answer, if there is one, stays in use until it is too old. @param {unknown} error */
  #onFailed(error) {
    this.#isAsking = false;
    const millis = error instanceof DatabaseError ? PAUSE_REFUSED_MILLIS : PAUSE_MILLIS;
    this.#notBefore = performance.now() + millis;
  }
}

module.exports = { Catalog, MAX_AGE_MILLIS };
