'use strict';

// What the commands of the bench have in common: options that are lists and counts, mistakes of whoever calls them, an
// end when they are told to, the machine. Used by run.js and experiments/run.js.

const os = require('node:os');

/**
 * @param {string} option
 * @param {string | undefined} text
 * @param {string[]} known
 */
function readList(option, text, known) {
  if (text === undefined) return known;
  const names = text.split(',').map((name) => name.trim());
  const stranger = names.find((name) => !known.includes(name));
  if (stranger !== undefined) {
    throw new Error(`--${option} names "${stranger}": it takes ${known.join(', ')}`);
  }
  return known.filter((name) => names.includes(name));
}

/** @param {string | undefined} text @param {number} otherwise */
function readRounds(text, otherwise) {
  const rounds = text === undefined ? otherwise : Number(text);
  if (!Number.isInteger(rounds) || rounds < 1) {
    throw new Error(`--rounds is "${text}": give a whole number from 1 on`);
  }
  return rounds;
}

/** @param {import('../scripts/database').Database} database */
function describeMachine(database) {
  return {
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    cpu: `${os.cpus().length} x ${os.cpus()[0]?.model ?? 'unknown'}`,
    memoryBytes: os.totalmem(),
    server: database.version ?? database.source,
    connection: database.config.host.startsWith('/') ? 'a unix socket' : 'TCP',
  };
}

/** @returns {AbortSignal} of whoever wants the run to end */
function untilStopped() {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  process.once('SIGTERM', () => stop.abort());
  return stop.signal;
}

/**
 * @param {() => Promise<void>} main
 * @param {string} usage
 */
function runCommand(main, usage) {
  main().catch((error) => {
    const mistake = error.code?.startsWith('ERR_PARSE_ARGS') || /^--/.test(error.message);
    console.error(mistake ? `${error.message}\n\n${usage}` : error);
    process.exitCode = mistake ? 2 : 1;
  });
}

module.exports = { describeMachine, readList, readRounds, runCommand, untilStopped };
