'use strict';

// `npm run test:asan`: the core tests with the addon under AddressSanitizer and
// UndefinedBehaviorSanitizer; leaks count. Builds it that way, starts a server
// outside of the sanitizers' reach, and brings the ordinary build back.

const { execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { startDatabase } = require('./database');

const ROOT = path.join(__dirname, '..');
const BUILD = path.join(__dirname, 'build.js');

// Tests that start processes of their own, which the sanitizers would watch too, are left to the
// ordinary run.
const CORE_TESTS = path.join(ROOT, 'test/support/core.mocharc.js');

/** @param {string} library */
function findLibrary(library) {
  const file = execFileSync('cc', [`-print-file-name=${library}`], { encoding: 'utf8' }).trim();
  if (!path.isAbsolute(file)) {
    throw new Error(`${library} is missing: install the compiler's sanitizers (libasan, libubsan)`);
  }
  return file;
}

async function main() {
  const preload = [findLibrary('libasan.so'), findLibrary('libubsan.so')].join(':');
  execFileSync(process.execPath, [BUILD, '--if-needed', '--sanitize'], { stdio: 'inherit' });
  const database = await startDatabase({ settings: { max_connections: 200 } });
  try {
    const mocha = require.resolve('mocha/bin/mocha.js');
    const run = spawn(process.execPath, [mocha, '--config', CORE_TESTS, '--timeout', '300000'], {
      cwd: ROOT,
      stdio: 'inherit',
      env: {
        ...process.env,
        DATABASE_URL: database.connectionString,
        LD_PRELOAD: preload,
        ASAN_OPTIONS: 'detect_leaks=1:exitcode=99:fast_unwind_on_malloc=0',
        LSAN_OPTIONS: `suppressions=${path.join(ROOT, 'test/support/lsan.supp')}`,
        UBSAN_OPTIONS: 'print_stacktrace=1',
      },
    });
    [process.exitCode] = await once(run, 'exit');
  } finally {
    await database.stop();
    execFileSync(process.execPath, [BUILD, '--if-needed'], { stdio: 'inherit' });
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
