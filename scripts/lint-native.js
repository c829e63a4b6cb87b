'use strict';

// Checks the layout of C++ with clang-format and the code of src/ with clang-tidy. Run by `npm run lint`.
//   --install  puts both tools, at pinned versions, into the git-ignored .venv
//   --fix      lays the files out instead of complaining
//   --format-only  leaves clang-tidy (slow, needs headers) out
// The tools are taken from .venv first, then from PATH: versions differ in what they accept.

const { execFile, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const { nodeHeaders } = require('./native-headers');
const { PythonToolsError, VENV_BIN, ensureRequirements } = require('./python-tools');

const ROOT = path.join(__dirname, '..');
const REQUIREMENTS = path.join(__dirname, 'requirements-lint.txt');

const execFileAsync = promisify(execFile);

class LintError extends Error {}

/** @param {string} folder @param {string[]} extensions */
function listFiles(folder, extensions) {
  if (!fs.existsSync(folder)) return [];
  return fs
    .readdirSync(folder)
    .filter((name) => extensions.includes(path.extname(name)))
    .sort()
    .map((name) => path.join(folder, name));
}

/**
 * @param {string} command
 * @param {string[]} args
 * @returns {string | null} what it printed, or null when it cannot be run
 */
function output(command, args) {
  const result = spawnSync(command, args, { encoding: 'utf8' });
  return result.error || result.status !== 0 ? null : result.stdout.trim();
}

/** @param {'clang-format' | 'clang-tidy'} name */
function findTool(name) {
  const candidates = [path.join(VENV_BIN, name), name];
  const found = candidates.find((candidate) => output(candidate, ['--version']) !== null);
  if (found) return found;
  throw new LintError(
    `${name} was not found in .venv or on PATH: run \`node scripts/lint-native.js --install\`` +
      ' (it needs python3 with venv)',
  );
}

function nodeAddonApi() {
  try {
    // @ts-expect-error it declares no types
    return path.resolve(ROOT, require('node-addon-api').include_dir);
  } catch {
    throw new LintError('node-addon-api is not installed: run `npm install`');
  }
}

/**
 * pg_config_os.h is made by the build script, so its folder is looked for and not assumed.
 * @param {string} folder
 * @param {number} depth
 * @returns {string | null}
 */
function folderOfPgConfigOs(folder, depth) {
  if (!fs.existsSync(folder)) return null;
  if (fs.existsSync(path.join(folder, 'pg_config_os.h'))) return folder;
  if (depth === 0) return null;
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const found = folderOfPgConfigOs(path.join(folder, entry.name), depth - 1);
    if (found) return found;
  }
  return null;
}

function libpqHeaders() {
  const bundled = path.join(ROOT, 'deps', 'libpq');
  const clientHeaders = path.join(bundled, 'source', 'src', 'interfaces', 'libpq');
  if (fs.existsSync(path.join(clientHeaders, 'libpq-fe.h'))) {
    const pgConfigOs =
      folderOfPgConfigOs(path.join(ROOT, 'deps'), 4) ||
      folderOfPgConfigOs(path.join(ROOT, 'build'), 4);
    return [
      clientHeaders,
      path.join(bundled, 'source', 'src', 'include'),
      path.join(bundled, 'additional_include'),
      ...(pgConfigOs ? [pgConfigOs] : []),
    ];
  }
  const system =
    output('pg_config', ['--includedir']) ||
    output('pkg-config', ['--variable=includedir', 'libpq']);
  if (system && fs.existsSync(path.join(system, 'libpq-fe.h'))) return [system];
  throw new LintError(
    'libpq-fe.h was not found: bring back deps/libpq by `git checkout -- deps/libpq`, or install the ' +
      'development files of a system libpq (libpq-dev)',
  );
}

/** @param {string[]} files @param {boolean} fix */
function checkFormat(files, fix) {
  const args = fix ? ['-i'] : ['--dry-run', '-Werror'];
  const result = spawnSync(findTool('clang-format'), [...args, ...files], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  if (result.status !== 0) {
    throw new LintError('the layout differs: run `node scripts/lint-native.js --fix`');
  }
}

/** @param {string[]} files */
async function checkTidy(files) {
  const tidy = findTool('clang-tidy');
  // As system headers, so that only our own files are judged.
  const includes = [nodeHeaders(), nodeAddonApi(), ...libpqHeaders()];
  const flags = [
    '-std=c++17',
    '-fno-exceptions',
    '-DNAPI_VERSION=8',
    '-DNAPI_DISABLE_CPP_EXCEPTIONS',
    '-DNODE_ADDON_API_DISABLE_DEPRECATED',
    ...includes.flatMap((folder) => ['-isystem', folder]),
  ];
  const waiting = [...files];
  let failures = 0;
  const work = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const args = ['--quiet', path.relative(ROOT, file), '--', ...flags];
      try {
        await execFileAsync(tidy, args, { cwd: ROOT, maxBuffer: 64 << 20 });
      } catch (error) {
        failures += 1;
        const { stdout, message } = /** @type {Error & { stdout?: string }} */ (error);
        console.error(stdout || message);
      }
    }
  };
  await Promise.all(Array.from({ length: os.availableParallelism() }, work));
  if (failures > 0) throw new LintError(`clang-tidy complains about ${failures} file(s)`);
}

/** @param {string[]} args */
async function main(args) {
  const known = ['--install', '--fix', '--format-only'];
  const unknown = args.find((arg) => !known.includes(arg));
  if (unknown) throw new LintError(`unknown option ${unknown}: use ${known.join(', ')}`);
  if (args.includes('--install')) {
    ensureRequirements(REQUIREMENTS);
    return;
  }
  const source = path.join(ROOT, 'src');
  const folders = [source, path.join(ROOT, 'test', 'fuzz'), path.join(ROOT, 'test', 'native')];
  const files = folders.flatMap((folder) => listFiles(folder, ['.cc', '.h']));
  checkFormat(files, args.includes('--fix'));
  if (args.includes('--fix') || args.includes('--format-only')) return;
  await checkTidy(listFiles(source, ['.cc']));
}

main(process.argv.slice(2)).catch((error) => {
  const isPlain = error instanceof LintError || error instanceof PythonToolsError;
  console.error(isPlain ? `lint-native: ${error.message}` : error);
  process.exitCode = 1;
});
