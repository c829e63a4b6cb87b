'use strict';

// Gives a process `pg` itself in the place of this driver, for the tools as well: the same tests show what `pg` does.
// Loaded by mocha: PG_CONDUIT_COMPAT_DRIVER=pg npm run test:compat

const Module = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

const ROOT = path.join(__dirname, '..', '..', '..');
const IS_PG = /^pg(?:\/.*)?$/;

const resolve = /** @type {any} */ (Module)._resolveFilename;
const paths = [path.join(ROOT, 'node_modules')];
/** @type {any} */ (Module)._resolveFilename = (
  /** @type {string} */ request,
  /** @type {any} */ parent,
  /** @type {any[]} */ ...more
) => resolve(request, IS_PG.test(request) ? { paths } : parent, ...more);

// What ES modules import.
const parentURL = pathToFileURL(path.join(ROOT, 'package.json')).href;
Module.register(
  `data:text/javascript,${encodeURIComponent(`
    export const resolve = (specifier, context, next) =>
      next(specifier, ${IS_PG}.test(specifier) ? { ...context, parentURL: '${parentURL}' } : context);
  `)}`,
);
