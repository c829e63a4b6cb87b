'use strict';

// Exceptions that actions plant in a caller's own code (listeners, callbacks, hooks), and how often each
// came out as an uncaught exception. Filled by actions/throwing*.js and by run.js, read by round.js.

class PlantedError extends Error {
  name = 'PlantedError';
  /** Times that it was thrown, and times that it came out. */
  thrown = 0;
  uncaught = 0;

  /** @param {string} place where it is thrown @param {import('./journal').Entry} entry of its action */
  constructor(place, entry) {
    super(`planted in ${place}`);
    this.place = place;
    this.entry = entry;
  }
}

class Planted {
  /** @type {PlantedError[]} */
  #errors = [];

  /**
   * @param {string} place
   * @param {import('./journal').Entry} entry
   */
  plant(place, entry) {
    const error = new PlantedError(place, entry);
    this.#errors.push(error);
    return error;
  }

  /**
   * The process has seen an uncaught exception.
   * @param {unknown} error
   * @returns {boolean} whether it is one of ours
   */
  take(error) {
    if (!(error instanceof PlantedError)) return false;
    ++error.uncaught;
    return true;
  }

  /** Every throw came out once. @returns {{ message: string, entry: import('./journal').Entry }[]} faults */
  close() {
    const wrong = this.#errors.filter(({ thrown, uncaught }) => thrown !== uncaught);
    this.#errors = [];
    return wrong.map(({ place, thrown, uncaught, entry }) => ({
      message: `what ${place} has thrown ${thrown} times came out ${uncaught} times`,
      entry,
    }));
  }
}

/** Of the whole process: uncaught exceptions know no round. */
const planted = new Planted();

module.exports = { Planted, PlantedError, planted };
