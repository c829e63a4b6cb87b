// See statement_names.h.
#include "statement_names.h"

#include <openssl/rand.h>

namespace pg_conduit {

namespace {

// "pgc_", 50 random bits and "_"; empty if there are no random numbers.
std::string MakePrefix() {
  constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";
  unsigned char random[10] = {};
  if (RAND_bytes(random, sizeof(random)) != 1) return {};
  std::string prefix = "pgc_";
  for (const unsigned char each : random) prefix += kAlphabet[each % kAlphabet.size()];
  return prefix + '_';
}

}  // namespace

StatementNames::StatementNames() : prefix_(MakePrefix()) {}

}  // namespace pg_conduit
