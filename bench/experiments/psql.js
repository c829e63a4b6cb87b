'use strict';

// PostgreSQL's own `psql`, whose \copy shows how fast rows can get into a table. Used by inserting.js, and by run.js to
// see whether it is there.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { runTimed } = require('../c/timed');
const { SCHEMA } = require('../tables');

/** @param {string} [binDirectory] of the server */
function programIn(binDirectory) {
  const beside = binDirectory && path.join(binDirectory, 'psql');
  return beside && fs.existsSync(beside) ? beside : 'psql';
}

/** @param {import('.').Target} server @returns {import('../child').Loaded | { error: string }} */
function probe({ binDirectory }) {
  try {
    const options = { encoding: /** @type {const} */ ('utf8') };
    const text = execFileSync(programIn(binDirectory), ['--version'], options);
    return { version: /\d[\d.]*/.exec(text)?.[0] ?? text.trim(), settings: '' };
  } catch (error) {
    return { error: /** @type {Error} */ (error).message.split('\n')[0] };
  }
}

/** @type {import('./inserting').Way['open']} */
async function openPsql({ connectionString, config }, { binDirectory }) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-bench-'));
  const file = path.join(folder, 'rows.tsv');
  const program = programIn(binDirectory);
  const commands = ['\\timing on', `\\copy ${SCHEMA}.inserts from '${file}'`];
  const args = ['-X', ...commands.flatMap((command) => ['-c', command]), connectionString];
  return {
    async insert(rows) {
      fs.writeFileSync(file, rows.map((row) => `${row.join('\t')}\n`).join(''));
      const { stdout, cpuMicros } = await runTimed(program, args, { password: config.password });
      const [, copied] = /^COPY (\d+)$/m.exec(stdout) ?? [];
      // Of COPY alone: to start and connect takes longer than many a COPY.
      const [, millis] = /^Time: ([\d.]+) ms/m.exec(stdout) ?? [];
      if (Number(copied) !== rows.length || !millis) throw new Error(`psql: ${stdout.trim()}`);
      return { millis: Number(millis), cpuMicros };
    },
    end: async () => fs.rmSync(folder, { recursive: true, force: true }),
  };
}

module.exports = { openPsql, probe };
