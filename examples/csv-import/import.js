'use strict';

// A CSV file into a table, by COPY: the server parses it, nothing of it is kept in memory, and it is
// all there or nothing. The columns are those of the file's first line, as text.
// node examples/csv-import/import.js [FILE [TABLE]]     without a file: 500,000 lines made up

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Transform } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { Presets, SingleBar } = require('cli-progress');
const { Pool, escapeIdentifier } = require('pg-conduit');
const { startDatabase } = require('../../scripts/database');
const { onStop } = require('../playground');

/** @param {string} file whose first line has names without commas */
async function columnsOf(file) {
  const handle = await fs.promises.open(file);
  try {
    for await (const line of handle.readLines()) return line.split(',').map((name) => name.trim());
    throw new Error(`${file} is empty`);
  } finally {
    await handle.close();
  }
}

/** @param {string} folder */
function makeSample(folder) {
  const file = path.join(folder, 'sample.csv');
  const lines = Array.from({ length: 500_000 }, (_, i) => `${i},"reading, number ${i}",${i % 100}`);
  fs.writeFileSync(file, `id,note,value\n${lines.join('\n')}\n`);
  return file;
}

/** Passes on what it gets, and shows how much that was. @param {number} size */
function showProgress(size) {
  const bar = new SingleBar({ format: '{bar} {percentage}% | {value}/{total} MB' }, Presets.rect);
  let bytes = 0;
  /** @param {number} count */
  const megabytes = (count) => Math.round(count / 1e6);
  bar.start(megabytes(size), 0);
  return new Transform({
    transform(chunk, _encoding, done) {
      bytes += chunk.length;
      bar.update(megabytes(bytes));
      done(null, chunk);
    },
    destroy(error, done) {
      bar.stop();
      done(error);
    },
  });
}

/**
 * @param {import('pg-conduit').Pool} pool
 * @param {string} file
 * @param {string} table
 * @param {AbortSignal} signal
 */
async function importFile(pool, file, table, signal) {
  const columns = (await columnsOf(file)).map(escapeIdentifier);
  const name = escapeIdentifier(table);
  // Both or neither: a table, and what belongs into it.
  return pool.transaction(async (tx) => {
    await tx.query(`create table if not exists ${name} (${columns.join(' text, ')} text)`);
    const copy = tx.copyFrom(`copy ${name} (${columns.join()}) from stdin (format csv, header)`);
    const bytes = fs.createReadStream(file);
    await pipeline(bytes, showProgress(fs.statSync(file).size), copy, { signal });
    return copy.rowCount;
  });
}

/** @param {string[]} args */
async function main([given, table = 'imported']) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'csv-import-'));
  const database = await startDatabase();
  const pool = new Pool({ connectionString: database.connectionString, max: 1 });
  const stop = new AbortController();
  onStop(async () => stop.abort());
  try {
    const file = given ?? makeSample(folder);
    const begin = performance.now();
    const rows = await importFile(pool, file, table, stop.signal);
    const seconds = (performance.now() - begin) / 1000;
    console.log(`${rows} rows into "${table}" in ${seconds.toFixed(2)} s`);
  } catch (/** @type {any} */ error) {
    // `where` tells the line: COPY imported, line 3: "…"
    console.error(error.message, error.where ?? '', '\nNothing of it was kept.');
    process.exitCode = 1;
  } finally {
    await pool.end();
    await database.stop();
    fs.rmSync(folder, { recursive: true });
  }
}

main(process.argv.slice(2));
