'use strict';

// What the server is, by what it says of itself, and what is installed in the database.

/** @typedef {import('./index').Context} Context */

/** By version(). The last one is that of PostgreSQL itself. */
const PRODUCTS = [
  { name: 'CockroachDB', pattern: /CockroachDB/, distributed: true },
  { name: 'YugabyteDB', pattern: /-YB-|Yugabyte/i, distributed: true },
  { name: 'Amazon Redshift', pattern: /Redshift/, distributed: false },
  { name: 'Greenplum', pattern: /Greenplum/, distributed: false },
  { name: 'Materialize', pattern: /Materialize/, distributed: false },
  { name: 'CrateDB', pattern: /CrateDB/, distributed: true },
  { name: 'PGlite', pattern: /emscripten|emcc|wasm/i, distributed: false },
  { name: 'EDB Postgres', pattern: /EnterpriseDB/, distributed: false },
  { name: 'PostgreSQL', pattern: /^PostgreSQL /, distributed: false },
];

/** What matters to a driver, by the name of the extension. @type {Record<string, string>} */
const EXTENSIONS = {
  citus:
    'tables may be distributed: a transaction that touches several nodes commits in two phases',
  timescaledb: 'nothing to set',
  postgis: 'geometry arrives as hexadecimal text: ask for ST_AsGeoJSON(), or set a type parser',
  vector: 'vectors are texts such as [1,2,3]: JSON.parse() reads them',
  hstore: 'values are texts: a type parser reads them',
  citext: 'arrays of it are texts without fetchTypes: true',
  ltree: 'arrays of it are texts without fetchTypes: true',
  postgres_fdw: 'foreign tables are on another server',
  dblink: 'its functions talk to another server',
};

/** What hosts name their settings by. @type {Record<string, string>} */
const HOSTED = {
  rds: 'Amazon RDS or Aurora',
  cloudsql: 'Google Cloud SQL',
  alloydb: 'Google AlloyDB',
  azure: 'Azure Database for PostgreSQL',
  neon: 'Neon',
  supautils: 'Supabase',
};

/** @param {Context} context */
async function checkServer(context) {
  const { facts, findings, sessions } = context;
  const text = await readVersion(context);
  const product = PRODUCTS.find(({ pattern }) => pattern.test(text ?? ''));
  const client = await sessions.main();
  // What it says at the start; a pooler may say it in its place.
  let number;
  try {
    [{ server_version: number }] = await sessions.ask(client, 'show server_version');
  } catch {
    number = undefined;
  }
  facts.server = {
    product: product?.name ?? 'unknown',
    version: number ?? null,
    text: text ?? null,
    address: null,
    distributed: product?.distributed ?? false,
    host: null,
    extensions: null,
    foreignServers: null,
  };
  if (text !== undefined) {
    const name = product?.name ?? 'no PostgreSQL that is known here';
    findings.add('server', product ? 'ok' : 'note', `${name} ${number ?? ''}`.trim());
    if (product === undefined) findings.add('server.text', 'note', text);
  }
  if (product?.name === 'PGlite') {
    findings.add(
      'server.single',
      'note',
      'one session for everybody: what one connection sets is set for all, and one query runs at a time',
    );
  }
  if (product?.distributed) {
    findings.add(
      'server.distributed',
      'note',
      'one database on several machines: commits cost round trips between them, and transactions may have to be repeated (40001)',
    );
  }
  await checkExtensions(context);
  await checkForeign(context);
  await checkHosted(context);
}

/** @param {Context} context @returns {Promise<string | undefined>} */
async function readVersion({ findings, sessions }) {
  try {
    const [{ text }] = await sessions.look('select version() as text');
    return text;
  } catch (error) {
    findings.unseen('server', 'version()', error);
    return undefined;
  }
}

/** @param {Context} context */
async function checkExtensions({ facts, findings, sessions }) {
  try {
    const rows = await sessions.look(
      'select extname as name, extversion as version from pg_extension order by extname',
    );
    facts.server.extensions = rows;
    for (const { name, version } of rows) {
      if (!Object.hasOwn(EXTENSIONS, name)) continue;
      findings.add('server.extension', 'note', `extension ${name} ${version}: ${EXTENSIONS[name]}`);
      if (name === 'citus') facts.server.distributed = true;
    }
    const others = rows.filter(
      ({ name }) => name !== 'plpgsql' && !Object.hasOwn(EXTENSIONS, name),
    );
    if (others.length > 0) {
      const names = others.map(({ name }) => name).join(', ');
      findings.add('server.extensions', 'ok', `other extensions: ${names}`);
    }
  } catch (error) {
    findings.unseen('server.extensions', 'extensions', error);
  }
}

/** @param {Context} context */
async function checkForeign({ facts, findings, sessions }) {
  try {
    const rows = await sessions.look('select srvname as name from pg_foreign_server order by 1');
    facts.server.foreignServers = rows.map(({ name }) => name);
    if (rows.length === 0) return;
    const names = facts.server.foreignServers.join(', ');
    findings.add('server.foreign', 'note', `foreign servers: ${names}: some tables may be there`);
  } catch (error) {
    findings.unseen('server.foreign', 'foreign servers', error);
  }
}

/** @param {Context} context */
async function checkHosted({ facts, findings, sessions }) {
  try {
    const rows = await sessions.look(
      "select distinct split_part(name, '.', 1) as prefix from pg_settings where name like '%.%'",
    );
    const name = rows.map(({ prefix }) => HOSTED[prefix]).find((host) => host !== undefined);
    if (name === undefined) return;
    facts.server.host = name;
    findings.add('server.host', 'ok', `by the names of its settings: ${name}`);
  } catch {
    // Nobody misses it.
  }
}

module.exports = { checkServer };
