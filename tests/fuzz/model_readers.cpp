// ONNX files: whatever the bytes are, the outcome is a model, or an analysis, or an Error; and the skeleton of a model
// loads, with the same nodes, and is its own skeleton.
#include <functional>
#include <span>
#include <string>

#include "fuzz/readers.h"
#include "onnx/sample_models.h"
#include "pagoda/base/error.h"
#include "pagoda/core/model.h"
#include "support/choices.h"

namespace pagoda::fuzz {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

void load(std::string_view text) { (void)parse_model(bytes_of(text)); }

void skeletons(std::string_view text) {
  const Model model = parse_model(bytes_of(text));
  const std::string written = skeleton(bytes_of(text));
  std::string again;
  try {
    const Model small = parse_model(bytes_of(written));
    for (std::size_t i = 0; i < model.graphs.size(); ++i)
      if (small.graphs.at(i).nodes.size() != model.graphs[i].nodes.size()) again = "other nodes";
    if (skeleton(bytes_of(written)) != written) again = "another skeleton";
  } catch (const Error& error) {
    again = error.what();
  }
  require(again.empty(), "the skeleton of a model gives: " + again);
}

// The bytes of a file choose its precision, phase and traffic model.
void analysis(std::string_view text) {
  (void)test::use_all(parse_model(bytes_of(text)), test::choice(std::hash<std::string_view>()(text)));
}

constexpr Target kTargets[] = {
    {"analyze", analysis},
    {"load", load},
    {"skeleton", skeletons},
};

}  // namespace

std::span<const Target> targets() { return kTargets; }

}  // namespace pagoda::fuzz
