'use strict';

// `pool.options` as pg-pool has it: changed at any time, it counts for what comes. Used by pool.js.

const { changeOption } = require('../options');

/**
 * @param {Record<string, any>} options
 * @param {import('../options').Settings} settings that follow them
 * @param {(name: string) => void} onChanged
 * @returns {Record<string, any>} the same, watched
 */
function makeChangeable(options, settings, onChanged) {
  /** @param {string | symbol} name */
  const follow = (name) => {
    if (typeof name === 'symbol') return;
    changeOption(settings, options, name);
    onChanged(name);
  };
  return new Proxy(options, {
    defineProperty(target, name, descriptor) {
      const before = Object.getOwnPropertyDescriptor(target, name);
      if (!Reflect.defineProperty(target, name, descriptor)) return false;
      try {
        follow(name);
      } catch (error) {
        if (before === undefined) Reflect.deleteProperty(target, name);
        else Reflect.defineProperty(target, name, before);
        throw error;
      }
      return true;
    },
    deleteProperty(target, name) {
      const isDeleted = Reflect.deleteProperty(target, name);
      if (isDeleted) follow(name);
      return isDeleted;
    },
  });
}

module.exports = { makeChangeable };
