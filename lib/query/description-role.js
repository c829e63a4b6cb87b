'use strict';

// A statement whose types are asked for, by Parse and Describe: it is never executed. Made by client/streamable.js for
// describe(), written by connection/command-writer.js.

const { StatementInfo } = require('../statements');
const { Role } = require('./role');

/** What is known of such a text: it does nothing, whatever the text would do. */
const INFO = new StatementInfo('select');

class DescriptionRole extends Role {
  /** @param {import('./query').Query} query */
  constructor(query) {
    super(query);
    query.info = INFO;
    query.isDescription = true;
    query.prepare = false;
    query.syncGroup = 'off';
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
