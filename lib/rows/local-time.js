'use strict';

// Times without a time zone, which are in that of the process, as in `pg`. How far it is from UTC on a
// day is remembered: V8 asks ICU for it each time. Used by cells.js.

const MILLIS_PER_DAY = 86400000;
/** The last millisecond of a Date. */
const MAX_MILLIS = 8.64e15;
/** After this many years the calendar repeats itself. */
const CALENDAR_CYCLE_YEARS = 400;
const CALENDAR_CYCLE_MILLIS = 146097 * MILLIS_PER_DAY;

/** For five years and a half; a power of two. */
const SLOTS = 2048;
/** The day that a slot is about, counted from 1970. */
const days = new Int32Array(SLOTS);
/** Milliseconds that the day is ahead of UTC, or one of these two. */
const offsets = new Float64Array(SLOTS).fill(NaN);
/** The slot is empty, or the offset changes on that day. */
const UNKNOWN = NaN;
/** The day was seen once, which is not worth asking for its offset. */
const SEEN = Infinity;

/** What tests put in its place has an idea of its own of time zones. */
const NativeDate = /\[native code\]/.test(Function.prototype.toString.call(Date))
  ? Date
  : undefined;
/** @type {string | undefined} process.env.TZ when the offsets were asked for */
let zone = process.env.TZ;
let isNative = true;

/**
 * To be called before a number of values are read. Only by process.env.TZ the time zone can change.
 * @returns {void}
 */
function followTimeZone() {
  isNative = Date === NativeDate;
  const { TZ } = process.env;
  if (TZ === zone) return;
  zone = TZ;
  offsets.fill(UNKNOWN);
}

/**
 * @param {number} millis the local fields, as if they were UTC
 * @returns {Date}
 */
function askDate(millis) {
  // The last local hours of JavaScript's calendar may be past its end in UTC.
  const isPastEnd = millis > MAX_MILLIS;
  const utc = new Date(isPastEnd ? millis - CALENDAR_CYCLE_MILLIS : millis);
  const year = utc.getUTCFullYear() + (isPastEnd ? CALENDAR_CYCLE_YEARS : 0);
  const date = new Date(
    year,
    utc.getUTCMonth(),
    utc.getUTCDate(),
    utc.getUTCHours(),
    utc.getUTCMinutes(),
    utc.getUTCSeconds(),
    utc.getUTCMilliseconds(),
  );
  // The constructor takes 0 to 99 as 1900 to 1999.
  if (year >= 0 && year < 100) date.setFullYear(year);
  return date;
}

/**
 * A day that begins and ends at the same distance from UTC has it all the time: no time zone has
 * ever changed twice on one day.
 * @param {number} day
 */
function askOffset(day) {
  const start = day * MILLIS_PER_DAY;
  const end = start + MILLIS_PER_DAY;
  const offset = start - askDate(start).getTime();
  return offset === end - askDate(end).getTime() ? offset : UNKNOWN;
}

/**
 * @param {number} millis the local fields, as if they were UTC
 * @returns {number} since 1970; NaN if it has to be asked
 */
function findMillis(millis) {
  if (!isNative || !(Math.abs(millis) < MAX_MILLIS - 2 * MILLIS_PER_DAY)) return NaN;
  const day = Math.floor(millis / MILLIS_PER_DAY);
  const slot = day & (SLOTS - 1);
  if (days[slot] !== day || Number.isNaN(offsets[slot])) {
    // Of a day on which it changes, this is asked each time.
    days[slot] = day;
    offsets[slot] = SEEN;
    return NaN;
  }
  if (offsets[slot] === SEEN) offsets[slot] = askOffset(day);
  return millis - offsets[slot];
}

/**
 * @param {number} millis the local fields, as if they were UTC
 * @returns {Date | number} a number for infinity
 */
function toLocalDate(millis) {
  if (millis === Infinity || millis === -Infinity) return millis;
  const found = findMillis(millis);
  return Number.isNaN(found) ? askDate(millis) : new Date(found);
}

/**
 * @param {number} millis the local fields, as if they were UTC
 * @returns {number} that of the Date
 */
function toLocalMillis(millis) {
  if (millis === Infinity || millis === -Infinity) return millis;
  const found = findMillis(millis);
  return Number.isNaN(found) ? askDate(millis).getTime() : found;
}

module.exports = { followTimeZone, toLocalDate, toLocalMillis };
