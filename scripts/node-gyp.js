'use strict';

// Runs node-gyp: finds it and the headers of Node.js, and says in plain words what is missing. Called by
// build.js, in a checkout and in an installed package, and by prebuild.js.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { downloadedHeaders, nodeDir } = require('./native-headers');

const INSTALL_HINT =
  'e.g. `apt-get install g++ make python3`, `dnf install gcc-c++ make python3`, ' +
  '`apk add g++ make python3`, `xcode-select --install`';

/** @param {string} command may have arguments, as in CXX='ccache g++' */
function runs(command) {
  return spawnSync(`${command} --version`, { shell: true, stdio: 'ignore' }).status === 0;
}

/** @throws {Error} what node-gyp would tell after a page of its own words */
function checkTools() {
  // Of Visual Studio node-gyp knows more.
  if (process.platform === 'win32') return;
  const { CC, CXX, MAKE, PYTHON, npm_config_python: python } = process.env;
  const needed = [
    { what: 'a C compiler', commands: [CC || 'cc'] },
    { what: 'a C++ compiler', commands: [CXX || 'g++'] },
    { what: 'make', commands: [MAKE || 'make'] },
    { what: 'Python 3', commands: [python, PYTHON, 'python3', 'python'] },
  ];
  const missing = needed
    .map(({ what, commands }) => ({ what, commands: commands.filter((one) => one !== undefined) }))
    .filter(({ commands }) => !commands.some(runs))
    .map(({ what, commands }) => `${what} (${commands.join(', ')})`);
  if (missing.length > 0) {
    throw new Error(`This machine lacks ${missing.join(', ')}. Install it, ${INSTALL_HINT}`);
  }
}

/** @returns {string} the checkout's node-gyp or, in an installed package, the package manager's own */
function findNodeGyp() {
  try {
    return require.resolve('node-gyp/bin/node-gyp.js');
  } catch {
    // npm and its kin bring one along, and mostly say where.
  }
  const beside = path.join('node_modules', 'node-gyp', 'bin', 'node-gyp.js');
  const { npm_config_node_gyp: told, npm_execpath: manager } = process.env;
  const bin = path.dirname(process.execPath);
  const found = [
    told,
    manager && path.join(path.dirname(manager), '..', beside),
    path.join(bin, '..', 'lib', 'node_modules', 'npm', beside),
    path.join(bin, 'node_modules', 'npm', beside),
  ].find((file) => file && fs.existsSync(file));
  if (found) return found;
  throw new Error(
    'node-gyp was not found, neither npm with its own: run `npm install` in a checkout, or ' +
      '`npm install --no-save node-gyp` where pg-conduit is installed',
  );
}

/**
 * @param {object} options
 * @param {string} options.folder of binding.gyp
 * @param {string} options.logFile
 * @param {boolean} options.verbose everything is shown, and nothing goes to the log
 * @param {string} [options.buildType]
 * @param {string[]} [options.args] of `configure`
 * @param {Record<string, string>} options.variables of src/addon.gyp
 * @param {string} options.jobs how many compilers at once
 * @param {Record<string, string>} [options.env]
 */
function runNodeGyp({ folder, logFile, verbose, buildType, args = [], variables, jobs, env }) {
  const nodeGyp = findNodeGyp();
  const headers = nodeDir();
  const common = [
    buildType === 'Debug' ? '--debug' : '--release',
    `--loglevel=${verbose ? 'info' : 'warn'}`,
    ...(headers ? [`--nodedir=${headers}`] : []),
    ...args,
  ];
  const defines = Object.entries(variables).map(([name, value]) => `-D${name}=${value}`);
  const steps = [
    ['configure', ...common, '--', ...defines],
    ['build', ...common, '--jobs', jobs],
  ];
  const log = verbose ? undefined : fs.openSync(logFile, 'w');
  for (const step of steps) {
    const run = spawnSync(process.execPath, [nodeGyp, ...step], {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ['ignore', log ?? 'inherit', log ?? 'inherit'],
    });
    if (run.error) throw run.error;
    if (run.status !== 0) {
      if (log) process.stderr.write(fs.readFileSync(logFile));
      const how = run.signal ?? `exit code ${run.status}`;
      const hasHeaders = headers || downloadedHeaders().some((place) => fs.existsSync(place));
      throw new Error(
        `node-gyp ${step[0]} failed (${how}); its output is above${hasHeaders ? '' : noHeaders()}`,
      );
    }
  }
  if (log !== undefined) fs.closeSync(log);
}

function noHeaders() {
  return (
    `.\nThe headers of Node.js ${process.version} are not beside ${process.execPath}, so node-gyp ` +
    'downloads them. Without a network set npm_config_nodedir to a folder that has them in ' +
    "include/node, such as that of Node's own archive"
  );
}

module.exports = { checkTools, runNodeGyp };
