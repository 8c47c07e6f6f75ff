// Calls of CUPTI by name, each checked.
#pragma once

#include <cupti_result.h>

#include <string>

#include "cupti_library.h"
#include "pagoda/error.h"

namespace profile {

// What to do about a refusal; empty where nothing is known.
std::string cupti_remedy(int result);

inline void check_cupti(const CuptiLibrary& library, int result, const std::string& what) {
  if (result == CUPTI_SUCCESS) return;
  const std::string remedy = cupti_remedy(result);
  throw pagoda::Error(what + " failed: " + cupti_error(library, result) + (remedy.empty() ? "" : "; " + remedy));
}

// The function's result; throws where the library has no such function.
template <typename... Arguments>
int call_cupti(const CuptiLibrary& library, const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<CUptiResult (*)(Arguments...)>(library.symbol(name));
  if (function == nullptr)
    throw pagoda::Error(library.path() + " has no " + name + "; CUPTI 12.6 or later is needed, as in CUDA 12.6");
  return function(arguments...);
}

}  // namespace profile
