'use strict';

// Machines of their own for the tests of installing: a minimal Debian in a folder, entered by chroot in a
// mount namespace, so that nothing stays mounted whatever happens. mmdebstrap makes each kind once, into
// build/roots.

const { execFileSync, spawn, spawnSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const CACHE = path.join(__dirname, '..', '..', '..', 'build', 'roots');
/** Among those that are kept, the one with the oldest glibc. */
const SUITE = 'bookworm';
/** To come in there, and what people have. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** A command that takes longer hangs; compiling is the longest. */
const PATIENCE_MILLIS = 300_000;

const ENTER = `
set -e
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
root=$1
shift
exec chroot "$root" "$@"`;

/**
 * @typedef {object} Kind
 * @property {string} variant `extract` gives files that no script has configured
 * @property {string} [architecture]
 * @property {string} [suite]
 * @property {string[]} packages
 */

/** What Node.js itself is linked to. */
const NODE_LIBRARIES = ['libstdc++6', 'libatomic1'];

/** @type {Record<string, Kind>} */
const KINDS = {
  bare: { variant: 'essential', packages: NODE_LIBRARIES },
  compiler: { variant: 'essential', packages: [...NODE_LIBRARIES, 'g++', 'make', 'python3'] },
  // Node.js for musl wants 1.2.4 or later, which knows packed relocations.
  musl: { variant: 'extract', suite: 'trixie', packages: ['musl'] },
  arm64: { variant: 'extract', architecture: 'arm64', packages: ['libc6', ...NODE_LIBRARIES] },
  'arm64-musl': {
    ...{ variant: 'extract', suite: 'trixie', architecture: 'arm64' },
    packages: ['musl'],
  },
};

/** @param {string} command @param {string} debianPackage */
function need(command, debianPackage) {
  if (spawnSync('sh', ['-c', `command -v ${command}`]).status === 0) return;
  throw new Error(`${command} is needed: apt-get install ${debianPackage}`);
}

/** @throws {Error} says what is needed */
function checkHost() {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error('test:install runs on Linux on x64 only');
  }
  if (process.getuid() !== 0) {
    throw new Error('test:install makes roots and enters them: run it as root');
  }
  need('mmdebstrap', 'mmdebstrap');
  need('unshare', 'util-linux');
}

/** @param {string} name of a kind @returns {string} an archive of it */
function archiveOf(name) {
  const kind = KINDS[name];
  const digest = createHash('sha256')
    .update(JSON.stringify([SUITE, kind]))
    .digest('hex');
  const archive = path.join(CACHE, `${name}-${digest.slice(0, 12)}.tar`);
  if (fs.existsSync(archive)) return archive;
  fs.mkdirSync(CACHE, { recursive: true });
  const unfinished = `${archive}.unfinished`;
  const { variant, suite = SUITE, architecture, packages } = kind;
  execFileSync(
    'mmdebstrap',
    [
      ...['--mode=root', '--format=tar', '--quiet', `--variant=${variant}`],
      ...(architecture ? [`--architectures=${architecture}`] : []),
      ...[`--include=${packages.join(',')}`, suite, unfinished],
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  fs.renameSync(unfinished, archive);
  return archive;
}

class Root {
  /** @param {string} kind */
  constructor(kind) {
    checkHost();
    const archive = archiveOf(kind);
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), `conduit-root-${kind}-`));
    execFileSync('tar', ['-xpf', archive, '-C', this.folder, '--exclude=./dev/*']);
    for (const name of ['proc', 'dev', 'etc', 'tmp', 'usr/lib']) {
      fs.mkdirSync(path.join(this.folder, name), { recursive: true });
    }
    // A script of Debian's makes it so where scripts run.
    if (!fs.existsSync(this.path('/lib'))) fs.symlinkSync('usr/lib', this.path('/lib'));
    for (const file of ['/etc/resolv.conf', '/etc/hosts']) {
      if (fs.existsSync(file)) fs.copyFileSync(file, this.path(file));
    }
  }

  /** @param {string} inside @returns {string} the same seen from outside */
  path(inside) {
    return path.join(this.folder, inside);
  }

  /** @param {string} inside @param {string} content */
  write(inside, content) {
    fs.mkdirSync(path.dirname(this.path(inside)), { recursive: true });
    fs.writeFileSync(this.path(inside), content);
  }

  /** @param {string} outside a file or a folder @param {string} inside */
  copy(outside, inside) {
    fs.mkdirSync(path.dirname(this.path(inside)), { recursive: true });
    fs.cpSync(outside, this.path(inside), { recursive: true, verbatimSymlinks: true });
  }

  /**
   * @param {string[]} command
   * @param {{ env?: Record<string, string>, isOffline?: boolean }} [how]
   * @returns {Promise<{ code: number | null, stdout: string, stderr: string }>}
   */
  run(command, { env = {}, isOffline = false } = {}) {
    const spaces = ['--mount', '--pid', '--fork', '--kill-child', ...(isOffline ? ['--net'] : [])];
    const child = spawn('unshare', [...spaces, 'sh', '-c', ENTER, 'sh', this.folder, ...command], {
      env: { PATH, HOME: '/root', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: PATIENCE_MILLIS,
      killSignal: 'SIGKILL',
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (data) => (stdout += data));
    child.stderr.on('data', (data) => (stderr += data));
    return new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) => resolve({ code, stdout, stderr }));
    });
  }

  /** In a folder, which takes a shell. @param {string} folder @param {string[]} command @param {any} [how] */
  runIn(folder, command, how) {
    return this.run(['sh', '-c', 'cd "$0" && exec "$@"', folder, ...command], how);
  }

  remove() {
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

module.exports = { Root, need };
