'use strict';

// `npm run test:asan` and `npm run test:valgrind`: tests with the addon under AddressSanitizer and
// UndefinedBehaviorSanitizer, or under valgrind; leaks count. First bugs that were planted on purpose
// must be found (planted-bugs.js). Brings the ordinary build back.
//   node scripts/test-memory.js sanitizers|valgrind

const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { startDatabase } = require('./database');
const { checkPlantedBugs } = require('./planted-bugs');
const { runShards, shardCount } = require('./shards');

const ROOT = path.join(__dirname, '..');
/** Under a checker tests compute more than they wait: more would make them late on two cores. */
const SHARDS = 2;
const BUILD = path.join(__dirname, 'build.js');
const SUPPORT = path.join(ROOT, 'test', 'support');

/**
 * How Node.js runs under the eyes of somebody.
 * @typedef {object} Checker
 * @property {string} sanitize of the build: what -fsanitize= takes, or ''
 * @property {string[]} command before Node's arguments
 * @property {Record<string, string>} env
 * @property {string} config of mocha, which says what tests
 * @property {{ env: Record<string, string>, config: string }} [before] tests that it watches otherwise
 */

/** @param {string} library */
function findLibrary(library) {
  const file = execFileSync('cc', [`-print-file-name=${library}`], { encoding: 'utf8' }).trim();
  if (!path.isAbsolute(file)) {
    throw new Error(`${library} is missing: install the compiler's sanitizers (libasan, libubsan)`);
  }
  return file;
}

/**
 * What both runs under AddressSanitizer have. It follows __tls_get_addr() to find the blocks of dynamic
 * thread-local storage, and of one that begins 16 bytes behind a page (1 of 256) it believes that glibc
 * 2.19 has written a header before it: it scanned from 0x4540 on, and ended with "Tracer caught signal
 * 11". The blocks come from malloc() and are found without.
 */
const ASAN_OPTIONS = 'exitcode=99:fast_unwind_on_malloc=0:intercept_tls_get_addr=0';

/** @type {Record<string, () => Checker>} */
const CHECKERS = {
  sanitizers: () => ({
    sanitize: 'address,undefined',
    command: [process.execPath],
    env: {
      LD_PRELOAD: [findLibrary('libasan.so'), findLibrary('libubsan.so')].join(':'),
      ASAN_OPTIONS: `detect_leaks=1:${ASAN_OPTIONS}`,
      UBSAN_OPTIONS: 'print_stacktrace=1',
    },
    config: path.join(SUPPORT, 'sanitizers.mocharc.js'),
    before: {
      env: { ASAN_OPTIONS: `detect_leaks=0:${ASAN_OPTIONS}` },
      config: path.join(SUPPORT, 'hostile.mocharc.js'),
    },
  }),
  valgrind: () => ({
    sanitize: '',
    command: [
      ...['valgrind', '--quiet', '--error-exitcode=99', '--num-callers=40'],
      ...['--leak-check=full', '--show-leak-kinds=definite', '--errors-for-leak-kinds=definite'],
      `--suppressions=${path.join(SUPPORT, 'valgrind.supp')}`,
      // Of code that is made at run time valgrind would have to be told each time.
      ...[process.execPath, '--jitless'],
    ],
    env: {},
    config: path.join(SUPPORT, 'valgrind.mocharc.js'),
  }),
};

/** @param {string} name */
async function main(name) {
  if (!(name in CHECKERS)) throw new Error(`tell which: ${Object.keys(CHECKERS).join(' or ')}`);
  const checker = CHECKERS[name]();
  const isSanitized = checker.sanitize !== '';
  execFileSync(process.execPath, [BUILD, '--if-needed', ...(isSanitized ? ['--sanitize'] : [])], {
    stdio: 'inherit',
  });
  // Outside of the checker's reach.
  const databases = await Promise.all(
    Array.from({ length: shardCount(SHARDS) }, () =>
      startDatabase({ settings: { max_connections: 200 } }),
    ),
  );
  try {
    checkPlantedBugs(checker);
    const { command, config, before } = checker;
    const envs = databases.map(({ connectionString }) => ({
      ...checker.env,
      PG_CONDUIT_DATABASE_URL: connectionString,
    }));
    if (before !== undefined) {
      const others = envs.map((env) => ({ ...env, ...before.env }));
      await runShards(before.config, { command, envs: others });
    }
    // The last count of tests is the one that CI reads.
    await runShards(config, { command, envs });
  } finally {
    await Promise.all(databases.map((database) => database.stop()));
    execFileSync(process.execPath, [BUILD, '--if-needed'], { stdio: 'inherit' });
  }
}

main(process.argv[2]).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
