// The tool's own experiments on the interpreter: what they launch, what they credit and what is executed.
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>

#include "driver.h"
#include "gpu_driver.h"
#include "gpu_run.h"
#include "nvml.h"

namespace ptx {

namespace ceilings = pagoda::tools::ceilings;

// The PTX of a source for an architecture (10 × major + minor); empty where there is none.
inline std::string text_of(const std::string& source, int capability) {
  std::ifstream file(std::string(PAGODA_PTX_DIR) + "/" + source + ".sm_" + std::to_string(capability) + ".ptx");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Compute capabilities for which the build made a source's kernels, in rising order; of several with the same
// code only the first. Empty without nvcc.
inline std::vector<int> capabilities(const std::string& source) {
  std::vector<int> all;
  std::vector<std::string> codes;
  for (int capability = 70; capability < 130; ++capability) {
    std::string code = text_of(source, capability);
    if (code.empty()) continue;
    const std::size_t target = code.find(".target");
    code.erase(0, code.find('\n', target));
    if (std::find(codes.begin(), codes.end(), code) != codes.end()) continue;
    codes.push_back(std::move(code));
    all.push_back(capability);
  }
  return all;
}

class Bench {
  static bool fresh(int capability) {
    driver().reset();
    driver().major = capability / 10;
    driver().minor = capability % 10;
    return true;
  }
  bool reset_;

 public:
  // Loads the kernels of `sources` as changed by `edit`; runs the experiments whose ids contain one of `only`.
  Bench(int capability, const std::vector<std::string>& sources, std::vector<std::string> only,
        const std::function<void(std::string&)>& edit = {})
      : reset_(fresh(capability)), gpu(0, PAGODA_PTX_DRIVER), nvml("", "libno-such-library.so"), trace(nvml) {
    options.only = std::move(only);
    options.depth = ceilings::Depth::Quick;
    for (const std::string& source : sources) {
      std::string text = text_of(source, capability);
      if (text.empty()) continue;
      if (edit) edit(text);
      gpu.load({reinterpret_cast<const unsigned char*>(text.c_str()), text.size() + 1});
    }
    runs = std::make_unique<ceilings::GpuCeilings>(gpu, trace, options);
  }

  // The result of a candidate in launches of `trips` trips: the work that it credits and what was executed.
  struct Credited {
    double amount = 0;
    double clock_hz = 0;
    std::vector<Work> launches;
  };
  Credited run(const ceilings::Candidate& candidate, unsigned trips) {
    runs->fix_trips(trips);
    driver().launches.clear();
    driver().keeps = true;
    const ceilings::Sample s = candidate.run(0.01);
    driver().keeps = false;
    return {std::nearbyint(s.rate * s.seconds), s.clock_hz, std::move(driver().launches)};
  }

  ceilings::Gpu gpu;
  ceilings::Nvml nvml;
  ceilings::NvmlTrace trace;
  ceilings::Options options;
  std::unique_ptr<ceilings::GpuCeilings> runs;
};

// Lanes of each mnemonic in `many` minus those in `few`: what additional trips execute.
inline std::map<std::string, double> more(const std::vector<Work>& few, const std::vector<Work>& many) {
  std::map<std::string, double> difference;
  for (const Work& w : many)
    for (const auto& [name, lanes] : w.lanes) difference[name] += static_cast<double>(lanes);
  for (const Work& w : few)
    for (const auto& [name, lanes] : w.lanes) difference[name] -= static_cast<double>(lanes);
  std::erase_if(difference, [](const auto& entry) { return entry.second == 0; });
  return difference;
}

// Traffic of all launches to the memory to which an argument points.
inline Traffic sum_of(const std::vector<Work>& launches, std::size_t argument) {
  Traffic sum;
  for (const Work& w : launches) {
    // The last piece of memory that begins at the argument or before.
    auto found = w.global.upper_bound(w.arguments.at(argument));
    if (found == w.global.begin()) continue;
    --found;
    const Traffic& t = found->second;
    sum.loaded += t.loaded;
    sum.stored += t.stored;
    sum.atomics += t.atomics;
    sum.load_pieces += t.load_pieces;
    sum.store_pieces += t.store_pieces;
    sum.loads_of.resize(t.loads_of.size());
    sum.stores_of.resize(t.stores_of.size());
    for (std::size_t i = 0; i < t.loads_of.size(); ++i) {
      sum.loads_of[i] += t.loads_of[i];
      sum.stores_of[i] += t.stores_of[i];
    }
  }
  return sum;
}

// How many counts are wrong: the first n must be `count`, the others zero.
inline std::size_t strays(const std::vector<std::uint32_t>& counts, std::size_t n, std::uint64_t count) {
  std::size_t wrong = counts.size() < n;
  for (std::size_t i = 0; i < counts.size(); ++i) wrong += counts[i] != (i < n ? count : 0);
  return wrong;
}

// What an experiment's own check objects to in kernels as changed by `edit`; empty if they are right.
inline std::string said_of(int capability, const std::string& source, const std::string& id,
                           const std::function<void(std::string&)>& edit) {
  try {
    Bench bench(capability, {source}, {id}, edit);
    auto list = bench.runs->experiments();
    if (list.at(0).prepare) list[0].prepare();
    const ceilings::Verdict v = list[0].verify();
    return v.right ? "" : v.detail;
  } catch (const std::exception& e) {
    return e.what();
  }
}

// Changes the nth occurrence of a text within a kernel.
inline void change(std::string& text, const std::string& kernel, const std::string& from, const std::string& to,
                   int nth) {
  std::size_t at = text.find("entry " + kernel + "(");
  const std::size_t end = text.find("\n}\n", at);
  for (int i = 0; i <= nth; ++i) at = text.find(from, at + 1);
  if (at >= end) throw Fault(kernel + " has no '" + from + "' to change");
  text.replace(at, from.size(), to);
}

}  // namespace ptx
