'use strict';

// `node test/oracle/run.js --count 100000 --seed 1`: many random scripts against `pg`. It ends with exit code 1 and
// the smallest script of each difference when there is one.

const { parseArgs } = require('node:util');
const { startDatabase } = require('../../scripts/database');
const { FAULTS, FaultyPool } = require('./faults');
const { Oracle } = require('./oracle');
const { SERVER_SETTINGS, describeReport } = require('./report');

const USAGE = `node test/oracle/run.js [options]
  --seed N      of the first script; each one behind it has the next number. Default: another one each time
  --count N     scripts. Default: 1000
  --pool JSON   options of the pool, such as '{"max": 3}'
  --strict      NULL and '' of a custom parameter are told apart
  --calm        scripts that float for the most part
  --sessions W  of the pool: 'cleaned' behind each borrower (default), 'fresh' for each, or 'used'
  --at-once N   scripts at a time. Default: 20
  --fault NAME  a pool with a planted fault: one of
${Object.keys(FAULTS)
  .map((name) => `                '${name}'`)
  .join('\n')}
  --most N      differences after which it ends. Default: 5
  --print       the script of the seed, and nothing else
PG_CONDUIT_TEST_SERVER=installed or embedded chooses the server.`;

const { values: given } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 30)) },
    count: { type: 'string', default: '1000' },
    pool: { type: 'string', default: '{}' },
    strict: { type: 'boolean', default: false },
    calm: { type: 'boolean', default: false },
    sessions: { type: 'string', default: 'cleaned' },
    'at-once': { type: 'string', default: '20' },
    fault: { type: 'string' },
    most: { type: 'string', default: '5' },
    print: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const PROGRESS_MILLIS = 10_000;

async function main() {
  if (given.help || (given.fault !== undefined && FAULTS[given.fault] === undefined)) {
    console.log(USAGE);
    process.exitCode = given.help ? 0 : 2;
    return;
  }
  const [seed, count, atOnce, most] = ['seed', 'count', 'at-once', 'most'].map((name) =>
    Number(given[name]),
  );
  if (given.print) {
    const { describeScript, newScript } = require('./script');
    console.log(describeScript(newScript(seed, { isStrict: given.strict, isCalm: given.calm })));
    return;
  }
  console.log(`seed ${seed}`);
  const fault = FAULTS[given.fault ?? ''];
  const database = await startDatabase({ own: true, settings: SERVER_SETTINGS });
  const oracle = await Oracle.open({
    connectionString: database.connectionString,
    pool: JSON.parse(given.pool),
    isStrict: given.strict || (fault?.isStrict ?? false),
    isCalm: given.calm,
    sessions: /** @type {any} */ (given.sessions),
    atOnce,
    ...(fault && { makePool: (/** @type {any} */ config) => new FaultyPool(fault, config) }),
  });
  try {
    const startedAt = performance.now();
    let toldAt = startedAt;
    const onScript = (/** @type {import('./oracle').Report} */ { scripts, findings }) => {
      const now = performance.now();
      if (now - toldAt < PROGRESS_MILLIS) return;
      toldAt = now;
      console.log(
        `${scripts} scripts, ${findings.length} differences, ${rate(scripts, now - startedAt)}`,
      );
    };
    const report = await oracle.run(seed, count, { onScript, most });
    console.log(describeReport(report));
    console.log(rate(report.scripts, performance.now() - startedAt));
    for (const finding of report.findings) console.log(`\n${await oracle.describe(finding)}`);
    if (report.findings.length > 0) process.exitCode = 1;
    console.log(`\n${report.findings.length} differences, seed ${seed}`);
  } finally {
    await oracle.close();
    await database.stop();
  }
}

/** @param {number} scripts @param {number} millis */
const rate = (scripts, millis) => `${Math.round((1000 * scripts) / millis)} scripts/s`;

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
