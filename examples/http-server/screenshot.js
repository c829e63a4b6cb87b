'use strict';

// Pictures of the live page under load for the README, light and dark: npm run screenshot

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { launchBrowser } = require('../../test/support/browser');
const { ExampleServer } = require('../../test/support/example-server');

const IMAGES = path.join(__dirname, '..', '..', 'docs', 'images');
const VIEWPORT = { width: 1120, height: 1100 };
/** The charts show a minute. */
const WINDOW_SECONDS = 61;
/** A picture takes time from what it shows, which should not be seen in the next one. */
const REST_SECONDS = 4;
const LOAD_SECONDS = WINDOW_SECONDS + 3 * REST_SECONDS;
const MARGIN = 14;
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
    await delay((WINDOW_SECONDS - REST_SECONDS) * 1000);
    fs.mkdirSync(IMAGES, { recursive: true });
    for (const [colorScheme, name] of PICTURES) {
      await page.emulateMedia({ colorScheme });
      await delay(REST_SECONDS * 1000);
      if (await page.locator('#progress').isHidden()) {
        throw new Error('The load is over: this machine is too busy for a picture');
      }
      const file = path.join(IMAGES, name);
      const { y, height } = await page.locator('#connections').boundingBox();
      const clip = { x: 0, y: 0, width: VIEWPORT.width, height: Math.ceil(y + height + MARGIN) };
      const { length } = await page.screenshot({ path: file, clip });
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
