// The profiles in tests/import/data, and estimates to join them with.
#pragma once

#include <string>

#include "pagoda/core/model.h"
#include "pagoda/estimate/make_estimate.h"
#include "pagoda/measured/import.h"
#include "pagoda/measured/join.h"
#include "support/files.h"

namespace pagoda::test {

inline std::string data_path(const std::string& name) { return source_path("tests/import/data/" + name); }
inline std::string data(const std::string& name) { return read_file(data_path(name)); }

// The estimate of a model in the repository, passed through JSON, as users join.
inline documents::EstimateDocument estimate_of(const std::string& path, const Bindings& dims = {}) {
  const Model model = load_model(source_path(path));
  return documents::parse_estimate(
      documents::write_estimate(estimate::make_estimate(model, {.sizes = {.dims = dims}})), path);
}

// A row that computes.
inline documents::EstimateNode computing_row(const std::string& name, const char* op_type = "",
                                             const std::string& scope = "") {
  documents::EstimateNode row;
  row.name = name;
  row.op_type = op_type;
  row.scope = scope;
  row.mark = Mark::Compute;
  return row;
}

inline const documents::MeasuredKernel* kernel_named(const documents::Measured& measured, const std::string& name) {
  for (const documents::MeasuredKernel& kernel : measured.kernels)
    if (kernel.name == name) return &kernel;
  return nullptr;
}

inline bool is_missing(const documents::Measured& measured, const std::string& what) {
  for (const documents::Missing& missing : measured.missing)
    if (missing.what == what) return true;
  return false;
}

inline std::string names_of(const documents::MeasuredKernel* kernel, const documents::EstimateDocument& estimate) {
  std::string names;
  if (kernel && kernel->joined)
    for (const std::size_t row : kernel->joined->nodes) names += (names.empty() ? "" : " ") + estimate.nodes[row].name;
  return names;
}

// The error message of an import; empty if it succeeds.
inline std::string import_error(const std::string& text, const measured::ImportOptions& options = {}) {
  return error_of([&] { measured::import_profile(text, "profile", options); });
}

}  // namespace pagoda::test
