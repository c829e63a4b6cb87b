'use strict';

// pgx, the driver that most Go programs use, with its pool. One of the programs of ../programs.js.

const path = require('node:path');
const { newAnchor } = require('./anchor');

/** @param {string} folder */
function program(folder) {
  return path.join(folder, `bench-pgx${process.platform === 'win32' ? '.exe' : ''}`);
}

/** @type {import('./anchor').AnchorOptions} */
const OPTIONS = {
  name: 'pgx',
  language: 'Go',
  sources: ['go.mod', 'go.sum', 'main.go'],
  tool: 'go',
  install: 'https://go.dev/dl',
  buildArguments: (folder) => ['build', '-mod=readonly', '-o', program(folder), '.'],
  program,
  version: /jackc\/pgx\/v5 v(\S+)/,
  settings:
    'pgxpool with as many connections as the case has, all of them open, and a goroutine for each caller; its default ' +
    'of statements, which is to prepare them, and the two columns as integers',
  address: ({ connectionString }) => [connectionString],
};

module.exports = { OPTIONS, ...newAnchor(OPTIONS) };
