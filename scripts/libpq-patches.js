'use strict';

// Applies the patches of deps/libpq-patches to the sources in deps/libpq, and takes them back, to the byte and without
// another program: each line must be where the patch says. Called by fetch-libpq.js.

const fs = require('node:fs');
const path = require('node:path');

const PATCHES = path.join(__dirname, '..', 'deps', 'libpq-patches');
/** Paths in a patch are those of PostgreSQL's repository, behind `a/` and `b/`. */
const SOURCE = 'source';

/**
 * A place in a file.
 * @typedef {object} Hunk
 * @property {number} at line that it begins with before all patches of the file, from 0
 * @property {string[]} before
 * @property {string[]} after
 */

/** @returns {string[]} the files of the patches, in the order in which they are applied */
function patchFiles() {
  const names = fs.existsSync(PATCHES) ? fs.readdirSync(PATCHES) : [];
  return names.filter((name) => name.endsWith('.patch')).sort();
}

/**
 * @param {string} text of a patch
 * @returns {Map<string, Hunk[]>} by the names of the files below deps/libpq
 */
function parsePatch(text) {
  /** @type {Map<string, Hunk[]>} */
  const files = new Map();
  /** @type {Hunk[]} */
  let hunks = [];
  const lines = text.split('\n');
  for (let next = 0; next < lines.length;) {
    const line = lines[next++];
    const file = line.match(/^\+\+\+ b\/(\S+)/)?.[1];
    if (file !== undefined) files.set(`${SOURCE}/${file}`, (hunks = []));
    const head = line.match(/^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/);
    if (head === null) continue;
    const [, at, before = '1', after = '1'] = head;
    /** @type {Hunk} */
    const hunk = { at: Number(at) - 1, before: [], after: [] };
    while (hunk.before.length < Number(before) || hunk.after.length < Number(after)) {
      const [sign, rest] = [lines[next]?.[0], lines[next++]?.slice(1)];
      if (!' -+'.includes(sign ?? '?')) throw new Error(`a hunk ends early: ${line}`);
      if (sign !== '+') hunk.before.push(rest);
      if (sign !== '-') hunk.after.push(rest);
    }
    hunks.push(hunk);
  }
  return files;
}

/**
 * @param {string} text of a file
 * @param {Hunk[]} hunks
 * @param {boolean} isBack whether they are taken back
 * @returns {string}
 */
function patchText(text, hunks, isBack) {
  const lines = text.split('\n');
  let grown = 0;
  for (const { at, before, after } of hunks) {
    const [from, to] = isBack ? [after, before] : [before, after];
    const found = lines.splice(at + (isBack ? 0 : grown), from.length, ...to);
    if (found.join('\n') !== from.join('\n')) throw new Error(`line ${at + 1} is another one`);
    grown += after.length - before.length;
  }
  return lines.join('\n');
}

/**
 * @param {(file: string, change: (text: string) => string) => void} visit gets each file that is patched, patch by patch
 * @param {boolean} isBack whether the patches are taken back
 */
function visitPatched(visit, isBack) {
  const names = patchFiles();
  for (const name of isBack ? names.reverse() : names) {
    const patch = parsePatch(fs.readFileSync(path.join(PATCHES, name), 'utf8'));
    for (const [file, hunks] of patch) {
      try {
        visit(file, (text) => patchText(text, hunks, isBack));
      } catch (/** @type {any} */ error) {
        const what = isBack ? 'is not what it makes of it' : 'is not what it is for';
        throw new Error(
          `deps/libpq-patches/${name}: deps/libpq/${file} ${what} (${error.message})`,
          { cause: error },
        );
      }
    }
  }
}

/** @param {string} folder deps/libpq, with the sources as they were fetched */
function applyPatches(folder) {
  visitPatched((name, change) => {
    const file = path.join(folder, name);
    fs.writeFileSync(file, change(fs.readFileSync(file, 'utf8')));
  }, false);
}

/**
 * @param {string} folder deps/libpq
 * @returns {Map<string, string>} what the files that are patched were before, by their names in there
 */
function unpatchedTexts(folder) {
  /** @type {Map<string, string>} */
  const texts = new Map();
  visitPatched((name, change) => {
    texts.set(name, change(texts.get(name) ?? fs.readFileSync(path.join(folder, name), 'utf8')));
  }, true);
  return texts;
}

module.exports = { applyPatches, PATCHES, patchFiles, unpatchedTexts };
