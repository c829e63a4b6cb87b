'use strict';

// Positions in the write-ahead log (pg_lsn): texts for users, bigints here.

const PATTERN = /^([0-9a-f]{1,8})\/([0-9a-f]{1,8})$/i;
const HALF = 32n;

/** @param {string} text @returns {bigint | undefined} undefined if it is none */
function parseLsn(text) {
  const match = PATTERN.exec(text);
  if (match === null) return undefined;
  return (BigInt(`0x${match[1]}`) << HALF) | BigInt(`0x${match[2]}`);
}

/** @param {bigint} lsn @returns {string} as the server writes it */
function formatLsn(lsn) {
  const high = (lsn >> HALF).toString(16);
  const low = (lsn & 0xffffffffn).toString(16);
  return `${high}/${low}`.toUpperCase();
}

module.exports = { formatLsn, parseLsn };
