#!/usr/bin/env node
'use strict';

// `npx pg-conduit build`: compiles the addon where the package has no binary for the platform, from the
// source of libpq that it carries (scripts/build.js). lib/native/binding.js tells people to run it.

const { parseArgs } = require('node:util');
const { build } = require('../scripts/build.js');
// @ts-expect-error what is no module for tsc
const { version } = require('../package.json');

const USAGE = `Usage: npx pg-conduit build [--clean] [--verbose]

Compiles the native part of pg-conduit for this machine, for platforms that the package has no binary for.
Needs a C++ compiler, make and Python 3.

  --clean    compile everything again
  --verbose  show what the compiler is told, and what it says
  --help, --version
Environment: PG_CONDUIT_LIBPQ=bundled|system, PG_CONFIG, JOBS, npm_config_nodedir (docs/building.md)`;

class UsageError extends Error {}

function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      clean: { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
      version: { type: 'boolean', default: false },
    },
  });
  const [command, ...others] = positionals;
  if (values.help || command === 'help') {
    console.log(USAGE);
  } else if (values.version) {
    console.log(version);
  } else if (command === 'build' && others.length === 0) {
    build(values);
  } else {
    const wrong =
      command === undefined ? 'what is to be done?' : `unknown: ${positionals.join(' ')}`;
    throw new UsageError(wrong);
  }
}

try {
  main();
} catch (/** @type {any} */ error) {
  const isUsage = error instanceof UsageError || error.code?.startsWith('ERR_PARSE_ARGS');
  console.error(`pg-conduit: ${error.message}${isUsage ? `\n\n${USAGE}` : ''}`);
  process.exitCode = isUsage ? 2 : 1;
}
