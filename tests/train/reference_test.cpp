// Training steps of the model set against reference.json: what PyTorch counts and keeps when it trains the source
// networks (see reference.py). Contractions agree to the integer.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "pagoda/model.h"
#include "pagoda/train.h"

using namespace pagoda;
using nlohmann::json;

namespace {

const std::string kSource = PAGODA_SOURCE_DIR;

const json& reference() {
  static const json loaded = json::parse(std::ifstream(kSource + "/tests/train/reference.json"));
  return loaded;
}

Bindings bindings_of(const json& entry) {
  Bindings bindings;
  for (const auto& [name, size] : entry.items()) bindings[name] = size.get<std::int64_t>();
  return bindings;
}

}  // namespace

TEST_CASE("contractions of a training step equal PyTorch's count to the integer") {
  for (const json& row : reference()["contractions"]) {
    const std::string name = row["model"];
    CAPTURE(name);
    AnalyzeOptions options;
    options.dims = bindings_of(row["bindings"]);
    const Model model = load_model(kSource + "/models/skeletons/" + name + ".onnx");
    const Training training = train(model, analyze(model, options));
    CHECK(!training.partial);
    CHECK(flops(training.totals.forward, Convention::Contraction) == Dim(row["forward_flops"].get<std::int64_t>()));
    const std::int64_t step = row["flops"].get<std::int64_t>() - row["grouped_excess"].get<std::int64_t>();
    CHECK(flops(training.totals.step, Convention::Contraction) == Dim(step));
  }
}
