'use strict';

// The live page over HTTP: its files, the stream of figures, and the button that begins a load. It asks no
// other host for anything, and nobody but itself, on this machine, may press the button. Made by start.js;
// server.js asks it first.

const fs = require('node:fs');
const path = require('node:path');
const { ROUTES } = require('../load');
const { headline } = require('../summary');
const { EventStream } = require('./event-stream');
const { INTERVAL_MILLIS, WINDOW_SECONDS } = require('./sampler');

const FOLDER = path.join(__dirname, '..', 'page');
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Nothing but these is served. */
const FILES = {
  '/': path.join(FOLDER, 'index.html'),
  ...Object.fromEntries(
    fs.readdirSync(FOLDER).map((name) => [`/live/${name}`, path.join(FOLDER, name)]),
  ),
  '/live/uplot.js': require.resolve('uplot/dist/uPlot.esm.js'),
  '/live/uplot.css': require.resolve('uplot/dist/uPlot.min.css'),
};

const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-cache',
};

/** @typedef {import('node:http').IncomingMessage} Request */
/** @typedef {import('node:http').ServerResponse} Response */

class LivePage {
  #about;
  #sampler;
  #loader;
  #button;
  #onError;
  #stream = new EventStream(() => this.#describe());

  /**
   * @param {object} parts
   * @param {Record<string, unknown>} parts.about versions and limits, for the page to show
   * @param {import('./sampler').Sampler} parts.sampler
   * @param {import('../load').Loader} parts.loader
   * @param {{ connections: number, seconds: number }} parts.button the load that it begins
   * @param {(error: Error) => void} parts.onError
   */
  constructor({ about, sampler, loader, button, onError }) {
    this.#about = about;
    this.#sampler = sampler;
    this.#loader = loader;
    this.#button = button;
    this.#onError = onError;
    sampler.on('sample', (sample) => this.#stream.send('sample', sample));
    loader.on('change', () => this.#stream.send('load', this.#describeLoad()));
    loader.on('tick', (tick) => this.#stream.send('tick', tick));
  }

  /** Whoever listens is told that there is no more. */
  close() {
    this.#stream.close();
  }

  /**
   * @param {Request} request
   * @param {Response} response
   * @param {URL} url
   * @returns {boolean} whether it is the page's
   */
  answer(request, response, url) {
    const { pathname } = url;
    const isFile = Object.hasOwn(FILES, pathname);
    if (!isFile && pathname !== '/live/events' && pathname !== '/live/load') return false;

    const method = pathname === '/live/load' ? 'POST' : 'GET';
    if (request.method !== method) fail(response, 405, `${method} only`);
    else if (isFile) this.#sendFile(response, FILES[pathname]);
    else if (pathname === '/live/events') this.#stream.add(response);
    else this.#beginLoad(request, response, url.searchParams.get('route') ?? ROUTES[0]);
    return true;
  }

  /** @param {Response} response @param {string} file */
  async #sendFile(response, file) {
    try {
      const body = await fs.promises.readFile(file);
      response.writeHead(200, { ...HEADERS, 'content-type': TYPES[path.extname(file)] });
      response.end(body);
    } catch (error) {
      fail(response, 500, 'Internal server error');
      this.#onError(/** @type {Error} */ (error));
    }
  }

  /** @param {Request} request @param {Response} response @param {string} route */
  #beginLoad(request, response, route) {
    if (!isOwnPage(request)) return fail(response, 403, 'only the page itself, on this machine');
    if (!ROUTES.includes(route)) return fail(response, 400, `routes: ${ROUTES.join(', ')}`);
    if (this.#loader.running) return fail(response, 409, 'a load is running already');
    this.#loader.run({ route, ...this.#button }).catch(this.#onError);
    response.writeHead(202).end();
    return undefined;
  }

  #describe() {
    return {
      ...this.#about,
      intervalMillis: INTERVAL_MILLIS,
      windowSeconds: WINDOW_SECONDS,
      routes: ROUTES,
      button: this.#button,
      load: this.#describeLoad(),
      ticks: this.#loader.ticks,
      history: this.#sampler.history,
    };
  }

  #describeLoad() {
    const { running, last: finished } = this.#loader;
    const last = finished && { ...finished, headline: headline(finished) };
    if (!running) return { last };
    const { route, connections, seconds, endsAt } = running;
    // The reader's clock may be another.
    const leftMillis = Math.max(0, endsAt - Date.now());
    return { running: { route, connections, seconds, leftMillis }, last };
  }
}

/**
 * Whether a page from this server, opened under an address of this machine, has sent it. Another site
 * that a browser shows, and one whose name was made to mean this machine, has an origin of its own.
 * @param {Request} request
 */
function isOwnPage({ headers, socket }) {
  const { host = '', origin } = headers;
  const name = host.replace(/:\d+$/, '');
  return (
    ['127.0.0.1', '[::1]', 'localhost'].includes(name) &&
    origin === `http://${host}` &&
    /^(::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '')
  );
}

/** @param {Response} response @param {number} status @param {string} error */
function fail(response, status, error) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error }));
}

module.exports = { LivePage };
