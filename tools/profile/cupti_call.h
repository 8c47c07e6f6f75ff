// Calls of CUPTI by name, each checked.
#pragma once

#include <cupti_result.h>

#include <cstddef>
#include <string>

#include "cupti_library.h"
#include "pagoda/base/error.h"

namespace pagoda::tools::profile {

// Parameters of a call, as long as up to their field `last`. A library refuses a structure that is longer than its own
// (CUPTI_ERROR_INVALID_PARAMETER) and takes a shorter one, so a build with headers of any version asks for no more than
// CUPTI 12.6 has: `last` is the last field of that version.
template <typename Params, typename Field>
Params params_to(Field Params::*last) {
  Params params = {};
  params.structSize = static_cast<std::size_t>(reinterpret_cast<const char*>(&(params.*last)) -
                                               reinterpret_cast<const char*>(&params)) +
                      sizeof(Field);
  return params;
}

// What to do about a refusal; empty where nothing is known.
std::string cupti_remedy(int result);

// CUPTI is of a newer toolkit than the driver.
class OldDriver : public Error {
 public:
  using Error::Error;
};

inline void check_cupti(const CuptiLibrary& library, int result, const std::string& what) {
  if (result == CUPTI_SUCCESS) return;
  const std::string remedy = cupti_remedy(result);
  const std::string text = what + " failed: " + cupti_error(library, result) + (remedy.empty() ? "" : "; " + remedy);
  if (result == CUPTI_ERROR_NOT_INITIALIZED) throw OldDriver(text);
  throw Error(text);
}

// The function's result; throws where the library has no such function.
template <typename... Arguments>
int call_cupti(const CuptiLibrary& library, const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<CUptiResult (*)(Arguments...)>(library.symbol(name));
  if (function == nullptr)
    throw Error(library.path() + " has no " + name + "; CUPTI 12.6 or later is needed, as in CUDA 12.6");
  return function(arguments...);
}

}  // namespace pagoda::tools::profile
