'use strict';

// The connections that clients without a pool share (the option `multiplex`): how many there are, who shares them,
// what connect() and end() do to them, and what becomes of clients when one is lost. That each client is as one of
// `pg`: test/client/shared-clients.test.js.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const net = require('node:net');
const { setTimeout: delay } = require('node:timers/promises');
const { Client, ConnectionError, OptionError, defaults } = require('../..');
const { connectionString, endAll, newPool, options } = require('../support/connect');
const { errorOf } = require('../support/outcomes');
const { applicationName, runFixture, seen, until } = require('../support/outside');
const { deadPort, listen } = require('../support/ports');
const { Proxy } = require('../support/proxy');
const {
  READ,
  connectAll,
  makeClient,
  shareReads,
  useSharedClients,
} = require('../support/shared-clients');

const MANY = 30;
const MOST = 10;
/** ParameterStatus */
const S = 'S'.charCodeAt(0);
const PID = 'select pg_backend_pid() as pid';
const SLOW = 'select max(i) from generate_series(1, 1000000) as i';
const SLOWER = 'select max(i) from generate_series(1, 5000000) as i';

/**
 * The run's server.
 * @param {Record<string, any>} given keywords of libpq that are different
 */
function at(given) {
  const { username, password, hostname, port, pathname, searchParams } = new URL(
    connectionString(),
  );
  const parts = { host: hostname, port, user: username, password, dbname: pathname.slice(1) };
  const place = { ...parts, ...Object.fromEntries(searchParams), ...given };
  return Object.fromEntries(Object.entries(place).filter(([, value]) => value !== ''));
}

describe('Clients without a pool that share connections', function () {
  this.timeout(30_000);

  const { observer, count, untilCount } = useSharedClients();
  afterEach(endAll);

  /** @param {any} client @param {number} i */
  const read = async (client, i) => (await client.query(READ, [i])).rows[0].next;

  describe('have', () => {
    it('a few connections for the reads of many', async () => {
      const { name, clients } = await shareReads(MANY);
      for (let round = 0; round < 5; ++round) {
        const results = await Promise.all(clients.map(read));
        assert.deepEqual(
          results,
          clients.map((_, i) => i + 1),
        );
      }
      // What has ended is still counted until its backend has gone.
      await until('there are a few', async () => (await count(name)) <= MOST);
    });

    it('one connection, as long as nobody else has connected', async () => {
      const name = applicationName();
      const [client] = await connectAll(1, { application_name: name });
      for (let i = 0; i < 3; ++i) assert.equal(await read(client, i), i + 1);
      await client.query('begin');
      await client.query('commit');
      assert.equal(await count(name), 1);
    });

    it('one each when they need it, so that nobody waits for another', async () => {
      const { name, clients } = await shareReads(MANY);
      for (const client of clients) await client.query('begin');
      const pids = await Promise.all(
        clients.map(async (client) => (await client.query(PID)).rows[0].pid),
      );
      assert.equal(new Set(pids).size, MANY);
      assert.ok((await count(name)) <= MANY);
      for (const client of clients) await client.query('rollback');
      await Promise.all(clients.slice(1).map((client) => client.end()));
      assert.equal(await read(clients[0], 1), 2);
      await untilCount(name, 1);
    });

    it('more than a few, while slow reads keep all of these busy', async () => {
      const { name, clients } = await shareReads(MOST + 2, {}, [SLOW]);
      const slow = clients.map((client) => client.query(SLOW));
      await until('there are more', async () => (await count(name)) > MOST);
      await Promise.all(slow);
      await untilCount(name, MOST);
    });

    it('those that a transaction was on for a while, for the next one', async () => {
      const { name, clients } = await shareReads(2);
      await clients[0].query('begin');
      await clients[0].query('commit');
      for (let i = 0; i < 5; ++i) {
        await clients[1].query('begin');
        await clients[1].query('commit');
        await read(clients[1], i);
      }
      assert.ok((await count(name)) <= 2);
    });
  });

  describe('share with those of equal settings:', () => {
    /** @param {Record<string, any>} given @param {Record<string, any>} other */
    async function shareOne(given, other) {
      const name = applicationName();
      const first = { application_name: name, ...given };
      const second = { application_name: name, ...other };
      await connectAll(1, first);
      await connectAll(1, second);
      return (await count(name)) === 1;
    }
    const ask = () => null;
    const SAME = {
      'the same text': [{}, {}],
      'other parsers': [{ types: { getTypeParser: () => String } }, { date: 'string' }],
      'the same password function': [{ password: ask }, { password: ask }],
      'options of pools': [{ max: 5 }, { idleTimeoutMillis: 1 }],
    };
    const OTHER = {
      'another timeout': [{ statement_timeout: 5000 }, {}],
      'another password function': [{ password: ask }, { password: () => null }],
      'another way to prepare': [{ prepare: false }, {}],
      'another query_timeout': [{ query_timeout: 5000 }, {}],
    };
    for (const [name, pair] of Object.entries(SAME)) {
      it(name, async () => assert.ok(await shareOne(pair[0], pair[1])));
    }
    for (const [name, pair] of Object.entries(OTHER)) {
      it(`not with ${name}`, async () => assert.ok(!(await shareOne(pair[0], pair[1]))));
    }
  });

  describe('connect()', () => {
    it('opens no connection within a second of another one', async () => {
      const name = applicationName();
      await connectAll(MANY, { application_name: name });
      assert.equal(await count(name), 1);
    });

    // With `pg` each client has a new session.
    for (const [who, wait] of [
      ['one of them', 0],
      ['somebody else a while ago', 1100],
    ]) {
      it(`gives a session as it begins now, once ${who} has changed that with ALTER ROLE`, async () => {
        const limitOf = async (client) => (await client.query('show lock_timeout')).rows[0];
        const [one] = await connectAll(2);
        const other = wait === 0 ? one : observer.client;
        try {
          await other.query("alter role current_user set lock_timeout = '77s'");
          await delay(wait);
          const after = await connectAll(3);
          assert.deepEqual(
            await Promise.all(after.map(limitOf)),
            ['77s', '77s', '77s'].map((time) => ({ lock_timeout: time })),
          );
          // They share with one another.
          const { name: anew } = await shareReads(MANY);
          assert.ok((await count(anew)) < MANY);
        } finally {
          await observer.ask('alter role current_user reset lock_timeout');
        }
      });
    }

    it('rejects as that of a client alone, all of them', async () => {
      const CASES = {
        'no server': async () => ({ host: '127.0.0.1', port: await deadPort() }),
        'no database': () => at({ dbname: 'not_there' }),
        'no user': () => at({ user: 'nobody_of_that_name' }),
      };
      for (const place of Object.values(CASES)) {
        const given = await place();
        const codes = [];
        for (const multiplex of ['off', 'reads']) {
          const config = { ...given, multiplex };
          const clients = [1, 2, 3].map(() => new Client(config));
          const ends = clients.map((client) => seen(client, 'end'));
          const errors = await Promise.all(clients.map((client) => errorOf(client.connect())));
          await Promise.all(ends);
          assert.equal(new Set(errors).size, 3);
          for (const error of errors) assert.match(error.stack, /shared-connections\.test/);
          codes.push(errors.map(({ code, outcome, constructor }) => [code, outcome, constructor]));
          assert.equal((await errorOf(clients[0].query('select 1'))).outcome, 'not-run');
          await Promise.all(clients.map((client) => client.end()));
        }
        assert.deepEqual(codes[1], codes[0]);
      }
    });

    it('waits no longer than connectionTimeoutMillis, and is given up by end()', async () => {
      const server = net.createServer((socket) => socket.on('error', () => {}).resume());
      const port = await listen(server);
      const given = { host: '127.0.0.1', port, sslmode: 'disable', multiplex: 'reads' };
      const late = [1, 2].map(() => new Client({ ...given, connectionTimeoutMillis: 50 }));
      const errors = await Promise.all(late.map((client) => errorOf(client.connect())));
      assert.deepEqual(
        errors.map(({ code }) => code),
        ['ETIMEDOUT', 'ETIMEDOUT'],
      );
      const client = new Client(given);
      const rejected = assert.rejects(client.connect(), ConnectionError);
      const query = assert.rejects(client.query('select 1'), { outcome: 'not-run' });
      await delay(10);
      await client.end();
      await rejected;
      await query;
      server.close();
      await once(server, 'close');
    });

    it('sees that the server is gone, though connections to it were there a while ago', async () => {
      const proxy = await Proxy.open();
      const given = proxy.options();
      const [client] = await connectAll(1, given);
      await read(client, 1);
      await delay(1100);
      await proxy.close();
      await until('it is refused', async () => {
        const error = await makeClient(given)
          .connect()
          .then(
            () => undefined,
            (failure) => failure,
          );
        return error instanceof ConnectionError;
      });
    });
  });

  describe('have connections of their own', () => {
    it('where several hosts are given', async () => {
      const name = applicationName();
      const { host, port } = at({});
      const given = at({
        host: `${host},${host}`,
        port: `${port},${port}`,
        application_name: name,
      });
      const clients = await Promise.all(
        [1, 2, 3].map(() => makeClient({ ...given, connectionString: undefined }).connect()),
      );
      assert.equal(await count(name), 3);
      assert.equal((await clients[0].query('select 1 as one')).rows[0].one, 1);
    });

    it('at a standby, or at a server that does not say whether it is one', async () => {
      for (const status of ['in_hot_standby\0on', 'something\0else']) {
        const proxy = await Proxy.open();
        proxy.change = (type, bytes) => {
          if (type !== 'S' || !bytes.includes('in_hot_standby')) return bytes;
          const body = Buffer.from(`${status}\0`);
          return Buffer.concat([Buffer.from([S, 0, 0, 0, body.length + 4]), body]);
        };
        const given = proxy.options({ application_name: applicationName() });
        const name = given.application_name;
        const clients = await connectAll(3, given);
        await untilCount(name, 3);
        const pids = clients.map(({ processID }) => processID);
        assert.equal(new Set(pids).size, 3);
        assert.ok(!pids.includes(0));
        await Promise.all(clients.map((client) => client.end()));
        await proxy.close();
      }
    });
  });

  describe('when a connection is lost', () => {
    it("one that has it alone emits 'error' and 'end', and the others go on", async () => {
      const { clients } = await shareReads(3);
      const [client, other] = clients;
      const { rows } = await client.query(PID);
      const events = [];
      for (const event of ['error', 'end']) client.on(event, () => events.push(event));
      const ended = seen(client, 'end');
      await observer.terminate(rows[0].pid);
      await ended;
      assert.deepEqual(events, ['error', 'end']);
      assert.equal((await errorOf(client.query('select 1'))).outcome, 'not-run');
      assert.equal(await read(other, 1), 2);
      await client.end();
    });

    it('idle ones hear nothing, and use another', async () => {
      const { name, clients } = await shareReads(3);
      await Promise.all(clients.map(read));
      const pids = await observer.backends(name);
      const events = [];
      for (const client of clients) client.on('error', () => events.push('error'));
      // Waits until the processes have ended, and with them their sockets: pg_stat_activity loses them earlier.
      for (const pid of pids) await observer.ask('select pg_terminate_backend($1, 10000)', [pid]);
      await delay(20);
      assert.deepEqual(await Promise.all(clients.map(read)), [1, 2, 3]);
      assert.deepEqual(events, []);
    });

    it('a read that was lost says so, and its client goes on', async () => {
      const { name, clients } = await shareReads(2, {}, [SLOWER]);
      const running = errorOf(clients[0].query(SLOWER));
      const pid = await until('it runs', async () => {
        const rows = await observer.ask(
          "select pid from pg_stat_activity where application_name = $1 and state = 'active'",
          [name],
        );
        return rows[0]?.pid;
      });
      await observer.terminate(pid);
      assert.ok(['unknown', 'not-run'].includes((await running).outcome));
      assert.equal(await read(clients[0], 1), 2);
    });

    it('a client that never ends it counts no longer', async () => {
      const { name, clients } = await shareReads(2);
      const { rows } = await clients[0].query(PID);
      const ended = seen(clients[0], 'end');
      await observer.terminate(rows[0].pid);
      await ended;
      await clients[1].end();
      await untilCount(name, 0);
    });
  });

  describe('end()', () => {
    it('of the last one closes all connections: the database can be dropped', async () => {
      await observer.ask('drop database if exists conduit_shared');
      await observer.ask('create database conduit_shared');
      const url = new URL(options().connectionString);
      url.pathname = '/conduit_shared';
      const given = { connectionString: url.href, options: undefined };
      for (let round = 0; round < 3; ++round) {
        const clients = await connectAll(5, given);
        await Promise.all(clients.map((client, i) => client.query('select $1::int', [i])));
        await clients[0].query('begin');
        const [last, ...others] = clients;
        const slow = last.query('select pg_sleep(0.05), 1 as one');
        await Promise.all([...others.map((client) => client.end()), last.end()]);
        assert.equal((await slow).rows[0].one, 1);
      }
      await observer.ask('drop database conduit_shared');
    });

    it('is that of a client alone before connect(), twice, and of one that has failed to connect', async () => {
      const unused = makeClient();
      await unused.end();
      assert.ok((await errorOf(unused.query('select 1'))) instanceof ConnectionError);
      const [client] = await connectAll(2);
      const ends = [];
      client.on('end', () => ends.push('end'));
      await Promise.all([client.end(), client.end()]);
      await client.end();
      await delay(1);
      assert.deepEqual(ends, ['end']);
      const failed = makeClient({ ssl: 'nonsense' });
      assert.ok((await errorOf(failed.connect())) instanceof OptionError);
      await failed.end();
    });

    it('gives up locks and temporary tables, as with pg', async () => {
      const { clients } = await shareReads(2);
      await clients[0].query('select pg_advisory_lock(77)');
      await clients[0].end();
      await until('it is free', async () => {
        const [{ held }] = await observer.ask('select pg_try_advisory_lock(77) as held');
        return held;
      });
    });
  });

  describe('are asked for', () => {
    afterEach(() => {
      // As it was: those of `pg` do not have it.
      delete defaults.multiplex;
      delete process.env.PG_CONDUIT_MULTIPLEX;
    });

    /** @param {Record<string, any>} [given] @returns {Promise<boolean>} whether two share a connection */
    async function share(given) {
      const name = applicationName();
      const config = options({ application_name: name, ...given });
      const clients = [new Client(config), new Client(config)];
      for (const client of clients) await client.connect();
      const isShared = (await count(name)) === 1;
      await Promise.all(clients.map((client) => client.end()));
      return isShared;
    }

    it('by the option; not without it', async () => {
      assert.ok(!(await share()));
      assert.ok(await share({ multiplex: 'reads' }));
    });

    it('by `defaults`', async () => {
      defaults.multiplex = 'reads';
      assert.ok(await share());
      assert.ok(!(await share({ multiplex: 'off' })));
    });

    it('by the environment, which comes before `defaults`', async () => {
      process.env.PG_CONDUIT_MULTIPLEX = 'reads';
      assert.ok(await share());
      assert.ok(!(await share({ multiplex: 'off' })));
      defaults.multiplex = 'off';
      assert.ok(await share());
      process.env.PG_CONDUIT_MULTIPLEX = 'sometimes';
      const error = await errorOf(new Client(options()).connect());
      assert.ok(error instanceof OptionError);
      assert.match(
        error.message,
        /^variable "PG_CONDUIT_MULTIPLEX" must be 'off' or 'reads' or 'all'/,
      );
    });

    it('of a pool, too, whose own default is "reads"', async () => {
      const floats = async () => {
        const pool = newPool({ max: 2 });
        await pool.query('select 1');
        const client = await pool.connect();
        const { floating } = pool.stats().leases;
        client.release();
        return floating === 1;
      };
      assert.ok(await floats());
      defaults.multiplex = 'off';
      assert.ok(!(await floats()));
      process.env.PG_CONDUIT_MULTIPLEX = 'reads';
      assert.ok(await floats());
    });
  });

  describe('keep the process alive', () => {
    const env = { PG_CONDUIT_MULTIPLEX: 'reads' };

    for (const how of ['ended', 'unref', 'unused']) {
      it(`no longer (${how})`, async () => {
        const { code, signal, stdout, stderr } = await runFixture('ends-by-itself.js', {
          args: [how],
          env,
        });
        assert.deepEqual([code, signal, stdout, stderr], [0, null, 'done\n', '']);
      });
    }

    it('while one that was not unreferenced is idle', async () => {
      const name = applicationName();
      const program = runFixture('idle-clients.js', { args: [name], env });
      await until('it is idle', async () => {
        const rows = await observer.ask(
          "select pid from pg_stat_activity where application_name = $1 and query = 'select 2'",
          [name],
        );
        return rows.length === 1;
      });
      await delay(300);
      const pids = await observer.backends(name);
      assert.notEqual(pids.length, 0);
      for (const pid of pids) await observer.terminate(pid);
      assert.equal((await program).code, 0);
    });
  });
});
