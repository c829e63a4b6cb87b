'use strict';

// What users write, compiled as their compilers do it that were set up by `tsc --init`: the type tests, the
// examples, and the code of the documentation. Used by test/types/, with the compiler of the project, and by
// test/consumers/, with those of several ages.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const ts = require('typescript');
const { runProgram } = require('./outside');
const { PAGES, blocks, extensionOf, files, nameOfBlock, read } = require('./pages');
const { ROOT } = require('./project');

/** What no user copies: what loads and shows the example, and what has its packages in a folder of its own. */
const MACHINERY =
  /^examples\/(?:http-server\/(?:live\/|page\/|(?:load|peer|peer-process|screenshot|start|summary)\.)|written-for-pg\/)/;

/** Blocks that are wrong on purpose, or about what Node.js declares: by a part of them. */
const LEFT_OUT = ["idleTimeoutMillis: '10s'", 'tracingChannel('];

/** In the place of the package `tsd`, which has a compiler of its own; there types must be the same. */
const TSD = `
export declare const expectType: <T>(value: T) => void;
export declare const expectAssignable: <T>(value: T) => void;
export declare const expectNotAssignable: <T>(value: any) => void;
export declare const expectError: <T = any>(value: T) => void;
`;

/**
 * @typedef {object} Complaint
 * @property {string} file as the compiler names it
 * @property {number} line from 1
 * @property {number} column from 1
 * @property {string} text
 */

/** Where the errors of a type test have to be. @param {string} file @param {string} code */
function expectedErrors(file, code) {
  const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true);
  /** @type {{ start: number, end: number, line: number, isSeen: boolean }[]} */
  const ranges = [];
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (ts.isCallExpression(node) && node.expression.getText() === 'expectError') {
      const start = node.getStart();
      const line = source.getLineAndCharacterOfPosition(start).line + 1;
      ranges.push({ start, end: node.end, line, isSeen: false });
    } else {
      ts.forEachChild(node, visit);
    }
  };
  visit(source);
  /** @param {Complaint} complaint @returns {boolean} whether it was to be there */
  const expects = ({ line, column }) => {
    const at = source.getPositionOfLineAndCharacter(line - 1, column - 1);
    const range = ranges.find(({ start, end }) => start <= at && at < end);
    if (range !== undefined) range.isSeen = true;
    return range !== undefined;
  };
  const missing = () =>
    ranges.filter(({ isSeen }) => !isSeen).map(({ line }) => `${file}(${line}): no error`);
  return { expects, missing };
}

class Compiler {
  /**
   * @param {string} folder of somebody who has the package and the types of Node.js, and nothing of TypeScript yet
   * @param {string} tsc the script of a compiler
   */
  constructor(folder, tsc) {
    this.folder = folder;
    this.tsc = tsc;
  }

  /** @param {string[]} args */
  #run(...args) {
    return runProgram(process.execPath, [this.tsc, ...args], {
      cwd: this.folder,
      patienceMillis: 120_000,
    });
  }

  async init() {
    const { code, stdout, stderr } = await this.#run('--init');
    assert.equal(code, 0, stdout + stderr);
    const settings = fs.readFileSync(path.join(this.folder, 'tsconfig.json'), 'utf8');
    for (const name of ['strict', 'exactOptionalPropertyTypes', 'noUncheckedIndexedAccess']) {
      assert.match(settings, new RegExp(`^ *"${name}": true`, 'm'));
    }
  }

  /** @param {string} file @param {string} code */
  write(file, code) {
    const place = path.join(this.folder, file);
    fs.mkdirSync(path.dirname(place), { recursive: true });
    fs.writeFileSync(place, code);
  }

  /**
   * @param {string[]} names of files, from the folder or absolute
   * @param {Record<string, any>} [options] beside those of `tsc --init`
   * @returns {Promise<Complaint[]>} about these files
   */
  async compile(names, options) {
    const compilerOptions = {
      noEmit: true,
      allowJs: true,
      checkJs: true,
      // Of those that use the package; it may be there by a link.
      preserveSymlinks: true,
      typeRoots: [path.join(this.folder, 'node_modules', '@types')],
      ...options,
    };
    const settings = { extends: './tsconfig.json', compilerOptions, files: names };
    this.write('users.json', JSON.stringify(settings));
    const { stdout, stderr } = await this.#run('-p', 'users.json', '--pretty', 'false');
    assert.equal(stderr, '');
    /** @type {Complaint[]} */
    const complaints = [];
    for (const text of stdout.split('\n')) {
      const match = /^(.+?)(?:\((\d+),(\d+)\))?: error TS\d+: /.exec(text);
      // Such lines as belong to the one before are indented.
      if (match === null) continue;
      const [, file, line, column] = match;
      complaints.push({ file, line: Number(line), column: Number(column), text });
    }
    const wanted = new Set(names.map((name) => path.resolve(this.folder, name)));
    return complaints.filter(
      // Without a place it is about the settings.
      ({ file, text }) => !text.includes('(') || wanted.has(path.resolve(this.folder, file)),
    );
  }

  /** @returns {Promise<string[]>} what is wrong */
  async typeTests() {
    this.write('tsd.mts', TSD);
    const tests = files('test/types', '.test-d.ts').map((test) => {
      const name = path.basename(test).replace('.test-d.ts', '.mts');
      const code = read(test).replace(`'tsd'`, `'./tsd.mjs'`).replace(`'../..'`, `'pg-conduit'`);
      this.write(name, code);
      return { name, ...expectedErrors(name, code) };
    });
    assert.ok(tests.length > 5);
    const complaints = await this.compile(tests.map(({ name }) => name));
    const unexpected = complaints.filter((complaint) => {
      const test = tests.find(({ name }) => name === path.basename(complaint.file));
      return test === undefined || !test.expects(complaint);
    });
    return [...unexpected.map(({ text }) => text), ...tests.flatMap(({ missing }) => missing())];
  }

  /** @returns {Promise<string[]>} what is wrong */
  async examples() {
    const names = files('examples', '.js').filter(
      (name) => !MACHINERY.test(name) && !name.includes('/node_modules/'),
    );
    assert.ok(names.length > 12);
    const complaints = await this.compile(
      names.map((name) => path.join(ROOT, name)),
      // They are where they are: in the checkout.
      { preserveSymlinks: false },
    );
    return complaints.map(({ text }) => text);
  }

  /** @returns {Promise<string[]>} what is wrong */
  async typeScriptOfPages() {
    const names = PAGES.flatMap((page) =>
      blocks(page, 'ts').map(({ code, line }) => {
        const name = nameOfBlock(page, line, 'mts');
        this.write(name, `${code}\nexport {};\n`);
        return name;
      }),
    );
    assert.ok(names.length > 2);
    return (await this.compile(names)).map(({ text }) => text);
  }

  /** @returns {Promise<string[]>} what is wrong */
  async javaScriptOfPages() {
    const names = PAGES.flatMap((page) =>
      blocks(page, 'js')
        .filter(({ code }) => code.includes(`'pg-conduit'`))
        .filter(({ code }) => !LEFT_OUT.some((part) => code.includes(part)))
        .map(({ code, line }) => {
          const name = nameOfBlock(page, line, extensionOf(code));
          // To the declarations of Node.js a server may be one without a port.
          this.write(name, code.replaceAll('server.address().port', `'a port'`));
          return name;
        }),
    );
    assert.ok(names.length > 20);
    // These three ask for annotations and assertions, which JavaScript has not.
    const complaints = await this.compile(names, {
      noImplicitAny: false,
      noUncheckedIndexedAccess: false,
      useUnknownInCatchVariables: false,
    });
    return complaints.map(({ text }) => text);
  }
}

module.exports = { Compiler };
