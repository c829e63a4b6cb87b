# The addon build/Release/pg_conduit.node of a checkout. Called by scripts/build.js, which makes sure that libpq
# is there; by hand: node-gyp rebuild -- -Dlibpq=system. It is not in the package: npm, Yarn and pnpm compile
# each package that has a binding.gyp at its root and is named by a lock file, whatever its package.json says.
{
  'targets': [
    {
      'target_name': 'checkout',
      'type': 'none',
      'dependencies': ['src/addon.gyp:pg_conduit'],
    },
  ],
}
