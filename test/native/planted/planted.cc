// Bugs of the kinds that the checkers of memory must find, one a function; and
// what has none. See scripts/planted-bugs.js.
#include <node_api.h>

#include <climits>
#include <cstdlib>
#include <cstring>

namespace {

constexpr size_t kSize = 40;

// The compiler must not see through what is planted.
volatile size_t size = kSize;
volatile int sink = 0;

char* Allocate() {
  char* memory = new char[size];
  std::memset(memory, 1, size);
  return memory;
}

napi_value Sound(napi_env /*env*/, napi_callback_info /*info*/) {
  char* memory = Allocate();
  sink = memory[size - 1];
  delete[] memory;
  return nullptr;
}

napi_value ReadPastEnd(napi_env /*env*/, napi_callback_info /*info*/) {
  char* memory = Allocate();
  sink = memory[size];
  delete[] memory;
  return nullptr;
}

napi_value WritePastEnd(napi_env /*env*/, napi_callback_info /*info*/) {
  char* memory = Allocate();
  memory[size] = 1;
  delete[] memory;
  return nullptr;
}

napi_value UseAfterFree(napi_env /*env*/, napi_callback_info /*info*/) {
  char* memory = Allocate();
  delete[] memory;
  sink = memory[size - 1];
  return nullptr;
}

// More than one, since a pointer may be left in a register.
napi_value Leak(napi_env /*env*/, napi_callback_info /*info*/) {
  for (int n = 0; n < 10; ++n) sink = *Allocate();
  return nullptr;
}

// By malloc, as in C.
napi_value LeakOfMalloc(napi_env /*env*/, napi_callback_info /*info*/) {
  for (int n = 0; n < 10; ++n) {
    auto* memory = static_cast<char*>(std::malloc(size));
    std::memset(memory, 1, size);
    sink = *memory;
  }
  return nullptr;
}

napi_value Overflow(napi_env /*env*/, napi_callback_info /*info*/) {
  sink = INT_MAX;
  sink = sink + 1;
  return nullptr;
}

napi_value Init(napi_env env, napi_value exports) {
  const auto add = [&](const char* name, napi_callback callback) {
    napi_value function = nullptr;
    napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &function);
    napi_set_named_property(env, exports, name, function);
  };
  add("sound", Sound);
  add("readPastEnd", ReadPastEnd);
  add("writePastEnd", WritePastEnd);
  add("useAfterFree", UseAfterFree);
  add("leak", Leak);
  add("leakOfMalloc", LeakOfMalloc);
  add("overflow", Overflow);
  return exports;
}

}  // namespace

NAPI_MODULE(planted, Init)
