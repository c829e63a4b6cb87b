'use strict';

// The options of a client: how they reach the server, the warning about unknown ones, and that wrong
// values are refused with their names before anything is sent.

const assert = require('node:assert/strict');
const { inspect } = require('node:util');
const { Client, OptionError, Pool } = require('../..');
const { libpqVersion } = require('../../lib/native/binding');
const {
  SCHEMA,
  connectionString,
  endAll,
  newClient,
  options,
  resetSchema,
} = require('../support/connect');
const { warningsOf, withEnvironment } = require('../support/process');
const { EXECUTIONS } = require('../support/like-pg');
const { connectError, errorOf } = require('../support/outcomes');

describe('Client', () => {
  before(resetSchema);
  afterEach(endAll);

  describe('options', () => {
    it('reach the server', async () => {
      const client = await newClient({
        application_name: "it's é\\",
        options: `-c search_path=${SCHEMA} -c work_mem=123kB -c geqo=off`,
        statement_timeout: 54321,
        lock_timeout: 4321,
        idle_in_transaction_session_timeout: 7654321,
      });
      const settings = {
        work_mem: '123kB',
        geqo: 'off',
        search_path: SCHEMA,
        statement_timeout: '54321ms',
        lock_timeout: '4321ms',
        idle_in_transaction_session_timeout: '7654321ms',
        client_encoding: 'UTF8',
      };
      for (const [name, value] of Object.entries(settings)) {
        const { rows } = await client.query('select current_setting($1) as value', [name]);
        assert.equal(rows[0].value, value, name);
      }
      // The server replaces what is not ASCII in this one.
      const { rows } = await client.query("select current_setting('application_name') as name");
      assert.match(rows[0].name, /^it's .*\\$/);
    });

    it('statement_timeout ends a query, and the next one runs', async () => {
      const client = await newClient({ statement_timeout: 150 });
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        const error = await errorOf(client.query('select pg_sleep(60)'));
        assert.equal(error.code, '57014');
        assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
      }
      const without = await newClient({ statement_timeout: false });
      const { rows } = await without.query('show statement_timeout');
      assert.deepEqual(rows, [{ statement_timeout: '0' }]);
    });

    it('may be undefined or null', async () => {
      const client = await newClient({
        max: undefined,
        password: undefined,
        int8: null,
        port: null,
        ssl: undefined,
      });
      assert.deepEqual((await client.query('select 1::int8 as n')).rows, [{ n: '1' }]);
    });

    it('with unknown names cause one warning each, which suggests the right name', async () => {
      const meant = {
        connectionTimeout: 'connectionTimeoutMillis',
        idleTimeout: 'idleTimeoutMillis',
        statementTimeout: 'statement_timeout',
        applicationName: 'application_name',
        maxinflight: 'maxInFlight',
        username: 'user',
        hostname: 'host',
        INT8: 'int8',
        statement_cache_size: 'statementCacheSize',
        connectionSTRING: 'connectionString',
        parseInputDatesAsUTC: 'defaults.parseInputDatesAsUTC',
        connectionSting: 'connectionString',
        connectionUri: 'connectionString',
        statment_timeout: 'statement_timeout',
        namedParams: 'namedParameters',
        max_lifetime: 'maxLifetimeSeconds',
        url: 'connectionString',
        search_path: "options: '-c search_path=…'",
      };
      const names = Object.keys(meant);
      const warnings = await warningsOf(() => {
        for (const name of [...names, ...names]) new Client({ [name]: '1' });
      });
      assert.deepEqual(
        warnings.map(({ message }) => message),
        Object.entries(meant).map(
          ([name, known]) => `unknown option "${name}". Did you mean "${known}"?`,
        ),
      );
      for (const { name, code } of warnings) {
        assert.equal(name, 'UnknownOptionWarning');
        assert.equal(code, 'PG_CONDUIT_UNKNOWN_OPTION');
      }
    });

    it('of tools are quiet, and so is what is given under its right name, too', async () => {
      const url = 'postgresql://user@host/database';
      const given = [
        // Prisma
        `${url}?schema=public&connection_limit=5&pool_timeout=2&pgbouncer=true&socket_timeout=3&sslaccept=strict`,
        // Keyv
        {
          uri: url,
          connectionString: url,
          table: 'keyv',
          keySize: 255,
          schema: 'public',
          dialect: 'postgres',
        },
        { namespace: 'n', iterationLimit: 10, useUnloggedTable: true, ttl: 1 },
        // casbin, TypeORM
        { migrate: true, tableName: 'rules', type: 'postgres', entities: [], synchronize: false },
        // LoopBack
        {
          name: 'db',
          connector: 'postgresql',
          url,
          connectionString: url,
          lazyConnect: false,
          debug: 1,
        },
        { hostname: 'host', host: 'host', username: 'user', user: 'user', defaultIdSort: false },
        { client: 'pg', pool: { max: 5 }, connectionName: 'x', connectionLimit: 5, queryMode: 1 },
        { toString: 1, constructor: 1, hasOwnProperty: 1 },
      ];
      const warnings = await warningsOf(() => given.forEach((one) => new Client(one)));
      assert.deepEqual(warnings, []);
    });

    it('of pg are accepted, also those without an effect', async () => {
      const warnings = await warningsOf(async () => {
        const client = await newClient({
          pipeline: true,
          binary: false,
          scramMaxIterations: 100000,
          enableChannelBinding: true,
          client_encoding: '',
          query_timeout: false,
          replication: false,
          stream: undefined,
          poolSize: 3,
          fallback_application_name: 'fallback',
          port: NaN,
          host: '',
          password: '',
        });
        const { rows } = await client.query('show application_name');
        assert.deepEqual(rows, [{ application_name: 'fallback' }]);
      });
      assert.deepEqual(warnings, []);
    });

    it('that are not supported are refused, with what to do instead', async () => {
      for (const [name, value] of [['connection', {}]]) {
        const error = await connectError(options({ [name]: value }));
        assert.ok(error instanceof OptionError, name);
        assert.match(error.message, new RegExp(`^option "${name}" is not supported: .`));
      }
      const direct = await connectError({ host: '127.0.0.1', sslnegotiation: 'direct' });
      const why = libpqVersion < 170000 ? /before libpq 17/ : /cannot be 'direct' without TLS/;
      assert.match(direct.message, why);
    });

    it('may be inherited or not enumerable', () => {
      class Config {
        get user() {
          return 'alice';
        }
      }
      const config = new Config();
      Object.defineProperty(config, 'password', { value: 'secret', enumerable: false });
      assert.equal(new Client(config).user, 'alice');
      assert.equal(new Client(config).password, 'secret');
      assert.equal(new Client(new Pool({ user: 'bob', password: 'x' }).options).password, 'x');
      assert.equal(new Client(new URL('postgresql://carol@host/db')).user, 'carol');
    });

    it('are combined with those of PGOPTIONS', async () => {
      await withEnvironment({ PGOPTIONS: '-c work_mem=321kB' }, async () => {
        const client = new Client({
          connectionString: connectionString(),
          statement_timeout: 54321,
        });
        await client.connect();
        const { rows } = await client.query(
          "select current_setting('work_mem') as memory, current_setting('statement_timeout') as time",
        );
        assert.deepEqual(rows, [{ memory: '321kB', time: '54321ms' }]);
        await client.end();
      });
    });

    const NO_NUMBERS = ['soon', '5s', true, {}, [], -Infinity];
    const NOT_COUNTS = [...NO_NUMBERS, -1, 1.5, NaN, ''];
    const NOT_FLAGS = ['true', 1, 0, {}, []];
    const NOT_STRINGS = [5n, true, {}, [], Symbol('s'), () => 'x', 'a\0b'];
    // What pg takes of its own options is in like-pg-options.test.js.
    const WRONG = {
      connectionTimeoutMillis: [...NO_NUMBERS, -1],
      idleTimeoutMillis: NO_NUMBERS.slice(0, -1),
      maxLifetimeSeconds: NO_NUMBERS.slice(0, -1),
      statementCacheSize: [...NOT_COUNTS, 100001],
      statementCacheBytes: NOT_COUNTS,
      statementMaxAgeSeconds: NOT_COUNTS,
      prepareThreshold: [...NOT_COUNTS, 0],
      max: [...NO_NUMBERS, -1],
      min: NO_NUMBERS.slice(0, -1),
      maxInFlight: [...NOT_COUNTS, 0],
      spreadMillis: [-1, 'soon', NaN, true, {}, []],
      maxWaiting: NOT_COUNTS,
      maxUses: NO_NUMBERS.slice(0, -1),
      multiplex: ['writes', 'on', true, 1],
      prepare: NOT_FLAGS,
      keepAliveInitialDelayMillis: NO_NUMBERS.slice(0, -1),
      int8: ['text', 'BigInt', 8, true, {}],
      types: [5, 'text', {}, { getTypeParser: 5 }],
      statement_timeout: [...NO_NUMBERS, -1, Infinity],
      lock_timeout: [...NO_NUMBERS, -1, Infinity],
      idle_in_transaction_session_timeout: [...NO_NUMBERS, -1, Infinity],
      query_timeout: [...NO_NUMBERS, -1],
      port: [65536, -1, 'five', true, {}, '5432,x', Symbol('s')],
      host: NOT_STRINGS,
      user: NOT_STRINGS,
      database: NOT_STRINGS,
      application_name: NOT_STRINGS,
      password: [5n, true, {}, [], Symbol('s'), 'a\0b'],
      ssl: ['always', 5, [1], { ca: 'x' }, { rejectUnauthorized: false, key: 'x' }],
      connectionString: [5, true, {}, [], Symbol('s')],
    };

    for (const [name, values] of Object.entries(WRONG)) {
      it(`${name} with an invalid value is refused before anything is sent`, async () => {
        for (const value of values) {
          const given =
            name === 'connectionString' ? { [name]: value } : { ...options(), [name]: value };
          // What stands in the connection string goes first.
          if (['host', 'port', 'user', 'database', 'password'].includes(name)) {
            delete given.connectionString;
          }
          const client = new Client(given);
          const errors = [await errorOf(client.connect()), await errorOf(client.query('select 1'))];
          for (const error of errors) {
            assert.ok(error instanceof OptionError, `${name}: ${inspect(value)}: ${error}`);
            assert.equal(error.code, 'ERR_PG_CONDUIT_OPTION');
            assert.ok(error.message.includes(`option "${name}`), error.message);
          }
          assert.notEqual(errors[0], errors[1]);
          await client.end();
        }
      });
    }

    it('are refused even if their value cannot be shown as text', async () => {
      const shapeless = Object.create(null);
      // Not ssl: an object without properties asks for TLS as libpq verifies it.
      for (const name of ['max', 'prepare', 'int8', 'types', 'port', 'application_name']) {
        const error = await connectError({ [name]: shapeless });
        assert.ok(error instanceof OptionError, `${name}: ${error}`);
      }
    });

    it('must be an object or a string', async () => {
      for (const config of [5, true, Symbol('s'), () => {}]) {
        assert.ok((await connectError(config)) instanceof OptionError, String(config));
      }
    });

    it('in an invalid URL are refused', async () => {
      const urls = [
        'postgresql://[::1/db',
        'postgresql://host:port:x/db',
        'http://example.com',
        'host=x port',
        'nonsense',
      ];
      for (const url of urls) {
        const error = await connectError(url);
        assert.ok(error instanceof OptionError, `${url}: ${error}`);
        assert.equal(error.code, 'ERR_PG_CONDUIT_OPTION');
      }
    });
  });
});
