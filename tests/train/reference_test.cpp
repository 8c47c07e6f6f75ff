// Training steps of the model set against reference.json: what PyTorch counts and saves when it trains the source
// networks (see reference.py). Contractions agree exactly.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "pagoda/core/conventions.h"
#include "pagoda/core/model.h"
#include "pagoda/core/train.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/sometimes.h"

using namespace pagoda;
using nlohmann::json;

namespace {

const json& reference() {
  static const json loaded = test::read_json("tests/train/reference.json");
  return loaded;
}

Model skeleton(const std::string& name) { return load_model(test::source_path("models/skeletons/" + name + ".onnx")); }
Model as_trained(const std::string& name) {
  return load_model(test::source_path("tests/train/" + name + "_training.onnx"));
}

// Every number of a training step, as text.
std::vector<std::string> numbers(const Training& training) {
  std::vector<std::string> result;
  const auto add = [&](const std::string& name, const OpCost& cost) {
    std::string line = name;
    for (const Dim* count :
         {&cost.macs, &cost.arith, &cost.special, &cost.comparisons, &cost.bytes_read, &cost.bytes_written})
      line += " " + count->to_string();
    result.push_back(std::move(line));
  };
  for (const TrainingRow& row : training.rows) {
    add("forward", row.forward);
    add("dx", row.dx);
    add("dw", row.dw);
    result.push_back(row.gradient_bytes.to_string() + " " + row.parameter_gradient_bytes.to_string() + " " +
                     row.saved_bytes().to_string() + (row.recomputed ? " again" : "") + row.problem);
  }
  add("step", training.totals.step);
  const TrainingMemory& memory = training.memory;
  result.push_back(memory.static_bytes().to_string() + " " + memory.saved_activation_bytes.to_string());
  return result;
}

}  // namespace

TEST_CASE("contractions of a training step equal PyTorch's count to the integer") {
  for (const json& row : reference()["contractions"]) {
    const std::string name = row["model"];
    CAPTURE(name);
    AnalyzeOptions options;
    options.dims = row["bindings"].get<Bindings>();
    const Model model = skeleton(name);
    const Training training = train(model, analyze(model, options));
    CHECK(!training.partial);
    CHECK(flops(training.totals.forward, Convention::Contraction) == Dim(row["forward_flops"].get<std::int64_t>()));
    const std::int64_t step = row["flops"].get<std::int64_t>() - row["grouped_excess"].get<std::int64_t>();
    CHECK(flops(training.totals.step, Convention::Contraction) == Dim(step));
  }
}

// These graphs are exported as they are trained, so saved bytes differ only where PyTorch's kernels do.
TEST_CASE("what forward keeps equals PyTorch's saved tensors, but for differences that are accounted for to the byte") {
  constexpr std::int64_t kTokens = 2 * 197, kRow = kTokens * 768 * 4;  // vit_b_16 at batch 2
  const std::map<std::string, std::int64_t> more_in_torch = {
      {"resnet50", 0},
      // The input of the average pool, which the exporter omits where it has no effect; masks of two
      // Dropouts as float32 instead of bool.
      {"vgg16", 512 * 7 * 7 * 4 + 2 * 4096 * (4 - 1)},
      // A view of V or of the class token keeps the whole tensor that it belongs to: Q, K and V of 12 layers in one,
      // and all tokens instead of the first. The graph saves 24 scale factors that PyTorch computes on the host.
      {"vit_b_16", 12 * 2 * kRow + (kRow - 2 * 768 * 4) - 24 * 4},
  };
  for (const json& row : reference()["saved"]) {
    const std::string full = row["model"];
    const std::string name = full.substr(0, full.find("_dyn"));
    CAPTURE(name);
    const Model model = as_trained(name);
    const Training training = train(model, analyze(model));
    CHECK(!training.partial);
    CHECK(training.memory.saved_activation_bytes ==
          Dim(row["saved_bytes"].get<std::int64_t>() - more_in_torch.at(name)));
  }
}

TEST_CASE("trained parameters are those of the source network") {
  // torchvision's published num_params.
  const std::map<std::string, std::int64_t> published = {
      {"resnet50", 25'557'032}, {"vgg16", 138'357'544}, {"vit_b_16", 86'567'656}};
  for (const auto& [name, parameters] : published) {
    const Model model = as_trained(name);
    CHECK(train(model, analyze(model)).trained_elements == Dim(parameters));
  }
}

TEST_CASE("binding the formulas of a step equals training with the sizes bound first, row by row") {
  test::Sometimes has_bound("a peak bound afterwards"), has_formula("a formula of the peak");
  for (const json& row : reference()["contractions"]) {
    const Bindings bindings = row["bindings"].get<Bindings>();
    if (bindings.empty()) continue;
    const std::string name = row["model"];
    const Model model = skeleton(name);
    const Analysis formulas = analyze(model);
    for (const Recompute recompute : {Recompute::None, Recompute::Pointwise, Recompute::Sqrt}) {
      CAPTURE(name);
      CAPTURE(std::string(to_string(recompute)));
      const TrainingOptions options{.optimizer = Optimizer::AdamW, .recompute = recompute};
      const Training training = train(model, formulas, options);
      const Training after = bind_dims(training, bindings);
      const Training first = train(model, analyze(model, {.dims = bindings}), options);
      const auto a = numbers(first), b = numbers(after);
      REQUIRE(a.size() == b.size());
      const auto differs = std::mismatch(a.begin(), a.end(), b.begin());
      if (differs.first != a.end())
        FAIL_CHECK("bound first: " << *differs.first << "\nbound after: " << *differs.second);
      REQUIRE(first.memory.activation_peak_bytes.has_value());
      if (has_bound(after.memory.activation_peak_bytes))
        CHECK(*after.memory.activation_peak_bytes == *first.memory.activation_peak_bytes);
      // With a batch of 1 there is no broadcast along the batch: the work must be the same nevertheless.
      Bindings ones = bindings;
      for (auto& [dim, size] : ones) size = 1;
      const Training one = train(model, analyze(model, {.dims = ones}), options);
      CHECK(flops(one.totals.step) == flops(training.totals.step.bind(ones)));
      if (has_formula(training.memory.activation_peak_bytes))
        CHECK(*one.memory.activation_peak_bytes->value() <= *training.memory.activation_peak_bytes->bind(ones).value());
    }
  }
}

TEST_CASE("the published Pagoda's training figures: three times each of its totals") {
  // FLOPs and bytes of its notebook at batch 32.
  const std::map<std::string, std::pair<Int, Int>> published = {{"mobilenet_v3_large", {14'372'401'920, 2'619'295'776}},
                                                                {"resnet50", {262'602'129'408, 7'611'123'456}}};
  for (const auto& [name, forward] : published) {
    const Model model = skeleton(name);
    const PagodaCount step = pagoda_training(pagoda_counts(model, analyze(model), 32).total);
    CHECK(step.flops == 3 * forward.first);
    CHECK(step.memory_bytes == 3 * forward.second);
  }
}
