'use strict';

// The slot of a subscription: finds it, or makes it, and tells whether changes are missing between what was told and
// what it still has. Called by session.js for each connection.

const { escapeIdentifier } = require('../base');
const { gapError, slotError } = require('./errors');
const { formatLsn, parseLsn } = require('./lsn');

/**
 * @typedef {import('./options').Gap} Gap
 * @typedef {import('./options').SubscribeOptions} SubscribeOptions
 * @typedef {(text: string) => Promise<any[][]>} Ask gives the rows of a text, in arrays
 *
 * What is known before a connection.
 * @typedef {object} Known
 * @property {boolean} isFirst whether the subscription begins
 * @property {bigint | undefined} position up to which all was told
 * @property {string | undefined} systemId of the server that was there before
 *
 * What is known of the server.
 * @typedef {{ systemId: string, position: bigint, database: string | null }} System
 *
 * Where it goes on; and whether the slot was made for it.
 * @typedef {{ position: bigint, gap: Gap | undefined, isMade: boolean }} Start
 */

const ZERO = '0/0';

/** The replication commands know no other literals. @param {string} text */
function quoteLiteral(text) {
  return `'${text.replaceAll("'", "''")}'`;
}

/** @param {string | null} text @returns {bigint} */
function toPosition(text) {
  return parseLsn(text ?? ZERO) ?? 0n;
}

/**
 * @param {Ask} ask
 * @param {string} slot
 * @returns {Promise<Record<string, any> | undefined>} its row, whose columns depend on the version
 */
async function findSlot(ask, slot) {
  const [row] = await ask(
    `select to_json(s)::text from pg_catalog.pg_replication_slots s where slot_name = ${quoteLiteral(slot)}`,
  );
  return row && JSON.parse(row[0]);
}

/**
 * @param {Record<string, any>} state
 * @param {System} system
 */
function check({ slot_name: slot, plugin, slot_type: type, database }, system) {
  if (type !== 'logical') throw slotError(slot, 'is one for physical replication');
  if (plugin !== 'pgoutput') throw slotError(slot, `has the output plugin ${plugin}, not pgoutput`);
  if (database !== system.database) throw slotError(slot, `belongs to the database "${database}"`);
}

/** @param {Record<string, any>} state @returns {boolean} whether the server has given it up */
function isInvalid(state) {
  return state.wal_status === 'lost' || Boolean(state.invalidation_reason);
}

/**
 * @param {Ask} ask
 * @param {SubscribeOptions} options
 * @returns {Promise<{ position: bigint, snapshot: string | null }>}
 */
async function createSlot(ask, { slot, isTemporary }) {
  // The snapshot is there until the connection gets its next command.
  const [[, position, snapshot]] = await ask(
    `CREATE_REPLICATION_SLOT ${escapeIdentifier(slot)}${isTemporary ? ' TEMPORARY' : ''} LOGICAL pgoutput`,
  );
  return { position: toPosition(position), snapshot };
}

/**
 * @param {Known} known
 * @param {System} system
 * @param {Record<string, any> | undefined} state of the slot
 * @returns {Gap['reason'] | undefined} why it cannot go on there
 */
function findReason({ isFirst, position, systemId }, system, state) {
  if (systemId !== undefined && systemId !== system.systemId) return 'other-server';
  if (state === undefined) return isFirst ? 'slot-created' : 'slot-lost';
  if (isInvalid(state)) return 'slot-lost';
  if (position === undefined) return undefined;
  if (position > system.position) return 'server-behind';
  // What a caller has kept from before may well be behind the slot, which moves on while nothing changes.
  return !isFirst && position < toPosition(state.confirmed_flush_lsn) ? 'slot-moved' : undefined;
}

/**
 * @param {Ask} ask
 * @param {Ask} askPatiently for what waits for others
 * @param {SubscribeOptions} options
 * @param {Known} known
 * @param {System} system
 * @returns {Promise<Start>}
 */
async function prepareSlot(ask, askPatiently, options, known, system) {
  const { slot, onGap } = options;
  const state = await findSlot(ask, slot);
  if (state !== undefined) check(state, system);
  const reason = findReason(known, system, state);
  const confirmed = toPosition(state?.confirmed_flush_lsn);
  if (reason === undefined) {
    return { position: known.position ?? confirmed, gap: undefined, isMade: false };
  }
  const from = known.position === undefined ? null : formatLsn(known.position);
  /** @type {Gap} */
  const gap = { reason, slot, from, to: formatLsn(confirmed), snapshot: null };
  // Who begins with nothing misses nothing.
  if (onGap === undefined && (reason !== 'slot-created' || from !== null)) throw gapError(gap);
  if (state !== undefined && !isInvalid(state)) {
    return { position: confirmed, gap, isMade: false };
  }
  if (state !== undefined) await ask(`DROP_REPLICATION_SLOT ${escapeIdentifier(slot)}`);
  const { position, snapshot } = await createSlot(askPatiently, options);
  return { position, gap: { ...gap, to: formatLsn(position), snapshot }, isMade: true };
}

module.exports = { prepareSlot, quoteLiteral, toPosition };
