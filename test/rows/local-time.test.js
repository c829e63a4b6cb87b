'use strict';

// lib/rows/local-time.js beside the Date of JavaScript: what it remembers of a day must be what V8 would
// say, also if the time zone has changed meanwhile, or if a test has put another Date in its place.

const assert = require('node:assert/strict');
const fc = require('fast-check');
const { followTimeZone, toLocalDate, toLocalMillis } = require('../../lib/rows/local-time');
const { withEnvironment } = require('../support/process');
const { holds } = require('../support/property');

const ZONES = [
  ...['UTC', 'Europe/Berlin', 'America/New_York', 'America/St_Johns', 'Australia/Lord_Howe'],
  ...['Asia/Kathmandu', 'Africa/Casablanca', 'Pacific/Apia', 'America/Sao_Paulo', 'Asia/Tehran'],
];
const HOUR = 3600_000;

/** As V8 says. */
function expected(millis) {
  const utc = new Date(millis);
  const date = new Date(2000, 0, 1, utc.getUTCHours(), utc.getUTCMinutes(), utc.getUTCSeconds());
  date.setFullYear(utc.getUTCFullYear(), utc.getUTCMonth(), utc.getUTCDate());
  date.setHours(utc.getUTCHours(), utc.getUTCMinutes(), utc.getUTCSeconds());
  date.setMilliseconds(utc.getUTCMilliseconds());
  return date.getTime();
}

function check(millis) {
  // The first two times it asks, and then it remembers.
  for (let time = 1; time <= 4; ++time) {
    assert.equal(toLocalMillis(millis), expected(millis), new Date(millis).toISOString());
    assert.equal(toLocalDate(millis).getTime(), expected(millis));
  }
}

describe('a time without a time zone', () => {
  it('is that of the process, whichever zone it is in', async () => {
    const millis = fc.date({
      min: new Date('1880-01-01T00:00Z'),
      max: new Date('2100-01-01T00:00Z'),
      noInvalidDate: true,
    });
    await holds(
      fc.asyncProperty(
        fc.constantFrom(...ZONES),
        fc.array(millis, { minLength: 1, maxLength: 20 }),
        (TZ, dates) =>
          withEnvironment({ TZ }, () => {
            followTimeZone();
            for (const date of dates) check(date.getTime());
            for (const date of dates) check(date.getTime());
          }),
      ),
      300,
    );
  });

  it('is right on each hour around a change of the clock', async () => {
    for (const TZ of ZONES) {
      await withEnvironment({ TZ }, () => {
        followTimeZone();
        for (const year of [1985, 2011, 2024]) {
          const last = new Date(year, 11, 31);
          let before = new Date(year, 0, 1).getTimezoneOffset();
          for (let day = new Date(year, 0, 1); day < last; day.setDate(day.getDate() + 1)) {
            const offset = day.getTimezoneOffset();
            if (offset === before) continue;
            before = offset;
            const around = Date.UTC(year, day.getMonth(), day.getDate());
            for (let hour = -48; hour < 48; ++hour) check(around + hour * HOUR + 1234);
          }
        }
      });
    }
  });

  it('may be at the ends of the calendar, and infinite', () => {
    followTimeZone();
    assert.equal(toLocalMillis(Infinity), Infinity);
    assert.equal(toLocalDate(-Infinity), -Infinity);
    for (const millis of [8.64e15, -8.64e15 + 2 * 24 * HOUR, -62198755200000, 0]) {
      for (let time = 1; time <= 3; ++time) {
        const utc = new Date(millis);
        const date = toLocalDate(millis);
        if (Number.isNaN(date.getTime())) continue;
        assert.equal(date.getFullYear(), utc.getUTCFullYear());
        assert.equal(date.getHours(), utc.getUTCHours());
        assert.equal(toLocalMillis(millis), date.getTime());
      }
    }
  });

  it('is asked of the Date that a test has put in the place of the ordinary one', () => {
    const { Date: Ordinary } = globalThis;
    const millis = Ordinary.UTC(2024, 5, 1, 12);
    followTimeZone();
    for (let time = 1; time <= 3; ++time) toLocalMillis(millis);
    class Shifted extends Ordinary {
      getTime() {
        return super.getTime() + 5;
      }
    }
    try {
      globalThis.Date = Shifted;
      followTimeZone();
      assert.ok(toLocalDate(millis) instanceof Shifted);
      assert.equal(toLocalMillis(millis), new Ordinary(2024, 5, 1, 12).getTime() + 5);
    } finally {
      globalThis.Date = Ordinary;
      followTimeZone();
    }
    assert.equal(toLocalMillis(millis), new Ordinary(2024, 5, 1, 12).getTime());
  });
});
