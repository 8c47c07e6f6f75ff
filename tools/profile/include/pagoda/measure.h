// Regions of a C++ program, measured: ranges that pagoda-profile attributes kernels to, or, where the program profiles
// itself, a session that does it. Target pagoda::measure; nothing of CUDA is linked.
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
// A session makes this process what pagoda-profile makes of its program; where it runs under pagoda-profile already, it
// leaves the work to that and finish() is empty. `problem()` says why nothing is measured where there is no driver, no
// privilege or no libpagoda_inject.so: the program runs on without.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "pagoda/documents/measured.h"

// Defined by the installed target, which knows where its library lies.
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
  std::string mode = "quick";          // "time", "quick", "exact": as of pagoda-profile
  std::string precision = {};          // quick: count this one, as "tf32.tensor"
  std::string kernel = {}, nvtx = {};  // extended regular expressions of what is measured; empty: everything
  std::string output = {};             // pagoda.measured/1, written by finish(); empty: none
  // Path of libpagoda_inject.so; empty: beside the program, or where it was built.
  std::string library = PAGODA_INJECT_LIBRARY;
};

class Session {
 public:
  // Throws Error for a mode or a precision that there is not. Sets CUDA_INJECTION64_PATH and NVTX_INJECTION64_PATH of
  // this process, which CUDA and NVTX read at their first call.
  explicit Session(const SessionOptions& options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::string& problem() const;  // with its remedy; empty: none
  // Stops, reads and gives what was measured; writes `output`. Later launches are not measured. Empty the second time.
  pagoda::documents::Measured finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pagoda::measure
