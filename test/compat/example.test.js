'use strict';

// The example of a program written for `pg`: with it and with this driver, the same answers.

const assert = require('node:assert/strict');
const { compare } = require('../../examples/written-for-pg/compare');

describe('a program written for pg', function () {
  // Installs the program at first.
  this.timeout(300_000);

  // So many seconds for each page: on a busy machine the first answers take more than one.
  it('answers the same with this driver, byte for byte, one by one and under load', async () => {
    assert.deepEqual(await compare(4), []);
  });
});
