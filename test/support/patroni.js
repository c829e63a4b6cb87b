'use strict';

// Three PostgreSQL servers that Patroni makes one of, with an etcd between them, as short of patience as Patroni
// permits, and synchronous: what was told as committed is on another server too. Used by test/engines/.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { startDatabase } = require('../../scripts/database');
const { withParent } = require('../../scripts/pgbouncer');
const { freePort, makeDirectory, ordinaryUser } = require('../../scripts/throw-away');
const { until } = require('./outside');

const PROGRAMS = ['/usr/bin/etcd', '/usr/bin/patroni'];
const NAMES = ['one', 'two', 'three'];
const START_MILLIS = 60_000;
const END_MILLIS = 5000;

/** Where the name of the leader is. */
const LEADER_KEY = '/v2/keys/service/conduit/leader';

/** What a leader may be silent for is `ttl`; in seconds, as are the others. */
const PATIENCE = { ttl: 5, loop_wait: 1, retry_timeout: 2 };

const HBA = [
  'local all all trust',
  'host all all 127.0.0.1/32 trust',
  'host replication all 127.0.0.1/32 trust',
];

/** @returns {string | undefined} what the machine lacks */
function lackOfPatroni() {
  const missing = PROGRAMS.filter((program) => !fs.existsSync(program));
  if (missing.length === 0) return undefined;
  return `it has no ${missing.join(' and no ')} (apt install patroni etcd-server)`;
}

/** The processes that this one has started, and those of theirs. @param {number} pid @returns {number[]} */
function descendants(pid) {
  /** @type {Map<number, number[]>} */
  const children = new Map();
  for (const name of fs.readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      // Behind the name of the program, which may have any characters: the state and the parent.
      const stat = fs.readFileSync(`/proc/${name}/stat`, 'utf8');
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
    } catch {
      // It has just ended.
    }
  }
  const found = [];
  const open = [pid];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const own = children.get(next) ?? [];
    found.push(...own);
    open.push(...own);
  }
  return found;
}

/** One of the servers, and the patroni that looks after it. */
class Member {
  /** @param {{ name: string, port: number, apiPort: number, data: string }} fields */
  constructor({ name, port, apiPort, data }) {
    this.name = name;
    this.config = { host: '127.0.0.1', port, user: 'postgres', database: 'postgres' };
    this.data = data;
    this.apiPort = apiPort;
    /** @type {import('node:child_process').ChildProcess | undefined} */
    this.patroni = undefined;
  }

  /** @returns {number | undefined} of the postmaster */
  get postmaster() {
    try {
      return Number(
        fs.readFileSync(path.join(this.data, 'postmaster.pid'), 'utf8').split('\n', 1)[0],
      );
    } catch {
      return undefined;
    }
  }

  /** To patroni, the postmaster and all its processes, as of a machine that stands still or is gone. @param {NodeJS.Signals} name */
  signalAll(name) {
    const postmaster = this.postmaster;
    const servers = postmaster === undefined ? [] : [postmaster, ...descendants(postmaster)];
    const own = this.patroni?.pid;
    const looking =
      own === undefined || this.patroni?.exitCode !== null ? [] : [own, ...descendants(own)];
    for (const pid of new Set([...looking, ...servers])) {
      try {
        process.kill(pid, name);
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  /** @param {string} route @param {object} [body] @returns {Promise<{ status: number, body: any }>} */
  async api(route, body) {
    const response = await fetch(`http://127.0.0.1:${this.apiPort}${route}`, {
      method: body === undefined ? 'GET' : 'POST',
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(20_000),
    });
    const text = await response.text();
    return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text };
  }

  /** @returns {Promise<boolean>} whether it holds the key of the leader, and takes writes */
  async isLeader() {
    try {
      return (await this.api('/primary')).status === 200;
    } catch {
      return false;
    }
  }
}

class Patroni {
  /** @type {Member[]} */
  members = [];
  /** @type {import('node:child_process').ChildProcess[]} */
  #processes = [];
  #etcd = '';
  #directory;
  #identity = ordinaryUser();

  constructor() {
    this.#directory = makeDirectory(this.#identity);
  }

  /** With a leader, and two standbys that follow it, one of them synchronously. */
  static async start() {
    const cluster = new Patroni();
    try {
      await cluster.#startAll();
      return cluster;
    } catch (error) {
      const logs = cluster.logs();
      await cluster.stop();
      throw new Error(`${/** @type {Error} */ (error).message}\n${logs}`, { cause: error });
    }
  }

  /** The ends of what all have written. */
  logs() {
    const files = fs.readdirSync(this.#directory).filter((name) => name.endsWith('.log'));
    return files
      .map((name) => {
        const text = fs.readFileSync(path.join(this.#directory, name), 'utf8');
        return `--- ${name}\n${text.trim().split('\n').slice(-15).join('\n')}`;
      })
      .join('\n');
  }

  /** @param {string} name @param {string} program @param {string[]} args */
  #spawn(name, program, args) {
    const log = fs.openSync(path.join(this.#directory, `${name}.log`), 'a');
    const child = spawn(...withParent(program, args, 'TERM'), {
      cwd: this.#directory,
      uid: this.#identity?.uid,
      gid: this.#identity?.gid,
      env: {
        PATH: '/usr/bin:/bin',
        HOME: this.#directory,
        LANG: 'C.UTF-8',
        // Debian's etcd wants to be asked twice where nobody tests it.
        ...(process.arch === 'x64' ? {} : { ETCD_UNSUPPORTED_ARCH: process.arch }),
      },
      stdio: ['ignore', log, log],
    });
    fs.closeSync(log);
    this.#processes.push(child);
    return child;
  }

  async #startAll() {
    const etcdPort = await freePort();
    const client = `http://127.0.0.1:${etcdPort}`;
    this.#etcd = client;
    const peer = `http://127.0.0.1:${await freePort()}`;
    this.#spawn('etcd', '/usr/bin/etcd', [
      ...['--data-dir', path.join(this.#directory, 'etcd'), '--name', 'only'],
      ...['--listen-client-urls', client, '--advertise-client-urls', client],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
      ...['--initial-cluster', `only=${peer}`],
      // Patroni before 3.0.3 writes the leader's key through v3 without a condition: a leader that wakes up takes it
      // back from its successor, and what that has committed is gone (patroni/patroni#2689). Through v2 it compares.
      '--enable-v2',
    ]);
    await until(
      'etcd answers',
      () =>
        fetch(`${client}/health`).then(
          ({ ok }) => ok,
          () => false,
        ),
      START_MILLIS,
    );
    const binDirectory = await findBinDirectory();
    for (const name of NAMES) {
      const data = path.join(this.#directory, name);
      const member = new Member({ name, port: await freePort(), apiPort: await freePort(), data });
      const file = path.join(this.#directory, `${name}.yml`);
      const text = JSON.stringify(configure(member, this.#directory, etcdPort, binDirectory));
      fs.writeFileSync(file, text, { mode: 0o600 });
      if (this.#identity) fs.chownSync(file, this.#identity.uid, this.#identity.gid);
      member.patroni = this.#spawn(name, '/usr/bin/patroni', [file]);
      this.members.push(member);
      // The first one is to make the database.
      if (this.members.length === 1) await this.leader();
    }
    await this.synchronous();
  }

  /** @returns {Promise<string | undefined>} who leads by etcd: of itself one may believe so that was asleep */
  async #leadersName() {
    try {
      const response = await fetch(`${this.#etcd}${LEADER_KEY}`);
      return /** @type {any} */ (await response.json()).node?.value;
    } catch {
      return undefined;
    }
  }

  /** @param {Member[]} [others] that do not count @returns {Promise<Member>} */
  async leader(others = []) {
    return until(
      'there is a leader',
      async () => {
        const name = await this.#leadersName();
        const member = this.members.find((one) => one.name === name);
        const isLeader = member && !others.includes(member) && (await member.isLeader());
        return isLeader ? member : undefined;
      },
      START_MILLIS,
    );
  }

  /** The leader waits for a standby before it tells that something is committed, and all run. @param {number} [count] of standbys */
  async synchronous(count = NAMES.length - 1) {
    await until(
      'a standby is synchronous',
      async () => {
        const leader = await this.leader();
        const { body } = await leader.api('/cluster').catch(() => ({ body: {} }));
        const states = (body.members ?? []).filter(({ role }) => role !== 'leader');
        return (
          states.some(({ role }) => role === 'sync_standby') &&
          states.filter(({ state }) => state === 'running' || state === 'streaming').length >= count
        );
      },
      START_MILLIS,
    );
  }

  /** Where clients find them all. */
  where() {
    const configs = this.members.map(({ config }) => config);
    return {
      host: configs.map(({ host }) => host).join(','),
      port: configs.map(({ port }) => port).join(','),
      user: 'postgres',
      database: 'postgres',
    };
  }

  async stop() {
    for (const member of this.members) {
      member.signalAll('SIGCONT');
      member.patroni?.kill('SIGKILL');
    }
    // An immediate shutdown leaves nothing behind in shared memory.
    const postmasters = this.members.map(({ postmaster }) => postmaster ?? 0).filter(isRunning);
    for (const pid of postmasters) process.kill(pid, 'SIGQUIT');
    await until('the servers have ended', () => !postmasters.some(isRunning), END_MILLIS).catch(
      () => this.members.forEach((member) => member.signalAll('SIGKILL')),
    );
    for (const child of this.#processes) child.kill('SIGKILL');
    await Promise.all(
      this.#processes.map((child) =>
        child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined,
      ),
    );
    fs.rmSync(this.#directory, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** @param {number} pid */
function isRunning(pid) {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Where the tests' own servers are from. */
async function findBinDirectory() {
  const database = await startDatabase({ own: true });
  await database.stop();
  return String(database.binDirectory);
}

/** @param {Member} member @param {string} directory @param {number} etcdPort @param {string} binDirectory */
function configure({ name, config: { port }, apiPort, data }, directory, etcdPort, binDirectory) {
  const api = `127.0.0.1:${apiPort}`;
  const server = `127.0.0.1:${port}`;
  const account = (/** @type {string} */ username) => ({ username, password: 'unused' });
  return {
    scope: 'conduit',
    name,
    restapi: { listen: api, connect_address: api },
    etcd: { host: `127.0.0.1:${etcdPort}` },
    bootstrap: {
      dcs: {
        ...PATIENCE,
        synchronous_mode: true,
        // Else a leader that has no standby left takes writes that nobody else has.
        synchronous_mode_strict: true,
        postgresql: { use_pg_rewind: false, parameters: { max_connections: 100 } },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'no-sync'],
    },
    postgresql: {
      listen: server,
      connect_address: server,
      data_dir: data,
      bin_dir: binDirectory,
      pgpass: path.join(directory, `${name}.pgpass`),
      pg_hba: HBA,
      authentication: { superuser: account('postgres'), replication: account('replicator') },
      remove_data_directory_on_diverged_timelines: true,
      basebackup: [{ checkpoint: 'fast' }, 'no-sync'],
      parameters: {
        unix_socket_directories: directory,
        fsync: 'off',
        synchronous_commit: 'on',
        wal_retrieve_retry_interval: '100ms',
        log_min_messages: 'fatal',
      },
    },
  };
}

module.exports = { Patroni, lackOfPatroni };
