# How the addon is compiled; all paths are relative to this file. node-gyp wants a binding.gyp in the folder that
# it runs in: in a checkout that is ../binding.gyp, and for a package scripts/build.js writes one.
#   libpq     bundled (deps/libpq.gyp) | system (found by scripts/find-libpq.js)
#   sanitize  '' | address,undefined
{
  'variables': {
    'libpq%': 'bundled',
  },
  'targets': [
    {
      'target_name': 'pg_conduit',
      'includes': ['../deps/sanitize.gypi'],
      'sources': [
        '<!@(node -p "require(\'fs\').readdirSync(\'.\').filter((name) => name.endsWith(\'.cc\')).sort().join(\' \')")',
      ],
      'include_dirs': ['<!(node -p "require(\'node-addon-api\').include_dir")'],
      'defines': [
        'NAPI_VERSION=8',
        'NAPI_DISABLE_CPP_EXCEPTIONS',
        # A thread that is being terminated can throw nothing any more.
        'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS',
      ],
      'cflags': [
        '-Wall', '-Wextra', '-fvisibility=hidden', '-ffunction-sections', '-fdata-sections',
      ],
      'cflags_cc': [
        '-std=c++17', '-fno-exceptions', '-fno-rtti', '-fvisibility-inlines-hidden',
      ],
      'xcode_settings': {
        'CLANG_CXX_LANGUAGE_STANDARD': 'c++17',
        'GCC_ENABLE_CPP_EXCEPTIONS': 'NO',
        'GCC_ENABLE_CPP_RTTI': 'NO',
        'GCC_SYMBOLS_PRIVATE_EXTERN': 'YES',
        'WARNING_CFLAGS': ['-Wall', '-Wextra'],
        'DEAD_CODE_STRIPPING': 'YES',
      },
      'msvs_settings': {
        'VCCLCompilerTool': {
          'AdditionalOptions': ['/std:c++17'],
          'ExceptionHandling': 0,
          'RuntimeTypeInfo': 'false',
        },
      },
      'configurations': {
        'Release': {
          'cflags': ['-O3'],
          'xcode_settings': { 'GCC_OPTIMIZATION_LEVEL': '3' },
        },
      },
      'conditions': [
        ['libpq=="bundled"', {
          'dependencies': ['../deps/libpq.gyp:libpq'],
        }],
        ['libpq=="system"', {
          'include_dirs': ['<!(node ../scripts/find-libpq.js --include-dir)'],
          'libraries': ['<!@(node ../scripts/find-libpq.js --libraries)'],
        }],
        # <uv.h> brings <windows.h>, whose macros take the names of std::min and std::max.
        ['OS=="win"', { 'defines': ['NOMINMAX'] }],
        ['OS=="linux"', {
          'ldflags': [
            # Relative to ../build/, where make links: an absolute path breaks at a space.
            '-Wl,--version-script=../deps/exports.map',
            '-Wl,--gc-sections',
            # A runtime without Node's OpenSSL symbols fails to load the addon,
            # instead of aborting in the middle of a connection.
            '-Wl,-z,now',
          ],
        }],
      ],
    },
  ],
}
