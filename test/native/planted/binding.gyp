# An addon with bugs, to see that the checkers of memory find them; with the flags
# of ours. Built by scripts/planted-bugs.js.
{
  'targets': [
    {
      'target_name': 'planted',
      'includes': ['../../../deps/sanitize.gypi'],
      'sources': ['planted.cc'],
      'defines': ['NAPI_VERSION=8'],
      'cflags': ['-Wall', '-Wextra', '-g'],
      'cflags!': ['-O3', '-O2'],
    },
  ],
}
