# Flags of a sanitizer build, shared by src/addon.gyp and deps/libpq.gyp:
# `sanitize` is '' or a list for -fsanitize=, such as address,undefined.
{
  'variables': { 'sanitize%': '' },
  'conditions': [
    ['sanitize!="" and OS!="win"', {
      'cflags!': ['-O3', '-O2'],
      'cflags': [
        '-g', '-O1', '-fno-omit-frame-pointer',
        '-fsanitize=<(sanitize)', '-fno-sanitize-recover=undefined',
      ],
      # The vptr check needs the type information that -fno-rtti leaves out.
      'cflags_cc': ['-fno-sanitize=vptr'],
      'ldflags': ['-fsanitize=<(sanitize)'],
      'xcode_settings': {
        'GCC_OPTIMIZATION_LEVEL': '1',
        'OTHER_CFLAGS': [
          '-g', '-fno-omit-frame-pointer',
          '-fsanitize=<(sanitize)', '-fno-sanitize-recover=undefined',
        ],
        'OTHER_CPLUSPLUSFLAGS': [
          '-g', '-fno-omit-frame-pointer', '-fsanitize=<(sanitize)',
          '-fno-sanitize-recover=undefined', '-fno-sanitize=vptr',
        ],
        'OTHER_LDFLAGS': ['-fsanitize=<(sanitize)'],
      },
    }],
  ],
}
