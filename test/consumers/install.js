'use strict';

// Installs what compiles, bundles and runs the programs of this folder, when that was not done yet, and
// brings the copy of the project up to date. `npm run test:consumers` calls it.

const path = require('node:path');
const { placeProject } = require('../../scripts/consumer');
const { installOnce } = require('../../scripts/install-once');

installOnce(__dirname);
placeProject(path.join(__dirname, 'node_modules', 'pg-conduit'));
