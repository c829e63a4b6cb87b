'use strict';

// A driver of another language, as a program of its own in a folder beside this file: built once by that language's own
// tool, with the versions of its lock file, and run for each case. Used by the anchors, which ../programs.js lists.

const { execFileSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { runMeasured } = require('../c/measured');
const { ROWS, SELECT_POINT } = require('../tables');

const BUILD = path.join(__dirname, '..', '..', 'build', 'bench-anchors');
/** Far more than any of them takes, of which the first one downloads what it needs. */
const BUILD_MILLIS = 30 * 60_000;

/**
 * @typedef {object} AnchorOptions
 * @property {string} name of the folder with the sources
 * @property {string} language
 * @property {string[]} sources in there; a program of other ones is built again
 * @property {string} tool that builds it
 * @property {string} install where the tool is to be had
 * @property {(folder: string) => string[]} buildArguments for the tool, which puts the program into the folder
 * @property {(folder: string) => string} program where it is then
 * @property {RegExp} version in the lock file, which is the first of the sources
 * @property {string} settings
 * @property {(target: import('../tables').Target) => string[]} address the program's first arguments
 */

/**
 * @param {AnchorOptions} options
 * @param {string} [build] a folder for what is built
 * @returns {import('../programs').Program & { isBuilt: () => boolean }}
 */
function newAnchor(options, build = BUILD) {
  const sources = path.join(__dirname, options.name);
  const folder = path.join(build, options.name);
  const stamp = path.join(folder, 'built-from');

  function fingerprint() {
    const hash = createHash('sha256');
    for (const name of options.sources) hash.update(fs.readFileSync(path.join(sources, name)));
    return hash.digest('hex');
  }

  function isBuilt() {
    return (
      fs.existsSync(options.program(folder)) &&
      fs.existsSync(stamp) &&
      fs.readFileSync(stamp, 'utf8') === fingerprint()
    );
  }

  function ensureBuilt() {
    if (isBuilt()) return;
    const { tool, install, name, language } = options;
    assertTool(
      tool,
      `${tool} is not on the PATH, and ${name} needs it: install ${language} (${install})`,
    );
    // What is printed on stdout may be read by somebody.
    console.error(`Building ${name} by ${tool}, once: it takes some minutes`);
    fs.mkdirSync(folder, { recursive: true });
    try {
      execFileSync(tool, options.buildArguments(folder), {
        cwd: sources,
        stdio: ['ignore', 'ignore', 'pipe'],
        timeout: BUILD_MILLIS,
      });
    } catch (error) {
      throw new Error(`${tool} could not build it: ${lastLine(error)}`, { cause: error });
    }
    fs.writeFileSync(stamp, fingerprint());
  }

  return {
    isBuilt,

    probe() {
      try {
        ensureBuilt();
      } catch (error) {
        return { error: /** @type {Error} */ (error).message };
      }
      const lock = fs.readFileSync(path.join(sources, options.sources[0]), 'utf8');
      const [, version = 'of an unknown version'] = options.version.exec(lock) ?? [];
      return { version: `${version} (${options.language})`, settings: options.settings };
    },

    takesPart: ({ limit }) => limit?.text === SELECT_POINT,

    run(one, { target, timing }, signal, turns) {
      const { inFlight, connections = 1 } = /** @type {import('../workloads').Limit} */ (one.limit);
      const { warmupMillis, measureMillis } = timing;
      const numbers = [ROWS, connections, inFlight, warmupMillis, measureMillis];
      const args = [...options.address(target), SELECT_POINT, ...numbers.map(String)];
      return runMeasured(one, options.program(folder), args, {
        password: target.config.password,
        signal,
        turns,
      });
    },
  };
}

/** @param {string} tool @param {string} otherwise */
function assertTool(tool, otherwise) {
  const suffixes = process.platform === 'win32' ? ['.exe', '.cmd'] : [''];
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter(Boolean);
  const isThere = folders.some((folder) =>
    suffixes.some((suffix) => fs.existsSync(path.join(folder, tool + suffix))),
  );
  if (!isThere) throw new Error(otherwise);
}

/** @param {unknown} error of a program that has ended */
function lastLine(error) {
  const { stderr = '', message } = /** @type {Error & { stderr?: Buffer | string }} */ (error);
  return String(stderr).trim().split('\n').pop() || message.split('\n')[0];
}

module.exports = { newAnchor };
