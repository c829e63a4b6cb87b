'use strict';

// How a checkout is compiled: what it says before it begins where a tool is missing, and the libpq that it
// compiles, which is in the repository. `npx pg-conduit build` in a package is in published.test.js.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { digestSources, readLock, readStamp } = require('../../scripts/fetch-libpq');
const { unpatchedTexts } = require('../../scripts/libpq-patches');
const { shortcomings } = require('../../scripts/find-libpq');
const { installCommand } = require('../../scripts/node-gyp');
const { cannotRun } = require('../support/cannot-run');

const ROOT = path.join(__dirname, '..', '..');

describe('the libpq in deps/', () => {
  it('is the version that the lock file pins, and nothing was changed but by the patches', () => {
    const { sources, ...lock } = readStamp();
    assert.deepEqual(lock, readLock());
    assert.equal(digestSources(), sources);
  });

  it('has each patch as it is, and no other version of a line of it', () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'building-test-'));
    try {
      fs.cpSync(path.join(ROOT, 'deps', 'libpq'), folder, { recursive: true });
      const file = path.join(folder, 'source/src/interfaces/libpq/fe-misc.c');
      const text = fs.readFileSync(file, 'utf8');
      const [unpatched] = [...unpatchedTexts(folder)].filter(([name]) => name.includes('fe-misc'));
      assert.match(unpatched[1], /\n\t\tmemmove\(conn->outBuffer, ptr, remaining\);\n/);
      assert.ok(!unpatched[1].includes('outStart'));
      fs.writeFileSync(file, text.replace('sent >= newsize', 'sent > newsize'));
      assert.throws(
        () => unpatchedTexts(folder),
        /^Error: deps\/libpq-patches\/0001-.+: deps\/libpq\/source\/.+\/fe-misc\.c is not what it makes/,
      );
    } finally {
      fs.rmSync(folder, { recursive: true, force: true });
    }
  });

  it('is in the repository, so that a build fetches nothing', function () {
    const { status, stdout } = spawnSync('git', ['ls-files', 'deps/libpq'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    if (status !== 0) cannotRun(this, 'this folder is no git checkout');
    const tracked = stdout.split('\n').filter(Boolean);
    const here = fs
      .readdirSync(path.join(ROOT, 'deps', 'libpq'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name)));
    assert.deepEqual(tracked.sort(), here.map((name) => name.replaceAll(path.sep, '/')).sort());
  });
});

describe('a build in a checkout', () => {
  /** @type {string} */
  let folder;

  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'building-test-'));
    for (const name of ['package.json', 'binding.gyp', 'scripts', 'src', 'deps']) {
      fs.cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
    }
    fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'), 'junction');
  });

  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  /** @param {Record<string, string>} env */
  function build(env) {
    const args = ['scripts/build.js', '--if-needed'];
    const options = { cwd: folder, env: { ...process.env, ...env } };
    return spawnSync(process.execPath, args, { ...options, encoding: 'utf8' });
  }

  it('lists all that is missing in one line, with one command, before it compiles', function () {
    if (process.platform === 'win32') cannotRun(this, 'node-gyp finds Visual Studio by itself');
    const missing = { CC: 'no-cc', CXX: 'no-cxx', MAKE: 'no-make', CARGO: 'no-cargo' };
    const { status, stdout, stderr } = build(missing);
    assert.equal(status, 1);
    assert.equal(stdout, '');
    assert.match(
      stderr,
      /^pg-conduit: This machine lacks a C compiler \(no-cc\), a C\+\+ compiler \(no-cxx\), make \(no-make\)\. Install them: `.+`[^\n]*\n$/,
    );
  });

  it('without the sources of libpq says how to restore them, and uses no other libpq', () => {
    const sources = path.join(folder, 'deps', 'libpq');
    fs.renameSync(sources, `${sources}-away`);
    const { status, stderr } = build({ CARGO: 'no-cargo' });
    fs.renameSync(`${sources}-away`, sources);
    assert.equal(status, 1);
    assert.match(stderr, /deps\/libpq does not have the sources of libpq 18\.\d+/);
    assert.match(stderr, /`git checkout -- deps\/libpq` brings them back/);
    assert.match(stderr, /`PG_CONDUIT_LIBPQ=system npm run build:release`/);
  });
});

describe('a checkout without `npm install`', () => {
  const HEAD = /^pg-conduit: .+ is a checkout, and its packages are not installed: /;
  /** @type {string} */
  let folder;

  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'building-test-'));
    for (const name of ['package.json', 'binding.gyp', 'bin', 'lib', 'scripts', 'src', 'deps']) {
      fs.cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
    }
  });

  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  /** @param {string[]} args of Node.js */
  function run(...args) {
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: folder,
      encoding: 'utf8',
    });
    assert.equal(status, 1, stdout + stderr);
    return stderr;
  }

  for (const [what, args] of [
    ['`npx pg-conduit build`', ['bin/pg-conduit.js', 'build']],
    ['`npm run build:release`', ['scripts/build.js']],
  ]) {
    it(`tells ${what} to run \`npm install\`, and where`, () => {
      const stderr = run(...args);
      assert.match(stderr, HEAD);
      assert.ok(stderr.includes(fs.realpathSync(folder)));
      assert.match(stderr, /: run `npm install` there, which compiles it, too\n$/);
    });
  }

  it('with its packages but no binary names the command that builds it', () => {
    const packages = path.join(folder, 'node_modules');
    fs.symlinkSync(path.join(ROOT, 'node_modules'), packages, 'junction');
    const stderr = run('-e', "require('.')");
    fs.unlinkSync(packages);
    assert.match(
      stderr,
      /pg-conduit has no binary for .+\. Run `npm run build:release` in .+, a checkout: /,
    );
    assert.ok(stderr.includes(`in ${fs.realpathSync(folder)}, a checkout`));
  });
});

describe('the command that installs what is missing', () => {
  const on = (osRelease, tools, isRoot = true) =>
    installCommand(tools, { platform: 'linux', osRelease, isRoot });

  it('is the one of the distribution, and names no package twice', () => {
    const all = ['c', 'c++', 'make', 'python'];
    assert.equal(on('ID=debian\n', all), '`apt-get install -y gcc g++ make python3`');
    assert.equal(on('ID=alpine\n', all), '`apk add build-base python3`');
    assert.equal(on('ID=fedora\n', ['c++']), '`dnf install -y gcc-c++`');
    assert.equal(on('ID=arch\n', ['c', 'c++']), '`pacman -S --needed gcc`');
  });

  it('recognizes a distribution by the one that it is derived from', () => {
    const mint = 'NAME="Linux Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"\n';
    assert.equal(on(mint, ['make']), '`apt-get install -y make`');
    const rocky = 'ID="rocky"\nID_LIKE="rhel centos fedora"\n';
    assert.equal(on(rocky, ['make']), '`dnf install -y make`');
  });

  it('uses sudo unless the user is root', () => {
    assert.equal(on('ID=debian\n', ['make'], false), '`sudo apt-get install -y make`');
  });

  it('lists all known ones for an unknown distribution', () => {
    assert.match(on('', ['make']), /`apt-get install -y make`, or `dnf install -y make`, or `apk /);
    const mac = installCommand(['make'], { platform: 'darwin' });
    assert.equal(mac, '`xcode-select --install`');
  });
});

describe('an installed libpq', () => {
  it('has its missing features listed, more of them before version 17', () => {
    assert.match(shortcomings('18.1'), /^it has no limit for the iterations of SCRAM, /);
    assert.match(shortcomings('15.18'), /^each Sync is a write of its own, .+SCRAM/);
  });
});
