'use strict';

// The package managers that people install with, each put into a root beside Node.js, and its commands for
// what package-managers.test.js does with all of them.

const fs = require('node:fs');
const { PAIRS, OWN_NODE, placeNode, tool } = require('./npm');

/**
 * @typedef {object} Manager
 * @property {string} name
 * @property {{ npm: string, node: import('./npm').Node }} pair
 * @property {{ tool: string, script: string }} [program] what is no npm
 * @property {Record<string, string>} [files] of the project
 * @property {string[]} add followed by what is added
 * @property {string[]} install what the lock file names, which may be changed
 * @property {string[]} ci exactly what the lock file names
 * @property {RegExp} lockFile
 * @property {(env: Record<string, string>) => Record<string, string>} [env] from npm's
 */

/** @param {{ npm: string, node: import('./npm').Node }} pair @returns {Manager} */
function npm(pair) {
  return {
    ...{ name: `${pair.npm.replace('-', ' ')} on ${pair.node.name}`, pair },
    add: ['npm', 'install', '--no-audit', '--no-fund'],
    install: ['npm', 'install', '--no-audit', '--no-fund'],
    ci: ['npm', 'ci', '--no-audit', '--no-fund'],
    lockFile: /^package-lock\.json$/,
  };
}

/** Any npm; it comes with Node.js. */
const NPM_10 = { npm: 'npm-10', node: OWN_NODE };

/** @param {Record<string, string>} env of npm @returns {Record<string, string>} of Yarn 4 */
function yarnSettings(env) {
  const settings = {
    YARN_NPM_REGISTRY_SERVER: env.npm_config_registry?.replace(/\/$/, ''),
    YARN_HTTPS_CA_FILE_PATH: env.npm_config_cafile,
    YARN_HTTPS_PROXY: env.npm_config_https_proxy,
    YARN_HTTP_PROXY: env.npm_config_proxy,
    // What some have turned off.
    YARN_ENABLE_SCRIPTS: 'true',
    YARN_ENABLE_TELEMETRY: 'false',
    // Its newest versions wait for days before they take what is new in the registry.
    YARN_NPM_MINIMAL_AGE_GATE: '0',
    // Where CI is set it would take nothing that the lock file lacks.
    YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
  };
  return Object.fromEntries(
    Object.entries(settings).filter(([, value]) => value !== undefined && value !== ''),
  );
}

/** With a package of ES modules anywhere it warns of its own loader. */
const YARN_SETTINGS = 'enableGlobalCache: false\npnpEnableEsmLoader: false\n';

/** @param {'node-modules' | 'pnp'} linker @returns {Manager} */
function yarn4(linker) {
  return {
    ...{ name: `Yarn 4, ${linker}`, pair: NPM_10 },
    program: { tool: 'yarn-4', script: 'bin/yarn.js' },
    files: { '.yarnrc.yml': `nodeLinker: ${linker}\n${YARN_SETTINGS}`, 'yarn.lock': '' },
    add: ['yarn', 'add'],
    install: ['yarn', 'install'],
    ci: ['yarn', 'install', '--immutable'],
    lockFile: /^yarn\.lock$/,
    env: yarnSettings,
  };
}

/** @type {Manager[]} */
const MANAGERS = [
  npm(NPM_10),
  ...PAIRS.map(npm),
  {
    ...{ name: 'Yarn 1', pair: NPM_10, program: { tool: 'yarn-1', script: 'bin/yarn.js' } },
    add: ['yarn', 'add'],
    install: ['yarn', 'install'],
    ci: ['yarn', 'install', '--frozen-lockfile'],
    lockFile: /^yarn\.lock$/,
  },
  yarn4('node-modules'),
  yarn4('pnp'),
  {
    ...{ name: 'pnpm 10', pair: NPM_10, program: { tool: 'pnpm-10', script: 'bin/pnpm.cjs' } },
    add: ['pnpm', 'add'],
    install: ['pnpm', 'install', '--no-frozen-lockfile'],
    ci: ['pnpm', 'install', '--frozen-lockfile'],
    lockFile: /^pnpm-lock\.yaml$/,
  },
];

/**
 * @param {import('./roots').Root} root
 * @param {Manager} manager
 * @returns {Record<string, string>} its environment
 */
function placeManager(root, { pair, program, env }) {
  const ofNpm = placeNode(root, pair);
  if (program) {
    const [command] = program.tool.split('-');
    root.copy(tool(program.tool), `/usr/local/lib/node_modules/${command}`);
    const target = `../lib/node_modules/${command}/${program.script}`;
    const link = root.path(`/usr/local/bin/${command}`);
    fs.symlinkSync(target, link);
    fs.chmodSync(fs.realpathSync(link), 0o755);
  }
  return { ...ofNpm, ...env?.(ofNpm) };
}

module.exports = { MANAGERS, placeManager };
