'use strict';

// Two UPDATEs with RETURNING in one transaction, over a network with a latency: how many round trips each way of saying
// it takes. One of the experiments of index.js.

const { SCHEMA, withClient } = require('../tables');
const { withLatency } = require('./places');
const { timed } = require('./timed');

/**
 * @typedef {[number, number]} Balances
 *
 * @typedef {object} Way
 * @property {(target: import('.').Target) => Promise<{ transfer: (amount: number) => Promise<Balances>,
 *   end: () => Promise<void> }>} open a connection
 *
 * @typedef {import('.').Arm & Way} Arm
 */

const SIZES = {
  full: { oneWayMillis: 50, millis: 1200 },
  tiny: { oneWayMillis: 2, millis: 0 },
};
const [FROM, TO] = [1, 2];
const START = 1_000_000;

const TAKE = `update ${SCHEMA}.accounts set balance = balance - $1 where id = ${FROM} returning balance`;
const GIVE = `update ${SCHEMA}.accounts set balance = balance + $1 where id = ${TO} returning balance`;
const CALL = `call ${SCHEMA}.transfer($1, null, null)`;
const CREATE = `
  drop table if exists ${SCHEMA}.accounts;
  create table ${SCHEMA}.accounts (id int primary key, balance int not null);
  insert into ${SCHEMA}.accounts values (${FROM}, ${START}), (${TO}, ${START});
  create or replace procedure ${SCHEMA}.transfer(amount int, inout left_from int, inout left_to int)
  language plpgsql as $$
  begin
    update ${SCHEMA}.accounts set balance = balance - amount where id = ${FROM} returning balance into left_from;
    update ${SCHEMA}.accounts set balance = balance + amount where id = ${TO} returning balance into left_to;
  end $$`;

/** @param {{ rows: any[] }[]} results @returns {Balances} */
function balancesOf([from, to]) {
  return [from.rows[0].balance, to.rows[0].balance];
}

/** @param {{ rows: any[] }} result @returns {Balances} */
function balancesOfCall({ rows: [row] }) {
  return [row.left_from, row.left_to];
}

const take = (/** @type {number} */ amount) => ({ name: 'take', text: TAKE, values: [amount] });
const give = (/** @type {number} */ amount) => ({ name: 'give', text: GIVE, values: [amount] });

/**
 * @param {(client: import('pg').Client, amount: number) => Promise<Balances>} transfer
 * @param {{ pipeline?: boolean }} [options]
 * @returns {Way['open']}
 */
function withPg(transfer, options) {
  return async ({ connectionString, config }) => {
    const { Client } = require('pg');
    const client = new Client({ connectionString, password: config.password, ...options });
    await client.connect();
    return { transfer: (amount) => transfer(client, amount), end: () => client.end() };
  };
}

/**
 * @param {(client: import('../..').Client, amount: number) => Promise<Balances>} transfer
 * @returns {Way['open']}
 */
function withConduit(transfer) {
  return async ({ connectionString, config }) => {
    const { Client } = require('../..');
    const client = new Client({ connectionString, password: config.password });
    await client.connect();
    return { transfer: (amount) => transfer(client, amount), end: () => client.end() };
  };
}

/** @type {Arm[]} */
const ARMS = [
  {
    name: 'pg-conduit, batch',
    driver: 'pg-conduit',
    ours: true,
    settings: 'client.batch([…]) of both',
    open: withConduit(async (client, amount) =>
      balancesOf(await client.batch([take(amount), give(amount)])),
    ),
  },
  {
    name: 'pg-conduit, transaction, awaited at its end',
    driver: 'pg-conduit',
    ours: true,
    settings: 'client.transaction() whose function returns before its statements are answered',
    open: withConduit(async (client, amount) => {
      const answers = await client.transaction((tx) => [
        tx.query(take(amount)),
        tx.query(give(amount)),
      ]);
      return balancesOf(await Promise.all(answers));
    }),
  },
  {
    name: 'pg-conduit, transaction, awaited together',
    driver: 'pg-conduit',
    ours: true,
    settings: 'client.transaction() with Promise.all() of both',
    open: withConduit((client, amount) =>
      client.transaction(async (tx) =>
        balancesOf(await Promise.all([tx.query(take(amount)), tx.query(give(amount))])),
      ),
    ),
  },
  {
    name: 'pg-conduit, transaction, awaited one by one',
    driver: 'pg-conduit',
    ours: true,
    settings: 'client.transaction() that awaits each statement',
    open: withConduit((client, amount) =>
      client.transaction(async (tx) =>
        balancesOf([await tx.query(take(amount)), await tx.query(give(amount))]),
      ),
    ),
  },
  {
    name: 'pg-conduit, procedure',
    driver: 'pg-conduit',
    ours: true,
    settings: 'CALL of a procedure in PL/pgSQL',
    open: withConduit(async (client, amount) => balancesOfCall(await client.query(CALL, [amount]))),
  },
  {
    name: 'pg, BEGIN … COMMIT',
    driver: 'pg',
    settings: 'Client, each of four statements awaited',
    open: withPg(async (client, amount) => {
      await client.query('begin');
      const from = await client.query(take(amount));
      const to = await client.query(give(amount));
      await client.query('commit');
      return balancesOf([from, to]);
    }),
  },
  {
    name: 'pg, pipeline: true',
    driver: 'pg-pipeline',
    settings: 'Client with pipeline: true, four statements awaited together',
    open: withPg(
      async (client, amount) => {
        const [, from, to] = await Promise.all([
          client.query('begin'),
          client.query(take(amount)),
          client.query(give(amount)),
          client.query('commit'),
        ]);
        return balancesOf([from, to]);
      },
      { pipeline: true },
    ),
  },
  {
    name: 'pg, procedure',
    driver: 'pg',
    settings: 'CALL of a procedure in PL/pgSQL',
    open: withPg(async (client, amount) => {
      const call = { name: 'call', text: CALL, values: [amount] };
      return balancesOfCall(await client.query(call));
    }),
  },
].map((arm) => ({ ...arm, through: 'latency' }));

/**
 * @param {Arm} arm
 * @param {import('.').Context} context
 * @param {number} millis
 */
async function measureTransfers(arm, { target, server, places }, millis) {
  const { transfer, end } = await arm.open(target);
  /** @type {Balances | undefined} */
  let last;
  const one = async () => {
    const amount = 3;
    const balances = await transfer(amount);
    if (last && (balances[0] !== last[0] - amount || balances[1] !== last[1] + amount)) {
      throw new Error(`After ${last} a transfer of ${amount} answered ${balances}`);
    }
    last = balances;
  };
  // Twice, for a prepared statement.
  await one();
  await one();
  const measurement = await timed(one, { operations: 1, millis });
  await end();
  await withClient(server, async (client) => {
    const { rows } = await client.query(`select balance from ${SCHEMA}.accounts order by id`);
    const found = rows.map(({ balance }) => balance);
    if (String(found) !== String(last)) throw new Error(`${last} was told, ${found} is there`);
  });
  const trips = Number(measurement.timeMillis) / places.latency.roundTripMillis;
  return { ...measurement, note: `${trips.toFixed(1)} round trips` };
}

/** @type {import('.').Experiment<Arm>} */
module.exports = {
  id: 'transfer',
  title: 'A transfer over a slow network',
  about:
    'Two UPDATEs with RETURNING in one transaction, on a connection that is open: how often does it wait for the ' +
    'network? Prepared statements everywhere.',
  ours: ARMS[0].name,
  arms: ARMS,
  workloads(size) {
    const { oneWayMillis, millis } = SIZES[size];
    return [
      {
        id: 'transfer',
        title: `A transfer with a latency of ${oneWayMillis} ms one way`,
        unit: 'transfer',
        cases: [
          {
            name: 'one transfer',
            isTimed: true,
            unitsPerOperation: 1,
            published: {
              'pg-conduit, batch': '111 / 104 / 103 ms, 2 latencies',
              'pg, BEGIN … COMMIT': '406 / 414 / 414 ms, 8 latencies',
            },
            run: (arm, context) => measureTransfers(arm, context, millis),
          },
        ],
        async setUp(server) {
          await withClient(server, async (client) => {
            await client.query(CREATE);
          });
          return withLatency(server, 2 * oneWayMillis);
        },
      },
    ];
  },
};
