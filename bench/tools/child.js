'use strict';

// The process in which one tool is measured with one driver. Forked by ../children.js, told what to do by ../run.js.

const { runCases, serveJob } = require('../serve-job');
const { withClient } = require('../tables');
const { takeTurns } = require('../turn-clock');
const { cases: CASES } = require('../workloads/w8-tools');
const { ConnectionsWatch } = require('./connections');
const { POOL, assertPlaced, placeDriver } = require('./drivers');
const { getTool, requireFromTools } = require('.');

/**
 * @typedef {object} ToolJob beside what every job has
 * @property {Record<string, import('./places').Place>} places
 * @property {import('./drivers').Settings} settings
 */

/** A tool's own code is compiled as well, and some need milliseconds for a transaction. */
const WARMUP_TIMES = 4;

/** @param {import('../child').Job & ToolJob} job */
async function main({
  driver,
  target: server,
  cases: names,
  timing,
  places,
  settings,
  takesTurns,
}) {
  if (takesTurns) takeTurns();
  placeDriver(driver);
  Object.assign(requireFromTools('pg').defaults, settings.defaults);
  const watch = await ConnectionsWatch.start(server);
  const later = WARMUP_TIMES * timing.warmupMillis;
  let warmupMillis = Math.max(later, timing.firstWarmupMillis);
  const chosen = CASES.filter(({ name }) => names.includes(name));
  await runCases(chosen, async (one) => {
    const place = places[one.place];
    if ('error' in place) throw new Error(place.error);
    const tool = getTool(one.tool);
    const max = tool.makesClients ? settings.clients : POOL;
    /** @type {import('../measure').Measurement | undefined} */
    let measurement;
    await withClient(server, async (client) => {
      // After this client has connected: the server tells a case's connections by it, also from those of the case before,
      // which are about to end.
      process.env.PGAPPNAME = `bench ${process.pid} ${CASES.indexOf(one)}`;
      await watch.begin(process.env.PGAPPNAME);
      const session = await tool.open({ ...place, max });
      assertPlaced(driver);
      const measured = await one.runTool(session, client, { ...timing, warmupMillis, driver });
      measurement = { ...measured, connections: await watch.end() };
      await session.end();
    });
    warmupMillis = later;
    return /** @type {import('../measure').Measurement} */ (measurement);
  });
}

serveJob(main);
