'use strict';

// Installs the tools of this folder, with the project in the place of `pg` for all of them, when
// that was not done yet, and brings the copy of the project up to date. `npm run test:compat`
// calls it.

const path = require('node:path');
const { placeProject } = require('../../scripts/consumer');
const { installOnce } = require('../../scripts/install-once');

installOnce(__dirname);
placeProject(path.join(__dirname, 'node_modules', 'pg'));
