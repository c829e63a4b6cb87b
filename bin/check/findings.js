'use strict';

// What the check has found out, in the order in which it did.

/**
 * @typedef {'ok' | 'note' | 'warning' | 'problem'} Level
 *
 * @typedef {object} Finding
 * @property {string} id what it is about; docs/check.md lists them
 * @property {Level} level
 * @property {string} text
 * @property {Record<string, unknown>} [option] what to set because of it
 */

/** From the best to the worst. @type {Level[]} */
const LEVELS = ['ok', 'note', 'warning', 'problem'];

class Findings {
  /** @type {Finding[]} */
  list = [];

  /** @param {string} id @param {Level} level @param {string} text */
  add(id, level, text) {
    this.list.push({ id, level, text });
  }

  /** A look-up that the server has refused, or does not know. @param {string} id @param {string} what @param {any} error */
  unseen(id, what, error) {
    const why = error.code === '42501' ? 'this role is not allowed to see it' : error.message;
    this.add(id, 'note', `${what}: not seen (${why})`);
  }

  /** @param {string} id */
  has(id) {
    return this.list.some((finding) => finding.id === id);
  }

  get hasProblem() {
    return this.list.some(({ level }) => level === 'problem');
  }

  /** @returns {Record<Level, number>} */
  count() {
    const entries = LEVELS.map((level) => [
      level,
      this.list.filter((finding) => finding.level === level).length,
    ]);
    return Object.fromEntries(entries);
  }
}

module.exports = { Findings, LEVELS };
