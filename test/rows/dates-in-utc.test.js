'use strict';

// defaults.parseInputDatesAsUTC, wherever a Date may be passed: parameters, arrays of them, utils, copyRows().

const assert = require('node:assert/strict');
const pg = require('pg');
const { utils } = require('../..');
const { endAll, newClient, resetSchema } = require('../support/connect');
const { closeReference, openReference } = require('../support/like-pg');
const { withDefaults, withEnvironment } = require('../support/process');

describe('defaults.parseInputDatesAsUTC', () => {
  const date = new Date('2024-02-29T12:34:56.789Z');
  /** @type {pg.Client} */
  let reference;

  before(async () => {
    await resetSchema();
    reference = await openReference();
  });
  after(closeReference);
  afterEach(endAll);

  for (const asUtc of [true, false]) {
    it(`${asUtc}: dates are sent as in pg, in a time zone other than UTC`, () =>
      withEnvironment({ TZ: 'America/St_Johns' }, async () => {
        const client = await newClient();
        const text = 'select $1::timestamp::text as a, $2::timestamp[]::text as b, $3::text as c';
        const values = [date, [date, null], date];
        const before = pg.defaults.parseInputDatesAsUTC;
        pg.defaults.parseInputDatesAsUTC = asUtc;
        try {
          await withDefaults({ parseInputDatesAsUTC: asUtc }, async () => {
            const { rows } = await client.query(text, values);
            assert.deepEqual(rows, (await reference.query(text, values)).rows);
            assert.equal(rows[0].a, asUtc ? '2024-02-29 12:34:56.789' : '2024-02-29 09:04:56.789');
            assert.equal(utils.prepareValue(date), rows[0].c);

            // In COPY's binary format, and in its text format, which a column of xml takes.
            for (const columns of ['at timestamp', 'at timestamp, x xml']) {
              await client.query(`create temp table stored (${columns})`);
              const names = columns.includes('xml') ? ['at', 'x'] : ['at'];
              await client.copyRows('stored', names, [[date, '<a/>'].slice(0, names.length)]);
              const stored = await client.query('select at::text from stored');
              assert.equal(stored.rows[0].at, rows[0].a);
              await client.query('drop table stored');
            }
          });
        } finally {
          pg.defaults.parseInputDatesAsUTC = before;
        }
      }));
  }
});
