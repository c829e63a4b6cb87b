'use strict';

// What is one for the whole process: its warnings, its environment, `defaults`; watched, or changed
// for a while.

const { setImmediate } = require('node:timers/promises');
const { defaults } = require('../..');

/**
 * @param {() => unknown} run
 * @returns {Promise<any[]>} the warnings that came meanwhile
 */
async function warningsOf(run) {
  const warnings = [];
  const listener = (warning) => warnings.push(warning);
  process.on('warning', listener);
  try {
    await run();
    await setImmediate();
  } finally {
    process.off('warning', listener);
  }
  return warnings;
}

/**
 * @param {Record<string, any>} target
 * @param {Record<string, any>} values undefined takes one away
 * @param {() => unknown} run
 */
async function withValues(target, values, run) {
  const before = Object.keys(values).map((name) => [name, target[name], name in target]);
  const set = (name, value, isThere) => {
    if (isThere) target[name] = value;
    else delete target[name];
  };
  for (const [name, value] of Object.entries(values)) set(name, value, value !== undefined);
  try {
    return await run();
  } finally {
    for (const [name, value, isThere] of before) set(name, value, isThere);
  }
}

/** @param {Record<string, string | undefined>} values @param {() => unknown} run */
const withEnvironment = (values, run) => withValues(process.env, values, run);

/** @param {Record<string, any>} values @param {() => unknown} run */
const withDefaults = (values, run) => withValues(defaults, values, run);

module.exports = { warningsOf, withDefaults, withEnvironment };
