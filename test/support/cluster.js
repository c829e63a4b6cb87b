'use strict';

// One database on three servers: a coordinator and two workers. Citus where PG_CONDUIT_CITUS names the bin folder of a
// PostgreSQL that has it, else tables that are partitioned over foreign servers of postgres_fdw. Used by test/engines/.

const { startDatabase } = require('../../scripts/database');
const { ask } = require('./standby');

const { PG_CONDUIT_CITUS: CITUS } = process.env;
const TABLES = { jobs: 'tenant int, id bigint, n int', counts: 'tenant int, n int' };
const CITUS_SETTINGS = {
  shared_preload_libraries: 'citus',
  'citus.node_conninfo': 'sslmode=prefer',
  max_prepared_transactions: 200,
  wal_level: 'logical',
};

/** @param {string | undefined} bin @param {Record<string, any>} options */
async function startWith(bin, options) {
  const before = process.env.PG_CONDUIT_TEST_SERVER;
  if (bin !== undefined) process.env.PG_CONDUIT_TEST_SERVER = bin;
  try {
    return await startDatabase({ own: true, ...options });
  } finally {
    if (before === undefined) delete process.env.PG_CONDUIT_TEST_SERVER;
    else process.env.PG_CONDUIT_TEST_SERVER = before;
  }
}

/** @param {any} coordinator @param {any[]} workers configs */
async function makeCitus(coordinator, workers) {
  for (const config of [coordinator, ...workers]) await ask(config, 'create extension citus');
  await ask(coordinator, 'select citus_set_coordinator_host($1, $2)', [
    '127.0.0.1',
    coordinator.port,
  ]);
  for (const { port } of workers) {
    await ask(coordinator, 'select citus_add_node($1, $2)', ['127.0.0.1', port]);
  }
  for (const [name, columns] of Object.entries(TABLES)) {
    const key = name === 'jobs' ? ', primary key (tenant, id)' : ', primary key (tenant)';
    await ask(coordinator, `create table ${name} (${columns}${key})`);
    await ask(coordinator, `select create_distributed_table('${name}', 'tenant')`);
  }
}

/** @param {any} coordinator @param {any[]} workers configs */
async function makeForeign(coordinator, workers) {
  await ask(coordinator, 'create extension postgres_fdw');
  for (const [name, columns] of Object.entries(TABLES)) {
    await ask(coordinator, `create table ${name} (${columns}) partition by hash (tenant)`);
  }
  for (const [index, worker] of workers.entries()) {
    const { host, port, user, database } = worker;
    const place = `host '${host}', port '${port}', dbname '${database}'`;
    await ask(
      coordinator,
      `create server worker_${index} foreign data wrapper postgres_fdw options (${place})`,
    );
    await ask(
      coordinator,
      `create user mapping for ${user} server worker_${index} options (user '${user}')`,
    );
    for (const [name, columns] of Object.entries(TABLES)) {
      const key = name === 'jobs' ? ', primary key (tenant, id)' : ', primary key (tenant)';
      await ask(worker, `create table ${name} (${columns}${key})`);
      await ask(
        coordinator,
        `create foreign table ${name}_${index} partition of ${name} for values with (modulus 2, remainder ${index}) ` +
          `server worker_${index} options (table_name '${name}')`,
      );
    }
  }
}

/**
 * @typedef {object} Cluster
 * @property {'Citus' | 'postgres_fdw'} kind
 * @property {any} config of the coordinator
 * @property {any[]} servers configs of all of them
 * @property {(config: any, text: string, values?: unknown[]) => Promise<any[]>} ask
 * @property {() => Promise<void>} stop
 *
 * @returns {Promise<Cluster>}
 */
async function startCluster() {
  const options = CITUS ? { listen: true, settings: CITUS_SETTINGS } : {};
  const databases = [];
  try {
    for (let count = 0; count < 3; ++count) databases.push(await startWith(CITUS, options));
    const servers = databases.map(({ config }) => config);
    const [coordinator, ...workers] = servers;
    if (CITUS) await makeCitus(coordinator, workers);
    else await makeForeign(coordinator, workers);
    return {
      kind: CITUS ? 'Citus' : 'postgres_fdw',
      config: coordinator,
      servers,
      ask,
      stop: async () => {
        for (const database of databases) await database.stop();
      },
    };
  } catch (error) {
    for (const database of databases) await database.stop();
    throw error;
  }
}

module.exports = { startCluster };
