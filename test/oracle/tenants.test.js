'use strict';

// Tenants who share a small pool: settings, roles and row security of one never show through to another, whichever
// way a program tells the server for whom it asks, and whatever happens to its connections. PG_CONDUIT_TEST_POOL has
// options of the pool.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const { Pool } = require('../..');
const { startDatabase } = require('../../scripts/database');
const { Random } = require('../stress/random');
const { withBorrowed } = require('../support/borrow');
const { givenPoolOptions } = require('../support/given-pool');
const { Observer } = require('../support/outside');
const { IS_LONG, SEED, TIMES } = require('../support/property');

const TENANTS = 100;
const ROWS = 3;
const VISITS = (IS_LONG ? 40 : 4) * TIMES;
const CUTS_EVERY_MILLIS = 20;

/** What a tenant may read: all and nothing else but what is its own. */
const OWN = 'select tenant, t from secured order by id';
const WHO =
  "select nullif(current_setting('app.tenant', true), '') as tenant, current_user::text as who";
/** A connection that was cut, before or while it was asked. */
const IS_CUT = /^(?:57P01|ECONNRESET|EPIPE|ENOENT|ECONNREFUSED|ERR_PG_CONDUIT_\w+)$/;

const SCHEMA = `
  create role tenant_role;
  create table secured (id serial primary key, tenant text not null, t text);
  insert into secured (tenant, t)
    select 'tenant' || i, 'row ' || j from generate_series(1, ${TENANTS}) i, generate_series(1, ${ROWS}) j;
  alter table secured enable row level security;
  create policy tenants on secured using (tenant = current_setting('app.tenant', true));
  create view secured_view with (security_invoker = true) as select tenant, t from secured;
  create function tell(name text) returns void language plpgsql as
    $$ begin perform set_config('app.tenant', name, false); end $$;
  grant all on all tables in schema public to tenant_role;
  grant all on all sequences in schema public to tenant_role;`;

/** @param {string} tenant @param {any[]} rows */
function assertOwn(tenant, rows) {
  assert.ok(rows.length >= ROWS, `${tenant} sees ${rows.length} rows`);
  for (const row of rows) assert.equal(row.tenant, tenant);
}

/**
 * The ways in which programs do it: each gets a client, and leaves it as it is.
 * @type {Record<string, (client: any, tenant: string, random: Random) => Promise<void>>}
 */
const WAYS = {
  async 'in a transaction'(client, tenant, random) {
    await client.query('begin');
    await client.query('set local role tenant_role');
    await client.query("select set_config('app.tenant', $1, true)", [tenant]);
    assertOwn(tenant, (await client.query(OWN)).rows);
    if (random.chance(0.3)) await client.query('select 1 / 0').catch(ignoreDivision);
    // Some go without a word.
    if (random.chance(0.8)) await client.query(random.pick(['commit', 'rollback']));
  },
  async 'in a transaction, all at once'(client, tenant) {
    const [, , , { rows }] = await Promise.all([
      client.query('begin'),
      client.query('set local role tenant_role'),
      client.query(`set local app.tenant = '${tenant}'`),
      client.query(OWN),
      client.query('commit'),
    ]);
    assertOwn(tenant, rows);
    await assertNobody(client);
  },
  async 'for the session'(client, tenant, random) {
    await client.query('set role tenant_role');
    await client.query(`set app.tenant = '${tenant}'`);
    for (let reads = random.int(1, 3); reads > 0; --reads) {
      assertOwn(tenant, (await client.query(random.pick([OWN, 'table secured_view']))).rows);
    }
    assert.deepEqual((await client.query(WHO)).rows, [{ tenant, who: 'tenant_role' }]);
  },
  async 'for the session, by functions'(client, tenant) {
    await client.query("select set_config('role', 'tenant_role', false)");
    await client.query("select set_config('app.tenant', $1, false)", [tenant]);
    assertOwn(tenant, (await client.query(OWN)).rows);
    await client.query('reset app.tenant; reset role');
    await assertNobody(client);
  },
  async 'by a function of their own'(client, tenant) {
    await client.query('select tell($1)', [tenant]);
    const { rows } = await client.query(
      "select tenant from secured where tenant = current_setting('app.tenant') order by id",
    );
    assertOwn(tenant, rows);
    // It is not known that it did anything.
    client.release(true);
  },
  async 'in several statements of a text'(client, tenant) {
    const results = await client.query(
      `begin; set local role tenant_role; set local app.tenant = '${tenant}'; ${OWN}; commit`,
    );
    assertOwn(tenant, results[3].rows);
  },
  async 'for nobody'(client) {
    await assertNobody(client);
    const { rows } = await client.query('select count(*)::int as n from secured where false');
    assert.deepEqual(rows, [{ n: 0 }]);
  },
};

/** @param {any} client */
async function assertNobody(client) {
  assert.deepEqual((await client.query(WHO)).rows, [{ tenant: null, who: 'postgres' }]);
}

/** @param {any} error */
function ignoreDivision(error) {
  if (error.code !== '22012') throw error;
}

describe('A hundred tenants on a small pool', function () {
  this.timeout(300_000);
  /** @type {Awaited<ReturnType<typeof startDatabase>>} */
  let database;
  /** @type {Observer} */
  let observer;
  /** @type {Pool} */
  let pool;

  before(async () => {
    database = await startDatabase({ own: true });
    observer = await Observer.open(database.connectionString);
    await observer.ask(SCHEMA);
  });
  beforeEach(() => {
    pool = new Pool({
      connectionString: database.connectionString,
      application_name: 'tenants',
      user: 'postgres',
      max: 3,
      ...givenPoolOptions(),
    });
    pool.on('error', () => {});
  });
  afterEach(async () => {
    await pool.end();
  });
  after(async () => {
    await observer?.client.end();
    await database?.stop();
  });

  /** @param {number} number @param {boolean} mayBeCut */
  async function visit(number, mayBeCut) {
    const random = new Random(SEED, number);
    const tenant = `tenant${number}`;
    let visits = 0;
    for (let left = VISITS; left > 0; --left) {
      const way = random.pick(Object.keys(WAYS));
      try {
        await withBorrowed(pool, (client) => WAYS[way](client, tenant, random), random.chance(0.1));
        visits += 1;
      } catch (error) {
        const { code } = /** @type {any} */ (error);
        if (mayBeCut && IS_CUT.test(String(code))) continue;
        const { message } = /** @type {Error} */ (error);
        throw new Error(`FAST_CHECK_SEED=${SEED}: ${tenant} ${way}: ${message}`, { cause: error });
      }
    }
    return visits;
  }

  /** @param {boolean} mayBeCut */
  async function visitAll(mayBeCut) {
    const numbers = Array.from({ length: TENANTS }, (_, index) => index + 1);
    const visits = await Promise.all(numbers.map((number) => visit(number, mayBeCut)));
    return visits.reduce((sum, count) => sum + count, 0);
  }

  it('see what is theirs, and nothing else', async () => {
    assert.equal(await visitAll(false), TENANTS * VISITS);
  });

  it('see nothing else when connections are cut', async () => {
    let isOver = false;
    const cutting = (async () => {
      let cuts = 0;
      for (; !isOver; ++cuts) {
        await delay(CUTS_EVERY_MILLIS);
        await observer.ask(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tenants' order by random() limit 1",
        );
      }
      return cuts;
    })();
    const visits = await visitAll(true);
    isOver = true;
    assert.ok((await cutting) > 0);
    assert.ok(
      visits > (TENANTS * VISITS) / 4,
      `only ${visits} of ${TENANTS * VISITS} came through`,
    );
  });
});
