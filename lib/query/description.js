'use strict';

// A statement whose types are asked for, by Parse and Describe: it is never executed. Made by client.js and pool.js
// for describe(), written by connection/command-writer.js.

const { StatementInfo } = require('../statements');
const { Query } = require('./query');

/** What is known of such a text: it does nothing, whatever the text would do. */
const INFO = new StatementInfo('select');

class Description extends Query {
  /** @type {number[]} */
  #parameterTypes = [];
  /** Whether its error is one of a transaction(), and has the outcome of that. */
  isInTransaction = false;

  /** @param {ConstructorParameters<typeof Query>} given of which the text counts */
  constructor(...given) {
    const [text, , , defaults] = given;
    super(text, [], { prepare: false, syncGroup: 'off' }, defaults);
    this.info = INFO;
    this.isDescription = true;
    // The simple protocol would execute it.
    this.isExtended = true;
  }

  /** @override @param {string} types */
  completeOther(types) {
    super.completeOther('');
    this.#parameterTypes = types === '' ? [] : types.split(' ').map(Number);
  }

  /** @override */
  get value() {
    const parameters = this.#parameterTypes.map((dataTypeID) => ({ dataTypeID }));
    return /** @type {any} */ ({ parameters, fields: this.result?.fields ?? [] });
  }

  /** @override @param {any} error */
  reject(error) {
    if (!this.isSettled && !this.isInTransaction) error.outcome = 'not-run';
    super.reject(error);
  }
}

module.exports = { Description };
