'use strict';

// Says where a connection was borrowed that was not given back in time. Called
// by pool.js, if the option leakWarningMillis wants it.

/**
 * @param {number} millis
 * @returns {{ start: () => void, stop: () => void }} from the borrowing to the giving back
 */
function watchLoan(millis) {
  const warning = new Error(
    `a connection of a pool was borrowed and not given back within ${millis} ms ` +
      '(leakWarningMillis): call release(), or let the function of transaction() end',
  );
  warning.name = 'PoolLeakWarning';
  Error.captureStackTrace(warning, watchLoan);
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  return {
    start() {
      timer = setTimeout(() => {
        // Node prints the detail, but the stack under --trace-warnings only.
        const frames = String(warning.stack).split('\n').slice(1);
        process.emitWarning(
          Object.assign(warning, {
            code: 'PG_CONDUIT_POOL_LEAK',
            detail: ['It was borrowed here:', ...frames].join('\n'),
          }),
        );
      }, millis);
      timer.unref();
    },
    stop() {
      clearTimeout(timer);
    },
  };
}

module.exports = { watchLoan };
