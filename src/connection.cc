// See connection.h.
#include "connection.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace pg_conduit {

namespace {

constexpr int64_t kMaxBusyPollMicros = 1000;

// In a thread that is being terminated every call may fail, and the wrappers of node-addon-api end
// the process when one is used on another's empty result. So the plain functions are used here,
// which only return an error.

bool GetText(napi_env env, napi_value value, std::string* out) {
  size_t size = 0;
  if (napi_get_value_string_utf8(env, value, nullptr, 0, &size) != napi_ok) return false;
  out->resize(size);
  return napi_get_value_string_utf8(env, value, &(*out)[0], size + 1, &size) == napi_ok;
}

bool GetString(napi_env env, napi_value array, uint32_t index, std::string* out) {
  napi_value value = nullptr;
  return napi_get_element(env, array, index, &value) == napi_ok && GetText(env, value, out);
}

bool GetStrings(napi_env env, napi_value array, std::vector<std::string>* out) {
  uint32_t length = 0;
  if (napi_get_array_length(env, array, &length) != napi_ok) return false;
  out->resize(length);
  for (uint32_t index = 0; index < length; ++index) {
    if (!GetString(env, array, index, &(*out)[index])) return false;
  }
  return true;
}

}  // namespace

Napi::Function Connection::Define(Napi::Env env) {
  return DefineClass(env, "Connection",
                     {
                         InstanceMethod("connect", &Connection::JS_Connect),
                         InstanceMethod("close", &Connection::JS_Close),
                         InstanceMethod("leave", &Connection::JS_Leave),
                         InstanceMethod("setLoopRef", &Connection::JS_SetLoopRef),
                         InstanceMethod("simple", &Connection::JS_Simple),
                         InstanceMethod("putCopyData", &Connection::JS_PutCopyData),
                         InstanceMethod("endCopy", &Connection::JS_EndCopy),
                         InstanceMethod("cancel", &Connection::JS_Cancel),
                         InstanceMethod("setReading", &Connection::JS_SetReading),
                         InstanceMethod("counters", &Connection::JS_Counters),
                         InstanceMethod("head", &Connection::JS_Head),
                         InstanceMethod("parameterStatus", &Connection::JS_ParameterStatus),
                         InstanceMethod("isEncrypted", &Connection::JS_IsEncrypted),
                         InstanceMethod("serverAddress", &Connection::JS_ServerAddress),
                         InstanceMethod("socketFamily", &Connection::JS_SocketFamily),
                         InstanceMethod("lastParameters", &Connection::JS_LastParameters),
                         InstanceMethod("setKeepAlive", &Connection::JS_SetKeepAlive),
                     });
}

Connection::Connection(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<Connection>(info), data_(AddonData::Get(info.Env())) {
  id_ = info[0].As<Napi::Number>().Int32Value();
  data_->Add(id_, this);
}

Connection::~Connection() {
  ShutDown();
  data_->Remove(id_);
}

void Connection::ShutDown() {
  connector_.reset();
  pipeline_.reset();
}

void Connection::JS_Connect(const Napi::CallbackInfo& info) {
  if (!data_->alive() || connector_ != nullptr || pipeline_ != nullptr) {
    Napi::Error::New(info.Env(), "connect() may be called once").ThrowAsJavaScriptException();
    return;
  }
  std::vector<std::string> keywords;
  std::vector<std::string> values;
  std::vector<std::string> file_keywords;
  TlsFiles::Texts texts;
  if (!GetStrings(info.Env(), info[0], &keywords) || !GetStrings(info.Env(), info[1], &values) ||
      !GetStrings(info.Env(), info[2], &file_keywords) ||
      !GetStrings(info.Env(), info[3], &texts) || keywords.size() != values.size() ||
      file_keywords.size() != texts.size()) {
    return;
  }
  if (!info[4].IsNumber() || !info[5].IsNumber()) return;
  const int max_scram_iterations = info[4].As<Napi::Number>().Int32Value();
  const int64_t micros = info[5].As<Napi::Number>().Int64Value();
  busy_poll_ = static_cast<uint64_t>(std::clamp(micros, int64_t{0}, kMaxBusyPollMicros)) * 1000;
  std::shared_ptr<TlsFiles> files;
  std::string message;
  if (!texts.empty()) {
    files = data_->OpenTlsFiles(std::move(texts), &message);
    if (files == nullptr) {
      OnConnectFailed(message);
      data_->RequestDeliveryIfAny();
      return;
    }
    keywords.insert(keywords.end(), file_keywords.begin(), file_keywords.end());
    values.insert(values.end(), files->names().begin(), files->names().end());
  }
  connector_ = std::make_unique<Connector>(data_->pipeline_context(), id_, this);
  // May fail at once, which resets connector_.
  connector_->Start(keywords, values, std::move(files), max_scram_iterations);
  data_->RequestDeliveryIfAny();
}

void Connection::JS_Close(const Napi::CallbackInfo& /*info*/) {
  connector_.reset();
  if (pipeline_ != nullptr) {
    pipeline_->Lose("Connection terminated");
    last_counters_ = pipeline_->counters();
    pipeline_.reset();
  }
  data_->RequestDeliveryIfAny();
}

Napi::Value Connection::JS_Leave(const Napi::CallbackInfo& info) {
  int fd = -1;
  if (pipeline_ != nullptr) fd = pipeline_->DuplicateSocket();
  if (connector_ != nullptr) fd = connector_->DuplicateSocket();
  JS_Close(info);
  return Napi::Number::New(info.Env(), fd);
}

void Connection::JS_SetLoopRef(const Napi::CallbackInfo& info) {
  loop_ref_ = info[0].As<Napi::Boolean>().Value();
  if (pipeline_ != nullptr) pipeline_->SetLoopRef(loop_ref_);
}

void Connection::JS_Simple(const Napi::CallbackInfo& info) {
  const int32_t slot = info[0].As<Napi::Number>().Int32Value();
  const uint32_t flags = info[1].As<Napi::Number>().Uint32Value();
  std::string text;
  if (!GetText(info.Env(), info[2], &text)) return;
  if (pipeline_ == nullptr) {
    data_->pipeline_context().delivery->Push(Event::kNotSent, slot, NotSentReason::kConnectionGone,
                                             0);
  } else {
    pipeline_->SendSimple(slot, flags, std::move(text));
  }
  data_->RequestDeliveryIfAny();
}

Napi::Value Connection::JS_PutCopyData(const Napi::CallbackInfo& info) {
  // Not Napi::Uint8Array, which ends the process for any other value.
  napi_typedarray_type type = napi_int8_array;
  size_t length = 0;
  void* data = nullptr;
  const bool is_bytes = napi_get_typedarray_info(info.Env(), info[0], &type, &length, &data,
                                                 nullptr, nullptr) == napi_ok &&
                        type == napi_uint8_array;
  const bool put = pipeline_ != nullptr && is_bytes && (length == 0 || data != nullptr) &&
                   pipeline_->PutCopyData(static_cast<const char*>(data), length);
  data_->RequestDeliveryIfAny();
  return Napi::Boolean::New(info.Env(), put);
}

Napi::Value Connection::JS_EndCopy(const Napi::CallbackInfo& info) {
  std::string message;
  const bool fails = info.Length() > 0 && info[0].IsString();
  if (fails && !GetText(info.Env(), info[0], &message)) return info.Env().Undefined();
  const bool ended = pipeline_ != nullptr && pipeline_->EndCopy(fails ? message.c_str() : nullptr);
  data_->RequestDeliveryIfAny();
  return Napi::Boolean::New(info.Env(), ended);
}

void Connection::JS_Cancel(const Napi::CallbackInfo& /*info*/) {
  if (pipeline_ != nullptr) pipeline_->RequestCancel();
  data_->RequestDeliveryIfAny();
}

void Connection::JS_SetReading(const Napi::CallbackInfo& info) {
  const bool reading = info[0].As<Napi::Boolean>().Value();
  if (pipeline_ != nullptr) pipeline_->SetReading(reading);
  data_->RequestDeliveryIfAny();
}

Napi::Value Connection::JS_Counters(const Napi::CallbackInfo& info) {
  Napi::Object object = Napi::Object::New(info.Env());
  const PipelineCounters counters = pipeline_ != nullptr ? pipeline_->counters() : last_counters_;
  const auto set = [&](const char* name, uint64_t value) {
    object.Set(name, Napi::Number::New(info.Env(), static_cast<double>(value)));
  };
  set("queries", counters.queries);
  set("parses", counters.parses);
  set("syncs", counters.syncs);
  set("flushes", counters.flushes);
  set("wakeups", counters.wakeups);
  set("pending", pipeline_ != nullptr ? pipeline_->pending() : 0);
  return object;
}

Napi::Value Connection::JS_Head(const Napi::CallbackInfo& info) {
  if (pipeline_ == nullptr) return info.Env().Undefined();
  const std::optional<Pipeline::Head> head = pipeline_->head();
  if (!head.has_value()) return info.Env().Undefined();
  constexpr double kNanosPerMilli = 1e6;
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("slot", Napi::Number::New(info.Env(), head->slot));
  object.Set("millis",
             Napi::Number::New(info.Env(),
                               static_cast<double>(uv_hrtime() - head->since) / kNanosPerMilli));
  return object;
}

Napi::Value Connection::JS_ParameterStatus(const Napi::CallbackInfo& info) {
  const std::string name = info[0].As<Napi::String>();
  const char* value = pipeline_ != nullptr ? pipeline_->ParameterStatus(name.c_str()) : nullptr;
  if (value == nullptr) return info.Env().Null();
  return Napi::String::New(info.Env(), value);
}

Napi::Value Connection::JS_IsEncrypted(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), pipeline_ != nullptr && pipeline_->is_encrypted());
}

Napi::Value Connection::JS_ServerAddress(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), pipeline_ != nullptr ? pipeline_->ServerAddress() : "");
}

Napi::Value Connection::JS_SocketFamily(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), pipeline_ != nullptr ? pipeline_->socket_family() : -1);
}

Napi::Value Connection::JS_LastParameters(const Napi::CallbackInfo& info) {
  Napi::Array names = Napi::Array::New(info.Env());
  if (!info[0].IsNumber() || pipeline_ == nullptr) return names;
  uint32_t index = 0;
  for (const char* name : pipeline_->LastParameters(info[0].As<Napi::Number>().Int32Value())) {
    names.Set(index++, Napi::String::New(info.Env(), name));
  }
  return names;
}

void Connection::JS_SetKeepAlive(const Napi::CallbackInfo& info) {
  if (!info[0].IsBoolean() || !info[1].IsNumber() || pipeline_ == nullptr) return;
  pipeline_->SetKeepAlive(info[0].As<Napi::Boolean>().Value(),
                          info[1].As<Napi::Number>().Int32Value());
}

void Connection::OnConnected(ConnPtr conn, std::shared_ptr<TlsFiles> files) {
  connector_.reset();
  const int process_id = PQbackendPID(conn.get());
  const int server_version = PQserverVersion(conn.get());
  pipeline_ = std::make_unique<Pipeline>(data_->pipeline_context(), id_, std::move(conn),
                                         std::move(files), busy_poll_);
  std::string message;
  if (!pipeline_->Start(loop_ref_, &message)) {
    pipeline_.reset();
    OnConnectFailed(message);
    return;
  }
  data_->pipeline_context().delivery->Push(Event::kConnected, id_, process_id, server_version);
}

void Connection::OnConnectFailed(std::string message) {
  connector_.reset();
  Delivery* delivery = data_->pipeline_context().delivery;
  delivery->PushWithText(Event::kConnectFailed, id_);
  delivery->PushText(message);
}

}  // namespace pg_conduit
