'use strict';

// Dates and times compared with those of `pg` on the same server, from the first day of PostgreSQL's
// calendar to the last one of JavaScript's, in many time zones of the session. Also runs itself in
// child processes, for the time zones of the process.

const assert = require('node:assert/strict');
const { inChild, runSpecs } = require('../support/child-mocha');
const { endAll, newClient } = require('../support/connect');
const {
  RESULT_EXECUTIONS,
  closeReference,
  openReference,
  sameAsPg,
  withPg,
} = require('../support/like-pg');
const { IS_LONG } = require('../support/property');
const { selectArrays, selectEach } = require('../support/sql');

const DATES = [
  ...['2020-01-01', '1970-01-01', '1969-12-31', '0001-01-01', '0004-02-29', '0050-06-15'],
  ...['0099-12-31', '0100-01-01', '1883-11-18', '9999-12-31', '10000-01-01', '100000-02-03'],
  ...['0001-12-31 BC', '0002-02-28 BC', '0044-03-15 BC', '4713-01-01 BC', '2021-03-28'],
  ...['2018-11-04', '2020-02-29', '1900-03-01', 'infinity', '-infinity', '275760-09-12'],
  // After the last day of JavaScript.
  ...['275761-01-01', '294276-12-31'],
];

const TIMES = ['00:00:00', '23:59:59.999999', '12:34:56.789', '02:30:00', '00:00:00.0005'];

const MOMENTS = [
  ...DATES.filter((date) => date.endsWith('infinity')),
  ...DATES.filter((date) => !date.endsWith('infinity')).flatMap((date) =>
    TIMES.map((time) => date.replace(/^\S+/, `$& ${time}`)),
  ),
  // Clocks that skip or repeat this hour, in one of the zones below.
  ...['2021-03-14 02:00:00', '2021-03-14 02:59:59.999', '2021-11-07 01:30:00'],
  ...['2021-10-03 02:00:00', '2021-10-03 02:15:00', '2021-04-04 01:45:00'],
  ...['1883-11-18 12:03:57', '1883-11-18 12:04:00', '1945-10-14 23:59:59', '1941-10-01 00:00:00'],
  ...['1969-12-31 23:59:59.9999', '1969-12-31 23:59:59.000001', '1970-01-01 00:00:00.000999'],
  // 2000-01-01 is zero in PostgreSQL's binary format.
  ...['2000-01-01 00:00:00', '1999-12-31 23:59:59.999999', '2000-01-01 00:00:00.000001'],
];

describe('results', () => {
  before(openReference);
  after(closeReference);
  afterEach(endAll);

  describe('of dates and times are those of pg', () => {
    it('timestamptz', async () => {
      const client = await newClient();
      await sameAsPg(client, selectEach('timestamptz', MOMENTS));
      await sameAsPg(client, selectArrays('timestamptz', MOMENTS));
    });

    it('timestamp', async () => {
      const client = await newClient();
      await sameAsPg(client, selectEach('timestamp', MOMENTS));
      await sameAsPg(client, selectArrays('timestamp', MOMENTS));
    });

    it('date', async () => {
      const client = await newClient();
      const dates = [...DATES, '275760-09-13', '5874897-12-31'];
      await sameAsPg(client, selectEach('date', dates));
      await sameAsPg(client, selectArrays('date', dates));
    });

    it('timestamps with a precision', async () => {
      const client = await newClient();
      for (const type of ['timestamp(0)', 'timestamp(3)', 'timestamptz(0)', 'timestamptz(4)']) {
        await sameAsPg(client, selectEach(type, ['2020-01-01 12:34:56.789765']));
      }
    });

    it('every half hour of a year, and every fifth day of four centuries', async () => {
      const client = await newClient();
      await sameAsPg(
        client,
        "select t, t at time zone 'UTC' as local from generate_series('2020-12-31'::timestamptz, " +
          "'2022-01-02', '30 minutes') t",
        { executions: 3 },
      );
      await sameAsPg(
        client,
        "select '1800-01-01'::date + g as d, '1800-01-01'::timestamptz + g * interval '1 day' as t " +
          'from generate_series(0, 400 * 366, 5) g',
        { executions: 3 },
      );
    });

    it("the last hours of JavaScript's calendar", async () => {
      const texts = [
        '275760-09-12 12:00',
        '275760-09-13',
        '275760-09-13 03:00',
        '275760-09-13 12:00',
      ];
      // East of Greenwich pg reads the last hours of a timestamptz as invalid.
      const settings = { options: '-c timezone=UTC' };
      const client = await newClient(settings);
      await withPg(async (like) => {
        for (const type of ['timestamp', 'timestamptz', 'date']) {
          await sameAsPg(client, selectEach(type, texts), { like });
        }
      }, settings);
    });

    it("in whatever time zone the server's session is", async () => {
      // Before 1900 or so they have offsets with seconds.
      for (const zone of ['America/New_York', 'Asia/Kolkata', 'Africa/Monrovia']) {
        const settings = { options: `-c timezone=${zone}` };
        const client = await newClient(settings);
        await withPg(async (like) => {
          const moments = MOMENTS.filter((text) => !text.startsWith('294276'));
          await sameAsPg(client, selectEach('timestamptz', moments), { like });
          await sameAsPg(client, selectEach('timestamp', moments), { like });
        }, settings);
      }
    });
  });

  if (inChild) return;

  it('have the leap day of the year 1 BC in timestamptz, for which pg gives the next day', async () => {
    // Date.UTC() takes the year 0 for 1900; the binary format has no such gap, and both must agree.
    const client = await newClient();
    const leapDay = '0001-02-29 12:00:00 BC';
    for (let execution = 1; execution <= RESULT_EXECUTIONS; ++execution) {
      const { rows } = await client.query(`select '${leapDay}+00'::timestamptz as v`);
      assert.equal(rows[0].v.toISOString(), '0000-02-29T12:00:00.000Z');
    }
    const others = ['0001-03-01 00:00:00 BC', '0001-02-28 23:59:59 BC', '0005-02-29 12:00:00 BC'];
    await sameAsPg(client, selectEach('timestamptz', others));
    for (const type of ['timestamp', 'date']) {
      await sameAsPg(client, selectEach(type, [leapDay, ...others]));
    }
  });

  describe('are the same', () => {
    // East and west of Greenwich; summer time is half an hour in one, and began at midnight in the other.
    const ZONES = ['Australia/Lord_Howe'];
    if (IS_LONG) ZONES.push('America/Sao_Paulo', 'UTC', 'America/New_York', 'Asia/Kolkata');
    for (const zone of ZONES) {
      it(`for dates and times in a process whose TZ is ${zone}`, async () => {
        await runSpecs([__filename], { env: { TZ: zone } });
      });
    }
  });
});
