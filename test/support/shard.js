'use strict';

// Which files of a configuration this process runs, where scripts/shards.js has started several: for *.mocharc.js.

/**
 * @param {string[]} names in test/, without their ending
 * @returns {string[]} the files of this process
 */
function ofThisShard(names) {
  const [index, count] = (process.env.PG_CONDUIT_TEST_SHARD ?? '0/1').split('/').map(Number);
  return names.filter((_, at) => at % count === index).map((name) => `test/${name}.test.js`);
}

module.exports = { ofThisShard };
