'use strict';

// README.md, docs/ and the examples' index, as their readers find them: links lead somewhere, JavaScript
// is run as it is written, TypeScript is compiled, JSON parsed; what is named in commands and
// messages is there. Run by mocha.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const ts = require('typescript');
const { classifyStatement } = require('../../lib/statements/class');
const { PAGES: PAGES_OF_INSTALLING, PARTS, fill } = require('../../scripts/install-docs');
const { PAGES, blocks, files, extensionOf, nameOfBlock, read } = require('../support/pages');
const { killAll } = require('../support/program');
const { Project, ROOT } = require('../support/project');

/** One of each kind that a pool refuses. */
const REFUSED = [
  ...['begin', 'set a = 1', 'lock a', 'declare a cursor for select 1', 'create temp table a ()'],
  ...['select pg_advisory_lock(1)', 'copy a from stdin'],
];

const SCRIPTS = require('../../package.json').scripts;

/** What the pages that tell how to install it have after the first release. @type {Record<string, RegExp>} */
const RELEASED = {
  'README.md': /^npm install pg-conduit$[^]*"pg": "npm:pg-conduit@/m,
  'docs/getting-started.md': /^npm install pg-conduit$/m,
  'docs/compatibility.md': /"pg": "npm:pg-conduit@/,
};

/** Those that have links, and nothing else that is tested. */
const OTHERS = ['CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'bench/README.md'];

/** A page without its code, in which brackets and numbers mean something else. @param {string} page */
function prose(page) {
  return read(page)
    .replaceAll(/^```[^]*?^```$/gm, '')
    .replaceAll(/`[^`\n]+`/g, (code) => code.replaceAll(/[[\]()]/g, ' '));
}

/**
 * The names that GitHub gives to the headings of a page, and those in its HTML.
 * @param {string} page
 * @param {{ slug: (heading: string) => string }} slugger a new one: it counts those that are the same
 */
function anchors(page, slugger) {
  const text = read(page).replaceAll(/^```[^]*?^```$/gm, '');
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    slugger.slug(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/[`*\\]/g, '')),
  );
  return [...headings, ...[...text.matchAll(/<a id="([^"]+)"/g)].map(([, id]) => id)];
}

describe('the documentation', function () {
  this.timeout(60_000);

  /** @type {Project} */
  let project;

  before(() => {
    project = new Project();
  });
  after(() => project.remove());
  afterEach(killAll);

  it('has no broken links', async () => {
    // A module of the other kind, which the oldest Node.js cannot require.
    const { default: Slugger } = await import('github-slugger');
    const broken = [];
    for (const page of [...PAGES, ...OTHERS]) {
      for (const [, target] of prose(page).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(target)) continue;
        const [file, anchor] = target.split('#');
        const place = file === '' ? page : path.posix.join(path.posix.dirname(page), file);
        const isThere = fs.existsSync(path.join(ROOT, place));
        if (isThere && (!anchor || anchors(place, new Slugger()).includes(anchor))) continue;
        broken.push(`${page}: ${target}`);
      }
    }
    assert.deepEqual(broken, []);
  });

  it('says how to install it: from a file before a release, from the registry afterwards', () => {
    for (const page of PAGES_OF_INSTALLING) {
      const text = read(page);
      assert.equal(text, fill(text), `${page}: run \`node scripts/install-docs.js\``);
      const released = fill(text, true);
      assert.match(released, RELEASED[page], page);
      assert.doesNotMatch(released, /\.tgz|not published/, page);
      // And back: nothing but what is between the marks has changed.
      assert.equal(fill(released, false), fill(text, false));
    }
    const text = PAGES_OF_INSTALLING.map(read).join('\n');
    for (const name of Object.keys(PARTS)) assert.ok(text.includes(`<!-- ${name} -->`), name);
    const known = `<!-- (?:${Object.keys(PARTS).join('|')}) -->\n`;
    assert.equal(
      [...text.matchAll(/<!-- end -->/g)].length,
      [...text.matchAll(new RegExp(known, 'g'))].length,
    );
  });

  it('has pictures and links in README.md that also work on npm', () => {
    const text = prose('README.md');
    // npm resolves what is relative in Markdown against the repository, and in HTML not all of it.
    assert.doesNotMatch(text, /<(?:picture|source|img|a)\b|\bsrcset=/);
    const targets = [...text.matchAll(/\]\(([^)\s#]+)/g)].map(([, target]) => target);
    assert.ok(targets.length > 20);
    const relative = targets.filter((target) => !/^https:/.test(target));
    assert.deepEqual(
      relative.filter((target) => /^(?:[a-z]+:|\/|\.\.)/.test(target)),
      [],
    );
  });

  it('begins with a program that runs in an empty folder, also after npm init', async () => {
    const [{ code }] = blocks('README.md', 'js');
    for (const described of [{}, { type: 'commonjs' }]) {
      project.write('package.json', JSON.stringify(described));
      assert.match(await project.start('first.js', code).toEnd(), /^1 1$/m);
    }
    fs.rmSync(path.join(project.folder, 'package.json'));
  });

  it('has an index that links to every page', () => {
    const index = read('docs/README.md') + read('examples/README.md');
    for (const page of files('docs', '.md')) {
      if (page === 'docs/README.md' || page.startsWith('docs/api/')) continue;
      assert.ok(index.includes(`(${path.posix.relative('docs', page)})`), page);
    }
  });

  it('has drawings with descriptions and with dark colours', () => {
    const drawings = files('docs/images', '.svg');
    assert.ok(drawings.length > 0);
    const text = [...PAGES, 'CONTRIBUTING.md'].map(read).join();
    const [, styles] = read(drawings[0]).split(/<\/?style>/);
    for (const drawing of drawings) {
      const svg = read(drawing);
      assert.ok(svg.includes(styles), `${drawing} has other styles than ${drawings[0]}`);
      assert.match(svg, /role="img" aria-labelledby="title desc"/, drawing);
      assert.match(svg, /<title id="title">[^<]+<\/title>\s*<desc id="desc">[^<]+</, drawing);
      assert.match(svg, /prefers-color-scheme: dark/, drawing);
      assert.ok(text.includes(path.basename(drawing)), `${drawing} is on no page`);
    }
  });

  it('names only npm scripts and programs that exist', () => {
    for (const page of PAGES) {
      const text = read(page);
      for (const [, name] of text.matchAll(/\bnpm run (?:--?\w+ )*([\w:-]+)/g)) {
        assert.ok(name in SCRIPTS, `${page}: npm run ${name}`);
      }
      for (const [, name] of text.matchAll(/\bnpm (start|test)\b/g)) {
        assert.ok(name in SCRIPTS, `${page}: npm ${name}`);
      }
      for (const { code, line } of blocks(page, 'sh')) {
        for (const [, file] of code.matchAll(/\bnode ([\w-]+\/[\w./-]+\.js)/g)) {
          assert.ok(fs.existsSync(path.join(ROOT, file)), `${page}:${line}: node ${file}`);
        }
      }
    }
  });

  it('has TypeScript that compiles with the types of the package', () => {
    project.addPackage('@types/node');
    const names = PAGES.flatMap((page) =>
      blocks(page, 'ts').map(({ code, line }) =>
        // A block with imports is a module; others are checked alone all the same.
        project.write(nameOfBlock(page, line, 'mts'), `${code}\nexport {};\n`),
      ),
    );
    assert.ok(names.length > 0);
    const program = ts.createProgram(names, {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.Node16,
      moduleResolution: ts.ModuleResolutionKind.Node16,
      types: ['node'],
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      preserveSymlinks: true,
      typeRoots: [path.join(project.folder, 'node_modules', '@types')],
    });
    const diagnostics = ts.getPreEmitDiagnostics(program);
    assert.equal(
      ts.formatDiagnostics(diagnostics, {
        getCanonicalFileName: (name) => name,
        getCurrentDirectory: () => project.folder,
        getNewLine: () => '\n',
      }),
      '',
    );
  });

  it('quotes only messages that exist', () => {
    const refusals = REFUSED.map((text) => classifyStatement(text).refusal);
    // Texts that are put together of several literals are one here.
    const source = [...files('lib', '.js').map(read), read('scripts/build.js'), ...refusals]
      .join('\n')
      .replaceAll(/['`"] \+\n? *['`"]/g, '')
      .replaceAll(/\$\{[^}]*\}/g, '…')
      .replaceAll('\\\\', '\\');
    for (const [, cell] of read('docs/troubleshooting.md').matchAll(/^\| ([^|]+) \|/gm)) {
      // What the server says stands behind its SQLSTATE.
      if (/^[0-9A-Z]{5}\b/.test(cell)) continue;
      for (const [, message] of cell.matchAll(/`([^`]+)`/g)) {
        for (const between of message.split('…')) {
          const part = between.replaceAll(/^[" ]+|[" ]+$/g, '');
          if (part.split(' ').length < 3) continue;
          assert.ok(source.includes(part), `no message has "${part}"`);
        }
      }
    }
  });

  for (const page of PAGES) {
    for (const { code, line } of blocks(page, 'json')) {
      it(`${page}:${line} is JSON`, () => {
        JSON.parse(code);
      });
    }

    for (const { code, line } of blocks(page, 'js')) {
      const extension = extensionOf(code);
      const file = nameOfBlock(page, line, extension);

      if (code.includes('server.listen(')) {
        it(`${page}:${line} serves requests, and ends on a signal`, async () => {
          const program = project.start(file, code);
          const [port] = await program.printed(/\d+(?=\s)/);
          const responses = await Promise.all(
            ['/a', '/b'].map((url) =>
              fetch(`http://localhost:${port}${url}`, { headers: { connection: 'close' } }),
            ),
          );
          for (const response of responses) {
            assert.equal(response.status, 200, program.errors);
            await response.text();
          }
          await program.stop();
        });
      } else {
        it(`${page}:${line} prints what its comments say`, async () => {
          const printed = (await project.start(file, code).toEnd()).split('\n');
          // `console.log(…); // text`, or with the comment on the next line
          for (const [, comment] of code.matchAll(/console\.log\(.*\n? *\/\/ (.+)$/gm)) {
            assert.ok(printed.includes(comment), `"${comment}" is not in:\n${printed.join('\n')}`);
          }
        });
      }
    }
  }
});
