'use strict';

// The shape of `pg`, by which programs and tools recognize and extend it: its exports, the names on
// its prototypes, and its deep paths, as required from another project.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const pg = require('pg');
const conduit = require('../..');
const { endAll, newClient, newPool, options } = require('../support/connect');

const ROOT = path.join(__dirname, '..', '..');

/** Methods of `pg` that its own classes alone call. */
const INNER = new Set(['getStartupConf', 'isFull', 'log', 'newClient']);

/** `pg` itself does not go by these, or has them no longer. */
const OTHER_DEFAULTS = new Set(['binary', 'idleTimeoutMillis', 'poolSize', 'user']);

describe('pg-conduit in the shape of pg', () => {
  afterEach(endAll);

  it('has every export of pg', () => {
    for (const name of Object.keys(pg)) {
      if (name === '_pools') continue;
      assert.equal(typeof conduit[name], typeof pg[name], name);
    }
    assert.equal(Object.keys(conduit).includes('native'), false);
    assert.equal(conduit.native.Client, conduit.Client);
  });

  it('has classes with the same names, which need new', () => {
    for (const name of ['Client', 'Pool', 'Query', 'Connection', 'Result', 'TypeOverrides']) {
      assert.equal(conduit[name].name, name);
      assert.throws(() => conduit[name](), /new/);
    }
    assert.ok(new conduit.Client() instanceof conduit.Client);
    assert.ok(new conduit.Query('select 1') instanceof conduit.Query);
  });

  it('has the methods of pg on its prototypes, where tools wrap them', () => {
    for (const name of ['Client', 'Pool', 'Result', 'TypeOverrides']) {
      // The pool of pg is a subclass, made anew for each module.
      const reference = name === 'Pool' ? Object.getPrototypeOf(pg.Pool) : pg[name];
      for (const method of Object.getOwnPropertyNames(reference.prototype)) {
        const { value } = Object.getOwnPropertyDescriptor(reference.prototype, method);
        const isPublic = typeof value === 'function' && !method.startsWith('_');
        if (!isPublic || INNER.has(method)) continue;
        const ours = Object.getOwnPropertyDescriptor(conduit[name].prototype, method);
        assert.equal(typeof ours?.value, 'function', `${name}.prototype.${method}`);
        assert.ok(ours.writable && ours.configurable, `${name}.prototype.${method}`);
      }
    }
  });

  it('has a client with the properties that tools read', async () => {
    const ours = await newClient();
    const theirs = new pg.Client(options());
    await theirs.connect();
    try {
      for (const name of ['user', 'database', 'host', 'port', 'ssl']) {
        assert.equal(ours[name], theirs[name], name);
        assert.equal(ours.connectionParameters[name], theirs.connectionParameters[name], name);
      }
      for (const name of ['_connected', '_connecting', '_ending', '_ended', '_queryable']) {
        assert.equal(Boolean(ours[name]), Boolean(theirs[name]), name);
      }
      assert.equal(typeof ours.processID, 'number');
      assert.equal(ours.getTransactionStatus(), 'I');
      await ours.query('begin');
      assert.equal(ours.getTransactionStatus(), 'T');
      await ours.query('nonsense').catch(() => {});
      assert.equal(ours.getTransactionStatus(), 'E');
      await ours.query('rollback');
      const { password } = new conduit.Client({ password: 'secret' }).connectionParameters;
      assert.equal(password, 'secret');
      assert.doesNotMatch(JSON.stringify(new conduit.Client({ password: 'secret' })), /secret/);
    } finally {
      await theirs.end();
    }
    await ours.end();
    assert.equal(ours._ended, true);
    assert.equal(ours._queryable, false);
  });

  it("emits 'parameterStatus' on client.connection", async () => {
    const client = new conduit.Client(options());
    const told = new Map();
    client.connection.on('parameterStatus', ({ parameterName, parameterValue }) =>
      told.set(parameterName, parameterValue),
    );
    await client.connect();
    await client.end();
    assert.equal(told.get('client_encoding'), 'UTF8');
    assert.ok(Number.parseInt(told.get('server_version'), 10) >= 10);
  });

  it('has a Pool and a Client that can be extended', async () => {
    class Pool extends conduit.Pool {
      async one(...args) {
        const { rows } = await this.query(...args);
        return rows[0];
      }
    }
    const pool = new Pool(options({ max: 1 }));
    assert.deepEqual(await pool.one('select $1::int as i', [1]), { i: 1 });
    assert.ok(pool instanceof conduit.Pool);
    await pool.end();
    class Client extends conduit.Client {
      async query(...args) {
        const result = await super.query(...args);
        result.seen = true;
        return result;
      }
    }
    const client = new Client(options());
    await client.connect();
    const { rows, seen } = await client.query('select 1 as one');
    assert.deepEqual([rows, seen], [[{ one: 1 }], true]);
    await client.end();
  });

  it('allows wrapping Pool.prototype.query and connect', async () => {
    const { query, connect } = conduit.Pool.prototype;
    const seen = [];
    conduit.Pool.prototype.query = function (...args) {
      seen.push(['query', args[0]]);
      return query.apply(this, args);
    };
    conduit.Pool.prototype.connect = function (...args) {
      seen.push(['connect', args.length]);
      return connect.apply(this, args);
    };
    try {
      const pool = newPool();
      assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
      (await pool.connect()).release();
      await new Promise((resolve, reject) => {
        pool.connect((error, client, release) => (error ? reject(error) : resolve(release())));
      });
    } finally {
      Object.assign(conduit.Pool.prototype, { query, connect });
    }
    assert.deepEqual(seen, [
      ['query', 'select 1 as one'],
      ['connect', 0],
      ['connect', 1],
    ]);
  });

  it('has the defaults of pg', () => {
    const { defaults, types } = conduit;
    for (const [name, value] of Object.entries(pg.defaults)) {
      if (OTHER_DEFAULTS.has(name)) continue;
      assert.ok(name in defaults, name);
      assert.equal(defaults[name], value, name);
    }
    assert.equal(Object.keys(defaults).includes('parseInt8'), false);
    defaults.parseInt8 = true;
    assert.equal(types.getTypeParser(20, 'text')('7'), 7);
    assert.deepEqual(types.getTypeParser(1016, 'text')('{7,8}'), [7, 8]);
    defaults.parseInt8 = false;
    assert.equal(types.getTypeParser(20, 'text')('7'), '7');
  });

  it('has utils that prepare values as pg does', () => {
    const values = [1, 'x', null, undefined, true, [1, [null, 'a"b']], { a: 1 }, Buffer.from('x')];
    values.push(new Date(0), 10n, new Uint8Array([1, 2]), { toPostgres: () => 'custom' });
    for (const value of values) {
      const theirs = pg.utils?.prepareValue ?? require('pg/lib/utils').prepareValue;
      assert.deepEqual(conduit.utils.prepareValue(value), theirs(value));
    }
    assert.deepEqual(values.map(conduit.utils.prepareValue).length, values.length);
  });

  it('has the file lib/client.js, whose prototype tracing tools wrap', () => {
    const file = require.resolve('../../lib/client.js');
    assert.ok(require.cache[file], 'it is loaded with the package');
    assert.equal(require.cache[file].exports.prototype, conduit.Client.prototype);
  });

  describe('in another project', () => {
    let project;

    before(() => {
      project = fs.mkdtempSync(path.join(os.tmpdir(), 'pg-shape-'));
      fs.mkdirSync(path.join(project, 'node_modules'));
      fs.symlinkSync(ROOT, path.join(project, 'node_modules', 'pg'), 'junction');
    });
    after(() => fs.rmSync(project, { recursive: true }));

    /** @param {string} file @param {string} code @returns {any} what it prints */
    function run(file, code) {
      fs.writeFileSync(path.join(project, file), code);
      return JSON.parse(execFileSync(process.execPath, [file], { cwd: project, encoding: 'utf8' }));
    }

    const PATHS = {
      'pg/lib/client': 'Client',
      'pg/lib/connection': 'Connection',
      'pg/lib/query': 'Query',
      'pg/lib/result': 'Result',
      'pg/lib/type-overrides': 'TypeOverrides',
      'pg/lib/defaults': 'defaults',
      'pg/lib/utils': 'utils',
    };

    it('has all of it under pg/lib/index, and sockets under pg/lib/stream', () => {
      const printed = run(
        'index.cjs',
        `const all = require('pg/lib/index.js');
        const { getStream, getSecureStream } = require('pg/lib/stream');
        console.log(JSON.stringify([
          all === require('pg'), getStream() instanceof require('net').Socket, typeof getSecureStream,
        ]));`,
      );
      assert.deepEqual(printed, [true, true, 'function']);
    });

    it('has its exports under the deep paths of pg', () => {
      const code = Object.entries(PATHS).flatMap(([name, exported]) => [
        `require('${name}') === pg.${exported}`,
        `require('${name}.js') === pg.${exported}`,
      ]);
      const printed = run(
        'deep.cjs',
        `const pg = require('pg'); console.log(JSON.stringify([${code.join(', ')}]));`,
      );
      assert.deepEqual(printed, new Array(code.length).fill(true));
    });

    it('has them for ES modules, too', () => {
      const imports = Object.keys(PATHS).map((name, i) => `import deep${i} from '${name}';`);
      const code = Object.values(PATHS).map((exported, i) => `deep${i} === pg.${exported}`);
      const printed = run(
        'deep.mjs',
        `import pg, { Pool, Client, types } from 'pg'; ${imports.join('\n')}
        console.log(JSON.stringify([${code.join(', ')}, pg.Pool === Pool, pg.types === types]));`,
      );
      assert.deepEqual(printed, new Array(code.length + 2).fill(true));
    });

    it('reads connection parameters as pg does', () => {
      const url = 'postgres://somebody@db.test:6543/app';
      const [user, database, host, port] = run(
        'parameters.cjs',
        `const Parameters = require('pg/lib/connection-parameters');
        const { user, database, host, port } = new Parameters('${url}');
        console.log(JSON.stringify([user, database, host, port]));`,
      );
      assert.deepEqual([user, database, host, port], ['somebody', 'app', 'db.test', 6543]);
    });
  });
});
