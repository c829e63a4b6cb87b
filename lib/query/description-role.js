'use strict';

// A statement whose types are asked for, by Parse and Describe: it is never executed. Made by client/streamable.js for
// describe(), written by connection/command-writer.js.

const { StatementInfo } = require('../statements');
const { Query } = require('./query');
const { Role } = require('./role');

/** What is known of such a text: it does nothing, whatever the text would do. */
const INFO = new StatementInfo('select');

class DescriptionRole extends Role {
  /**
   * @param {Query} given of which the text counts, and whether it is refused
   * @param {import('./query').QueryDefaults} defaults
   */
  constructor({ text, refusal }, defaults) {
    const query = new Query(text, [], { prepare: false, syncGroup: 'off' }, defaults);
    super(query);
    query.refusal = refusal;
    query.info = INFO;
    query.isDescription = true;
    // The simple protocol would execute it.
    query.isExtended = true;
  }

  /** @override */
  get value() {
    const { tag, result } = this.query;
    // The addon gives the types of the parameters in the place of a tag.
    const types = tag === '' ? [] : tag.split(' ').map(Number);
    const parameters = types.map((dataTypeID) => ({ dataTypeID }));
    return { parameters, fields: result?.fields ?? [] };
  }

  /** @override @param {any} error */
  onFailing(error) {
    // In a transaction() its error has the outcome of that.
    if (!this.query.isInTransaction) error.outcome = 'not-run';
  }
}

module.exports = { DescriptionRole };
