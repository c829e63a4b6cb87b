'use strict';

// What is in the package that people install: its files, its licences, no install script; what it says
// where it has no binary, and the command that makes one. Whether it installs and runs on a bare machine is
// shown in test/install. Run by mocha.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { readLock } = require('../../scripts/fetch-libpq');
const { cannotRun } = require('../support/cannot-run');
const { itInLong } = require('../support/property');

const ROOT = path.join(__dirname, '..', '..');
const PACKAGE = require('../../package.json');

/** All that may be in it. */
const ALLOWED = [
  /^(?:CHANGELOG\.md|LICENSE|README\.md|THIRD-PARTY\.md|package\.json)$/,
  /^bin\/(?:pg-conduit|check\/[\w-]+)\.js$/,
  /^lib\/(?:[\w-]+\/){0,2}[\w-]+(?:\.js|\.d\.ts)$/,
  /^src\/(?:\w+\.(?:cc|h)|addon\.gyp)$/,
  /^docs\/[\w-]+\.md$/,
  /^scripts\/(?:build|fetch-libpq|find-libpq|libpq-patches|native-headers|node-gyp)\.js$/,
  /^deps\/(?:exports\.map|libpq-(?:peek|scram|tls)\.c|libpq\.gyp|sanitize\.gypi)$/,
  /^deps\/libpq-patches\/\d{4}-[\w-]+\.patch$/,
  /^deps\/libpq-config\/(?:COPYRIGHT|pg_config_os\.h|pg_config_paths\.h)$/,
  /^deps\/libpq-source\/Cargo\.(?:lock|toml)$/,
  /^deps\/libpq\/(?:COPYRIGHT|version\.json)$/,
  /^deps\/libpq\/(?:source|include|additional_include)\/.+\.[ch]$/,
  /^prebuilds\/prebuilds\.json$/,
  /^prebuilds\/(?:linux|darwin|win32)-(?:x64|arm64)\/pg-conduit(?:\.glibc|\.musl)?\.node$/,
];

/** What must be in it, for people and for a compiler. */
const NEEDED = [
  'LICENSE',
  'THIRD-PARTY.md',
  'README.md',
  'CHANGELOG.md',
  'lib/index.d.ts',
  'bin/pg-conduit.js',
  'bin/check/index.js',
  'src/addon.gyp',
  'deps/libpq-config/COPYRIGHT',
  'deps/libpq/version.json',
  'deps/libpq-patches/0001-do-not-move-the-output-buffer.patch',
  'deps/libpq-patches/0002-pass-rows-to-a-receiver.patch',
  'deps/libpq-patches/0003-allow-simple-queries-in-a-pipeline.patch',
  'deps/libpq-patches/0004-leave-out-the-describe.patch',
  'deps/libpq/source/src/interfaces/libpq/fe-exec.c',
];

/** Writes empty files in the place of a compiler and a linker, and fails where a path leads nowhere. */
const COMPILER = `#!/bin/sh
[ "$1" = crs ] && set -- -o "$2"
for argument; do
  case $argument in -Wl,--version-script=*)
    [ -f "\${argument#*=}" ] || { echo "no $argument in $PWD"; exit 1; }
  esac
done
while [ $# -gt 0 ]; do
  case $1 in -o | -MF) : > "$2"; shift ;; esac
  shift
done
`;

/** @param {string} script @param {string[]} args @param {import('node:child_process').SpawnSyncOptions} [options] */
function runNode(script, args, options) {
  const run = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8', ...options });
  return { status: run.status, stdout: `${run.stdout}`, stderr: `${run.stderr}` };
}

/** @param {string} stdout of npm @returns {string[]} */
function packedFiles(stdout) {
  // A list, and from npm 12 on an object of packages.
  const [{ files }] = /** @type {any[]} */ (Object.values(JSON.parse(stdout)));
  return files.map((/** @type {{ path: string }} */ { path: name }) => name);
}

describe('the published package', () => {
  /** @type {string[]} */
  let files;

  before(() => {
    // Scripts would build, and look for prebuilds: here the list counts.
    const run = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: ROOT,
      encoding: 'utf8',
      shell: process.platform === 'win32',
    });
    assert.equal(run.status, 0, run.stderr);
    files = packedFiles(run.stdout);
  });

  it('has the files that it needs, and no tests, benchmarks or examples', () => {
    const others = files.filter((name) => !ALLOWED.some((pattern) => pattern.test(name)));
    assert.deepEqual(others, []);
    for (const name of NEEDED) assert.ok(files.includes(name), name);
  });

  it('has every file that its JavaScript requires', () => {
    for (const name of files.filter((one) => one.endsWith('.js'))) {
      const text = fs.readFileSync(path.join(ROOT, name), 'utf8');
      for (const [, wanted] of text.matchAll(/require\('(\.[^']+)'\)/g)) {
        const resolved = require.resolve(path.join(ROOT, path.dirname(name), wanted));
        const relative = path.relative(ROOT, resolved).replaceAll(path.sep, '/');
        assert.ok(files.includes(relative), `${name} requires ${wanted}`);
      }
    }
  });

  it('has the source files that its gyp files name', () => {
    const text = fs.readFileSync(path.join(ROOT, 'deps', 'libpq.gyp'), 'utf8');
    const folders = Object.fromEntries(
      [...text.matchAll(/'(\w+_dir)': '(.+)',/g)].map(([, name, folder]) => [name, folder]),
    );
    const sources = [...text.matchAll(/'<\((\w+)\)\/([\w-]+\.c)'/g)];
    assert.ok(sources.length > 60);
    for (const [, folder, name] of sources) {
      assert.ok(files.includes(`deps/${folders[folder]}/${name}`), name);
    }
  });

  it('names the licence of each compiled-in part', () => {
    const text = fs.readFileSync(path.join(ROOT, 'THIRD-PARTY.md'), 'utf8');
    for (const part of ['libpq', 'node-addon-api', 'libc++', 'Zig', 'GNU C Library']) {
      assert.match(text, new RegExp(`^## .*${part.replaceAll('+', '\\+')}`, 'm'));
    }
    const folder = path.dirname(require.resolve('node-addon-api/package.json'));
    const [permission] = fs
      .readFileSync(path.join(folder, 'LICENSE.md'), 'utf8')
      .match(/Permission is hereby granted[^]*/);
    const words = (some) => some.replace(/^> ?/gm, '').split(/\s+/).filter(Boolean).join(' ');
    assert.ok(words(text).includes(words(permission)), 'the licence of node-addon-api');
  });

  it('has no script that npm would run where it is installed', () => {
    // Of `prepare` it warns where the package comes from a file.
    for (const name of ['preinstall', 'install', 'postinstall', 'prepare']) {
      assert.ok(!(name in PACKAGE.scripts), name);
    }
    // With a binding.gyp at the root npm makes an install script up, and so do Yarn and pnpm. This says no
    // for the first install only: lock files do not have it.
    assert.equal(PACKAGE.gypfile, false);
    const atRoot = files.filter((name) => !name.includes('/') && name.endsWith('.gyp'));
    assert.deepEqual(atRoot, []);
    const { packages } = require('../../package-lock.json');
    const dependencies = Object.entries(packages).filter(([name, { dev }]) => name !== '' && !dev);
    assert.ok(dependencies.length >= Object.keys(PACKAGE.dependencies).length);
    const scripted = dependencies.filter(([, entry]) => entry.hasInstallScript);
    assert.deepEqual(scripted, []);
  });

  it('has no script that npm runs before another by accident', () => {
    // `npm run prebuild` makes prebuilt binaries; npm would also run it before a script `build`.
    assert.ok('prebuild' in PACKAGE.scripts && !('build' in PACKAGE.scripts));
  });
});

describe('without a binary', () => {
  /** @type {string} */
  let folder;

  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'published-test-'));
    // As in a package: without the binding.gyp of a checkout.
    for (const name of ['lib', 'package.json', 'bin', 'scripts', 'src', 'deps']) {
      fs.cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
    }
    fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'), 'junction');
  });

  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  const load = () => runNode('-e', ['require("./lib")'], { cwd: folder });

  it('names the platform, and the command that makes one', () => {
    const { status, stderr } = load();
    assert.equal(status, 1);
    const platform = `${process.platform}-${process.arch}`;
    assert.match(stderr, new RegExp(`Error: pg-conduit has no binary for ${platform}\\b`));
    assert.match(stderr, /Run `npx pg-conduit build` where it is installed/);
    assert.match(stderr, /needs a C\+\+ compiler, make and Python 3/);
  });

  it('says the same about one that does not load', () => {
    const binary = path.join(folder, 'build', 'Release', 'pg_conduit.node');
    fs.mkdirSync(path.dirname(binary), { recursive: true });
    fs.writeFileSync(binary, 'of another machine');
    const { status, stderr } = load();
    fs.rmSync(path.join(folder, 'build'), { recursive: true });
    assert.equal(status, 1);
    assert.match(stderr, /Error: pg-conduit has a binary that does not load here \(.+\). Run `npx/);
  });

  it('lists the missing tools before it builds', function () {
    if (process.platform === 'win32') cannotRun(this, 'node-gyp finds Visual Studio by itself');
    const env = { ...process.env, CXX: 'no-such-compiler', CC: '', MAKE: 'no-such-make' };
    const run = runNode('bin/pg-conduit.js', ['build'], { cwd: folder, env });
    assert.equal(run.status, 1);
    assert.match(
      run.stderr,
      /lacks a C\+\+ compiler \(no-such-compiler\), make \(no-such-make\)\. Install them: `.+`/,
    );
  });

  itInLong(
    'compiles the sources of the package to the place where the binary is loaded from',
    function () {
      if (process.platform !== 'linux') cannotRun(this, 'its compiler is one for Linux');
      const compiler = path.join(folder, 'compiler');
      fs.writeFileSync(compiler, COMPILER, { mode: 0o755 });
      const env = { ...process.env, CC: compiler, CXX: compiler, AR: compiler };
      const run = runNode('bin/pg-conduit.js', ['build'], { cwd: folder, env });
      assert.equal(run.status, 0, run.stderr);
      assert.match(run.stdout, /built build\/Release\/pg_conduit\.node /);
      const built = path.join(folder, 'build');
      assert.ok(fs.existsSync(path.join(built, 'Release', 'pg_conduit.node')));
      // Nothing else is left, and nothing at the root for which a package manager would compile.
      assert.deepEqual(fs.readdirSync(built).sort(), ['Release', 'build.log']);
      assert.ok(!fs.existsSync(path.join(folder, 'binding.gyp')));
      fs.rmSync(built, { recursive: true });
    },
  );

  it('is not published', () => {
    const refused = runNode('scripts/prebuild.js', ['--check'], { cwd: folder });
    assert.equal(refused.status, 1);
    assert.match(
      refused.stderr,
      /prebuilds\/ lacks linux-x64\/.+: run `npm run prebuild -- --all`/,
    );
    assert.equal(PACKAGE.scripts.prepublishOnly, 'node scripts/prebuild.js --check');
  });
});

describe('npm pack in a checkout', () => {
  /** @type {string} */
  let folder;
  /** What a compiler would have made. */
  const ADDON = path.join(ROOT, 'build', 'Release', 'pg_conduit.node');

  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pack-test-'));
    const names = ['lib', 'package.json', 'bin', 'scripts', 'src', 'deps', 'binding.gyp'];
    for (const name of names) {
      fs.cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
    }
    // Built, as far as the next build can see.
    fs.mkdirSync(path.join(folder, 'build', 'Release'), { recursive: true });
    fs.copyFileSync(ADDON, path.join(folder, 'build', 'Release', 'pg_conduit.node'));
    fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'), 'junction');
    stamp();
  });

  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  /** Says of the addon that it was made from the sources as they are, as a build does. */
  function stamp() {
    const { digestInputs } = require(path.join(folder, 'scripts', 'build.js'));
    const addon = path.join(folder, 'build', 'Release', 'pg_conduit.node');
    const inputs = digestInputs({
      libpq: ['bundled', readLock().libpq],
      sanitize: '',
      node: [process.version, process.arch],
    });
    const text = `${inputs} ${fs.statSync(addon).mtimeMs}`;
    fs.writeFileSync(addon.replace(/node$/, 'stamp'), text);
  }

  /** @param {Record<string, string>} [env] */
  function pack(env) {
    const run = spawnSync('npm', ['pack', '--json', '--loglevel=error'], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, PG_CONDUIT_LIBPQ: '', CC: 'no-compiler', ...env },
      shell: process.platform === 'win32',
    });
    return { ...run, files: () => packedFiles(run.stdout).filter((name) => /\.node$/.test(name)) };
  }

  itInLong(
    'puts the build of this machine into the package, and says that it has no others',
    () => {
      const started = performance.now();
      const { status, stderr, files } = pack();
      assert.equal(status, 0, stderr);
      const [own, ...others] = files();
      assert.match(own, new RegExp(`^prebuilds/${process.platform}-${process.arch}/pg-conduit\\b`));
      assert.deepEqual(others, []);
      assert.match(
        stderr,
        /has no binaries but .+, and must not be published; `npm run prebuild -- /,
      );
      assert.ok(performance.now() - started < 60_000);
    },
  );

  itInLong('removes a binary that is older than the sources', () => {
    const other = process.arch === 'arm64' ? 'linux-x64' : 'linux-arm64';
    const old = path.join(folder, 'prebuilds', other, 'pg-conduit.musl.node');
    fs.mkdirSync(path.dirname(old), { recursive: true });
    fs.writeFileSync(old, 'of last year');
    const { status, stderr, files } = pack();
    assert.equal(status, 0, stderr);
    assert.equal(files().length, 1);
    assert.ok(!fs.existsSync(old));
  });

  it('refuses to make a package with the libpq of this machine', () => {
    const { status, stderr } = pack({ PG_CONDUIT_LIBPQ: 'system' });
    assert.equal(status, 1);
    assert.match(stderr, /a package for others is made with the bundled libpq: unset PG_CONDUIT_L/);
  });

  it('makes a package that is refused for publishing', () => {
    const { status, stderr } = runNode('scripts/prebuild.js', ['--check'], { cwd: folder });
    assert.equal(status, 1);
    assert.match(stderr, /prebuilds\/ lacks linux-x64\/pg-conduit\.glibc\.node, /);
  });
});

describe('npx pg-conduit', () => {
  const command = path.join(ROOT, PACKAGE.bin['pg-conduit']);
  const USAGE = /^Usage: npx pg-conduit build .*\n +npx pg-conduit check /m;

  it('explains its usage', () => {
    const { status, stdout } = runNode(command, ['--help']);
    assert.equal(status, 0);
    assert.match(stdout, USAGE);
    assert.equal(runNode(command, ['--version']).stdout.trim(), PACKAGE.version);
  });

  it('refuses other arguments', () => {
    for (const args of [[], ['rebuild'], ['build', 'all'], ['build', '--fast']]) {
      const { status, stdout, stderr } = runNode(command, args);
      assert.equal(status, 2, args.join(' '));
      assert.equal(stdout, '');
      assert.match(stderr, USAGE);
    }
  });
});
