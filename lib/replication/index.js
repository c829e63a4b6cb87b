'use strict';

// Logical replication: pool.subscribe(). What a caller passes is read by options.js; subscriptions.js has what they
// get; subscription.js keeps a slot read, over the loss of connections. session.js is one connection, from its checks
// to START_REPLICATION, with slot.js for the slot and its gaps, and stream.js for the messages. teller.js tells the
// handler what they say: pgoutput.js and relations.js decode them, streamed-transactions.js keeps those of transactions
// that are not committed yet, and progress.js knows what was told and what may be confirmed.

const { readSubscribe, refuseReplication } = require('./options');
const { Subscriptions } = require('./subscriptions');

/**
 * @typedef {import('./options').OnChange} OnChange
 */

module.exports = { readSubscribe, refuseReplication, Subscriptions };
