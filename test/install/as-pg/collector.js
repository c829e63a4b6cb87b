'use strict';

// Takes what a tracer sends to its server. Used by datadog.js and elastic.js.

const http = require('node:http');
const { setTimeout: delay } = require('node:timers/promises');
const zlib = require('node:zlib');

/** @returns {Promise<{ url: string, texts: () => Promise<string[]> }>} of the two queries, when both have come, or after 20 s */
async function collect() {
  /** @type {string[]} */
  const bodies = [];
  const server = http.createServer(async (request, response) => {
    const chunks = await request.toArray();
    const body = Buffer.concat(chunks);
    const isPacked = request.headers['content-encoding'] !== undefined;
    // A stream of events is sent while it is open.
    const finishFlush = zlib.constants.Z_SYNC_FLUSH;
    bodies.push((isPacked ? zlib.unzipSync(body, { finishFlush }) : body).toString('latin1'));
    response.end('{}');
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(undefined));
  });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    texts: async () => {
      const latest = Date.now() + 20_000;
      for (;;) {
        const found = bodies.join('\n').matchAll(/select \d as [a-z]+/g);
        const texts = [...new Set([...found].map(String))];
        if (texts.length >= 2 || Date.now() > latest) return texts;
        await delay(20);
      }
    },
  };
}

module.exports = { collect };
