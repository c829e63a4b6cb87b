'use strict';

// Gives a client that connects a place among others of equal settings, whose connections it shares (the option
// `multiplex`). Who has such places is above this folder: pool/shared-clients.js tells by shareClients().

const { Batch } = require('../query');

/**
 * @typedef {import('../options').Settings} Settings
 * @typedef {import('./events').ClientEvents} ClientEvents
 *
 * In the place of a Connection.
 * @typedef {any} SharedPlace see pool/client-lease.js
 *
 * @typedef {(settings: Settings, events: ClientEvents) => SharedPlace | undefined} FindPlace
 */

/** @type {FindPlace | undefined} */
let findPlace;

/** @param {FindPlace} find */
function shareClients(find) {
  findPlace = find;
}

/**
 * Connects a client, or finds it a place.
 * @param {import('../connection').Connection} connection of its own
 * @param {Settings} settings
 * @param {ClientEvents} events
 * @param {object} owner
 * @param {(place: SharedPlace) => void} owner.onJoined is given the place that stands for the connection from now on
 * @param {(left: Promise<void>) => void} owner.onLeft is told when nobody needs what was opened for the place
 */
async function connectOrJoin(connection, settings, events, { onJoined, onLeft }) {
  const { multiplex = 'off' } = settings;
  const place = multiplex === 'off' ? undefined : findPlace?.(settings, events);
  if (place === undefined) {
    await connection.connect();
    return;
  }
  let hasJoined = false;
  try {
    await connection.join(place.prove(), (works, isLoopRef) => {
      hasJoined = true;
      onJoined(place);
      if (!isLoopRef) place.setLoopRef(false);
      for (const work of works) {
        if (work instanceof Batch) place.submitBatch(work);
        else place.submit(work);
      }
    });
  } finally {
    if (!hasJoined) onLeft(place.leave());
  }
}

module.exports = { connectOrJoin, shareClients };
