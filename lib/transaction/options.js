'use strict';

// Checks what users pass to transaction(), and makes the text of BEGIN. Called by gate.js, scope.js
// and pool.js.

const { OptionError, ParameterError } = require('../base');

/**
 * @typedef {object} TransactionSettings
 * @property {string} begin text of the statement
 * @property {number} retries after a serialization failure or a deadlock, at most
 */

const ISOLATION_LEVELS = ['read uncommitted', 'read committed', 'repeatable read', 'serializable'];
const MAX_RETRIES = 1000;

/** @type {Record<string, (value: any, name: string) => string>} */
const MODES = {
  isolationLevel: (value) => {
    if (!ISOLATION_LEVELS.includes(value)) {
      const levels = ISOLATION_LEVELS.map((level) => `'${level}'`).join(', ');
      throw new OptionError(`transaction option "isolationLevel" must be one of ${levels}`);
    }
    return ` ISOLATION LEVEL ${value.toUpperCase()}`;
  },
  readOnly: (value, name) => (boolean(value, name) ? ' READ ONLY' : ' READ WRITE'),
  deferrable: (value, name) => (boolean(value, name) ? ' DEFERRABLE' : ' NOT DEFERRABLE'),
};

/** @param {unknown} value @param {string} name */
function boolean(value, name) {
  if (typeof value !== 'boolean') {
    throw new OptionError(`transaction option "${name}" must be true or false`);
  }
  return value;
}

/** @param {any} retry */
function readRetries(retry) {
  if (typeof retry !== 'object') {
    throw new OptionError('transaction option "retry" must be an object: { serialization: 3 }');
  }
  const { serialization = 0, ...rest } = retry;
  const [other] = Object.keys(rest);
  if (other !== undefined) {
    throw new OptionError(`unknown transaction option "retry.${other}": use "retry.serialization"`);
  }
  if (!Number.isInteger(serialization) || serialization < 0 || serialization > MAX_RETRIES) {
    throw new OptionError(
      `transaction option "retry.serialization" must be a whole number from 0 to ${MAX_RETRIES}`,
    );
  }
  return serialization;
}

/**
 * @param {unknown} fn
 * @throws {ParameterError}
 */
function checkCallback(fn) {
  if (typeof fn !== 'function') {
    throw new ParameterError(
      `transaction() needs a function that gets the transaction, not ${typeof fn}`,
    );
  }
}

/**
 * @param {unknown} fn
 * @param {any} options
 * @returns {TransactionSettings}
 * @throws {OptionError | ParameterError}
 */
function readTransaction(fn, options) {
  checkCallback(fn);
  options ??= {};
  if (typeof options !== 'object') {
    throw new OptionError(
      "the options of transaction() must be an object: { isolationLevel: '…' }",
    );
  }
  let begin = 'BEGIN';
  let retries = 0;
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null) continue;
    if (name === 'retry') {
      retries = readRetries(value);
    } else if (Object.hasOwn(MODES, name)) {
      begin += MODES[name](value, name);
    } else {
      throw new OptionError(
        `unknown transaction option "${name}": there are isolationLevel, readOnly, deferrable and retry`,
      );
    }
  }
  return { begin, retries };
}

/**
 * @param {unknown} fn
 * @param {unknown} options
 * @throws {OptionError | ParameterError}
 */
function checkSavepoint(fn, options) {
  checkCallback(fn);
  if (options === undefined || options === null) return;
  throw new OptionError(
    'a transaction inside another one is a savepoint, which takes no options: pass them to the outer one',
  );
}

module.exports = { readTransaction, checkSavepoint };
