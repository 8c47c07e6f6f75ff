// Checked calls of CUPTI functions by name.
#pragma once

#include <cupti_result.h>

#include <cstddef>
#include <string>

#include "cupti_library.h"
#include "pagoda/base/error.h"

namespace pagoda::tools::profile {

// Parameters of a call, with structSize set to end after the field `last`. A library rejects a structure longer than
// its own (CUPTI_ERROR_INVALID_PARAMETER) but accepts a shorter one, so a build with headers of any version uses only
// the fields of CUPTI 12.6: `last` is the last field of that version.
template <typename Params, typename Field>
Params params_to(Field Params::*last) {
  Params params = {};
  params.structSize = static_cast<std::size_t>(reinterpret_cast<const char*>(&(params.*last)) -
                                               reinterpret_cast<const char*>(&params)) +
                      sizeof(Field);
  return params;
}

// CUPTI comes from a newer toolkit than the driver supports.
class OldDriver : public Error {
 public:
  using Error::Error;
};

inline void check_cupti(const CuptiLibrary& library, int result, const std::string& what) {
  if (result == CUPTI_SUCCESS) return;
  const std::string remedy = library.remedy(result);
  const std::string text = what + " failed: " + cupti_error(library, result) + (remedy.empty() ? "" : "; " + remedy);
  if (result == CUPTI_ERROR_NOT_INITIALIZED) throw OldDriver(text);
  throw Error(text);
}

// Returns the function's result; throws Error if the library has no such function.
template <typename... Arguments>
int call_cupti(const CuptiLibrary& library, const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<CUptiResult (*)(Arguments...)>(library.symbol(name));
  if (function == nullptr)
    throw Error(library.path() + " has no " + name + "; CUPTI 12.6 or later is needed, as in CUDA 12.6");
  return function(arguments...);
}

// Calls a function; throws Error if it is missing or fails. `what` names the request in the message.
template <typename... Arguments>
void require_cupti(const CuptiLibrary& library, const std::string& what, const char* name, Arguments... arguments) {
  check_cupti(library, call_cupti(library, name, arguments...), what);
}

// The same for a function that takes one structure. Returns the structure as the call left it.
template <typename Params>
Params requested(const CuptiLibrary& library, const std::string& what, const char* name, Params params) {
  require_cupti(library, what, name, &params);
  return params;
}

}  // namespace pagoda::tools::profile
