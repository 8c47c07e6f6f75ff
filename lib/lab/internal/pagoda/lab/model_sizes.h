// The sizes at which an experiment runs an ONNX file: those that onnx-estimate reads from the same numbers, or none.
//
//   const ModelSizes model("detector.onnx");
//   model.at(config).inputs;   // images:float32[4,3,640,640]; throws Error where a size is left open
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/core/analysis.h"
#include "pagoda/core/graph.h"
#include "pagoda/documents/result.h"

#pragma GCC visibility push(default)
namespace pagoda::lab::bench {

struct RunSizes {
  std::vector<documents::InputTensor> inputs;
  std::optional<std::int64_t> batch;  // empty: no input has a batch dim
  bool is_resized = false;            // the file fixes other sizes, so a copy runs (write_resized)
};

class ModelSizes {
 public:
  explicit ModelSizes(const std::string& path);  // throws Error

  // By the axes batch, sequence and input_size, by integers named like a dim, and by "input.NAME" = "AxBxC". Without a
  // batch it is what the file fixes, else 1. Throws Error, with fields as onnx-estimate names them, where a size stays
  // open, does not exist, or cannot be changed in the file.
  RunSizes at(const documents::Config& config) const;

  // The batch that the file fixes.
  std::optional<std::int64_t> fixed_batch() const { return fixed_batch_; }

 private:
  AnalyzeOptions options_of(const documents::Config& config) const;
  void set_sequence(std::int64_t length, AnalyzeOptions& options) const;
  void set_images(const base::Setting& size, const documents::Config& config, AnalyzeOptions& options) const;
  void require_same_sizes(const Analysis& asked) const;

  Model model_;
  Analysis open_;                        // with no size set
  std::vector<std::string> batch_dims_;  // free ones
  std::optional<std::int64_t> fixed_batch_;
};

// Prefix of the settings that state the whole shape of an input.
inline constexpr std::string_view kInputSetting = "input.";

// Whether the experiment runs an ONNX file at sizes that ModelSizes knows.
bool has_model_sizes(const documents::Config& config);

}  // namespace pagoda::lab::bench
#pragma GCC visibility pop
