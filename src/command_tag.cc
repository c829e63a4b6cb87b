// See command_tag.h.
#include "command_tag.h"

#include <charconv>
#include <string_view>

namespace pg_conduit {

namespace {

struct KnownTag {
  std::string_view word;
  CommandTag tag;
};

constexpr KnownTag kKnownTags[] = {
    {"SELECT ", CommandTag::kSelect}, {"INSERT 0 ", CommandTag::kInsert},
    {"UPDATE ", CommandTag::kUpdate}, {"DELETE ", CommandTag::kDelete},
    {"MERGE ", CommandTag::kMerge},
};

}  // namespace

bool PushCommandTag(const PGresult* result, int32_t slot, Delivery* delivery) {
  // PQcmdStatus takes a non-const result but does not change it.
  const std::string_view text = PQcmdStatus(const_cast<PGresult*>(result));
  if (text.empty()) return false;
  for (const KnownTag& known : kKnownTags) {
    if (text.substr(0, known.word.size()) != known.word) continue;
    uint64_t rows = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + known.word.size(), end, rows);
    if (parsed.ec != std::errc() || parsed.ptr != end) break;
    delivery->Push(Event::kComplete, slot, known.tag, static_cast<uint32_t>(rows),
                   static_cast<uint32_t>(rows >> 32));
    return true;
  }
  delivery->PushWithText(Event::kCompleteOther, slot);
  delivery->PushText(text);
  return true;
}

}  // namespace pg_conduit
