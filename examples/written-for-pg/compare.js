'use strict';

// `npm run compare`: starts the program twice, with `pg` and with this driver in its place, asks both the
// same, and loads both. Every answer must be the same, byte for byte, alone and under load.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { isDeepStrictEqual, parseArgs } = require('node:util');
const autocannon = require('autocannon');
const pg = require('pg');
const { runCommand } = require('../../bench/command');
const { placeProject } = require('../../scripts/consumer');
const { installOnce } = require('../../scripts/install-once');
const { startDatabase } = require('../../scripts/database');

const USAGE = `npm run compare -- [options]
  --seconds N   how long each path is loaded with each driver (5)
  --help`;

const CONNECTIONS = 64;
const LOADED = ['/notes', '/notes/7', '/notes/1999', '/me'];
const USER = { email: 'user7@example.com' };

/** In this order: [method, path, body]. */
const REQUESTS = [
  ['GET', '/notes'],
  ['GET', '/notes/1'],
  ['GET', '/notes/5000'],
  ['GET', '/notes/nonsense'],
  ['GET', '/me'],
  ['POST', '/login', { email: 'nobody' }],
  ['POST', '/login', USER],
  ['GET', '/me'],
  ['POST', '/accounts', { email: 'new@example.com', body: 'the first' }],
  ['POST', '/accounts', { email: 'new@example.com', body: 'the second' }],
  ['POST', '/accounts', { email: 'without@example.com', body: null }],
  ['POST', '/login', { email: 'without@example.com' }],
  ['GET', '/notes/2001'],
];

/** Of each request, and of the moment. */
const CHANGING = new Set(['date', 'set-cookie', 'connection', 'keep-alive']);

class Server {
  cookie = '';

  /** @param {string} folder @param {string} databaseUrl */
  static async start(folder, databaseUrl) {
    const server = new Server();
    server.process = spawn(process.execPath, ['server.js'], {
      cwd: folder,
      env: { ...process.env, DATABASE_URL: databaseUrl, PORT: '0', NODE_ENV: 'production' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await Promise.race([once(server.process.stdout, 'data'), server.#failure()]);
    [, server.driver, server.url] = /^(\S+) listens on (\S+)/.exec(String(line));
    return server;
  }

  async #failure() {
    const [exitCode] = await once(this.process, 'exit');
    throw new Error(`the program has ended with ${exitCode}`);
  }

  /** @returns {Promise<[status: number, headers: [string, string][], body: string]>} */
  async ask(method, url, body) {
    const headers = { 'content-type': 'application/json', cookie: this.cookie };
    const response = await fetch(this.url + url, { method, headers, body: JSON.stringify(body) });
    const cookie = response.headers.get('set-cookie');
    if (cookie !== null) [this.cookie] = cookie.split(';');
    const kept = [...response.headers].filter(([name]) => !CHANGING.has(name));
    return [response.status, kept, await response.text()];
  }

  /** @param {string} url @param {string} expectBody @param {number} seconds */
  load(url, expectBody, seconds) {
    return autocannon({
      url: this.url + url,
      connections: CONNECTIONS,
      duration: seconds,
      headers: { cookie: this.cookie },
      expectBody,
    });
  }

  async stop() {
    this.process.kill('SIGTERM');
    const [exitCode] = await once(this.process, 'exit');
    if (exitCode !== 0) throw new Error(`${this.driver}: the program has ended with ${exitCode}`);
  }
}

/** A copy of the program in which `pg` is this driver, as an alias in package.json makes it. */
function copyWithAlias() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'written-for-pg-'));
  fs.cpSync(__dirname, folder, { recursive: true });
  placeProject(path.join(folder, 'node_modules', 'pg'));
  return folder;
}

/** @param {any} database @param {string} name */
async function makeDatabase({ config }, name) {
  const client = new pg.Client(config);
  await client.connect();
  await client.query(`drop database if exists ${name}`);
  await client.query(`create database ${name}`);
  await client.end();
  const { host, port, user, password } = config;
  const secret = password === undefined ? '' : `:${encodeURIComponent(password)}`;
  return `postgres://${encodeURIComponent(user)}${secret}@${host}:${port}/${name}`;
}

/** @param {number} seconds of load for each path and driver */
async function compare(seconds) {
  installOnce(__dirname);
  const aliased = copyWithAlias();
  const database = await startDatabase({ listen: true });
  const servers = [];
  const differences = [];
  try {
    servers.push(await Server.start(__dirname, await makeDatabase(database, 'with_pg')));
    servers.push(await Server.start(aliased, await makeDatabase(database, 'with_alias')));
    const [first, second] = servers;
    console.log(`${first.driver} and ${second.driver}, ${REQUESTS.length} requests one by one`);
    for (const request of REQUESTS) {
      const [expected, given] = [await first.ask(...request), await second.ask(...request)];
      if (!isDeepStrictEqual(given, expected)) differences.push({ request, expected, given });
    }
    console.log(`\n${CONNECTIONS} connections, ${seconds} s each, requests/s:`);
    for (const url of LOADED) {
      const [, , body] = await first.ask('GET', url);
      const rates = [];
      for (const server of servers) {
        const { requests, mismatches, non2xx, errors } = await server.load(url, body, seconds);
        rates.push(`${server.driver} ${Math.round(requests.average)}`);
        const isFine = mismatches + non2xx + errors === 0 && requests.total > 0;
        if (!isFine) differences.push({ url, driver: server.driver, mismatches, non2xx, errors });
      }
      console.log(`${url.padEnd(12)} ${rates.join(', ')}`);
    }
    for (const server of servers.splice(0)) await server.stop();
  } finally {
    for (const server of servers) server.process.kill('SIGKILL');
    await database.stop();
    fs.rmSync(aliased, { recursive: true });
  }
  for (const difference of differences) console.error(difference);
  console.log(differences.length === 0 ? '\nAll answers were the same.' : '\nAnswers differ.');
  return differences;
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '5' },
      help: { type: 'boolean', default: false },
    },
  });
  const seconds = Number(values.seconds);
  if (!(seconds > 0)) throw new Error(`--seconds is "${values.seconds}": give a number above 0`);
  return { seconds, help: values.help };
}

async function main() {
  const { seconds, help } = readOptions();
  if (help) {
    console.log(USAGE);
    return;
  }
  const differences = await compare(seconds);
  process.exitCode = differences.length === 0 ? 0 : 1;
}

if (require.main === module) runCommand(main, USAGE);

module.exports = { compare };
