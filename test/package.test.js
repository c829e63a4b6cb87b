'use strict';

// What somebody who installs the package meets: its exports, in CommonJS and in ES modules, the
// declarations beside them, and the documentation, whose JavaScript is run as it is written. Run by
// mocha.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { connectionString, endAll, newPool } = require('./support/connect');
const { parseOptions } = require('../lib/options');
const { OptionError } = require('..');

/** Settings that no option has the name of. */
const INTERNAL = ['conninfo', 'serverSettings', 'connectTimeoutSeconds', 'tls'];

const ROOT = path.join(__dirname, '..');
const DECLARATIONS = fs.readFileSync(path.join(ROOT, 'lib', 'index.d.ts'), 'utf8');
const NAMES = [
  'Client',
  'ConduitError',
  'Connection',
  'ConnectionError',
  'DatabaseError',
  'OptionError',
  'ParameterError',
  'Pool',
  'PoolError',
  'Query',
  'QueryAbortedError',
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

  /** A project with the checkout as its dependency. */
  let project;
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let child;

  before(() => {
    project = fs.mkdtempSync(path.join(os.tmpdir(), 'package-test-'));
    fs.mkdirSync(path.join(project, 'node_modules'));
    fs.symlinkSync(ROOT, path.join(project, 'node_modules', 'pg-conduit'), 'junction');
  });

  after(() => fs.rmSync(project, { recursive: true, force: true }));

  afterEach(async () => {
    if (child?.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await endAll();
  });

  /** @param {string} file @param {string} code */
  function start(file, code) {
    fs.writeFileSync(path.join(project, file), code);
    const started = spawn(process.execPath, [file], {
      cwd: project,
      env: { ...process.env, DATABASE_URL: connectionString(), PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = started;
    const run = {
      output: '',
      errors: '',
      child: started,
      closed: once(started, 'close'),
    };
    started.stdout.on('data', (chunk) => (run.output += chunk));
    started.stderr.on('data', (chunk) => (run.errors += chunk));
    return run;
  }

  /** @param {string} file @param {string} code @returns {Promise<string>} what it printed */
  async function runToEnd(file, code) {
    const run = start(file, code);
    const [exitCode] = await run.closed;
    assert.equal(exitCode, 0, run.errors);
    assert.equal(run.errors, '');
    return run.output;
  }

  it('exports the documented names, and no others', () => {
    assert.deepEqual(Object.keys(require('..')).sort(), NAMES);
  });

  it('can be required by its name', async () => {
    const code = `console.log(Object.keys(require('pg-conduit')).sort().join())`;
    assert.equal((await runToEnd('required.cjs', code)).trim(), NAMES.join());
  });

  it('gives named imports to an ES module', async () => {
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

    it('declares every export, and no value that is not there', () => {
      const declared = [...DECLARATIONS.matchAll(/^export (?:class|const|function) (\w+)/gm)];
      assert.deepEqual(declared.map(([, name]) => name).sort(), NAMES);
    });

    it('declares every method and property of Pool and Client', () => {
      for (const name of ['Pool', 'Client']) {
        const [, body] = new RegExp(`^export class ${name}\\b[^{]*{\n([^]*?)^}`, 'm').exec(
          DECLARATIONS,
        );
        const declared = [...body.matchAll(/^ {2}(?:readonly )?(\w+)[(<:]/gm)].map(
          ([, member]) => member,
        );
        for (const member of Object.getOwnPropertyNames(require('..')[name].prototype)) {
          // What pg has for itself, and tools look at.
          if (member.startsWith('_')) continue;
          // in Queryable, Transactional and Streamable
          if (['query', 'batch', 'transaction'].includes(member)) continue;
          if (['stream', 'copyFrom', 'copyTo', 'copyRows'].includes(member)) continue;
          assert.ok(declared.includes(member), `${name}.${member} is not declared`);
        }
      }
    });

    it('declares every option of our own, and only options that are accepted', () => {
      const declared = ['LibpqOptions', 'ClientOptions', 'PoolOptions'].flatMap(members);
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

    it('declares what stats() and the fields of a result have', async () => {
      const pool = newPool();
      const { fields } = await pool.query('select 1 as one');
      const stats = pool.stats();
      const counters = members('QueryCounters');
      const expect = (value, names) => assert.deepEqual(Object.keys(value).sort(), names.sort());
      expect(stats, [...members('PoolStats'), ...counters]);
      expect(stats.connections[0], [...members('ConnectionStats'), ...counters]);
      expect(fields[0], members('Field'));
    });

    it('declares the OIDs that types.builtins has', () => {
      assert.deepEqual(members('TypeOids'), Object.keys(require('..').types.builtins));
    });
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

  const pages = fs.readdirSync(path.join(ROOT, 'docs')).map((name) => `docs/${name}`);
  for (const page of ['README.md', ...pages.filter((name) => name.endsWith('.md'))]) {
    const text = fs.readFileSync(path.join(ROOT, page), 'utf8').replaceAll('\r\n', '\n');
    for (const { 1: code, index } of text.matchAll(/^```js\n([^]*?)^```$/gm)) {
      const line = text.slice(0, index).split('\n').length + 1;
      const extension = /^import /m.test(code) ? 'mjs' : 'cjs';
      const file = `${page.replace(/\W/g, '-')}-${line}.${extension}`;

      if (code.includes('server.listen(')) {
        it(`${page}:${line} serves, and ends when it is told to`, async () => {
          const run = start(file, code);
          while (!/\d+\s/.test(run.output)) {
            assert.equal(run.child.exitCode, null, run.errors);
            await delay(20);
          }
          const [port] = run.output.match(/\d+/);
          const responses = await Promise.all(
            ['/a', '/b'].map((url) =>
              fetch(`http://localhost:${port}${url}`, { headers: { connection: 'close' } }),
            ),
          );
          for (const response of responses) {
            assert.equal(response.status, 200, run.errors);
            await response.text();
          }
          run.child.kill('SIGTERM');
          const [exitCode] = await run.closed;
          assert.equal(exitCode, 0, run.errors);
          assert.equal(run.errors, '');
        });
      } else {
        it(`${page}:${line} prints what its comments say`, async () => {
          const printed = (await runToEnd(file, code)).split('\n');
          // `console.log(…); // text`, or with the comment on the next line
          for (const [, comment] of code.matchAll(/console\.log\(.*\n? *\/\/ (.+)$/gm)) {
            assert.ok(printed.includes(comment), `"${comment}" is not in:\n${printed.join('\n')}`);
          }
        });
      }
    }
  }
});
