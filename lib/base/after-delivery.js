'use strict';

// Postpones what has to wait until all events of a delivery are read. delivery.js runs each
// delivery here. Code that is called in the middle of one postpones what takes slots, writes
// commands or calls user code.

const { callApart, lock } = require('./user-code');

/** @type {(() => void)[]} */
const afterwards = [];
let isDelivering = false;

/**
 * Runs `callback` after the current delivery's last event: nothing that takes slots or writes
 * commands may run in the middle of it. What one callback throws is an uncaught exception, and does
 * not keep the others from being run.
 * @param {() => void} callback
 */
function afterDelivery(callback) {
  if (isDelivering) afterwards.push(callback);
  else queueMicrotask(callback);
}

/** @param {() => void} readEvents of one delivery */
function runDelivery(readEvents) {
  isDelivering = true;
  lock.isHeld = true;
  try {
    readEvents();
  } finally {
    lock.isHeld = false;
    // Callbacks may add to the list.
    for (let index = 0; index < afterwards.length; ++index) callApart(afterwards[index]);
    afterwards.length = 0;
    isDelivering = false;
  }
}

module.exports = { afterDelivery, runDelivery };
