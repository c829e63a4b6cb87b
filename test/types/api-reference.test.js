'use strict';

// docs/api, which typedoc makes of the comments in lib/index.d.ts, and which is committed.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { findTool } = require('../../scripts/install-once');

const ROOT = path.join(__dirname, '..', '..');
const COMMITTED = path.join(ROOT, 'docs', 'api');

describe('the API reference', () => {
  /** @type {string} */
  let folder;

  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'api-test-'));
  });
  after(() => fs.rmSync(folder, { recursive: true }));

  it('says what the declarations say', () => {
    const made = path.join(folder, 'api');
    const typedoc = path.join(path.dirname(findTool('docs', 'typedoc')), '..', 'bin', 'typedoc');
    const options = ['--options', 'docs/typedoc.json', '--out', made, '--logLevel', 'Warn'];
    const printed = execFileSync(process.execPath, [typedoc, ...options], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    assert.equal(printed, '');
    const pages = [made, COMMITTED].flatMap((place) => fs.readdirSync(place, { recursive: true }));
    const changed = [...new Set(pages.map(String))].filter((page) => {
      const texts = [made, COMMITTED].map((place) => {
        const file = path.join(place, page);
        if (!fs.existsSync(file)) return 'none';
        return fs.statSync(file).isFile() ? fs.readFileSync(file, 'utf8') : '';
      });
      return texts[0].replaceAll('\r\n', '\n') !== texts[1].replaceAll('\r\n', '\n');
    });
    assert.deepEqual(changed, [], 'lib/index.d.ts has changed: run "npm run docs:api"');
  });
});
