'use strict';

// Random scripts on clients that a pool lends, and on `pg`: a short form of `npm run test:oracle`. FAST_CHECK_SEED
// repeats a failure, FAST_CHECK_RUNS=100 runs a hundred times as many, PG_CONDUIT_TEST_POOL has options of the pool.

const assert = require('node:assert/strict');
const { startDatabase } = require('../../scripts/database');
const { givenPoolOptions } = require('../support/given-pool');
const { IS_LONG, SEED, TIMES } = require('../support/property');
const { FAULTS, FaultyPool } = require('./faults');
const { Oracle } = require('./oracle');
const { Places } = require('./places');
const { SERVER_SETTINGS, describeReport } = require('./report');
const { describeScript, newScript, render } = require('./script');

const SCRIPTS = (IS_LONG ? 3000 : 60) * TIMES;
/** Within so many each fault is found. */
const MOST_SCRIPTS = 3000;
const AT_ONCE = 20;
/** Of a hundred statements. */
const MOST_REFUSALS = 1;
const SHORT_FAULTS = ['reads outside of transactions go anywhere', 'lastval is asked elsewhere'];

/** @type {Awaited<ReturnType<typeof startDatabase>>} */
let database;
/** @type {Places} */
let places;
/** @type {Oracle | undefined} */
let oracle;

/**
 * Opens a server before the tests of a suite, and an oracle on it for each.
 * @param {boolean} isStrict whether NULL and '' of a custom parameter are told apart: a session in which it was once
 *   set has '' for ever
 * @param {boolean} [isCalm] scripts that float for the most part
 * @returns {(given?: Partial<import('./oracle').OracleOptions>) => Promise<Oracle>}
 */
function useOracle(isStrict, isCalm = false) {
  before(async () => {
    database = await startDatabase({ own: true, settings: SERVER_SETTINGS });
    places = new Places({ connectionString: database.connectionString }, isStrict, isCalm);
    await places.open(AT_ONCE);
  });
  afterEach(async () => {
    await oracle?.close();
    oracle = undefined;
  });
  after(async () => {
    // First, in case that something hangs on it.
    await database?.stop();
    await places?.close();
  });
  return async (given) => {
    const { connectionString } = database;
    const options = { connectionString, places, isStrict, isCalm, atOnce: AT_ONCE };
    oracle = await Oracle.open({ ...options, ...given });
    return oracle;
  };
}

describe('A borrowed client in random scripts', function () {
  this.timeout(600_000);
  const openOracle = useOracle(false);

  it('shows what a client of pg shows, and leaves the same behind', async () => {
    // What functions have left in a session is shown to the next borrower, which `pg` does as well: so each session is
    // cleaned behind its borrower.
    const asked = await openOracle({ pool: givenPoolOptions() });
    const report = await asked.run(SEED, SCRIPTS, { most: 1 });
    const [finding] = report.findings;
    if (finding !== undefined) assert.fail(await asked.describe(finding));
    assert.equal(report.scripts, SCRIPTS);
    const refused = [...report.refusals.values()].reduce((sum, { count }) => sum + count, 0);
    assert.ok((100 * refused) / report.statements < MOST_REFUSALS, describeReport(report));
  });
});

describe('A borrowed client in random scripts that float for the most part', function () {
  this.timeout(600_000);
  const openOracle = useOracle(false, true);

  for (const multiplex of ['reads', 'all']) {
    it(`shows what a client of pg shows, with multiplex: '${multiplex}'`, async () => {
      const asked = await openOracle({ pool: { ...givenPoolOptions(), multiplex } });
      const { findings } = await asked.run(SEED, SCRIPTS, { most: 1 });
      if (findings.length > 0) assert.fail(await asked.describe(findings[0]));
    });
  }
});

describe('The oracle of random scripts', function () {
  this.timeout(600_000);
  const openOracle = useOracle(true);

  it('is the same script from the same seed, at each place', () => {
    const [one, two] = [newScript(SEED), newScript(SEED)];
    assert.deepEqual(one, two);
    assert.notEqual(describeScript(newScript(SEED + 1)), describeScript(one));
    const place = { home: 'o1', isPath: false, isStrict: true, lock: 3 };
    assert.equal(
      render('select {app:x} from {h}plain', place),
      "select current_setting('app.x', true) from o1.plain",
    );
  });

  for (const name of IS_LONG ? Object.keys(FAULTS) : SHORT_FAULTS) {
    it(`is found out when ${name}`, async () => {
      const makePool = (/** @type {any} */ config) => new FaultyPool(FAULTS[name], config);
      const { findings } = await (
        await openOracle({ makePool })
      ).run(SEED, MOST_SCRIPTS, { most: 1 });
      assert.notDeepEqual(findings, []);
    });
  }

  it('is the same where a pool of pg lends a session once', async () => {
    const makePool = (/** @type {any} */ config) => new FaultyPool({}, config);
    const asked = await openOracle({ makePool });
    const { findings } = await asked.run(SEED, Math.ceil(SCRIPTS / 4), { most: 1 });
    if (findings.length > 0) assert.fail(await asked.describe(findings[0]));
  });
});
