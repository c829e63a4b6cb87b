'use strict';

// lib/options/connection-string.js and its neighbours: connection strings, the environment and `defaults`,
// each as in pg. No connection is opened.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { inspect } = require('node:util');
const pg = require('pg');
const { Client, OptionError, Pool, defaults } = require('../..');
const { parseConnectionString } = require('../../lib/options/connection-string');
const { parseOptions } = require('../../lib/options/options');
const { Authority } = require('../support/certificates');
const { warningsOf, withDefaults, withEnvironment } = require('../support/process');

const NAMES = ['user', 'password', 'host', 'port', 'database', 'application_name', 'options'];

/** Of a driver's client. */
function whereTo(client) {
  const { connectionParameters } = client;
  return Object.fromEntries(NAMES.map((name) => [name, connectionParameters[name] || undefined]));
}

/** Both drivers would find something there. */
const NO_ENVIRONMENT = Object.fromEntries(
  ['HOST', 'PORT', 'USER', 'DATABASE', 'PASSWORD', 'APPNAME', 'OPTIONS', 'SSLMODE'].map((name) => [
    `PG${name}`,
    undefined,
  ]),
);

describe('the target of a connection', () => {
  it('is parsed from a connection string as in pg', async () => {
    const texts = [
      'postgres://alice:secret@host:5433/db',
      'postgresql://alice:secret@host:5433/db',
      'postgres://alice:p%40ss%2Fw%3Ao%23rd%25@host/db',
      'postgres://al%20ice:secret@host/my%20db',
      'postgres://alice:sec ret@host/my db',
      'postgres://alice:a:b@host/db',
      'postgres://alice:100%@host/db',
      'postgres://alice:a@b@host/db',
      'postgres://alice:@@host:5433/db?application_name=x',
      'postgres://alice:a@b:c@d@host',
      'postgres://al@ice@host/db',
      'postgres://alice:a@b@host/d@b',
      'postgres://alice:secret@host/db?application_name=a@b',
      'postgres://alice:secret@host:5433',
      'postgres://alice:secret@host:5433?application_name=/a@b/c:d',
      'postgres://host:5433/d@b?user=alice',
      'postgres://alice:50%x@host/db',
      'postgres://alice@host',
      'postgres://alice@/db',
      'postgres://alice@/db?host=/tmp&port=5433',
      'postgres://@/db?host=%2Ftmp&user=alice',
      'postgres://alice@%2Ftmp%2Fsockets/db',
      'postgres://alice@[::1]:5433/db',
      'postgres://alice@host/d%C3%A9',
      'postgres://alice@host/dé',
      'postgres://host/db?user=alice&password=secret',
      'postgres://alice@host/db?application_name=a+b%20c',
      'postgres://alice@host/db?options=-c%20search_path%3Dx',
      'postgres://alice@host/db?options=-c+search_path%3Dx&sslmode=disable',
      'postgres://alice@host/db?sslmode=disable&uselibpqcompat=true',
      'postgres://alice@host/db?unknown=1&port=5433&',
      'pg://alice@host/db',
      'socket:/tmp/?db=db&user=alice',
      'socket://alice:secret@/tmp/sockets?db=db&encoding=utf8',
    ];
    await withEnvironment(NO_ENVIRONMENT, () => {
      for (const text of texts) {
        assert.deepEqual(whereTo(new Client(text)), whereTo(new pg.Client(text)), text);
        const config = { connectionString: text, application_name: 'given' };
        assert.deepEqual(whereTo(new Client(config)), whereTo(new pg.Client(config)), text);
      }
    });
  });

  it('may be a folder and a database, as in pg', () => {
    assert.deepEqual(parseConnectionString('/tmp/sockets db'), {
      host: '/tmp/sockets',
      database: 'db',
    });
    assert.deepEqual(parseConnectionString('/tmp/sockets'), { host: '/tmp/sockets' });
  });

  it('may be in the forms of libpq, which pg does not know', () => {
    assert.deepEqual(parseConnectionString("host=a,b port='1' dbname=db"), {
      host: 'a,b',
      port: '1',
      database: 'db',
    });
    assert.deepEqual(
      parseConnectionString('postgresql://a:1,b:2/db?target_session_attrs=primary&max=5'),
      { host: 'a,b', port: '1,2', database: 'db', target_session_attrs: 'primary', max: '5' },
    );
  });

  it('takes reserved characters of the password literally, where pg fails', () => {
    for (const [text, password] of [
      ['postgres://alice:a?b@host/db', 'a?b'],
      ['postgres://alice:a#b@host/db', 'a#b'],
      ['postgres://alice:a+b@host/db', 'a+b'],
    ]) {
      assert.deepEqual(
        parseConnectionString(text),
        { user: 'alice', password, host: 'host', database: 'db' },
        text,
      );
    }
  });

  it('is not shown in the error for an invalid connection string', () => {
    for (const text of ['secret', 'http://u:secret@host', 'postgres://u:secret@host:1:secret/']) {
      assert.throws(
        () => parseOptions(text),
        (error) => error instanceof OptionError && !error.message.includes('secret'),
        text,
      );
    }
  });

  it('is refused with a message about the mistake, for common ones', () => {
    for (const [text, message] of [
      ['undefined', /is the text "undefined": the variable that it is made of has no value/],
      ['null', /is the text "null"/],
      ['"postgres://u:secret@host/db"', /begins with a quotation mark/],
      ["'host=h password=secret'", /begins with a quotation mark/],
      ['mysql://u:secret@host/db', /begins with "mysql:\/\/".*postgresql:\/\//],
      ['prisma+postgres://host/?api_key=secret', /begins with "prisma\+postgres:\/\/"/],
    ]) {
      assert.throws(
        () => parseOptions(text),
        (error) => {
          assert.ok(error instanceof OptionError, text);
          assert.match(error.message, message);
          assert.doesNotMatch(inspect(error), /secret/);
          return true;
        },
      );
    }
  });

  it('is refused with advice to percent-encode the password if that makes it ambiguous', async () => {
    const passwords = [
      ...['a/secret', '1/secret', '/secret', '12/a@secret', 'a@b/secret', 'a@b?secret'],
      ...['a@b#secret', 'a?b@secret', 'a#b@secret', 'a/b#secret', 'a/b?secret', '?/secret'],
    ];
    const warnings = await warningsOf(async () => {
      for (const password of passwords) {
        for (const rest of ['host:5433/db', 'host:5433/db?max=5']) {
          const text = `postgres://alice:${password}@${rest}`;
          assert.throws(
            () => parseOptions(text),
            (error) => {
              assert.ok(error instanceof OptionError, text);
              assert.match(error.message, /percent-encoded.*encodeURIComponent\(password\)/);
              assert.doesNotMatch(inspect(error), /secret/);
              return true;
            },
            text,
          );
          // And what it tells to do helps.
          const encoded = `postgres://alice:${encodeURIComponent(password)}@${rest}`;
          assert.equal(parseOptions(encoded).conninfo.password, password);
        }
      }
    });
    assert.deepEqual(warnings, []);
  });

  it('may be a URL with options of all kinds', () => {
    const { conninfo, ...settings } = parseOptions(
      'postgres://host/db?max=5&keepAlive=false&prepare=false&statement_timeout=50&int8=bigint',
    );
    assert.equal(settings.max, 5);
    assert.equal(settings.prepare, false);
    assert.equal(settings.int8, 'bigint');
    assert.equal(conninfo.keepalives, '0');
    assert.equal(conninfo.options, '-c statement_timeout=50');
    assert.throws(() => parseOptions('postgres://host/db?max=many'), /option "max" must be/);
  });

  it('uses TLS with sslnegotiation=direct', () => {
    assert.equal(
      parseOptions('postgres://host/?sslnegotiation=direct').conninfo.sslmode,
      'verify-full',
    );
    const { conninfo } = parseOptions('postgres://host/?sslnegotiation=direct&sslmode=require');
    assert.equal(conninfo.sslmode, 'verify-full');
  });

  it('is taken from the environment, then defaults, then the user and localhost', async () => {
    const environment = {
      PGHOST: 'envhost',
      PGPORT: '6000',
      PGUSER: 'envuser',
      PGDATABASE: 'envdb',
      PGPASSWORD: 'envsecret',
      PGAPPNAME: 'envapp',
      PGOPTIONS: '-c geqo=off',
    };
    const changed = {
      host: 'defhost',
      port: 7000,
      user: 'defuser',
      database: 'defdb',
      password: 'd',
    };
    const given = [
      undefined,
      {},
      { host: 'givenhost', port: 8000 },
      { user: 'given' },
      { host: '', port: '', user: null, database: undefined, password: '' },
      { connectionString: 'postgres://urluser@urlhost' },
    ];
    const compare = () => {
      for (const config of given) {
        assert.deepEqual(
          whereTo(new Client(config)),
          whereTo(new pg.Client(config)),
          String(config),
        );
      }
    };
    const pgDefaults = { ...pg.defaults };
    try {
      await withEnvironment({ ...NO_ENVIRONMENT, PGUSER: 'someone' }, compare);
      await withEnvironment(environment, compare);
      Object.assign(pg.defaults, changed);
      await withDefaults(changed, async () => {
        await withEnvironment(NO_ENVIRONMENT, compare);
        await withEnvironment(environment, compare);
      });
    } finally {
      for (const name of Object.keys(changed)) pg.defaults[name] = pgDefaults[name];
    }
    await withEnvironment(NO_ENVIRONMENT, () => {
      const { user, database, host, port } = new Client();
      assert.equal(user, os.userInfo().username);
      assert.deepEqual([database, host, port], [user, 'localhost', 5432]);
      assert.equal(new Client({ user: 'alice' }).database, 'alice');
    });
  });

  it('may be surrounded by white space, as when it is read from a file', () => {
    const url = 'postgres://user:secret@host:7/db';
    const { conninfo } = parseOptions(url);
    for (const given of [`${url}\n`, `${url}\r\n`, ` ${url}\t`, `\n${url}`]) {
      assert.deepEqual(parseOptions(given).conninfo, conninfo, JSON.stringify(given));
    }
    assert.equal(parseOptions('host=h dbname=db \n').conninfo.dbname, 'db');
  });

  it('is taken from process.env even if only JavaScript sees it, as in worker threads and test runners', () => {
    const { env } = process;
    const seen = () => {
      const { host, port, dbname, sslmode } = parseOptions({ port: 7 }).conninfo;
      return { host, port, dbname, sslmode };
    };
    process.env = {
      ...env,
      PGHOST: 'envhost',
      PGPORT: '6',
      PGDATABASE: 'db',
      PGSSLMODE: 'require',
      PGSSLROOTCERT: '/ca.pem',
    };
    try {
      assert.deepEqual(seen(), {
        host: 'envhost',
        port: '7',
        dbname: 'db',
        sslmode: 'verify-full',
      });
      assert.equal(parseOptions({ ssl: false }).conninfo.sslmode, 'disable');
      const { sslmode, sslrootcert } = parseOptions({ ssl: true }).conninfo;
      assert.deepEqual([sslmode, sslrootcert], ['verify-full', '/ca.pem']);
      assert.notEqual(
        parseOptions({ ssl: { ca: new Authority('own').certificate } }).conninfo.sslrootcert,
        '/ca.pem',
      );
      assert.equal(parseOptions('postgres://a@b/c').conninfo.host, 'b');
    } finally {
      process.env = env;
    }
  });

  it('is taken from a service file, before the environment and defaults', async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-'));
    const PGSERVICEFILE = path.join(folder, 'services');
    fs.writeFileSync(PGSERVICEFILE, '[reports]\nhost=servicehost\nuser=serviceuser\ndbname=sdb\n');
    try {
      await withDefaults({ host: 'defhost', max: 3 }, () =>
        withEnvironment({ PGSERVICEFILE, PGSERVICE: 'reports', PGHOST: 'envhost' }, () => {
          const { host, user, database } = new Client();
          assert.deepEqual([host, user, database], ['servicehost', 'serviceuser', 'sdb']);
          assert.equal(new Pool().options.max, 3);
        }),
      );
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });
});

describe('defaults', () => {
  it('are those of pg, and of pg-pool', () => {
    // pg-pool takes 10 s, whatever pg says.
    const others = { ...pg.defaults, idleTimeoutMillis: 10000 };
    // Of it only the setter is there.
    delete others.parseInt8;
    assert.deepEqual({ ...defaults }, others);
  });

  it('apply where nothing else is set', async () => {
    const changed = {
      poolSize: 7,
      idleTimeoutMillis: 5,
      statement_timeout: 50,
      application_name: 'defapp',
      ssl: true,
      query_timeout: 70,
    };
    await withEnvironment(NO_ENVIRONMENT, () =>
      withDefaults(changed, () => {
        const settings = parseOptions({});
        assert.equal(settings.max, 7);
        assert.equal(settings.idleTimeoutMillis, 5);
        assert.equal(settings.query_timeout, 70);
        assert.equal(settings.conninfo.options, '-c statement_timeout=50');
        assert.equal(settings.conninfo.application_name, 'defapp');
        assert.equal(settings.conninfo.sslmode, 'verify-full');
        const given = parseOptions({ max: 2, statement_timeout: 60, ssl: false });
        assert.equal(given.max, 2);
        assert.equal(given.conninfo.options, '-c statement_timeout=60');
        assert.equal(given.conninfo.sslmode, 'disable');
        assert.equal(parseOptions('postgres://host/?sslmode=disable').conninfo.sslmode, 'disable');
      }),
    );
  });
});
