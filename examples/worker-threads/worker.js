'use strict';

// One thread: reads the values of a sensor from a pool of its own, and computes. Started by server.js.

const { parentPort, threadId, workerData } = require('node:worker_threads');
const { Pool } = require('pg-conduit');

const pool = new Pool(workerData);

/** @param {number} sensor */
async function statistics(sensor) {
  const { rows } = await pool.query('select value from reading where sensor = $1', [sensor]);
  const values = Float64Array.from(rows, ({ value }) => value).sort();
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return {
    threadId,
    readings: values.length,
    median: values[values.length >> 1],
    deviation: Math.sqrt(variance),
  };
}

parentPort?.on('message', async (message) => {
  if (message === 'end') {
    await pool.end();
    parentPort?.close();
    return;
  }
  const { number, sensor } = message;
  try {
    parentPort?.postMessage({ number, result: await statistics(sensor) });
  } catch (error) {
    parentPort?.postMessage({ number, error });
  }
});
