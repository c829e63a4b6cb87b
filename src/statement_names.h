// Names of the prepared statements of a connection: numbers that it never uses twice, behind a
// prefix that no other connection has. A pooler may give a session of the server to one connection
// after the other, and a name that both used would run the wrong text. Owned by Pipeline.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace pg_conduit {

// An identifier that needs no quotes, for DEALLOCATE.
struct StatementName {
  StatementName(std::string_view prefix, int32_t statement) {
    char* const end = std::copy(prefix.begin(), prefix.end(), text);
    // Unsigned: numbers past 2^31 would have a sign, which needs quotes.
    *std::to_chars(end, text + sizeof(text) - 1, static_cast<uint32_t>(statement)).ptr = '\0';
  }
  char text[32];
};

class StatementNames {
 public:
  StatementNames();

  // False: OpenSSL had no random numbers for the prefix.
  bool ok() const { return !prefix_.empty(); }
  StatementName Get(int32_t statement) const { return {prefix_, statement}; }

 private:
  const std::string prefix_;
};

}  // namespace pg_conduit
