'use strict';

// Prints the texts of the spans that Elastic's agent sends.

const { collect } = require('./collector');

(async () => {
  const collector = await collect();
  const agent = require('elastic-apm-node').start({
    serverUrl: collector.url,
    serviceName: 'application',
    centralConfig: false,
    cloudProvider: 'none',
    logLevel: 'off',
    metricsInterval: '0',
    // It would make one span of two that are alike.
    spanCompressionEnabled: false,
  });
  const transaction = agent.startTransaction('request');
  await require('./application')();
  transaction.end();
  await agent.flush();
  console.log(JSON.stringify(await collector.texts()));
  process.exit();
})();
