// See param_reader.h.
#include "param_reader.h"

#include <charconv>
#include <cstring>

namespace pg_conduit {

namespace {

constexpr int32_t kMaxParams = 65535;  // the Bind message counts them in 16 bits
constexpr size_t kIntDigits = 12;      // "-2147483648" and its NUL

// The server drops a connection, with all that is in flight on it, if a message is longer than this
// (PQ_LARGE_MESSAGE_LIMIT, pqcomm.h). 1 KiB is left for the parts of the message that are not
// counted here.
constexpr uint64_t kMaxMessage = 0x3FFFFFFF - 1024;

// The bytes that `units` UTF-16 units take at the start of `utf8`; more than its size if it is too
// short.
size_t Utf8Size(std::string_view utf8, size_t units) {
  size_t at = 0;
  while (units > 0 && at < utf8.size()) {
    const auto lead = static_cast<unsigned char>(utf8[at]);
    if (lead < 0x80) {
      at += 1;
    } else if (lead < 0xE0) {
      at += 2;
    } else if (lead < 0xF0) {
      at += 3;
    } else {
      at += 4;
      if (units == 1) return utf8.size() + 1;  // half of a surrogate pair
      --units;
    }
    --units;
  }
  return units == 0 ? at : utf8.size() + 1;
}

}  // namespace

bool ParamReader::Read(const int32_t* commands, size_t count, std::string_view text,
                       size_t text_units, std::string_view bytes) {
  at_ = commands;
  end_ = commands + count;
  text_ = text;
  bytes_ = bytes;
  text_is_ascii_ = text.size() == text_units;
  while (at_ != end_) {
    if (!ReadRecord()) return false;
  }
  return true;
}

bool ParamReader::TakeInt(int32_t* value) {
  if (at_ == end_) return false;
  *value = *at_++;
  return true;
}

bool ParamReader::TakeText(int32_t units, std::string_view* text, bool* has_nul) {
  if (units < 0) return false;
  const auto wanted = static_cast<size_t>(units);
  const size_t size = text_is_ascii_ ? wanted : Utf8Size(text_, wanted);
  if (size >= text_.size() || text_[size] != '\0') return false;
  *text = text_.substr(0, size);
  *has_nul = std::memchr(text->data(), '\0', size) != nullptr;
  text_.remove_prefix(size + 1);
  return true;
}

bool ParamReader::TakeBytes(int32_t size, std::string_view* bytes) {
  if (size < 0 || static_cast<size_t>(size) > bytes_.size()) return false;
  *bytes = bytes_.substr(0, static_cast<size_t>(size));
  bytes_.remove_prefix(static_cast<size_t>(size));
  return true;
}

bool ParamReader::ReadRecord() {
  int32_t command = 0;
  int32_t connection = 0;
  int32_t slot = 0;
  if (!TakeInt(&command) || !TakeInt(&connection) || !TakeInt(&slot)) return false;
  int32_t flags = 0;
  int32_t statement = 0;
  int32_t columns = 0;
  int32_t units = 0;
  int32_t count = 0;
  std::string_view text;
  bool text_has_nul = false;
  switch (static_cast<Command>(command)) {
    case Command::kQuery:
      if (!TakeInt(&flags) || !TakeInt(&units) || !TakeInt(&count) ||
          !TakeText(units, &text, &text_has_nul) || !ReadParams(count)) {
        return false;
      }
      break;
    case Command::kExecute:
      if (!TakeInt(&flags) || !TakeInt(&statement) || !TakeInt(&columns) || !TakeInt(&count) ||
          !ReadParams(count)) {
        return false;
      }
      break;
    case Command::kParse:
      if (!TakeInt(&statement) || !TakeInt(&units) || !TakeText(units, &text, &text_has_nul)) {
        return false;
      }
      break;
    case Command::kClose:
      if (!TakeInt(&statement)) return false;
      break;
    case Command::kSync:
      break;
    case Command::kSkip:
      return true;
    default:
      return false;
  }
  Pipeline* pipeline = pipelines_->FindPipeline(connection);
  if (pipeline == nullptr) {
    pipelines_->NotSent(slot, NotSentReason::kConnectionGone, 0);
    return true;
  }
  switch (static_cast<Command>(command)) {
    case Command::kQuery:
    case Command::kExecute: {
      if (slot == slot_without_parse_) return true;
      if (text_has_nul || nul_parameter_ >= 0) {
        pipelines_->NotSent(slot, NotSentReason::kNulByte, text_has_nul ? -1 : nul_parameter_);
        return true;
      }
      if (message_size_ + text.size() > kMaxMessage) {
        pipelines_->NotSent(slot, NotSentReason::kTooLarge, 0);
        return true;
      }
      const ParamArrays params{count, values_.data(), lengths_.data(), formats_.data()};
      if (static_cast<Command>(command) == Command::kQuery) {
        // TakeText has seen the NUL. NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage)
        pipeline->SendQuery(slot, static_cast<uint32_t>(flags), text.data(), params);
      } else {
        pipeline->SendExecute(slot, static_cast<uint32_t>(flags), statement, columns, params);
      }
      return true;
    }
    case Command::kParse:
      slot_without_parse_ = slot;
      if (text_has_nul) {
        pipelines_->NotSent(slot, NotSentReason::kNulByte, -1);
      } else if (text.size() > kMaxMessage) {
        pipelines_->NotSent(slot, NotSentReason::kTooLarge, -1);
      } else {
        slot_without_parse_ = -1;
        // TakeText has seen the NUL. NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage)
        pipeline->SendParse(slot, statement, text.data());
      }
      return true;
    case Command::kClose:
      pipeline->SendClose(slot, statement);
      return true;
    case Command::kSync:
      slot_without_parse_ = -1;
      pipeline->SendSync(slot);
      return true;
    case Command::kSkip:
      return true;
  }
  return false;
}

bool ParamReader::ReadParams(int32_t count) {
  if (count < 0 || count > kMaxParams) return false;
  const auto wanted = static_cast<size_t>(count);
  if (wanted * 2 > static_cast<size_t>(end_ - at_)) return false;
  values_.resize(wanted);
  lengths_.resize(wanted);
  formats_.resize(wanted);
  if (digits_.size() < wanted * kIntDigits) digits_.resize(wanted * kIntDigits);
  message_size_ = 0;
  nul_parameter_ = -1;
  char* digits = digits_.data();
  for (size_t index = 0; index < wanted; ++index) {
    const auto kind = static_cast<ParamKind>(*at_++);
    const int32_t value = *at_++;
    lengths_[index] = 0;
    formats_[index] = 0;
    message_size_ += sizeof(int32_t) + sizeof(int16_t);
    switch (kind) {
      case ParamKind::kNull:
        values_[index] = nullptr;
        break;
      case ParamKind::kText: {
        std::string_view text;
        bool has_nul = false;
        if (!TakeText(value, &text, &has_nul)) return false;
        if (has_nul && nul_parameter_ < 0) nul_parameter_ = static_cast<int32_t>(index);
        values_[index] = text.data();
        message_size_ += text.size();
        break;
      }
      case ParamKind::kInt32: {
        char* end = std::to_chars(digits, digits + kIntDigits - 1, value).ptr;
        *end = '\0';
        values_[index] = digits;
        message_size_ += static_cast<uint64_t>(end - digits);
        digits += kIntDigits;
        break;
      }
      case ParamKind::kBytes: {
        std::string_view bytes;
        if (!TakeBytes(value, &bytes)) return false;
        // Not a null pointer even if it is empty: that would be NULL.
        values_[index] = bytes.empty() ? "" : bytes.data();
        lengths_[index] = value;
        formats_[index] = 1;
        message_size_ += bytes.size();
        break;
      }
      default:
        return false;
    }
  }
  return true;
}

}  // namespace pg_conduit
