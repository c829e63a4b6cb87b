'use strict';

// What fails a run of tests besides failing tests (test/support/workers.js).

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const ROOT = path.join(__dirname, '..', '..');
const MOCHA = path.join(path.dirname(require.resolve('mocha/package.json')), 'bin', 'mocha.js');

describe('Tests in several processes', function () {
  this.timeout(60_000);

  /** @type {string} */
  let folder;

  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-'));
  });
  afterEach(() => fs.rmSync(folder, { recursive: true }));

  /** @param {string} late what comes after a test has passed, while another file is not at its end */
  function run(late) {
    const marker = path.join(folder, 'pid');
    const first = `
      const fs = require('node:fs');
      it('passes', (done) => {
        done();
        fs.writeFileSync('${marker}.new', String(process.pid));
        fs.renameSync('${marker}.new', '${marker}');
        // Mocha listens until the file is at its end.
        const isAtEnd = () => process.listenerCount('uncaughtException') < listeners;
        const listeners = process.listenerCount('uncaughtException');
        const timer = setInterval(() => {
          if (!isAtEnd()) return;
          clearInterval(timer);
          ${late}
        }, 10);
      });`;
    const second = `
      const fs = require('node:fs');
      const delay = require('node:timers/promises').setTimeout;
      it('waits for the end of the other process', async () => {
        while (!fs.existsSync('${marker}')) await delay(10);
        const pid = Number(fs.readFileSync('${marker}', 'utf8'));
        try {
          for (;${late !== ''};) {
            process.kill(pid, 0);
            await delay(10);
          }
        } catch {}
      });`;
    const files = [first, second].map((code, i) => {
      const file = path.join(folder, `${i}.test.js`);
      fs.writeFileSync(file, code);
      return file;
    });
    const args = [
      MOCHA,
      '--require',
      'test/support/global.js',
      '--parallel',
      '--jobs',
      '2',
      ...files,
    ];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: ROOT,
      encoding: 'utf8',
    });
    assert.match(stdout, /2 passing/);
    return { status, stderr };
  }

  it('pass if all tests do', () => {
    assert.deepEqual(run(''), { status: 0, stderr: '' });
  });

  for (const [what, late] of Object.entries({
    'an error comes after the last test of a file': "throw new Error('late');",
    'a signal ends a process after the last test of a file':
      "process.kill(process.pid, 'SIGKILL');",
  })) {
    it(`fail if ${what}`, () => {
      const { status, stderr } = run(late);
      assert.equal(status, 1);
      assert.match(stderr, /A process that ran tests ended between two files/);
    });
  }
});
