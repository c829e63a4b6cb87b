'use strict';

// What callers pass to subscribe(), checked. Called by pool.js.

const { randomBytes } = require('node:crypto');
const { OptionError, ParameterError } = require('../base');
const { parseLsn } = require('./lsn');

/**
 * @typedef {(change: import('./pgoutput').Change) => unknown} OnChange
 *
 * Changes may not have been told.
 * @typedef {object} Gap
 * @property {'slot-created' | 'slot-lost' | 'slot-moved' | 'server-behind' | 'other-server' | 'transaction-missing'} reason
 * @property {string} slot
 * @property {string | null} from the position up to which all was told; null: nothing was told yet
 * @property {string} to the position from which on everything is told
 * @property {string | null} snapshot with which a transaction sees what was committed before `to`
 *
 * @typedef {object} SubscribeOptions
 * @property {string[]} publications
 * @property {OnChange} onChange
 * @property {string} slot
 * @property {boolean} isTemporary
 * @property {bigint | undefined} from
 * @property {((gap: Gap) => unknown) | undefined} onGap
 * @property {boolean} streaming
 * @property {number} maxStreamedBytes
 * @property {boolean} messages
 * @property {boolean} boundaries
 */

const IS_SLOT_NAME = /^[a-z0-9_]{1,63}$/;
const MAX_STREAMED_BYTES = 64 << 20;

/** @param {string} message @returns {never} */
function refuse(message) {
  throw new ParameterError(message);
}

/** @param {unknown} given @returns {string[]} */
function readPublications(given) {
  const names = Array.isArray(given) ? given : [given];
  const isName = (/** @type {unknown} */ name) =>
    typeof name === 'string' && name !== '' && !name.includes('\0');
  if (names.length === 0 || !names.every(isName)) {
    refuse(
      'the first argument of subscribe() must be the name of a publication, or several in an array',
    );
  }
  return names;
}

/** @param {unknown} slot @returns {string} */
function readSlot(slot) {
  if (typeof slot === 'string' && IS_SLOT_NAME.test(slot)) return slot;
  return refuse(
    'option "slot" of subscribe() must be a name of lower-case letters, digits and underscores, at most 63',
  );
}

/** @param {unknown} from @returns {bigint | undefined} */
function readFrom(from) {
  if (from === undefined || from === null) return undefined;
  const lsn = typeof from === 'string' ? parseLsn(from) : undefined;
  return lsn ?? refuse('option "from" of subscribe() must be a position such as \'0/16B3748\'');
}

/** @param {unknown} value @param {string} name @returns {boolean} */
function readFlag(value, name) {
  if (value === undefined || typeof value === 'boolean') return value === true;
  return refuse(`option "${name}" of subscribe() must be true or false`);
}

/** @param {unknown} value */
function readMaxStreamedBytes(value) {
  if (value === undefined) return MAX_STREAMED_BYTES;
  if (Number.isSafeInteger(value) && Number(value) > 0) return Number(value);
  return refuse('option "maxStreamedBytes" of subscribe() must be a whole number above 0');
}

/**
 * @param {unknown} publication
 * @param {any} onChange
 * @param {any} [options]
 * @returns {SubscribeOptions}
 * @throws {ParameterError}
 */
function readSubscribe(publication, onChange, options = {}) {
  const publications = readPublications(publication);
  if (typeof onChange !== 'function') {
    refuse('the second argument of subscribe() must be a function');
  }
  if (typeof options !== 'object' || options === null) {
    refuse('the third argument of subscribe() must be an object: { slot, from, onGap }');
  }
  const { slot, from, onGap, streaming, maxStreamedBytes, messages, boundaries, ...others } =
    options;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) refuse(`subscribe() has no option "${unknown}"`);
  if (onGap !== undefined && typeof onGap !== 'function') {
    refuse('option "onGap" of subscribe() must be a function');
  }
  const isTemporary = slot === undefined;
  return {
    publications,
    onChange,
    slot: isTemporary ? `pg_conduit_${randomBytes(8).toString('hex')}` : readSlot(slot),
    isTemporary,
    from: readFrom(from),
    onGap,
    streaming: readFlag(streaming, 'streaming'),
    maxStreamedBytes: readMaxStreamedBytes(maxStreamedBytes),
    messages: readFlag(messages, 'messages'),
    boundaries: readFlag(boundaries, 'boundaries'),
  };
}

/**
 * @param {import('../options').Settings} settings of a pool
 * @returns {OptionError | undefined}
 */
function refuseReplication({ conninfo }) {
  if (conninfo.replication === undefined) return undefined;
  return new OptionError(
    'option "replication" is for a client, not for a pool: use new Client(), or pool.subscribe()',
  );
}

module.exports = { readSubscribe, refuseReplication };
