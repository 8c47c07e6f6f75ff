// Common to both kinds of device: numbers as text, values in memory, checks of results and of a whole run.
#pragma once

#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>

#include "code_audit.h"
#include "pagoda/base/cat.h"
#include "pagoda/documents/ceilings.h"
#include "pagoda/lab/plateaus.h"
#include "protocol.h"

namespace pagoda::tools::ceilings {

// With a fixed number of decimals.
std::string fixed(double value, int digits);
// With six significant digits.
std::string general(double value);

// As printf().
template <typename... Args>
std::string printed(const char* pattern, Args... args) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

// The value that begins at an address, aligned or not.
template <typename T>
T value_at(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

// The verdict on a wrong result; `what` names its place.
template <typename T>
Verdict mismatch(const std::string& what, T found, T wanted) {
  return {false, cat(what, " is ", std::to_string(found), ", must be ", std::to_string(wanted))};
}

template <typename T>
base::Setting setting(const std::optional<T>& value) {
  if (!value) return std::monostate{};
  return *value;
}

// Notes the instructions of a kernel's loop in its ceilings.
void attach_code(std::string_view kernel, const CodeAudit& loop, std::vector<documents::Ceiling>& ceilings);
// A line of --audit; `wrong`: the objection to the loop.
std::string audit_line(std::string_view name, const CodeAudit& loop, std::string_view wrong);

// An outer level that appears faster than an inner one indicates an error: each ceiling "LEVEL.suffix", from the outer
// to the inner, must exceed `least` times the one before. `digits`: decimals of the rates in the check's text.
void check_order(std::initializer_list<const char*> levels, const char* suffix, double least, int digits,
                 documents::CeilingsDocument& document);

// A level's ceilings are only valid if the sweep shows a clear plateau for the level. `only`: the one level whose
// ceilings depend on the sweep; empty: all.
void apply_plateaus(const std::vector<lab::Plateau>& plateaus, const char* only, int digits,
                    documents::CeilingsDocument& document);

}  // namespace pagoda::tools::ceilings
