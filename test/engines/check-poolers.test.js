'use strict';

// `npx pg-conduit check` behind PgBouncer, old and new, in each of its modes: what it is told apart by is what happens
// to sessions.

const assert = require('node:assert/strict');
const { Client } = require('../..');
const { check, complaints, found, levels } = require('../support/check');
const { KINDS, startPooler, startServerBehind } = require('../support/poolers');

describe('npx pg-conduit check, behind PgBouncer', function () {
  this.timeout(60_000);

  /** @type {Awaited<ReturnType<typeof startServerBehind>>} */
  let server;
  /** @type {Awaited<ReturnType<typeof startPooler>> | undefined} */
  let pooler;

  before(async function () {
    // Where this file runs by itself, the newer PgBouncer may not have been compiled yet.
    this.timeout(600_000);
    for (const { find } of Object.values(KINDS)) find();
    server = await startServerBehind();
  });
  afterEach(async () => {
    await pooler?.stop();
    pooler = undefined;
  });
  after(() => server?.stop());

  /** @param {any} kind @param {any} options @param {string[]} args */
  async function checkBehind(kind, options, ...args) {
    pooler = await startPooler(server, kind, options);
    return check([pooler.connectionString, ...args]);
  }

  /** What prepared statements the sessions of the pooler still have of it. */
  async function leftovers() {
    const clients = [];
    const names = [];
    try {
      for (let i = 0; i < 2; ++i) {
        const client = new Client(pooler?.connectionString);
        await client.connect();
        clients.push(client);
        await client.query('begin');
        const { rows } = await client.query('select name from pg_prepared_statements');
        names.push(...rows.map(({ name }) => name));
      }
    } finally {
      await Promise.all(clients.map((client) => client.end()));
    }
    return names.filter((name) => name.includes('check'));
  }

  for (const [name, kind] of Object.entries(KINDS)) {
    const isManaged = name === 'newer';

    it(`${kind.name}: session mode is no reason to set anything`, async () => {
      const report = await checkBehind(kind, { poolMode: 'session' });
      assert.deepEqual(report.pooler, {
        between: true,
        mode: 'session',
        statements: 'kept',
        startupSettings: 'refused',
      });
      assert.deepEqual([report.status, complaints(report), report.advice.options], [0, [], {}]);
      assert.equal(report.listen.works, true);
    });

    for (const poolMode of /** @type {const} */ (['transaction', 'statement'])) {
      it(`${kind.name}: ${poolMode} mode, and whether prepared statements get lost`, async () => {
        const report = await checkBehind(kind, { poolMode, poolSize: 2 });
        assert.deepEqual(report.pooler, {
          between: true,
          mode: poolMode,
          statements: isManaged ? 'managed' : 'lost',
          startupSettings: 'refused',
        });
        assert.equal(report.status, 0);
        assert.equal(report.listen.works, false);
        const expected = isManaged ? {} : { prepare: false, maxInFlight: 1 };
        assert.deepEqual(report.advice.options, expected);
        if (!isManaged) {
          const [{ level, option }] = found(report, 'statements');
          assert.deepEqual({ level, option }, { level: 'warning', option: expected });
        }
        if (poolMode === 'transaction') assert.deepEqual(await leftovers(), []);
      });
    }
  }

  it('what is set already is not advised', async () => {
    pooler = await startPooler(server, KINDS.old, { poolMode: 'transaction' });
    const report = await check([`${pooler.connectionString}&prepare=false&maxInFlight=1`]);
    assert.equal(report.pooler.statements, 'lost');
    assert.deepEqual(report.advice.options, {});
  });

  it('settings at the start of a session that the pooler ignores are told', async () => {
    const settings = { ignore_startup_parameters: 'extra_float_digits,options' };
    const report = await checkBehind(KINDS.old, { poolMode: 'session', settings });
    assert.equal(report.pooler.startupSettings, 'ignored');
  });

  it('such settings in the connection string are the reason that it refuses all', async () => {
    pooler = await startPooler(server, KINDS.old, { poolMode: 'session' });
    const report = await check([`${pooler.connectionString}&statement_timeout=1000`]);
    assert.deepEqual([report.status, levels(report, 'host')], [1, 'problem']);
    assert.match(found(report, 'host')[0].text, /a pooler that refuses settings at the start/);
  });

  it('a pooler with one session is told apart from one that hangs', async () => {
    const session = await checkBehind(
      KINDS.newer,
      { poolMode: 'session', poolSize: 1 },
      ...['--timeout', '700ms'],
    );
    assert.deepEqual(complaints(session), ['warning connections', 'warning pooler.full']);
    assert.equal(session.pipeline.works, true);
    assert.deepEqual(session.advice.options, { max: 1 });
    await pooler?.stop();
    const transaction = await checkBehind(
      KINDS.newer,
      { poolMode: 'transaction', poolSize: 1 },
      ...['--timeout', '700ms'],
    );
    assert.equal(transaction.pooler.mode, 'transaction');
    assert.equal(transaction.pooler.statements, 'managed');
  });
});
