'use strict';

// What the binaries in prebuilds/ are: for which platforms, made from what, and what must be true of each
// of them. Called by prebuild.js, which makes them, and by the tests. node-gyp-build finds them by their
// names.

const { spawnSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { digestInputs } = require('./build.js');
const { fetchLibpq } = require('./fetch-libpq.js');

const ROOT = path.join(__dirname, '..');
const FOLDER = path.join(ROOT, 'prebuilds');
const MANIFEST = path.join(FOLDER, 'prebuilds.json');
const REQUIREMENTS = path.join(__dirname, 'requirements-prebuild.txt');

/** Of RHEL 8 and Debian 10, and what the binaries of Node.js 20 itself ask for. */
const GLIBC_FLOOR = '2.28';

/** Of which Node.js the headers are: the lowest that is supported, since OpenSSL adds functions. */
const HEADERS_MAJOR = '20';

/** What Node.js calls (deps/exports.map). */
const ENTRY_POINTS = ['napi_register_module_v1', 'node_api_module_get_api_version_v1'];

/**
 * @typedef {object} Target
 * @property {string} file in prebuilds/
 * @property {'x64' | 'arm64'} arch
 * @property {'glibc' | 'musl'} libc
 * @property {string} triple as zig calls it
 * @property {RegExp} machine as readelf calls it
 */

/** @type {Target[]} */
const TARGETS = [...targets('x64', 'x86_64', /X86-64/), ...targets('arm64', 'aarch64', /AArch64/)];

/**
 * @param {'x64' | 'arm64'} arch
 * @param {string} cpu
 * @param {RegExp} machine
 * @returns {Target[]}
 */
function targets(arch, cpu, machine) {
  const folder = `linux-${arch}`;
  return [
    {
      ...{ file: `${folder}/pg-conduit.glibc.node`, arch, libc: 'glibc', machine },
      triple: `${cpu}-linux-gnu.${GLIBC_FLOOR}`,
    },
    {
      ...{ file: `${folder}/pg-conduit.musl.node`, arch, libc: 'musl', machine },
      triple: `${cpu}-linux-musl`,
    },
  ];
}

/** @returns {string} changes with all that goes into the binaries */
function inputs() {
  return digestInputs({
    libpq: fetchLibpq().version,
    targets: TARGETS.map(({ file, triple }) => [file, triple]),
    script: fs.readFileSync(path.join(__dirname, 'prebuild.js'), 'utf8'),
    toolchain: fs.readFileSync(REQUIREMENTS, 'utf8'),
  });
}

/**
 * @typedef {object} Facts about a shared library
 * @property {string} machine
 * @property {string[]} exported
 * @property {string[]} fromNode what no library that it names defines, but who loads it (glibc only)
 * @property {string[]} libraries
 * @property {string | undefined} glibc the version that it needs
 * @property {boolean} isStripped
 * @property {boolean} bindsNow a missing function is found when it is loaded, not when it is called
 */

/**
 * @param {string} file
 * @returns {Facts}
 */
function inspect(file) {
  const run = spawnSync('readelf', ['-W', '-h', '-d', '-S', '--dyn-syms', file], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
    maxBuffer: 64 << 20,
  });
  if (run.error) throw new Error(`readelf is needed (of binutils): ${run.error.message}`);
  if (run.status !== 0) throw new Error(`readelf does not understand ${file}: ${run.stderr}`);
  const text = run.stdout;
  // Num, Value, Size, Type, Bind, Vis, Ndx, Name
  const symbols = [
    ...text.matchAll(/^ *\d+: [0-9a-f]+ +\w+ \w+ +(\w+) +(\w+) +(\w+) +([^\s@]+)(?:@+(\S+))?/gm),
  ].map(([, bind, visibility, index, name, version]) => ({
    name,
    version,
    isDefined: index !== 'UND',
    isVisible: bind !== 'LOCAL' && ['DEFAULT', 'PROTECTED'].includes(visibility),
  }));
  const wanted = symbols.filter(({ isDefined }) => !isDefined);
  return {
    machine: text.match(/^ *Machine: +(.+)$/m)?.[1] ?? '',
    exported: symbols
      .filter(({ isDefined, isVisible }) => isDefined && isVisible)
      .map(({ name }) => name)
      .sort(),
    fromNode: wanted
      .filter(({ version }) => version === undefined)
      .map(({ name }) => name)
      .sort(),
    libraries: [...text.matchAll(/\(NEEDED\).*\[(.+)\]/g)].map(([, name]) => name),
    glibc: wanted
      .flatMap(({ version }) => version?.match(/^GLIBC_(\d[\d.]*)$/)?.[1] ?? [])
      .sort(compareVersions)
      .at(-1),
    isStripped: !/ \.(?:symtab|debug_\w+) /.test(text),
    bindsNow: /\((?:FLAGS|FLAGS_1|BIND_NOW)\).*NOW/.test(text),
  };
}

/** @param {string} a @param {string} b */
function compareVersions(a, b) {
  return a.localeCompare(b, 'en', { numeric: true });
}

/**
 * @param {Target} target
 * @param {Facts} facts
 * @returns {string[]} what must not be
 */
function faults({ libc, machine }, facts) {
  const found = [];
  if (!machine.test(facts.machine)) found.push(`it is for ${facts.machine}`);
  if (facts.exported.join() !== ENTRY_POINTS.join()) {
    found.push(`it exports ${facts.exported.join(', ')}, not ${ENTRY_POINTS.join(', ')}`);
  }
  if (facts.glibc !== undefined && compareVersions(facts.glibc, GLIBC_FLOOR) > 0) {
    found.push(`it needs glibc ${facts.glibc}, which is above ${GLIBC_FLOOR}`);
  }
  // The C++ library is inside; OpenSSL and libuv are those of Node.js.
  const ofLibc = libc === 'musl' ? /^libc\.so$/ : /^(?:lib(?:c|m|dl|pthread)\.so\.\d|ld-linux)/;
  const foreign = facts.libraries.filter((name) => !ofLibc.test(name));
  if (foreign.length > 0) found.push(`it wants ${foreign.join(', ')}`);
  if (!facts.libraries.some((name) => ofLibc.test(name))) found.push(`it is not linked to ${libc}`);
  if (!facts.isStripped) found.push('it is not stripped');
  if (!facts.bindsNow) found.push('it looks for functions only when it calls them');
  return found;
}

/** @param {string} file */
function sha256(file) {
  return createHash('sha256').update(fs.readFileSync(file)).digest('hex');
}

/** @returns {{ inputs?: string, files: Record<string, string> }} */
function readManifest() {
  if (!fs.existsSync(MANIFEST)) return { files: {} };
  return JSON.parse(fs.readFileSync(MANIFEST, 'utf8'));
}

/**
 * Says of a binary that it was made from the sources as they are.
 * @param {Target} target
 * @param {string} version of the headers
 */
function record({ file }, version) {
  const now = inputs();
  const manifest = readManifest();
  const files = manifest.inputs === now ? manifest.files : {};
  files[file] = sha256(path.join(FOLDER, file));
  const sorted = Object.fromEntries(Object.entries(files).sort(([a], [b]) => a.localeCompare(b)));
  const content = { libpq: fetchLibpq().version, headers: version, inputs: now, files: sorted };
  fs.writeFileSync(MANIFEST, `${JSON.stringify(content, null, 2)}\n`);
}

/** @param {Target} target made from the sources as they are */
function isUpToDate({ file }) {
  const manifest = readManifest();
  const binary = path.join(FOLDER, file);
  return (
    manifest.inputs === inputs() && fs.existsSync(binary) && manifest.files[file] === sha256(binary)
  );
}

module.exports = {
  FOLDER,
  HEADERS_MAJOR,
  REQUIREMENTS,
  TARGETS,
  faults,
  inspect,
  isUpToDate,
  record,
};
