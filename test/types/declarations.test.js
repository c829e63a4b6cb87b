'use strict';

// The declarations as a user's compiler reads them that was set up by `tsc --init`: here with the project's
// own compiler; test/consumers/ has those of several ages. What they say is in the files *.test-d.ts, for tsd.

const assert = require('node:assert/strict');
const path = require('node:path');
const ts = require('typescript');
const { Compiler } = require('../support/after-init');
const { files } = require('../support/pages');
const { Project, ROOT } = require('../support/project');

/** @param {string[]} names of files @returns {string[]} optional properties whose type leaves undefined out */
function propertiesWithoutUndefined(names) {
  const program = ts.createProgram(
    names.map((name) => path.join(ROOT, name)),
    {
      strict: true,
      exactOptionalPropertyTypes: true,
      module: ts.ModuleKind.Node16,
      moduleResolution: ts.ModuleResolutionKind.Node16,
      types: ['node'],
    },
  );
  const checker = program.getTypeChecker();
  /** @type {string[]} */
  const found = [];
  /** @param {ts.SourceFile} source @param {ts.Node} node */
  const visit = (source, node) => {
    const isProperty = ts.isPropertySignature(node) || ts.isPropertyDeclaration(node);
    if (isProperty && node.questionToken !== undefined) {
      assert.ok(node.type);
      const type = checker.getTypeFromTypeNode(node.type);
      const parts = type.isUnion() ? type.types : [type];
      const takesUndefined = ts.TypeFlags.Undefined | ts.TypeFlags.Any | ts.TypeFlags.Unknown;
      if (!parts.some(({ flags }) => flags & takesUndefined)) {
        const { line } = source.getLineAndCharacterOfPosition(node.getStart());
        found.push(`${path.basename(source.fileName)}:${line + 1} ${node.name.getText()}`);
      }
    }
    ts.forEachChild(node, (child) => visit(source, child));
  };
  for (const name of names) {
    const source = program.getSourceFile(path.join(ROOT, name));
    assert.ok(source);
    visit(source, source);
  }
  return found;
}

describe('the declarations', () => {
  it('have undefined in the type of each optional property', () => {
    const declarations = files('lib', '.d.ts');
    assert.ok(declarations.length > 8);
    assert.deepEqual(propertiesWithoutUndefined(declarations), []);
  });

  describe('after tsc --init', () => {
    /** @type {Project} */
    let project;
    /** @type {Compiler} */
    let compiler;

    before(async () => {
      project = new Project();
      project.addPackage('@types/node');
      compiler = new Compiler(project.folder, require.resolve('typescript/bin/tsc'));
      await compiler.init();
    });
    after(() => project.remove());

    it('are what the type tests say', async () => {
      assert.deepEqual(await compiler.typeTests(), []);
    });

    it('fit the examples', async () => {
      assert.deepEqual(await compiler.examples(), []);
    });

    it('fit the TypeScript of the documentation', async () => {
      assert.deepEqual(await compiler.typeScriptOfPages(), []);
    });

    it('fit the JavaScript of the documentation', async () => {
      assert.deepEqual(await compiler.javaScriptOfPages(), []);
    });
  });
});
