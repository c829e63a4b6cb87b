'use strict';

// What somebody who installs the package meets: its exports, in CommonJS and in ES modules, and the
// declarations beside them. Run by mocha.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { endAll, newPool } = require('../support/connect');
const { killAll } = require('../support/program');
const { Project, ROOT } = require('../support/project');
const { parseOptions } = require('../../lib/options/options');
const { OptionError } = require('../..');

/** Settings that no option has the name of. */
const INTERNAL = [
  'conninfo',
  'serverSettings',
  'connectTimeoutSeconds',
  'tls',
  'wire',
  'losesStatements',
  'keeping',
  'wantsWriter',
];

const DECLARATIONS = fs.readFileSync(path.join(ROOT, 'lib', 'index.d.ts'), 'utf8');
const NAMES = [
  'Client',
  'ConduitError',
  'Connection',
  'ConnectionError',
  'DatabaseError',
  'Events',
  'OptionError',
  'ParameterError',
  'Pool',
  'PoolError',
  'Query',
  'QueryAbortedError',
  'ReplicationError',
  'Result',
  'ResultError',
  'StatementRefusedError',
  'TransactionError',
  'TypeOverrides',
  'defaults',
  'escapeIdentifier',
  'escapeLiteral',
  'types',
  'utils',
];

describe('the package', function () {
  this.timeout(60_000);

  /** @type {Project} */
  let project;

  before(() => {
    project = new Project();
  });

  after(() => project.remove());

  afterEach(async () => {
    killAll();
    await endAll();
  });

  /** @param {string} file @param {string} code @returns {Promise<string>} what it printed */
  const runToEnd = (file, code) => project.start(file, code).toEnd();

  it('exports only the documented names', () => {
    assert.deepEqual(Object.keys(require('../..')).sort(), NAMES);
  });

  it('can be required by its name', async () => {
    const code = `console.log(Object.keys(require('pg-conduit')).sort().join())`;
    assert.equal((await runToEnd('required.cjs', code)).trim(), NAMES.join());
  });

  it('has named imports for an ES module', async () => {
    const code = `
      import pgConduit, { ${NAMES.join(', ')} } from 'pg-conduit';
      console.log([${NAMES.join(', ')}].every((value) => value !== undefined), pgConduit.Pool === Pool);`;
    assert.equal((await runToEnd('imported.mjs', code)).trim(), 'true true');
  });

  describe('index.d.ts', () => {
    /** @param {string} name of an interface @returns {string[]} its own properties */
    function members(name) {
      const match = new RegExp(`^export interface ${name}\\b[^{]*{\n([^]*?)^}`, 'm').exec(
        DECLARATIONS,
      );
      assert.ok(match, `no interface ${name}`);
      return [...match[1].matchAll(/^ {2}(?:readonly )?(\w+)\??:/gm)].map(([, member]) => member);
    }

    it('declares every export, and only values that exist', () => {
      const declared = [...DECLARATIONS.matchAll(/^export (?:class|const|function) (\w+)/gm)];
      // It is this package again, and not enumerable, as in pg.
      const all = [...NAMES, 'native'].sort();
      assert.deepEqual(declared.map(([, name]) => name).sort(), all);
    });

    it('declares every method and property of Pool and Client', () => {
      for (const name of ['Pool', 'Client']) {
        const [, body] = new RegExp(`^export class ${name}\\b[^{]*{\n([^]*?)^}`, 'm').exec(
          DECLARATIONS,
        );
        const declared = [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[(<:]/gm)].map(
          ([, member]) => member,
        );
        for (const member of Object.getOwnPropertyNames(require('../..')[name].prototype)) {
          // What pg has for itself, and tools look at.
          if (member.startsWith('_')) continue;
          // in Queryable and Transactional
          if (['query', 'batch', 'transaction'].includes(member)) continue;
          assert.ok(declared.includes(member), `${name}.${member} is not declared`);
        }
      }
    });

    it('declares every option of the driver, and only options that are accepted', () => {
      const declared = ['LibpqOptions', 'ClientOptions', 'PoolConfig'].flatMap(members);
      for (const name of Object.keys(parseOptions({}))) {
        if (INTERNAL.includes(name)) continue;
        assert.ok(declared.includes(name), `${name} is not declared`);
      }
      for (const name of declared) {
        // A symbol is no value of any option, so that what is known complains about the value.
        assert.throws(
          () => parseOptions({ [name]: Symbol('none') }),
          (error) => error instanceof OptionError,
          name,
        );
      }
    });

    it('allows undefined for each option, which is the same as not giving it', async () => {
      const absent = (name) =>
        Object.fromEntries(members(name).map((member) => [member, undefined]));
      const connecting = ['LibpqOptions', 'ClientOptions', 'PoolConfig'].map(absent);
      assert.deepEqual(parseOptions(Object.assign({}, ...connecting)), parseOptions({}));
      const pem = absent('TlsOptions');
      assert.deepEqual(parseOptions({ ssl: pem }), parseOptions({ ssl: {} }));

      const pool = newPool(Object.assign(absent('PoolConfig'), { max: 2 }));
      const query = { ...absent('QueryConfig'), text: 'select 1 as one' };
      const rows = [{ one: 1 }];
      assert.deepEqual((await pool.query(query)).rows, rows);
      assert.deepEqual((await pool.batch([query], absent('BatchOptions')))[0].rows, rows);
      assert.deepEqual(
        await pool.stream(query, undefined, absent('StreamOptions')).toArray(),
        rows,
      );
      const transacted = (options) => pool.transaction(async (tx) => tx.query(query), options);
      assert.deepEqual((await transacted(absent('TransactionOptions'))).rows, rows);
      assert.deepEqual((await transacted({ retry: absent('TransactionRetry') })).rows, rows);
      const { unlisten } = await pool.listen('nothing', () => {}, absent('ListenOptions'));
      await unlisten();
    });

    it('declares the properties of stats() and of the fields of a result', async () => {
      const pool = newPool();
      const { fields } = await pool.query('select 1 as one');
      const stats = pool.stats();
      const counters = members('QueryCounters');
      const expect = (value, names) => assert.deepEqual(Object.keys(value).sort(), names.sort());
      expect(stats, [...members('PoolStats'), ...counters]);
      expect(stats.connections[0], [...members('ConnectionStats'), ...counters]);
      expect(fields[0], members('Field'));
    });

    it('declares the OIDs of types.builtins', () => {
      assert.deepEqual(members('TypeOids'), Object.keys(require('../..').types.builtins));
    });
  });

  it('is installed in a checkout without a warning about the version of Node.js', () => {
    const { status, stderr } = spawnSync(
      'npm',
      ['ci', '--dry-run', '--ignore-scripts', '--loglevel=warn'],
      { cwd: ROOT, encoding: 'utf8', shell: process.platform === 'win32' },
    );
    assert.equal(status, 0, stderr);
    assert.doesNotMatch(stderr, /EBADENGINE/);
  });

  it('has a page that names every option', () => {
    const page = fs.readFileSync(path.join(ROOT, 'docs', 'options.md'), 'utf8');
    const declared = [
      ...DECLARATIONS.matchAll(/^export interface (?:\w+)Options\b[^{]*{\n([^]*?)^}/gm),
    ]
      .map(([, body]) => [...body.matchAll(/^ {2}(\w+)\?:/gm)].map(([, name]) => name))
      .flat();
    assert.ok(declared.length > 50);
    for (const name of declared) assert.ok(page.includes(`\`${name}\``), name);
  });
});
