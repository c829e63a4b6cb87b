'use strict';

// `npm run release:check`: what must be true of a checkout before its version is published, one line
// each. With a version's tag on the commit nothing may be left for later. Writes the list of what is in
// the package (SBOM) to build/sbom.cdx.json. docs/releasing.md tells the rest.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { readLock } = require('./fetch-libpq');
const { IS_PUBLISHED, PAGES, fill } = require('./install-docs');
const { findTool } = require('./install-once');

const ROOT = path.join(__dirname, '..');
const SBOM = path.join(ROOT, 'build', 'sbom.cdx.json');
const PATHS = path.join(ROOT, 'lib', 'paths');
const WORKFLOWS = path.join(ROOT, '.github', 'workflows');

/** Folders with a lock file. */
const LOCKED = [
  ...['.', 'bench', 'examples/written-for-pg'],
  ...['test/compat', 'test/consumers', 'test/fleet', 'test/install/tools'],
  ...fs.readdirSync(path.join(ROOT, 'tools')).map((name) => `tools/${name}`),
];

/** What can only be true when there is a version to publish. */
class LaterError extends Error {}

/** @param {string} command @param {string[]} args @param {string} [cwd] */
function run(command, args, cwd = ROOT) {
  return execFileSync(command, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: command === 'npm' && process.platform === 'win32',
    maxBuffer: 2 ** 26,
  });
}

/** These are ES modules. @param {string} id @returns {Promise<any>} */
const importTool = (id) => import(pathToFileURL(findTool('release', id)).href);

/** @param {string} name */
const read = (name) => fs.readFileSync(path.join(ROOT, name), 'utf8');

const manifest = JSON.parse(read('package.json'));

/** @returns {string[]} of this commit that look like versions */
function versionTags() {
  const tags = run('git', ['tag', '--points-at', 'HEAD']).split('\n');
  return tags.filter((tag) => /^v\d/.test(tag));
}

function checkVersion() {
  const { version } = manifest;
  const wanted = `v${version}`;
  const tags = versionTags();
  const others = tags.filter((tag) => tag !== wanted);
  if (others.length > 0) {
    throw new Error(`package.json says ${version}, the tag ${others.join(', ')}: make them one`);
  }
  if (tags.length === 0) throw new LaterError(`no tag here: \`git tag ${wanted}\` on this commit`);
  return wanted;
}

function checkChangelog() {
  const { version } = manifest;
  /** @type {Map<string, string>} */
  const sections = new Map();
  for (const section of read('CHANGELOG.md').split(/^## /m).slice(1)) {
    const [heading, ...lines] = section.split('\n');
    sections.set(heading.trim(), lines.join('\n').trim());
  }
  const released = [...sections.keys()].find((heading) => heading.startsWith(`[${version}] - `));
  if (released !== undefined) {
    if (/^\[.*\] - \d{4}-\d\d-\d\d$/.test(released) && sections.get(released)) return released;
    throw new Error(
      `CHANGELOG.md: "## ${released}" needs a date (2030-01-31) and something below it`,
    );
  }
  if (!sections.get('[Unreleased]')) {
    throw new Error(
      `CHANGELOG.md has nothing of ${version}: write "## [Unreleased]" with what is new`,
    );
  }
  throw new LaterError(`CHANGELOG.md: "## [Unreleased]" becomes "## [${version}] - <date>"`);
}

function checkLocks() {
  for (const folder of LOCKED) {
    try {
      // It compares both files before it would do anything.
      run(
        'npm',
        ['ci', '--dry-run', '--ignore-scripts', '--loglevel=error'],
        path.join(ROOT, folder),
      );
    } catch (/** @type {any} */ error) {
      const [reason] = error.stderr.match(/(Missing|Invalid): .*/) ?? [error.message];
      throw new Error(`${folder}: run \`npm install\` there. ${reason}`, { cause: error });
    }
  }
  const lock = JSON.parse(read('package-lock.json'));
  if (lock.version !== manifest.version) {
    throw new Error(
      `package-lock.json says ${lock.version}: run \`npm install --package-lock-only\``,
    );
  }
  return `${LOCKED.length} lock files`;
}

/** @param {string} folder @returns {Buffer} what npm would publish */
function pack(folder) {
  const output = run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]);
  const [{ filename }] = Object.values(JSON.parse(output));
  return fs.readFileSync(path.join(folder, filename));
}

/** @param {Buffer} tarball */
async function checkPublint(tarball) {
  const { publint } = await importTool('publint');
  const { formatMessage } = await importTool('publint/utils');
  // A copy has an ArrayBuffer of its own.
  const { buffer } = new Uint8Array(tarball);
  const { messages, pkg } = await publint({ strict: true, pack: { tarball: buffer } });
  if (messages.length > 0) {
    throw new Error(
      messages.map((/** @type {any} */ message) => formatMessage(message, pkg)).join('; '),
    );
  }
  return 'no messages';
}

/** @param {Buffer} tarball */
async function checkTypes(tarball) {
  const { checkPackage, createPackageFromTarballData } = await importTool('@arethetypeswrong/core');
  const deep = fs.readdirSync(PATHS).filter((name) => name.endsWith('.js'));
  const entrypoints = deep.flatMap((name) => [`./lib/${name}`, `./lib/${path.parse(name).name}`]);
  const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(tarball)), {
    // It does not know those that package.json gives by a pattern.
    includeEntrypoints: entrypoints,
    excludeEntrypoints: [/\*/],
  });
  if (!analysis.types) throw new Error('the package has no types');
  const problems = analysis.problems.filter((/** @type {any} */ problem) => {
    // moduleResolution node10 reads no "exports", and finds files of our own at the deep paths.
    if (problem.resolutionKind === 'node10') return problem.entrypoint === '.';
    // What others set there must be seen: an ES module cannot have it by names.
    return problem.kind !== 'NamedExports' || !problem.typesFileName.endsWith('/defaults.d.ts');
  });
  if (problems.length > 0) {
    throw new Error(problems.map((/** @type {any} */ each) => JSON.stringify(each)).join('; '));
  }
  return `${entrypoints.length + 1} paths, as node10 (the main one only), node16 and bundlers see them`;
}

/** The libpq that is compiled in, which npm does not know of. */
function libpqComponent() {
  const { crate, libpq, checksum, patches } = readLock();
  return {
    type: 'library',
    'bom-ref': `libpq@${libpq}`,
    name: 'libpq',
    version: libpq,
    description: 'PostgreSQL client library, compiled into the addon; its source is in deps/libpq',
    licenses: [{ license: { id: 'PostgreSQL' } }],
    purl: `pkg:cargo/pq-src@${crate.replace('+', '%2B')}`,
    hashes: [{ alg: 'SHA-256', content: checksum }],
    pedigree: {
      patches: Object.keys(patches).map((name) => ({
        type: 'unofficial',
        diff: { url: `deps/libpq-patches/${name}` },
      })),
    },
  };
}

/**
 * What npm says of the package as others install it: in the checkout it forgets what development
 * needs, too.
 * @param {string} temporary
 * @returns {any} CycloneDX
 */
function npmSbom(temporary) {
  // It takes the folder's name for the package's.
  const folder = path.join(temporary, manifest.name);
  fs.mkdirSync(folder);
  const published = JSON.stringify({ ...manifest, devDependencies: undefined });
  fs.writeFileSync(path.join(folder, 'package.json'), published);
  fs.copyFileSync(path.join(ROOT, 'package-lock.json'), path.join(folder, 'package-lock.json'));
  const lockOnly = ['--package-lock-only', '--ignore-scripts'];
  run('npm', ['install', ...lockOnly], folder);
  const format = ['--sbom-format', 'cyclonedx', '--sbom-type', 'library'];
  return JSON.parse(run('npm', ['sbom', ...lockOnly, ...format], folder));
}

/** @param {string} temporary */
function checkSbom(temporary) {
  const bom = npmSbom(temporary);
  const own = bom.metadata.component;
  /** @type {string[]} */
  const names = bom.components.map((/** @type {any} */ component) => component.name);
  for (const name of Object.keys(manifest.dependencies)) {
    if (!names.includes(name)) throw new Error(`${name} is not in it: run \`npm install\``);
  }
  const libpq = libpqComponent();
  bom.components.push(libpq);
  bom.dependencies.push({ ref: libpq['bom-ref'], dependsOn: [] });
  for (const { ref, dependsOn } of bom.dependencies) {
    if (ref === own['bom-ref']) dependsOn.push(libpq['bom-ref']);
  }
  fs.mkdirSync(path.dirname(SBOM), { recursive: true });
  fs.writeFileSync(SBOM, `${JSON.stringify(bom, null, 2)}\n`);
  return `${path.relative(ROOT, SBOM)}: ${names.length} packages of npm and libpq ${libpq.version}`;
}

function checkWorkflows() {
  const files = fs.readdirSync(WORKFLOWS);
  const loose = files.flatMap((file) => {
    const text = fs.readFileSync(path.join(WORKFLOWS, file), 'utf8');
    const uses = [...text.matchAll(/^ *- ?uses: (\S+)/gm)].map(([, action]) => action);
    return uses.filter((action) => !/^[^@]+@[0-9a-f]{40}$/.test(action));
  });
  if (loose.length > 0) throw new Error(`pin by commit: ${loose.join(', ')}`);
  return files.join(', ');
}

function checkProvenance() {
  if (!read('.github/workflows/release.yml').includes('--provenance')) {
    throw new Error('.github/workflows/release.yml does not publish with --provenance');
  }
  return 'the workflow publishes with it; npm compares "repository" with where it was built';
}

/** What package.json tells of where the project lives; npm's page leads there. */
function checkAddresses() {
  const { repository, homepage, bugs } = manifest;
  const addresses = { repository: repository?.url, homepage, bugs: bugs?.url ?? bugs };
  const placeholders = Object.entries(addresses)
    .filter(([, address]) => !address || /^[^/]*\/\/[^/]*\.invalid\//.test(address))
    .map(([name]) => `"${name}"`);
  if (placeholders.length > 0) {
    throw new LaterError(`package.json needs ${placeholders.join(', ')}: they are placeholders`);
  }
  return repository.url;
}

/** What people see on npm's page, which is README.md as it was packed. */
function checkReadme() {
  for (const page of PAGES) {
    if (read(page) !== fill(read(page))) {
      throw new Error(`${page} is not up to date: run \`node scripts/install-docs.js\``);
    }
  }
  if (!IS_PUBLISHED) {
    throw new LaterError(
      'README.md tells how to install without a registry: IS_PUBLISHED = true in ' +
        'scripts/install-docs.js, then `node scripts/install-docs.js`',
    );
  }
  return PAGES.join(', ');
}

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pg-conduit-release-'));
  const isRelease = versionTags().length > 0;
  try {
    const tarball = pack(folder);
    /** @type {[string, () => string | Promise<string>][]} */
    const checks = [
      ['version and tag', checkVersion],
      ['changelog', checkChangelog],
      ['lock files', checkLocks],
      ['publint', () => checkPublint(tarball)],
      ['types', () => checkTypes(tarball)],
      ['SBOM', () => checkSbom(folder)],
      ['actions', checkWorkflows],
      ['README', checkReadme],
      ['addresses', checkAddresses],
      ['provenance', checkProvenance],
    ];
    for (const [name, check] of checks) {
      let state = 'ok';
      let note;
      try {
        note = await check();
      } catch (/** @type {any} */ error) {
        state = error instanceof LaterError && !isRelease ? 'later' : 'FAIL';
        note = error.message;
      }
      if (state === 'FAIL') process.exitCode = 1;
      console.log(`${state.padEnd(5)}  ${name.padEnd(15)}  ${note}`);
    }
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

main();
