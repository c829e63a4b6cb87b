'use strict';

// What statements are expected to cost the server is told by a test, and not by a machine that may be busy. Called in a
// describe block.

const { mock } = require('node:test');
const { ConnectionLoad } = require('../../lib/connection/load');
const { StatementInfo } = require('../../lib/statements');

/** Less than waking a backend. */
const TINY_MILLIS = 0.01;

/** @param {(text: string) => number} [millisOf] what a statement costs */
function useCosts(millisOf = () => TINY_MILLIS) {
  beforeEach(() => {
    const averageMillis = function averageMillis() {
      return millisOf(this.text);
    };
    mock.getter(StatementInfo.prototype, 'averageMillis', averageMillis);
    const { add } = ConnectionLoad.prototype;
    mock.method(ConnectionLoad.prototype, 'add', function addKnown(query) {
      this.roundTripMillis = 0.1;
      add.call(this, query);
    });
  });
  afterEach(() => mock.restoreAll());
}

module.exports = { TINY_MILLIS, useCosts };
