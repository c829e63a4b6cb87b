'use strict';

// Every server that is named, one by one: whether it can be reached, how long that takes, and whether it writes.

const { millisSince, showMillis } = require('./limit');
const { describeError, explain, isTimeout } = require('./reasons');
const { isLocal, optionsFor, resolve, showServer } = require('./target');

/**
 * @typedef {import('./target').Server} Server
 * @typedef {import('./index').Context} Context
 *
 * @typedef {object} Probe
 * @property {Server} server
 * @property {string} name
 * @property {number} millis
 * @property {any} [error] it was not reached
 * @property {boolean} [isStandby] undefined if it does not say
 * @property {boolean} [writes]
 * @property {string} [systemIdentifier]
 */

/** @param {Context} context @param {Server} server @returns {Promise<Probe>} */
async function probe({ sessions, target }, server) {
  const begunAt = performance.now();
  const name = showServer(server);
  let client;
  try {
    client = await sessions.open(optionsFor(target, server));
  } catch (error) {
    return { server, name, millis: millisSince(begunAt), error };
  }
  const millis = millisSince(begunAt);
  const look = async (/** @type {string} */ text) => {
    try {
      const [{ value }] = await sessions.ask(client, text);
      return value;
    } catch {
      // Not every server knows these, and not every role may ask.
      return undefined;
    }
  };
  const isStandby = await look('select pg_is_in_recovery() as value');
  const readOnly = await look("select current_setting('default_transaction_read_only') as value");
  const systemIdentifier = await look(
    'select system_identifier::text as value from pg_control_system()',
  );
  await sessions.close(client);
  const writes = isStandby === undefined ? undefined : !isStandby && readOnly !== 'on';
  return { server, name, millis, isStandby, writes, systemIdentifier };
}

/** @param {Probe} found */
function describe({ isStandby, writes }) {
  if (isStandby === undefined) return 'reached';
  if (isStandby) return 'a standby, read only';
  return writes ? 'takes writes' : 'no standby, but default_transaction_read_only is on';
}

/** @param {Context} context */
async function checkHosts(context) {
  const { facts, findings, target, timeoutMillis } = context;
  const { servers, unknown } = await resolve(target, timeoutMillis);
  const probes = await Promise.all(servers.map((server) => probe(context, server)));
  const reached = probes.filter(({ error }) => error === undefined);
  for (const { host, port, error } of unknown) {
    const level = reached.length > 0 ? 'warning' : 'problem';
    findings.add('host', level, `${host}:${port}: ${explain(error)}`);
  }
  for (const found of probes) {
    const { error, millis, name } = found;
    if (error === undefined) {
      findings.add('host', 'ok', `${name}: ${describe(found)}; connected in ${showMillis(millis)}`);
    } else {
      findings.add('host', levelOf(found, reached), `${name}: ${explain(error)}`);
    }
  }
  facts.hosts = [
    ...unknown.map(({ host, port, error }) => ({
      ...{ host, port: Number(port), address: null, reached: false, millis: null },
      ...{ standby: null, writes: null, systemIdentifier: null, error: describeError(error) },
    })),
    ...probes.map(toFact),
  ];
  facts.reached = reached;
  facts.failed = probes.filter(({ error }) => error !== undefined);
  facts.hasHung = probes.some(({ error }) => error !== undefined && isTimeout(error));
  if (reached.length === 0) return;
  facts.chosen = choose(reached, target.attrs);
  facts.isLocal = isLocal(facts.chosen.server);
  context.sessions.choose(optionsFor(target, facts.chosen.server));
  if (probes.length + unknown.length > 1) await checkTogether(context);
}

/** @param {Probe} failed @param {Probe[]} reached */
function levelOf({ server }, reached) {
  if (reached.length === 0) return 'problem';
  // A name that stands for ::1 too, where the server listens on 127.0.0.1: libpq tries the next one.
  const isOther = reached.some(
    (other) => other.server.host === server.host && other.server.port === server.port,
  );
  return isOther && isLocal(server) ? 'note' : 'warning';
}

/** @param {Probe} found */
function toFact({ server, millis, error, isStandby, writes, systemIdentifier }) {
  return {
    host: server.host,
    port: Number(server.port),
    address: server.address || null,
    reached: error === undefined,
    millis,
    standby: isStandby ?? null,
    writes: writes ?? null,
    systemIdentifier: systemIdentifier ?? null,
    error: error === undefined ? null : describeError(error),
  };
}

/** @param {Probe[]} reached @param {string} attrs @returns {Probe} the one that the driver would take, else the first */
function choose(reached, attrs) {
  /** @type {Record<string, (found: Probe) => boolean>} */
  const wanted = {
    'read-write': ({ writes }) => writes === true,
    primary: ({ isStandby }) => isStandby === false,
    'read-only': ({ writes }) => writes === false,
    standby: ({ isStandby }) => isStandby === true,
    'prefer-standby': ({ isStandby }) => isStandby === true,
  };
  return reached.find(wanted[attrs] ?? (() => true)) ?? reached[0];
}

/** The whole list, as an application connects to it. @param {Context} context */
async function checkTogether({ facts, findings, sessions, target }) {
  const begunAt = performance.now();
  try {
    sessions.choose(target.options);
    const client = await sessions.open();
    const millis = millisSince(begunAt);
    await sessions.close(client);
    facts.together = { millis, error: null };
    const slowest = Math.max(...facts.reached.map((/** @type {Probe} */ found) => found.millis));
    const isSlow = millis > 2 * slowest + 1000;
    const wait = isSlow ? ', since it waits for those that do not answer' : '';
    findings.add(
      'hosts.together',
      isSlow ? 'warning' : 'ok',
      `all of them together, as an application connects: ${showMillis(millis)}${wait}`,
    );
  } catch (error) {
    facts.together = { millis: null, error: describeError(error) };
    const why = explain(error);
    findings.add('hosts.together', 'problem', `all of them together: no connection: ${why}`);
  } finally {
    sessions.choose(optionsFor(target, facts.chosen.server));
  }
}

/**
 * What the servers are to each other; once it is known what is on them.
 * @param {Context} context
 */
function judgeHosts({ facts, findings, target }) {
  /** @type {Probe[]} */
  const reached = facts.reached;
  const writers = reached.filter(({ writes }) => writes);
  const wantsWriter = target.attrs === 'read-write' || target.attrs === 'primary';
  const isKnown = reached.every(({ writes }) => writes !== undefined);
  if (isKnown && writers.length === 0) {
    const text = 'none of the servers that were reached takes writes';
    findings.add('hosts.writer', wantsWriter ? 'problem' : 'warning', text);
  }
  const places = new Set(reached.map(({ server }) => `${server.host}:${server.port}`));
  if (places.size < 2 || facts.server?.distributed) return;
  if (target.attrs === 'any' && writers.length > 0 && writers.length < reached.length) {
    facts.needsWriter = true;
    findings.add(
      'hosts.writer',
      'warning',
      'there are standbys among them, and nothing says which one to take: writes fail when a standby comes first',
    );
  }
  const systems = new Set(reached.map(({ systemIdentifier }) => systemIdentifier));
  if (systems.has(undefined)) return;
  if (systems.size > 1) {
    const text = 'they are not copies of each other: their system identifiers differ';
    findings.add('hosts.same', 'warning', text);
  } else if (new Set(writers.map(({ server }) => server.host + server.port)).size > 1) {
    const names = writers.map(({ name }) => name).join(', ');
    findings.add('hosts.same', 'problem', `copies of one server that all take writes: ${names}`);
  } else {
    findings.add('hosts.same', 'ok', 'they are copies of one server (the same system identifier)');
  }
}

module.exports = { checkHosts, judgeHosts };
