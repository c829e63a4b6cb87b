'use strict';

// What `npm run prebuild -- --all` refuses to make: the checks of scripts/prebuilds.js, on small libraries that the
// machine's compiler makes. Run by mocha.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { cannotRun } = require('../support/cannot-run');
const { TARGETS, faults, inspect } = require('../../scripts/prebuilds');

const ENTRY_POINTS = `
#include <stdlib.h>
int napi_register_module_v1(void) { return malloc(1) != 0; }
int node_api_module_get_api_version_v1(void) { return 8; }
`;
const OF_NODE =
  'int napi_create_object(void);\nstatic int call(void) { return napi_create_object(); }';

describe('a prebuilt binary', () => {
  const target = TARGETS.find(({ arch, libc }) => arch === process.arch && libc === 'glibc');
  /** @type {string} */
  let folder;

  before(function () {
    const { header } = process.report.getReport();
    // It is compiled here, and looked at as one for glibc.
    if (target === undefined || header.glibcVersionRuntime === undefined) {
      cannotRun(this, 'binaries for glibc are made on Linux with glibc, on x64 and arm64');
    }
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'prebuilds-test-'));
  });

  after(() => folder && fs.rmSync(folder, { recursive: true }));

  /** @param {string} code @param {string[]} [flags] */
  function compile(code, flags = ['-s', '-Wl,-z,now']) {
    const source = path.join(folder, 'library.c');
    const library = path.join(folder, 'library.so');
    fs.writeFileSync(source, code);
    execFileSync('cc', ['-shared', '-fPIC', '-o', library, source, ...flags]);
    return inspect(library);
  }

  it('is accepted when it is correct', () => {
    const used = `${OF_NODE}\n${ENTRY_POINTS.replace('return 8', 'return call()')}`;
    const facts = compile(used);
    assert.deepEqual(faults(target, facts), []);
    assert.ok(facts.fromNode.includes('napi_create_object'));
  });

  it('exports only the entry points', () => {
    const facts = compile(`${ENTRY_POINTS}int PQconnectdb(void) { return 0; }`);
    assert.match(
      faults(target, facts).join(),
      /^it exports PQconnectdb, napi_register_module_v1, /,
    );
    assert.match(faults(target, compile('')).join(), /^it exports , not napi_register_module_v1/);
  });

  it('needs no newer glibc than the oldest that is supported', () => {
    const facts = compile(ENTRY_POINTS);
    assert.deepEqual(faults(target, { ...facts, glibc: '2.9' }), []);
    assert.deepEqual(faults(target, { ...facts, glibc: '2.28' }), []);
    assert.match(faults(target, { ...facts, glibc: '2.29' }).join(), /needs glibc 2\.29, which is/);
  });

  it('reports the glibc version that it needs', () => {
    const { glibc } = compile(ENTRY_POINTS);
    assert.match(glibc, /^2\.\d+/);
  });

  it('needs no library but libc', () => {
    const flags = ['-s', '-Wl,-z,now', '-Wl,--no-as-needed', '-lresolv'];
    assert.match(faults(target, compile(ENTRY_POINTS, flags)).join(), /^it wants libresolv\.so/);
  });

  it('is stripped, and its missing symbols of Node.js are found when it is loaded', () => {
    assert.deepEqual(faults(target, compile(ENTRY_POINTS, ['-Wl,-z,now'])), ['it is not stripped']);
    assert.deepEqual(faults(target, compile(ENTRY_POINTS, ['-s', '-Wl,-z,lazy'])), [
      'it looks for functions only when it calls them',
    ]);
  });

  it('is for the processor and the C library in its name', () => {
    const facts = compile(ENTRY_POINTS);
    const other = TARGETS.find(({ arch, libc }) => arch !== process.arch && libc === 'glibc');
    assert.match(faults(other, facts).join(), /^it is for /);
    const musl = TARGETS.find(({ arch, libc }) => arch === process.arch && libc === 'musl');
    assert.match(faults(musl, facts).join(), /it wants libc\.so\.6,it is not linked to musl/);
  });
});
