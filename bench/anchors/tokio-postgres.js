'use strict';

// tokio-postgres, the driver that most Rust programs use: it pipelines by itself. One of the programs of ../programs.js.

const path = require('node:path');
const { toConnectionString } = require('../../scripts/database');
const { newAnchor } = require('./anchor');

/** @type {import('./anchor').AnchorOptions} */
const OPTIONS = {
  name: 'tokio-postgres',
  language: 'Rust',
  sources: ['Cargo.lock', 'Cargo.toml', path.join('src', 'main.rs')],
  tool: 'cargo',
  install: 'https://rustup.rs',
  buildArguments: (folder) => [
    ...['build', '--release', '--locked', '--quiet'],
    ...['--target-dir', path.join(folder, 'target')],
  ],
  program: (folder) => {
    const suffix = process.platform === 'win32' ? '.exe' : '';
    return path.join(folder, 'target', 'release', `bench-tokio-postgres${suffix}`);
  },
  version: /name = "tokio-postgres"\nversion = "([^"]+)"/,
  settings:
    'a runtime of one thread, a client that all tasks share, or as many of them in turn as the case has connections; ' +
    'a prepared statement, and its two columns as integers',
  // It does not know libpq's parameters for certificates.
  address: ({ config, tls }) => [toConnectionString(config), tls?.caFile ?? ''],
};

module.exports = { OPTIONS, ...newAnchor(OPTIONS) };
