'use strict';

// Which options to set because of what was found. One table: a row for each reason.

/**
 * @typedef {object} Row
 * @property {string} option
 * @property {string} finding that it answers
 * @property {(facts: any, context: import('./index').Context) => unknown} value undefined: not here
 * @property {string} why
 * @property {string} [code] in the place of the value
 */

/** Seconds for each address of several. */
const CONNECT_SECONDS = 3;

/** @type {Row[]} */
const ROWS = [
  {
    option: 'target_session_attrs',
    finding: 'hosts.writer',
    value: ({ needsWriter }) => (needsWriter ? 'read-write' : undefined),
    why: 'of these servers only the primary takes writes',
  },
  {
    option: 'connect_timeout',
    finding: 'hosts.together',
    value: ({ hosts }, { target }) =>
      hosts.length > 1 && target.connectTimeoutSeconds === 0 ? CONNECT_SECONDS : undefined,
    why: 'seconds for each server of the list: one that hangs holds nobody up for longer',
  },
  {
    option: 'ssl',
    finding: 'tls',
    value: ({ isLocal, tls }) => (!isLocal && tls?.verifiable === true ? true : undefined),
    why: 'verifies the server: an impostor is refused',
  },
  {
    option: 'ssl',
    finding: 'tls.verify',
    value: ({ isLocal, tls }) =>
      !isLocal && tls?.verifiable === false
        ? { ca: 'the certificate of its authority' }
        : undefined,
    why: 'verifies the server by the authority that signed its certificate',
    code: "{ ca: readFileSync('authority.pem', 'utf8') }",
  },
  {
    option: 'prepare',
    finding: 'statements',
    value: ({ pooler }) => (['lost', 'refused'].includes(pooler?.statements) ? false : undefined),
    why: 'prepared statements get lost behind this pooler (PgBouncer knows them from 1.21 on, with max_prepared_statements above 0)',
  },
  {
    option: 'prepare',
    finding: 'server',
    value: ({ server }) => (server?.product === 'Amazon Redshift' ? false : undefined),
    why: 'it reports itself as PostgreSQL 8',
  },
  {
    option: 'maxInFlight',
    finding: 'pipeline',
    value: ({ pipeline }) => (pipeline?.works === false ? 1 : undefined),
    why: 'it takes no query before the last one was answered',
  },
  {
    option: 'maxInFlight',
    finding: 'statements',
    value: ({ pooler }) => (pooler?.statements === 'lost' ? 1 : undefined),
    why: 'poolers that do not know prepared statements were seen to close connections with many queries in flight',
  },
  {
    option: 'syncGroup',
    finding: 'batch',
    value: ({ batch }) => (batch?.works === false || batch?.atomic === false ? 'off' : undefined),
    why: 'what stands before one Sync is not one transaction here',
  },
  {
    option: 'syncGroup',
    finding: 'server',
    value: ({ server }) =>
      ['CockroachDB', 'Amazon Redshift'].includes(server?.product) ? 'off' : undefined,
    why: 'groups of queries were not tried with this database',
  },
  {
    option: 'max',
    finding: 'connections',
    value: ({ second }) => (second === false ? 1 : undefined),
    why: 'it takes one connection at a time',
  },
  {
    option: 'max',
    finding: 'limits.pool',
    value: ({ limits }) => limits?.advisedMax,
    why: 'more connections than that are refused',
  },
  {
    option: 'idleTimeoutMillis',
    finding: 'settings.idle_session_timeout',
    value({ settings }) {
      const millis = Number.parseInt(settings?.idle_session_timeout ?? '0', 10);
      return millis > 0 && millis <= 10_000 ? Math.max(1, Math.floor(millis / 2)) : undefined;
    },
    why: 'the pool closes idle connections before the server does',
  },
];

/**
 * @typedef {object} Advice
 * @property {Record<string, unknown>} options
 * @property {{ option: string, value: unknown, why: string, finding: string }[]} reasons
 * @property {string} code
 */

/** @param {import('./index').Context} context @returns {Advice} */
function advise(context) {
  const { facts, findings, target } = context;
  /** @type {Record<string, unknown>} */
  const options = {};
  /** @type {Advice['reasons']} */
  const reasons = [];
  /** @type {string[]} */
  const lines = [];
  for (const { code, finding, option, value: find, why } of ROWS) {
    const value = find(facts, context);
    if (value === undefined || option in options || target.given[option] === value) continue;
    options[option] = value;
    reasons.push({ option, value, why, finding });
    lines.push(`  ${option}: ${code ?? show(value)}, // ${why}`);
    const about = findings.list.find((one) => one.id === finding);
    if (about !== undefined) about.option = { ...about.option, [option]: value };
  }
  return { options, reasons, code: showCode(target, lines) };
}

/** @param {unknown} value @returns {string} in JavaScript */
function show(value) {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
}

/** @param {import('./target').Target} target @param {string[]} lines */
function showCode({ source }, lines) {
  const where = source === 'environment' ? [] : ['  connectionString: process.env.DATABASE_URL,'];
  const body = [...where, ...lines];
  return body.length === 0 ? 'new Pool()' : `new Pool({\n${body.join('\n')}\n})`;
}

module.exports = { advise };
