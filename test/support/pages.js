'use strict';

// The pages of the documentation and the code in them. Used by tests that run it or compile it.

const fs = require('node:fs');
const path = require('node:path');
const { ROOT } = require('./project');

/** @param {string} folder @param {string} ending @returns {string[]} paths from the project's folder */
function files(folder, ending) {
  const names = fs.readdirSync(path.join(ROOT, folder), { recursive: true }).map(String);
  return names
    .filter((name) => name.endsWith(ending))
    .map((name) => path.posix.join(folder, name.replaceAll(path.sep, '/')))
    .sort();
}

/** @param {string} file */
function read(file) {
  return fs.readFileSync(path.join(ROOT, file), 'utf8').replaceAll('\r\n', '\n');
}

const PAGES = ['README.md', 'examples/README.md', ...files('docs', '.md')];

/**
 * The fenced blocks of a page.
 * @param {string} page
 * @param {string} language
 * @returns {{ code: string, line: number }[]}
 */
function blocks(page, language) {
  const text = read(page);
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'gm'))].map(
    ({ 1: code, index }) => ({ code, line: text.slice(0, index).split('\n').length + 1 }),
  );
}

/**
 * The name of a file for a block, from which its page and line can be read.
 * @param {string} page @param {number} line @param {string} extension
 */
function nameOfBlock(page, line, extension) {
  return `${page.replace(/\W/g, '-')}-${line}.${extension}`;
}

/** @param {string} code in JavaScript @returns {string} of a file that holds it */
function extensionOf(code) {
  return /^(?:import|export) /m.test(code) ? 'mjs' : 'cjs';
}

module.exports = { PAGES, blocks, extensionOf, files, nameOfBlock, read };
