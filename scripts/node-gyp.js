'use strict';

// Runs node-gyp: finds it and the headers of Node.js, and says in plain words what is missing. Called by
// build.js, in a checkout and in an installed package, and by prebuild.js.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { downloadedHeaders, nodeDir } = require('./native-headers');

/** @typedef {'c' | 'c++' | 'make' | 'python'} Tool */

/**
 * How each family of distributions calls the packages, by its names in /etc/os-release.
 * @type {{ names: string[], command: string, packages: Record<Tool, string> }[]}
 */
const DISTRIBUTIONS = [
  {
    names: ['debian', 'ubuntu'],
    command: 'apt-get install -y',
    packages: { c: 'gcc', 'c++': 'g++', make: 'make', python: 'python3' },
  },
  {
    names: ['fedora', 'rhel', 'centos', 'amzn'],
    command: 'dnf install -y',
    packages: { c: 'gcc', 'c++': 'gcc-c++', make: 'make', python: 'python3' },
  },
  {
    names: ['alpine'],
    command: 'apk add',
    // Its compilers come without the headers of libc.
    packages: { c: 'build-base', 'c++': 'build-base', make: 'build-base', python: 'python3' },
  },
  {
    names: ['arch'],
    command: 'pacman -S --needed',
    packages: { c: 'gcc', 'c++': 'gcc', make: 'make', python: 'python' },
  },
  {
    names: ['suse', 'opensuse'],
    command: 'zypper install',
    packages: { c: 'gcc', 'c++': 'gcc-c++', make: 'make', python: 'python3' },
  },
];

/**
 * @param {Tool[]} tools that are missing
 * @param {{ platform?: string, osRelease?: string, isRoot?: boolean }} [machine]
 * @returns {string} a command, for the distribution where that is known
 */
function installCommand(tools, machine = {}) {
  const { platform = process.platform, isRoot = process.getuid?.() === 0 } = machine;
  if (platform === 'darwin') return '`xcode-select --install`';
  const { osRelease = readOsRelease() } = machine;
  const ids = [...osRelease.matchAll(/^ID(?:_LIKE)?="?([^"\n]*)"?$/gm)].flatMap(([, value]) =>
    value.split(' '),
  );
  const own = DISTRIBUTIONS.filter(({ names }) => names.some((name) => ids.includes(name)));
  const commands = (own.length > 0 ? own.slice(0, 1) : DISTRIBUTIONS).map((one) => {
    const packages = [...new Set(tools.map((tool) => one.packages[tool]))];
    return `\`${isRoot ? '' : 'sudo '}${one.command} ${packages.join(' ')}\``;
  });
  return commands.join(', or ');
}

/** @returns {string} */
function readOsRelease() {
  const file = '/etc/os-release';
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
}

/** @param {string} command may have arguments, as in CXX='ccache g++' */
function runs(command) {
  return spawnSync(`${command} --version`, { shell: true, stdio: 'ignore' }).status === 0;
}

/** @throws {Error} names all that is missing, and one command for it, before anything was compiled */
function checkTools() {
  // Of Visual Studio node-gyp knows more.
  if (process.platform === 'win32') return;
  const { CC, CXX, MAKE, PYTHON, npm_config_python: python } = process.env;
  /** @type {{ tool: Tool, what: string, commands: (string | undefined)[] }[]} */
  const needed = [
    { tool: 'c', what: 'a C compiler', commands: [CC || 'cc'] },
    { tool: 'c++', what: 'a C++ compiler', commands: [CXX || 'g++'] },
    { tool: 'make', what: 'make', commands: [MAKE || 'make'] },
    { tool: 'python', what: 'Python 3', commands: [python, PYTHON, 'python3', 'python'] },
  ];
  const missing = needed
    .map((one) => ({ ...one, commands: one.commands.filter((command) => command !== undefined) }))
    .filter(({ commands }) => !commands.some(runs));
  if (missing.length === 0) return;
  const list = missing.map(({ what, commands }) => `${what} (${commands.join(', ')})`).join(', ');
  const command = installCommand(missing.map(({ tool }) => tool));
  throw new Error(
    `This machine lacks ${list}. Install ${missing.length > 1 ? 'them' : 'it'}: ${command}`,
  );
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

module.exports = { checkTools, installCommand, runNodeGyp };
