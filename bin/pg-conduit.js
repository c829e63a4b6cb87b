#!/usr/bin/env node
'use strict';

// The command of the package. `npx pg-conduit build`: compiles the addon where the package has no binary for the
// platform, from the source of libpq that it carries (scripts/build.js). lib/native/binding.js tells people to run it.
// `npx pg-conduit check`: what is at the other end (bin/check).

const { parseArgs } = require('node:util');
// @ts-expect-error what is no module for tsc
const { version } = require('../package.json');

const USAGE = `Usage: npx pg-conduit build [--clean] [--verbose]
       npx pg-conduit check [URL] [--json] [--timeout 5s] [--max 10] [--processes 1]

build  Compiles the native part of pg-conduit for this machine, for platforms that the package has no binary for.
       Needs a C++ compiler, make and Python 3.
  --clean      compile everything again
  --verbose    show what the compiler is told, and what it says
  Environment: PG_CONDUIT_LIBPQ=bundled|system, PG_CONFIG, JOBS, npm_config_nodedir (docs/building.md)

check  Tells what is at the other end of a connection string, and which options to set; changes nothing.
       Without URL: that of DATABASE_URL, else PGHOST, PGUSER, … (docs/check.md)
  --json       one JSON object
  --timeout    for each step: 5s, 500ms
  --max        connections of the application's pool
  --processes  that have such a pool each
  Exit code: 0, or 1 with a problem

--help, --version`;

/** Which command takes what. @type {Record<string, string[]>} */
const OPTIONS = {
  build: ['clean', 'verbose'],
  check: ['json', 'timeout', 'max', 'processes'],
};
/** @type {Record<string, number>} */
const POSITIONALS = { build: 0, check: 1 };

class UsageError extends Error {}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      clean: { type: 'boolean' },
      verbose: { type: 'boolean' },
      json: { type: 'boolean' },
      timeout: { type: 'string' },
      max: { type: 'string' },
      processes: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean' },
    },
  });
  const { help, version: asksVersion, ...given } = values;
  const [command, ...others] = positionals;
  if (help || command === 'help') {
    console.log(USAGE);
    return;
  }
  if (asksVersion) {
    console.log(version);
    return;
  }
  if (command === undefined) throw new UsageError('what is to be done?');
  const wrong = Object.keys(given).find((name) => !OPTIONS[command]?.includes(name));
  if (OPTIONS[command] === undefined || others.length > POSITIONALS[command]) {
    // What stands behind may be a connection string with a password.
    const what = OPTIONS[command] === undefined ? command : others.at(-1);
    throw new UsageError(`unknown: ${/:\/\//.test(String(what)) ? 'a URL without check' : what}`);
  }
  if (wrong !== undefined) throw new UsageError(`${command} has no option --${wrong}`);
  if (command === 'build') {
    const { build } = require('../scripts/build.js');
    build({ clean: given.clean ?? false, verbose: given.verbose ?? false });
  } else {
    const { runCheck } = require('./check/command');
    await runCheck(others[0], given);
  }
}

main().catch((/** @type {any} */ error) => {
  const isUsage = error instanceof UsageError || error.code?.startsWith('ERR_PARSE_ARGS');
  const isWrong = error.code === 'ERR_PG_CONDUIT_OPTION';
  console.error(`pg-conduit: ${error.message}${isUsage ? `\n\n${USAGE}` : ''}`);
  process.exitCode = isUsage || isWrong ? 2 : 1;
});
