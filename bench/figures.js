'use strict';

// The files in which runs leave their figures: run.js and experiments/run.js write them, page/make.js and
// fill-docs.js read them.

const fs = require('node:fs');
const path = require('node:path');

/** Where they go, and are looked for, when nobody names a file. */
const LATEST = path.join(__dirname, 'results', 'latest.json');
const EXPERIMENTS = path.join(__dirname, 'results', 'experiments.json');

/**
 * @typedef {object} Figures
 * @property {string} date
 * @property {string} command that makes the same run again
 * @property {Record<string, unknown>} machine
 * @property {string} ours the driver that all ratios are against
 * @property {string[]} limits among the drivers: what can be reached without JavaScript, or without a database
 * @property {string[]} [anchors] among the drivers: those of other languages
 * @property {import('./choices').Choices} [network] between the drivers and the server, where the bench decides that
 * @property {FiguresWorkload[]} workloads those that were run
 * @property {import('./report').DriverInfo[]} drivers
 * @property {import('./report').Result[]} results
 * @property {string} [title] instead of version and date
 * @property {string} [about] in a few sentences
 * @property {string} [product] where `ours` is only a way to use it
 *
 * Several runs, as the experiments are.
 * @typedef {{ experiments: Figures[] }} ExperimentFigures
 *
 * @typedef {object} FiguresWorkload
 * @property {string} id
 * @property {string} title
 * @property {string} unit
 * @property {string} [bound] of the workload
 * @property {{ name: string, latencyOnly?: boolean, ours?: string }[]} cases
 */

/**
 * Before a run, whose figures would be lost for the want of a folder.
 * @param {string} file
 */
function prepareFigures(file) {
  if (file === LATEST || file === EXPERIMENTS) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
  }
  const folder = path.dirname(path.resolve(file));
  try {
    fs.accessSync(folder, fs.constants.W_OK);
  } catch (error) {
    throw new Error(`--json names "${file}": make a folder ${folder} that can be written to`, {
      cause: error,
    });
  }
}

/** @param {string} file @param {Figures | ExperimentFigures} figures */
function writeFigures(file, figures) {
  fs.writeFileSync(file, `${JSON.stringify(figures, null, 2)}\n`);
}

/**
 * @param {string} file
 * @returns {Figures[]} one, or one for each experiment
 */
function readFigures(file) {
  /** @type {any} */
  let figures;
  try {
    figures = JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    const reason = code === 'ENOENT' ? 'there is no such file' : message;
    throw new Error(
      file === LATEST
        ? `No figures of a run: ${reason}. Run "npm run bench" first, or name a file that it wrote`
        : `${file}: ${reason}. Name a file that "npm run bench -- --json FILE" wrote`,
      { cause: error },
    );
  }
  const all = Array.isArray(figures?.experiments) ? figures.experiments : [figures];
  for (const one of all) {
    const lists = [one?.workloads, one?.limits, one?.drivers, one?.results];
    if (!lists.every(Array.isArray)) {
      throw new Error(`${file} is not what "npm run bench" writes today: run it again`);
    }
  }
  return all;
}

/** Those of the last runs, of which at least one is missed if there is none. */
function latestFiles() {
  const found = [LATEST, EXPERIMENTS].filter((file) => fs.existsSync(file));
  return found.length > 0 ? found : [LATEST];
}

module.exports = { EXPERIMENTS, LATEST, latestFiles, prepareFigures, readFigures, writeFigures };
