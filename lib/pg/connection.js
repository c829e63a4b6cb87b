'use strict';

// What `client.connection` is in `pg`, as far as others look at it: an emitter of what the
// server says of itself. The connection is libpq's.

const { EventEmitter } = require('node:events');

/** Of which the server tells without being asked (PostgreSQL documentation, "PQparameterStatus"). */
const PARAMETERS = [
  ...['server_version', 'server_encoding', 'client_encoding', 'application_name', 'is_superuser'],
  ...['session_authorization', 'DateStyle', 'IntervalStyle', 'TimeZone', 'integer_datetimes'],
  ...['standard_conforming_strings', 'default_transaction_read_only', 'in_hot_standby'],
  ...['scram_iterations', 'search_path'],
];

class Connection extends EventEmitter {
  /** Names and texts of what submittables have prepared. @type {Record<string, string>} */
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
