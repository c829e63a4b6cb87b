// Module init: defines what lib/native/binding.js loads.
#include <napi.h>

#include <string>

#include "addon_data.h"
#include "capabilities.h"
#include "connection.h"
#include "libpq_ptr.h"
#include "socket_watcher.h"

namespace pg_conduit {

namespace {

// setup(tick: { text: string }, deliver: Function, jsonGuard: string,
// endTick: Function): void; the guard is JSON, in ASCII.
void JS_Setup(const Napi::CallbackInfo& info) {
  AddonData::Get(info.Env())
      ->Setup(info[0].As<Napi::Object>(), info[1].As<Napi::Function>(),
              info[2].As<Napi::String>().Utf8Value(), info[3].As<Napi::Function>());
}

// setBuffers(commands: Int32Array, bytes: Uint8Array): void
void JS_SetBuffers(const Napi::CallbackInfo& info) {
  AddonData::Get(info.Env())
      ->SetBuffers(info[0].As<Napi::Int32Array>(), info[1].As<Napi::Uint8Array>());
}

// submit(flushes: boolean): void; hands the tick so far to libpq now, not at the end of the turn;
// sends it now, too, if it flushes.
void JS_Submit(const Napi::CallbackInfo& info) {
  const auto data = AddonData::Get(info.Env());
  if (!data->alive()) return;
  data->ReadCommands();
  if (info[0].IsBoolean() && info[0].As<Napi::Boolean>().Value()) data->Flush();
  data->RequestDeliveryIfAny();
}

Napi::Object ToObject(Napi::Env env, const ConninfoPtr& options) {
  Napi::Object object = Napi::Object::New(env);
  for (const PQconninfoOption* option = options.get();
       option != nullptr && option->keyword != nullptr; ++option) {
    if (option->val != nullptr) object.Set(option->keyword, option->val);
  }
  return object;
}

// parseConninfo(text: string): Record<string, string>; throws libpq's message about a connection
// string or URI that it cannot read.
Napi::Value JS_ParseConninfo(const Napi::CallbackInfo& info) {
  char* message = nullptr;
  const ConninfoPtr options(
      PQconninfoParse(info[0].As<Napi::String>().Utf8Value().c_str(), &message));
  const std::unique_ptr<char, FreeMemDeleter> owned_message(message);
  if (options == nullptr) {
    Napi::Error::New(info.Env(), message != nullptr ? message : "out of memory")
        .ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  return ToObject(info.Env(), options);
}

// conninfoDefaults(): Record<string, string>; from the environment and the service file.
Napi::Value JS_ConninfoDefaults(const Napi::CallbackInfo& info) {
  return ToObject(info.Env(), ConninfoPtr(PQconndefaults()));
}

// conninfoKeywords(): string[]: every keyword that this libpq knows.
Napi::Value JS_ConninfoKeywords(const Napi::CallbackInfo& info) {
  const ConninfoPtr options(PQconndefaults());
  Napi::Array keywords = Napi::Array::New(info.Env());
  for (const PQconninfoOption* option = options.get();
       option != nullptr && option->keyword != nullptr; ++option) {
    keywords.Set(keywords.Length(), option->keyword);
  }
  return keywords;
}

// conninfoVariables(): Record<string, string>: by keyword, the environment variable that libpq
// reads for it.
Napi::Value JS_ConninfoVariables(const Napi::CallbackInfo& info) {
  const ConninfoPtr options(PQconndefaults());
  Napi::Object variables = Napi::Object::New(info.Env());
  for (const PQconninfoOption* option = options.get();
       option != nullptr && option->keyword != nullptr; ++option) {
    if (option->envvar != nullptr) variables.Set(option->keyword, option->envvar);
  }
  return variables;
}

// openSocket(family: number): number; a descriptor that is connected to nothing, and that the
// caller closes; -1 if none can be opened.
Napi::Value JS_OpenSocket(const Napi::CallbackInfo& info) {
  const int family = info[0].As<Napi::Number>().Int32Value();
  return Napi::Number::New(info.Env(), OpenUnconnected(family));
}

}  // namespace

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  if (const char* refused = RefusedLibpqVersion(PQlibVersion())) {
    Napi::Error::New(env, refused).ThrowAsJavaScriptException();
    return exports;
  }
  // Otherwise OpenSSL asks the terminal for the passphrase of an encrypted key, and the event loop
  // waits. libpq's own hook knows `sslpassword` only.
  if (PQgetSSLKeyPassHook_OpenSSL() == nullptr) {
    PQsetSSLKeyPassHook_OpenSSL(PQdefaultSSLKeyPassHook_OpenSSL);
  }
  if (AddonData::Create(env) == nullptr) return exports;
  exports.Set("setup", Napi::Function::New(env, JS_Setup));
  exports.Set("setBuffers", Napi::Function::New(env, JS_SetBuffers));
  exports.Set("submit", Napi::Function::New(env, JS_Submit));
  exports.Set("parseConninfo", Napi::Function::New(env, JS_ParseConninfo));
  exports.Set("conninfoDefaults", Napi::Function::New(env, JS_ConninfoDefaults));
  exports.Set("conninfoKeywords", Napi::Function::New(env, JS_ConninfoKeywords));
  exports.Set("conninfoVariables", Napi::Function::New(env, JS_ConninfoVariables));
  exports.Set("openSocket", Napi::Function::New(env, JS_OpenSocket));
  exports.Set("libpqVersion", Napi::Number::New(env, PQlibVersion()));
  exports.Set("seesCopyErrors", Napi::Boolean::New(env, kSeesCopyErrors));
  exports.Set("placesNotices", Napi::Boolean::New(env, kPlacesNotices));
  exports.Set("pipelinesSimple", Napi::Boolean::New(env, kPipelinesSimple));
  exports.Set("omitsDescribe", Napi::Boolean::New(env, kOmitsDescribe));
  exports.Set("Connection", Connection::Define(env));
  return exports;
}

}  // namespace pg_conduit

static Napi::Object InitModule(Napi::Env env, Napi::Object exports) {
  return pg_conduit::Init(env, exports);
}

NODE_API_MODULE(pg_conduit, InitModule)
