'use strict';

// A Chromium without a window, for tests of pages: one that the machine has, else, on Linux x64, the one
// inside of the npm package @sparticuz/chromium, which brings its libraries and fonts along. What steers it and
// that package are in tools/.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { findTool, requireTool } = require('../../scripts/install-once');

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const ROOT = path.join(__dirname, '..', '..');
const CACHE = path.join(ROOT, 'node_modules', '.cache', 'pg-conduit');
const PACKAGE = path.join(ROOT, 'tools', 'chromium', 'package.json');

/** Its own one names folders that are not ours. The same fonts on every machine, and some on each. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`;

/** @returns {Promise<import('../../tools/browser/node_modules/playwright-core').Browser>} close it */
async function launchBrowser() {
  const { chromium } = requireTool('browser', 'playwright-core');
  const errors = [];
  for (const choose of [installed, chrome, unpacked]) {
    try {
      const options = choose();
      if (options) return await chromium.launch({ timeout: 20_000, ...options });
    } catch (error) {
      errors.push(error.message);
    }
  }
  const hint = 'No Chromium for the tests: install chromium or Google Chrome';
  throw new Error([hint, ...errors].join('\n'));
}

/** @returns {Record<string, any> | undefined} */
function installed() {
  for (const folder of (process.env.PATH ?? '').split(path.delimiter)) {
    for (const name of NAMES) {
      const executablePath = path.join(folder, name);
      // One from a snap does not see the files of the tests.
      if (fs.existsSync(executablePath) && !isSnap(executablePath)) return { executablePath };
    }
  }
  return undefined;
}

/** @param {string} file a program, a link or a script */
function isSnap(file) {
  if (/\bsnap\b/.test(fs.realpathSync(file))) return true;
  return fs.statSync(file).size < 1 << 16 && fs.readFileSync(file, 'utf8').includes('/snap/');
}

/** Where macOS and Windows keep it. */
function chrome() {
  return process.platform === 'linux' ? undefined : { channel: 'chrome' };
}

/** @returns {Record<string, any> | undefined} */
function unpacked() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const version = require(PACKAGE).dependencies['@sparticuz/chromium'];
  const folder = path.join(CACHE, `chromium-${version}`);
  if (!fs.existsSync(folder)) unpack(folder);
  return {
    executablePath: path.join(folder, 'chromium'),
    env: {
      ...process.env,
      LD_LIBRARY_PATH: path.join(folder, 'al2023', 'lib'),
      FONTCONFIG_FILE: path.join(folder, 'fonts', 'fonts.conf'),
    },
  };
}

/** @param {string} folder is there only when it is complete */
function unpack(folder) {
  fs.mkdirSync(CACHE, { recursive: true });
  const unfinished = fs.mkdtempSync(`${folder}-`);
  try {
    // It unpacks into the folder for temporary files, and its libraries only where it believes to be
    // in a cloud: a process of its own may believe so.
    const entry = findTool('chromium', '@sparticuz/chromium');
    const code = `require(${JSON.stringify(entry)}).executablePath()`;
    const env = { ...process.env, TMPDIR: unfinished, AWS_LAMBDA_JS_RUNTIME: 'nodejs20.x' };
    execFileSync(process.execPath, ['-e', code], { cwd: __dirname, env, stdio: 'pipe' });
    fs.writeFileSync(path.join(unfinished, 'fonts', 'fonts.conf'), FONTS);
    fs.renameSync(unfinished, folder);
  } catch (error) {
    fs.rmSync(unfinished, { recursive: true, force: true });
    // Two runs at once: the other one was faster.
    if (!fs.existsSync(folder)) throw error;
  }
}

/** What takes long the first time. */
async function prepareBrowser() {
  const browser = await launchBrowser();
  await browser.close();
}

module.exports = { launchBrowser, prepareBrowser };
