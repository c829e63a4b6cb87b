'use strict';

// Prints the texts of the spans that Datadog's tracer sends.

const { collect } = require('./collector');

(async () => {
  const collector = await collect();
  require('dd-trace').init({
    url: collector.url,
    startupLogs: false,
    flushInterval: 0,
    remoteConfig: { enabled: false },
  });
  await require('./application')();
  console.log(JSON.stringify(await collector.texts()));
  process.exit();
})();
