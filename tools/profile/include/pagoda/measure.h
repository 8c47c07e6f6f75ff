// Measures regions of a C++ program: ranges to which pagoda-profile attributes kernels, and a session with which a
// program profiles itself. Target pagoda::measure; no part of CUDA is linked.
//
//   {
//     pagoda::measure::Range range("encoder");   // NVTX, domain "pagoda"; costs a few ns where nobody listens
//     launch_kernels();
//   }
//
//   int main() {
//     pagoda::measure::Session session({.output = "measured.json"});   // before the first CUDA call
//     …                                                                // the program's work
//     for (const pagoda::documents::MeasuredKernel& kernel : session.finish().kernels) …   // or at the end of scope
//   }
//
// A session profiles its own process as pagoda-profile profiles a program. If the process already runs under
// pagoda-profile, the session does nothing and finish() returns an empty result. Without a driver, the privilege or
// libpagoda_inject.so, nothing is measured, problem() gives the reason, and the program runs on.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "pagoda/documents/measured.h"

// Defined by the installed target as the path of its library.
#ifndef PAGODA_INJECT_LIBRARY
#define PAGODA_INJECT_LIBRARY ""
#endif

namespace pagoda::measure {

// Open from construction to destruction, on this thread; strictly nested.
class Range {
 public:
  explicit Range(const std::string& name);
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

struct SessionOptions {
  std::string mode = "quick";          // "time", "quick" or "exact", as in pagoda-profile
  std::string precision = {};          // quick: the precision to count, such as "tf32.tensor"
  std::string kernel = {}, nvtx = {};  // extended regular expressions that select what is measured; empty: all
  std::string output = {};             // pagoda.measured/1, written by finish(); empty: none
  // Path of libpagoda_inject.so; empty: next to the program, or in the build folder.
  std::string library = PAGODA_INJECT_LIBRARY;
};

class Session {
 public:
  // Throws Error for an unknown mode or precision. Sets CUDA_INJECTION64_PATH and NVTX_INJECTION64_PATH in the
  // environment of this process, which CUDA and NVTX read at their first call.
  explicit Session(const SessionOptions& options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::string& problem() const;  // with its remedy; empty: none
  // Stops measuring and returns the results; writes `output`. Later launches are not measured. A second call returns an
  // empty result.
  pagoda::documents::Measured finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pagoda::measure
