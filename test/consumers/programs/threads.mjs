// A pool in the main thread and in each of four worker threads, all at once. Prints how many answers
// each of them has got.

import { Worker, isMainThread, parentPort } from 'node:worker_threads';
import { Pool } from 'pg-conduit';

const QUERIES = 200;

async function ask() {
  const pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 2 });
  const numbers = Array.from({ length: QUERIES }, (_, index) => index);
  const results = await Promise.all(
    numbers.map((number) => pool.query('select $1::int as number', [number])),
  );
  await pool.end();
  return results.filter(({ rows }, index) => rows[0].number === index).length;
}

if (isMainThread) {
  const workers = Array.from({ length: 4 }, () => new Worker(new URL(import.meta.url)));
  const answers = workers.map((worker) => {
    return new Promise((resolve, reject) => worker.on('message', resolve).on('error', reject));
  });
  console.log(JSON.stringify(await Promise.all([ask(), ...answers])));
} else {
  parentPort.postMessage(await ask());
}
