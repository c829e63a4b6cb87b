'use strict';

// Pictures of the live page after a load for docs/diagnostics.md, light and dark: npm run screenshot

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { launchBrowser } = require('../../test/support/browser');
const { ExampleServer } = require('../../test/support/example-server');

const IMAGES = path.join(__dirname, '..', '..', 'docs', 'images');
const VIEWPORT = { width: 1120, height: 1600 };
/** So that the charts of the pool show the load and its end. */
const REST_SECONDS = 1;
const MARGIN = 14;
const MAX_BYTES = 200_000;
/** @type {['light' | 'dark', string][]} */
const PICTURES = [
  ['light', 'live.png'],
  ['dark', 'live-dark.png'],
];

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'screenshot-'));
  fs.chmodSync(folder, 0o755); // the database may run as somebody else
  const server = new ExampleServer(folder, '--port', '0');
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage({ viewport: VIEWPORT });
    await page.goto(await server.url());
    await server.prints(/Still serving/);
    await delay(REST_SECONDS * 1000);
    await page.getByRole('button', { name: 'Pause' }).click();
    fs.mkdirSync(IMAGES, { recursive: true });
    for (const [colorScheme, name] of PICTURES) {
      await page.emulateMedia({ colorScheme });
      await delay(REST_SECONDS * 1000);
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
