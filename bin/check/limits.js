'use strict';

// How many connections there may be, beside those that the application's pools would make.

/** @typedef {import('./index').Context} Context */

const LOOK_UPS = /** @type {const} */ ([
  ['maxConnections', "select current_setting('max_connections')::int as value"],
  [
    'reserved',
    `select current_setting('superuser_reserved_connections')::int +
       coalesce(current_setting('reserved_connections', true), '0')::int as value`,
  ],
  ['roleLimit', 'select rolconnlimit as value from pg_roles where rolname = current_user'],
  ['isSuperuser', 'select rolsuper as value from pg_roles where rolname = current_user'],
  [
    'databaseLimit',
    'select datconnlimit as value from pg_database where datname = current_database()',
  ],
  ['used', 'select sum(numbackends)::int as value from pg_stat_database'],
  [
    'usedByRole',
    'select count(*)::int as value from pg_stat_activity where usename = current_user',
  ],
]);

/** @param {Context} context */
async function checkLimits(context) {
  const { facts, findings, max, processes, sessions } = context;
  /** @type {Record<string, any>} */
  const seen = {};
  for (const [name, text] of LOOK_UPS) {
    try {
      seen[name] = (await sessions.look(text))[0]?.value ?? null;
    } catch (error) {
      seen[name] = null;
      if (name === 'maxConnections') findings.unseen('limits', 'max_connections', error);
    }
  }
  const wanted = max * processes;
  facts.limits = { ...seen, max, processes, wanted };
  const { maxConnections } = seen;
  if (maxConnections === null) return;
  const reserved = seen.isSuperuser ? 0 : (seen.reserved ?? 0);
  // A pooler has its own number of them, and ours are among those in use.
  const others = Math.max(0, (seen.used ?? 0) - sessions.count);
  const parts = [`max_connections is ${maxConnections}`];
  if (reserved > 0) parts.push(`${reserved} of them reserved`);
  if (seen.used !== null) parts.push(`${others} in use by others`);
  findings.add('limits', 'ok', parts.join(', '));
  /** @type {[string, number, number][]} what it is, how many, how many of them others use */
  const limits = [['the server', maxConnections - reserved, others]];
  if (seen.roleLimit >= 0 && seen.roleLimit !== null) {
    const byOthers = Math.max(0, (seen.usedByRole ?? 0) - sessions.count);
    limits.push(['this role', seen.roleLimit, byOthers]);
  }
  if (seen.databaseLimit >= 0 && seen.databaseLimit !== null) {
    limits.push(['this database', seen.databaseLimit, 0]);
  }
  const pools = `${processes === 1 ? 'one pool' : `${processes} pools`} with max ${max}`;
  if (facts.pooler?.between) {
    const text = `${pools} would connect to the pooler, whose own limits (max_client_conn, default_pool_size) are not seen from here`;
    findings.add('limits.pool', 'note', text);
    return;
  }
  const [name, limit, used] = limits.reduce((least, one) =>
    one[1] - one[2] < least[1] - least[2] ? one : least,
  );
  if (wanted > limit) {
    findings.add(
      'limits.pool',
      'problem',
      `${pools} would take ${wanted}, and ${name} allows ${limit}`,
    );
  } else if (wanted > limit - used) {
    const left = Math.max(0, limit - used);
    const text = `${pools} would take ${wanted}, and ${name} has ${left} left now`;
    findings.add('limits.pool', 'warning', text);
  } else {
    findings.add(
      'limits.pool',
      'ok',
      `${pools} would take ${wanted}; ${name} has ${limit - used} left`,
    );
    return;
  }
  facts.limits.advisedMax = Math.max(1, Math.floor((limit - used) / processes));
}

module.exports = { checkLimits };
