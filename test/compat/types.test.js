'use strict';

// Tools in TypeScript: what they declare about `pg` is ours here, too.

const assert = require('node:assert/strict');
const path = require('node:path');
const ts = require('typescript');

describe('a program of these tools in TypeScript', function () {
  this.timeout(120_000);

  it('compiles with the declarations in the place of those of pg', () => {
    const program = ts.createProgram([path.join(__dirname, 'programs', 'tools.mts')], {
      target: ts.ScriptTarget.ESNext,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noEmit: true,
      skipLibCheck: true,
    });
    const declarations = path.join(__dirname, 'node_modules', 'pg', 'lib', 'index.d.ts');
    assert.ok(program.getSourceFile(declarations), 'the declarations of pg are others');
    const diagnostics = ts.getPreEmitDiagnostics(program);
    assert.equal(
      ts.formatDiagnostics(diagnostics, {
        getCanonicalFileName: (name) => name,
        getCurrentDirectory: () => __dirname,
        getNewLine: () => '\n',
      }),
      '',
    );
  });
});
