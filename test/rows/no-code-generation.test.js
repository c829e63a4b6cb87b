'use strict';

// Results where code generation from strings is disallowed, so that rows cannot be made by
// functions that are compiled for them: tests of results run again in such a process, all of them in
// `npm run test:long`.

const assert = require('node:assert/strict');
const path = require('node:path');
const { inChild, runSpecs } = require('../support/child-mocha');
const { IS_LONG, SEED } = require('../support/property');

const SPECS = IS_LONG
  ? ['dates', 'int8', 'result-text', 'result-types', 'rows', 'type-parsers']
  : ['int8', 'rows', 'type-parsers'];

describe('results', () => {
  if (inChild) {
    it('are made where code generation from strings is disallowed', () => {
      assert.throws(() => new Function('return 1'), EvalError);
    });
    return;
  }

  describe('are the same', () => {
    it('where code generation from strings is disallowed', async () => {
      const files = SPECS.map((name) => path.join(__dirname, `${name}.test.js`));
      const passed = await runSpecs([...files, __filename], {
        nodeOptions: ['--disallow-code-generation-from-strings'],
        env: { FAST_CHECK_SEED: String(SEED) },
      });
      assert.match(passed, /are made where code generation from strings is disallowed/);
    });
  });
});
