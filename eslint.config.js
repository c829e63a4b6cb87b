'use strict';

// ESLint finds mistakes, prettier decides the layout: no layout rule belongs in here.
// Run by `npm run lint`.

const js = require('@eslint/js');
const n = require('eslint-plugin-n');
const globals = require('globals');
const { engines } = require('./package.json');

const mochaGlobals = ['describe', 'it', 'before', 'after', 'beforeEach', 'afterEach'];

module.exports = [
  {
    ignores: [
      '**/node_modules/',
      '.venv/',
      'build/',
      'prebuilds/',
      'coverage/',
      'deps/libpq/',
      'bench/results/',
    ],
  },
  js.configs.recommended,
  n.configs['flat/recommended-script'],
  {
    files: ['**/*.js', '**/*.cjs'],
    languageOptions: {
      ecmaVersion: 2022,
      sourceType: 'commonjs',
      globals: globals.node,
    },
    // Also for folders with a package.json of their own, which says nothing of it.
    settings: { node: { version: engines.node } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'consistent-return': 'error',
      curly: ['error', 'multi-line'],
      'default-case-last': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-constructor-return': 'error',
      'no-else-return': 'error',
      'no-implicit-coercion': ['error', { boolean: false }],
      'no-promise-executor-return': 'error',
      'no-self-compare': 'error',
      'no-shadow': 'error',
      'no-template-curly-in-string': 'error',
      'no-unassigned-vars': 'error',
      'no-throw-literal': 'error',
      'no-unused-vars': ['error', { argsIgnorePattern: '^_', caughtErrorsIgnorePattern: '^_' }],
      'no-useless-assignment': 'error',
      'no-use-before-define': ['error', { functions: false, classes: true, variables: false }],
      'no-var': 'error',
      'object-shorthand': 'error',
      'prefer-const': 'error',
      'prefer-promise-reject-errors': 'error',
      'preserve-caught-error': 'error',
      strict: ['error', 'global'],
      'n/handle-callback-err': 'error',
      'n/no-path-concat': 'error',
      'n/prefer-node-protocol': 'error',
    },
  },
  {
    files: ['**/*.mjs'],
    languageOptions: { ecmaVersion: 2022, sourceType: 'module', globals: globals.node },
  },
  {
    // Files that are not published: they may use whatever the checkout has installed.
    files: ['test/**', 'scripts/**', 'bench/**', 'examples/**', '*.js'],
    rules: {
      'no-console': 'off',
      'n/no-extraneous-require': 'off',
      'n/no-missing-import': 'off',
      'n/no-missing-require': 'off',
      'n/no-process-exit': 'off',
      'n/no-unpublished-require': 'off',
      'n/no-unsupported-features/node-builtins': 'off',
    },
  },
  {
    files: ['lib/**'],
    rules: {
      'no-console': 'error',
      'no-restricted-syntax': [
        'error',
        {
          selector: "NewExpression[callee.name='Promise'] > :function[params.length>1]",
          message:
            'The error would name no line of the caller: use Deferred of lib/base/caller-stack.js.',
        },
      ],
    },
  },
  {
    // What runs in a browser, or tells one what to run.
    files: [
      'bench/page/plots.js',
      'examples/http-server/page/*.mjs',
      'examples/http-server/screenshot.js',
      'test/tools/bench-report.test.js',
      'test/tools/experiments.test.js',
      'test/tools/live-page.test.js',
      'test/support/live-page.js',
    ],
    languageOptions: { globals: globals.browser },
  },
  {
    files: ['test/**'],
    languageOptions: {
      globals: Object.fromEntries(mochaGlobals.map((name) => [name, 'readonly'])),
    },
  },
];
