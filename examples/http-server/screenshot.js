'use strict';

// Pictures of the live page under load for the README, light and dark: npm run screenshot

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { launchBrowser } = require('../../test/support/browser');
const { ExampleServer } = require('../../test/support/example-server');

const IMAGES = path.join(__dirname, '..', '..', 'docs', 'images');
const VIEWPORT = { width: 1120, height: 860 };
/** The charts show a minute. */
const LOAD_SECONDS = 64;
const MAX_BYTES = 150_000;
/** @type {['light' | 'dark', string][]} */
const PICTURES = [
  ['light', 'live.png'],
  ['dark', 'live-dark.png'],
];

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'screenshot-'));
  fs.chmodSync(folder, 0o755); // the database may run as somebody else
  const server = new ExampleServer(folder, '--seconds', String(LOAD_SECONDS), '--port', '0');
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage({ viewport: VIEWPORT });
    await page.goto(await server.url());
    await delay((LOAD_SECONDS - 3) * 1000);
    fs.mkdirSync(IMAGES, { recursive: true });
    for (const [colorScheme, name] of PICTURES) {
      await page.emulateMedia({ colorScheme });
      await page.evaluate(() => new Promise(requestAnimationFrame));
      const file = path.join(IMAGES, name);
      const { length } = await page.screenshot({ path: file });
      console.log(`${file}: ${length} bytes`);
      if (length > MAX_BYTES) throw new Error(`${name} is larger than ${MAX_BYTES} bytes`);
    }
  } finally {
    await browser.close();
    await server.end();
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
