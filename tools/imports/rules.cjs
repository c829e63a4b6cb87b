'use strict';

// Which folder of lib/ may import which: only those that stand below it in this list, and only through their
// doors: the index.js of each, and lib/client.js (which says why). Types that a comment imports count as well. For
// scripts/lint-imports.js.

/** From the top to the bottom; lib/index.js stands above all of them. */
const FOLDERS = [
  ...['paths', 'pool', 'replication', 'client', 'pg', 'transaction', 'copy', 'connection', 'query'],
  ...['statements', 'options', 'native', 'rows', 'base'],
];

/** @param {string[]} folders @returns {string} a pattern for what is in them, and for their doors */
const within = (folders) =>
  folders.map((folder) => (folder === 'client' ? 'client(?:/|\\.js$)' : `${folder}/`)).join('|');

const upward = FOLDERS.map((folder, index) => ({
  name: `upward-from-${folder}`,
  severity: 'error',
  comment: `lib/${folder} imports what stands above it: move what it needs down, or say what it needs as a type`,
  // `pg/lib/index` is the whole package.
  from: { path: `^lib/(${within([folder])})`, pathNot: '^lib/paths/index\\.js$' },
  to: {
    path: `^lib/(${['index\\.js$', within(FOLDERS.slice(0, index))].filter(Boolean).join('|')})`,
  },
}));

module.exports = {
  forbidden: [
    ...upward,
    {
      name: 'past-a-door',
      severity: 'error',
      comment: 'other folders are imported through their doors',
      // Node.js finds the names of what lib/paths exports only where it is passed on whole.
      from: { path: '^lib/([^/]+)/', pathNot: '^lib/paths/' },
      to: { path: '^lib/[^/]+/', pathNot: ['^lib/$1/', '^lib/[^/]+/index\\.js$'] },
    },
    {
      name: 'in-no-folder',
      severity: 'error',
      comment: 'name the folder in FOLDERS, where it belongs',
      from: { path: '^lib/', pathNot: `^lib/(index\\.js$|${within(FOLDERS)})` },
      to: {},
    },
    {
      name: 'circular',
      severity: 'error',
      comment: 'what is loaded first finds the other one empty',
      from: { path: '^lib/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
  ],
  options: {
    parser: 'tsc',
    detectJSDocImports: true,
    tsPreCompilationDeps: true,
    // The public types are written by hand, and are those of lib/index.js.
    exclude: { path: '\\.d\\.ts$' },
    doNotFollow: { path: 'node_modules' },
    reporterOptions: { dot: { theme: { graph: { rankdir: 'TB' } } } },
  },
};
