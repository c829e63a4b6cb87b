'use strict';

// A PgBouncer that knows prepared statements (1.21 or later), where the distribution's own is older:
// Debian's newer source package, fetched and verified by apt, compiled into build/pgbouncer/. Called
// by the tests of poolers; pgbouncer.js finds what is there.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { BUILT } = require('./pgbouncer');

/** The oldest release of Debian whose PgBouncer is new enough. */
const SUITE = 'trixie';

/** Of the package debian-archive-keyring, which each Debian has. */
const KEYS = '/usr/share/keyrings/debian-archive-keyring.gpg';

const NEEDED = ['apt-get', 'dpkg-source', 'make', 'cc', 'pkg-config'];

/** @returns {string} the program; made if it is not there */
function buildPgBouncer() {
  if (fs.existsSync(BUILT)) return BUILT;
  const missing = NEEDED.filter((name) => !isInPath(name));
  if (missing.length > 0) {
    throw new Error(
      `To build PgBouncer this needs ${missing.join(', ')}: on Debian ` +
        '"apt install build-essential pkg-config libevent-dev libssl-dev"; ' +
        'elsewhere name a PgBouncer of 1.21 or later in PGBOUNCER',
    );
  }
  const folder = path.dirname(BUILT);
  fs.mkdirSync(folder, { recursive: true });
  const work = fs.mkdtempSync(path.join(folder, 'work-'));
  try {
    const source = fetchSource(work);
    /** @type {import('node:child_process').StdioOptions} */
    const stdio = ['ignore', 'ignore', 'inherit'];
    const without = ['cares', 'systemd', 'pam'].map((name) => `--without-${name}`);
    execFileSync('./configure', ['--quiet', ...without], { cwd: source, stdio });
    execFileSync('make', ['-s', `-j${os.availableParallelism()}`, 'pgbouncer'], {
      cwd: source,
      stdio,
    });
    // By one step, so that nobody finds half of it.
    fs.renameSync(path.join(source, 'pgbouncer'), BUILT);
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
  return BUILT;
}

/** @param {string} name */
function isInPath(name) {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  return folders.some((folder) => folder !== '' && fs.existsSync(path.join(folder, name)));
}

/**
 * By apt with lists of its own: what this machine installs from stays as it is. apt verifies the
 * signature of the suite, by it the list of sources, and by that the files.
 * @param {string} work
 * @returns {string} folder of the unpacked source
 */
function fetchSource(work) {
  const sources = path.join(work, 'suite.sources');
  fs.writeFileSync(sources, describeSuite());
  for (const name of ['lists', 'cache', 'source']) fs.mkdirSync(path.join(work, name));
  const settings = {
    'Dir::Etc::SourceList': sources,
    'Dir::Etc::SourceParts': '/dev/null',
    'Dir::State::Lists': path.join(work, 'lists'),
    'Dir::Cache': path.join(work, 'cache'),
    'Acquire::Languages': 'none',
    // The folder may be one that apt's own user cannot enter.
    'APT::Sandbox::User': 'root',
    'APT::Get::Only-Source': 'true',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const cwd = path.join(work, 'source');
  for (const command of [['update'], ['source', 'pgbouncer']]) {
    execFileSync('apt-get', ['-qq', ...options, ...command], {
      cwd,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }
  const [name] = fs
    .readdirSync(cwd)
    .filter((one) => fs.statSync(path.join(cwd, one)).isDirectory());
  return path.join(cwd, name);
}

/** The newer suite at the mirror that this machine has its own release from. */
function describeSuite() {
  const output = execFileSync(
    'apt-get',
    ['indextargets', '--format', '$(REPO_URI)', 'Origin: Debian', 'Label: Debian'],
    { encoding: 'utf8' },
  );
  const [uri] = output.split('\n').filter(Boolean);
  if (uri === undefined) {
    throw new Error(
      'apt has no list of Debian: run "apt-get update", or name a PgBouncer of 1.21 or later in PGBOUNCER',
    );
  }
  return `Types: deb-src\nURIs: ${uri}\nSuites: ${SUITE}\nComponents: main\nSigned-By: ${KEYS}\n`;
}

if (require.main === module) console.log(buildPgBouncer());

module.exports = { buildPgBouncer };
