'use strict';

// `client.connection` of `pg`, as far as tools use it: an emitter of the parameters that the server
// reports. The connection itself is libpq's. Made by client.js.

const { EventEmitter } = require('node:events');

/**
 * Those that the server reports without being asked (PostgreSQL documentation,
 * "PQparameterStatus").
 */
const PARAMETERS = [
  ...['server_version', 'server_encoding', 'client_encoding', 'application_name', 'is_superuser'],
  ...['session_authorization', 'DateStyle', 'IntervalStyle', 'TimeZone', 'integer_datetimes'],
  ...['standard_conforming_strings', 'default_transaction_read_only', 'in_hot_standby'],
  ...['scram_iterations', 'search_path'],
];

class Connection extends EventEmitter {
  /**
   * The texts of statements that submittables have prepared, by name.
   * @type {Record<string, string>}
   */
  parsedStatements = Object.create(null);

  /** @param {(name: string) => string | null} read */
  tellParameters(read) {
    for (const parameterName of PARAMETERS) {
      const parameterValue = read(parameterName);
      if (parameterValue !== null) this.emit('parameterStatus', { parameterName, parameterValue });
    }
  }
}

module.exports = Connection;
