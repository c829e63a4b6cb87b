'use strict';

// Values of options as environments and configuration files give them, with pg and with this driver: what pg takes is
// taken, with the same effect, and a warning tells what it counts as.

const assert = require('node:assert/strict');
const { setTimeout } = require('node:timers/promises');
const pg = require('pg');
const ours = require('../..');
const { connectionString, resetSchema } = require('../support/connect');
const { warningsOf, withEnvironment } = require('../support/process');

const DRIVERS = { pg, ours };

/**
 * @param {typeof ours} driver
 * @param {Record<string, any>} given
 * @param {(pool: any) => Promise<unknown>} look
 */
async function withPool(driver, given, look) {
  const pool = new driver.Pool({
    connectionString: connectionString(),
    // So that whoever borrows a client holds a connection.
    multiplex: 'off',
    ...given,
  });
  pool.on('error', () => {});
  try {
    return await look(pool);
  } finally {
    await pool.end();
  }
}

/** How many clients can be borrowed at the same time, up to four. */
async function countBorrowed(pool) {
  const borrowed = [];
  const borrowing = [1, 2, 3, 4].map(async () => borrowed.push(await pool.connect()));
  await setTimeout(100);
  const count = borrowed.length;
  for (let left = 4; left > 0; --left) {
    while (borrowed.length === 0) await setTimeout(5);
    borrowed.pop().release();
  }
  await Promise.all(borrowing);
  return count;
}

/** Whether an idle connection is closed soon. */
async function closesIdle(pool) {
  await pool.query('select 1');
  await setTimeout(100);
  return pool.totalCount === 0;
}

async function works(pool) {
  return (await pool.query('select 1 as one')).rows;
}

const shows = (name) => async (pool) =>
  (await pool.query('select current_setting($1) as value', [name])).rows[0].value;

const optionOf = (name) => async (pool) => pool.options[name];

/** Name, values, and what is looked at. @type {[string, any[], (pool: any) => Promise<unknown>][]} */
const CASES = [
  ['max', [NaN, '', 0, false, null, Infinity, 1.5, 2.5, '3', ' 2 '], countBorrowed],
  ['poolSize', [NaN, '', 0, 1.5], countBorrowed],
  ['min', [NaN, '', -1, 1.5, Infinity, false], works],
  ['idleTimeoutMillis', [NaN, '', 0, false, null, 1.5, 0.2, -1, '5'], closesIdle],
  ['maxUses', [NaN, '', 0, -1, 1.5, false], closesIdle],
  ['maxLifetimeSeconds', [NaN, '', 0, -1, 0.02, false], closesIdle],
  ['allowExitOnIdle', ['', 0, false, null], optionOf('allowExitOnIdle')],
  ['allowExitOnIdle', ['0', 'false', 1, {}], async (pool) => Boolean(pool.options.allowExitOnIdle)],
  ['connectionTimeoutMillis', [NaN, '', 0, false, 5000.7, '5000'], works],
  ['query_timeout', [NaN, '', 0, false, 5000.7, '5000.5'], works],
  ['statement_timeout', [NaN, '', 3000.7, '3000.7', '3000ms', false], shows('statement_timeout')],
  ['lock_timeout', [NaN, '', 3000.7, '20 ms'], shows('lock_timeout')],
  ['keepAlive', ['true', 'false', '', 1, 0, {}], works],
  ['keepAliveInitialDelayMillis', [NaN, '', -1, 1.5, Infinity, '20'], works],
  ['enableChannelBinding', ['true', '', 1, 0], works],
  ['scramMaxIterations', [NaN, '', Infinity, 'many', {}, true], works],
  ['client_encoding', ['', 'LATIN1', 'utf-8', 5], shows('client_encoding')],
  ['ssl', ['', 0, NaN, null], works],
  ['password', [12345], works],
  ['binary', ['', 0], works],
  ['types', ['', 0, false], works],
  ['application_name', [0, false, ''], shows('application_name')],
  ['log', [false, '', 0], works],
  ['onConnect', [false, ''], works],
  ['verify', [false, ''], works],
  ['Promise', [false, ''], works],
];

/** What is taken in the place of the environment, where it is there. */
const PLACE = ['host', 'port', 'user', 'database', 'password', 'connectionString'];

describe('an option', () => {
  before(resetSchema);

  for (const [name, values, look] of CASES) {
    const shown = values.map((value) => (value === '' ? "''" : String(value))).join(', ');
    it(`${name}: ${shown} has the effect that it has in pg`, async () => {
      for (const value of values) {
        const [expected, actual] = await Promise.all(
          Object.values(DRIVERS).map((driver) => withPool(driver, { [name]: value }, look)),
        );
        assert.deepEqual(actual, expected, `${name}: ${String(value)}`);
      }
    });
  }

  for (const name of PLACE) {
    it(`${name} that is false to JavaScript counts as left out`, async () => {
      const { host, port, user, database, password } = new ours.Client(connectionString());
      const place = { host, port, user, database, password };
      await withEnvironment(
        {
          PGHOST: host,
          PGPORT: String(port),
          PGUSER: user,
          PGDATABASE: database,
          PGPASSWORD: password ?? undefined,
        },
        async () => {
          for (const value of ['', 0, false, NaN]) {
            const given = { ...place, connectionString: undefined, [name]: value };
            for (const driver of Object.values(DRIVERS)) {
              assert.deepEqual(await withPool(driver, given, works), [{ one: 1 }]);
            }
          }
        },
      );
    });
  }

  it('port counts without its fraction', () => {
    for (const port of ['5433.7', 5433.7, ' 5433 ', '5433\n']) {
      for (const { Client } of Object.values(DRIVERS)) {
        assert.equal(new Client({ host: 'x', port }).port, 5433, String(port));
      }
    }
  });

  it('ends a query where pg ends it, whatever its type', async () => {
    for (const [name, value, message] of [
      ['query_timeout', '20', 'Query read timeout'],
      ['query_timeout', 20.5, 'Query read timeout'],
      ['statement_timeout', '20.5', 'canceling statement due to statement timeout'],
    ]) {
      for (const driver of Object.values(DRIVERS)) {
        const failing = withPool(driver, { [name]: value }, (pool) =>
          pool.query('select pg_sleep(0.3)'),
        );
        await assert.rejects(failing, { message });
      }
    }
  });

  it('without a limit is meant by Infinity, for which pg sets a timer of 1 ms', async () => {
    const names = ['idleTimeoutMillis', 'connectionTimeoutMillis', 'query_timeout'];
    for (const name of [...names, 'maxLifetimeSeconds']) {
      await withPool(ours, { [name]: Infinity }, async (pool) => {
        assert.equal(await closesIdle(pool), false, name);
      });
    }
  });

  it('of another type causes one warning, which tells what it counts as, and shows no text', async () => {
    const warnings = await warningsOf(() => {
      for (let time = 1; time <= 2; ++time) {
        new ours.Client({
          host: 'h',
          fallback_application_name: 0,
          options: 0,
          pipeline: 'yes',
        });
      }
    });
    assert.deepEqual(
      warnings.map(({ name, code, message }) => `${name} ${code}: ${message}`),
      [
        'OptionWarning PG_CONDUIT_OPTION_VALUE: option "options" is 0: it counts as left out',
        'OptionWarning PG_CONDUIT_OPTION_VALUE: option "fallback_application_name" is 0: it counts as left out',
        'OptionWarning PG_CONDUIT_OPTION_VALUE: option "pipeline" is a string: it counts as true, as in pg; give true or false',
      ],
    );
  });
});
