'use strict';

// What callers pass to listen() and notify(): names of channels, payloads, options. Called by pool.js and listener.js.

const { ParameterError } = require('../base');

/** NAMEDATALEN - 1: in LISTEN the server would cut a longer name, and listen to another channel. */
const MAX_CHANNEL_BYTES = 63;

/** @param {unknown} name @throws {ParameterError} */
function checkChannel(name) {
  const refusal = findFault(name);
  if (refusal !== undefined) throw new ParameterError(`the name of a channel must ${refusal}`);
}

/** @param {unknown} name @returns {string | undefined} */
function findFault(name) {
  if (typeof name !== 'string') return `be a string, not ${name === null ? 'null' : typeof name}`;
  if (name === '') return 'not be empty';
  if (name.includes('\0')) return 'not have a NUL character';
  const bytes = Buffer.from(name);
  if (bytes.toString() !== name) return 'be well-formed: it has half of a surrogate pair';
  if (bytes.length <= MAX_CHANNEL_BYTES) return undefined;
  return `have ${MAX_CHANNEL_BYTES} bytes of UTF-8 at most, not ${bytes.length}`;
}

/** @param {unknown} payload @throws {ParameterError} */
function checkPayload(payload) {
  if (typeof payload === 'string') return;
  const given = payload === null ? 'null' : typeof payload;
  throw new ParameterError(
    `the payload must be a string, not ${given}: JSON.stringify() makes one`,
  );
}

/**
 * @param {any} options
 * @returns {{ onGap?: import('./listener').OnGap }}
 * @throws {ParameterError}
 */
function readListenOptions(options = {}) {
  if (typeof options !== 'object' || options === null) {
    throw new ParameterError('the third argument of listen() must be an object: { onGap }');
  }
  const { onGap, ...others } = options;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new ParameterError(`listen() has no option "${unknown}"`);
  if (onGap !== undefined && typeof onGap !== 'function') {
    throw new ParameterError('option "onGap" of listen() must be a function');
  }
  return { onGap };
}

module.exports = { checkChannel, checkPayload, readListenOptions };
