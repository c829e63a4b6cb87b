'use strict';

// `npm run test:stress -- --seed N --seconds S`: random clients against a server of our own, and whether
// every promise has told the truth. It ends with exit code 1 and what led there when one has not.

const { setTimeout: delay } = require('node:timers/promises');
const { parseArgs } = require('node:util');
const { startDatabase } = require('../../scripts/database');
const { KIND_NAMES } = require('./actions');
const { Journal } = require('./journal');
const { planted } = require('./planted');
const { Round } = require('./round');
const { Outside } = require('./schema');
const { SCHEMA } = require('../support/connect');
const { pooler, putPoolerBefore } = require('./pooler');

const USAGE = `npm run test:stress -- [options]
  --seed N      which random choices; printed first and last. Default: another one each time
  --seconds S   for so long new rounds begin. Default: 60
  --round R     this round alone, of the seed
  --only KIND   this kind of actions alone: traffic, ${KIND_NAMES.join(', ')}
  --rounds R    so many rounds, however long they take
  --patience S  seconds after which an action hangs. Default: 60
  --quiet       no line for each round
  --pooler P    through a PgBouncer: old, newer or forgetful, and its pool_mode, such as
                newer:transaction (test/support/poolers.js); without what it cannot do
PG_CONDUIT_TEST_SERVER=installed or embedded chooses the server.`;

const { values: given } = parseArgs({
  options: {
    seed: { type: 'string' },
    seconds: { type: 'string', default: '60' },
    round: { type: 'string' },
    rounds: { type: 'string' },
    patience: { type: 'string', default: '60' },
    only: { type: 'string' },
    pooler: { type: 'string' },
    quiet: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const SETTINGS = {
  max_connections: 400,
  deadlock_timeout: '50ms',
  log_min_messages: 'fatal',
  max_prepared_transactions: 50,
  allow_in_place_tablespaces: 'on',
  wal_level: 'logical',
  max_replication_slots: 100,
  max_wal_senders: 50,
};
/** The process must end by itself within so long, when all is closed. */
const EXIT_MILLIS = 15000;
const WATCH_MILLIS = 1000;

/** @param {string | undefined} text @param {number} otherwise */
function readNumber(text, otherwise) {
  const number = text === undefined ? otherwise : Number(text);
  if (Number.isInteger(number) && number >= 0) return number;
  console.error(USAGE);
  return process.exit(2);
}

const seed = readNumber(given.seed, Math.floor(Math.random() * 2 ** 31));
const journal = new Journal();
/** @type {Round | undefined} */
let current;

/** Something hangs: what it is, and nothing can be closed any more. */
async function abort(hanging, outside) {
  for (const entry of hanging.slice(0, 5)) entry.fault('it hangs');
  const pools = new Set([...(current?.pools ?? []), ...(current?.ending ?? [])]);
  for (const { name, on } of pools) {
    journal.noteWeather(`${name}: ${JSON.stringify(on.stats())}`);
  }
  const sessions = await Promise.race([outside.sessions(), delay(2000, [])]);
  for (const session of sessions) journal.noteWeather(JSON.stringify(session));
  end();
  process.exit(1);
}

function end() {
  console.log(journal.summary().join('\n'));
  // Last, as logs are often kept only in part.
  if (journal.faultCount > 0) {
    console.log(journal.describeFaults());
    const more = ['pooler', 'only'].map((name) => (given[name] ? ` --${name} ${given[name]}` : ''));
    console.log(
      `Again: npm run test:stress -- --seed ${seed} --round ${current?.number}${more.join('')}`,
    );
    process.exitCode = 1;
  }
  console.log(`${journal.faultCount} faults, seed ${seed}`);
}

async function main() {
  if (given.help) {
    console.log(USAGE);
    return;
  }
  if (given.only !== undefined && !['traffic', ...KIND_NAMES].includes(given.only)) {
    console.error(USAGE);
    process.exit(2);
  }
  console.log(`seed ${seed}`);
  const patienceMillis = 1000 * readNumber(given.patience, 60);
  const endsAt = performance.now() + 1000 * readNumber(given.seconds, 60);
  const first = readNumber(given.round, 0);
  const count = given.round === undefined ? readNumber(given.rounds, 0) : 1;
  const isMore = (number) => {
    return count > 0 ? number < first + count : performance.now() < endsAt || number === first;
  };

  const onStray = (what) => (error) => journal.fault(`${what}: ${error?.stack ?? error}`);
  process.on('unhandledRejection', onStray('unhandled rejection'));
  process.on('uncaughtException', (error) => {
    if (!planted.take(error)) onStray('uncaught exception')(error);
  });
  process.on('warning', (warning) => {
    // Functions take away what the pooler has prepared.
    const { code } = /** @type {any} */ (warning);
    if (pooler.isThere && code === 'PG_CONDUIT_POOLER') return;
    // A storm may cut each connection that is being made for a second, while callers wait: that is what it says.
    if (current?.isStormy && code === 'PG_CONDUIT_POOL_REFUSED') return;
    onStray('warning')(warning);
  });

  const settings = given.pooler ? { ...SETTINGS, search_path: `${SCHEMA},public` } : SETTINGS;
  const database = await startDatabase({ own: true, settings });
  process.env.PG_CONDUIT_TEST_URL = database.connectionString;
  console.log(`PostgreSQL ${database.version}`);
  const outside = await Outside.open();
  const between = given.pooler ? await putPoolerBefore(database, given.pooler) : undefined;
  if (between !== undefined) process.env.PG_CONDUIT_TEST_URL = between.connectionString;

  const watch = setInterval(() => {
    const now = performance.now();
    const hanging = [...journal.running].filter(
      ({ startedAt }) => now - startedAt > patienceMillis,
    );
    if (hanging.length > 0) abort(hanging, outside);
  }, WATCH_MILLIS);
  watch.unref();

  for (let number = first; isMore(number) && journal.faultCount === 0; ++number) {
    current = new Round(seed, number, journal, outside, given.only);
    if (!given.quiet) console.log(current.describe());
    await current.run();
  }
  clearInterval(watch);
  await outside.close();
  await between?.stop();
  await database.stop();
  end();
  // It does not keep the process alive: whoever sees it fire, is kept by something else.
  setTimeout(() => {
    console.log(`the process does not end: ${process.getActiveResourcesInfo().join(', ')}`);
    process.exit(1);
  }, EXIT_MILLIS).unref();
}

main().catch((error) => {
  console.error(error);
  end();
  process.exit(1);
});
