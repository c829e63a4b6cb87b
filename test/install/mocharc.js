'use strict';

// What people meet who install the package: `npm run test:install`, after `npm run prebuild -- --all`. Needs root,
// for chroot, and Debian's mmdebstrap and qemu-user-static. The first run makes the roots, and keeps them
// in build/roots.

module.exports = {
  spec: ['test/install/*.test.js'],
};
