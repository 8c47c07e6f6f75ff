// The peak of a training step against an O(n²) recomputation: at every moment of the step each tensor and each gradient
// is asked whether it is alive, from the definitions alone. Also: what parts of a step add up to.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "memory/schedule.h"
#include "pagoda/core/model.h"
#include "pagoda/core/train.h"
#include "support/text_graph.h"
#include "train/flow.h"

using namespace pagoda;

namespace {

// Moments: node i forward at i, the loss at n, node i backward at 2n − i.
class Oracle {
 public:
  Oracle(const Model& model, const Analysis& analysis, const Training& training)
      : graph_(model.main()), schedule_(schedule_of(model, analysis)), training_(training) {
    std::vector<bool> constant(graph_.values.size());
    for (std::size_t v = 0; v < constant.size(); ++v)
      constant[v] = schedule_.storage_of[v] >= 0 && storage(v).place == Place::Constant;
    train_rules::GradientFlow flow(model, analysis, options_, constant);
    std::vector<OpCost> forward;
    for (const Step& step : schedule_.steps)
      forward.push_back(step.row < 0 ? OpCost{} : training.rows[static_cast<std::size_t>(step.row)].forward);
    flow.run(forward);
    flow_ = flow.flow();
    n_ = static_cast<int>(graph_.nodes.size());
    find_intervals(analysis);
  }

  Int peak() const {
    Int most = 0;
    for (int moment = 0; moment <= 2 * n_; ++moment) {
      Int alive = 0;
      for (const auto& [first, last, bytes] : intervals_)
        if (first <= moment && moment <= last) alive += bytes;
      most = std::max(most, alive);
    }
    return most;
  }

 private:
  struct Interval {
    int first, last;
    Int bytes;
  };

  const Storage& storage(std::size_t value) const {
    return schedule_.storages[static_cast<std::size_t>(schedule_.storage_of[value])];
  }

  void find_intervals(const Analysis& analysis) {
    for (std::size_t s = 0; s < schedule_.storages.size(); ++s) {
      const Storage& of = schedule_.storages[s];
      if (of.place != Place::Device) continue;
      int last = of.producer;
      for (int node = 0; node < n_; ++node) {
        const auto& reads = schedule_.steps[static_cast<std::size_t>(node)].reads;
        if (std::find(reads.begin(), reads.end(), static_cast<std::int32_t>(s)) != reads.end())
          last = std::max(last, node);
        for (const SavedTensor& saved : saved_by(node))
          if (saved.value != kAbsent &&
              schedule_.storage_of[static_cast<std::size_t>(saved.value)] == static_cast<std::int32_t>(s))
            last = std::max(last, 2 * n_ - node);
      }
      if (of.is_output) last = std::max(last, n_);
      if (last >= 0) intervals_.push_back({std::max(of.producer, 0), last, *of.bytes->value()});
    }
    for (int node = 0; node < n_; ++node)
      for (const SavedTensor& saved : saved_by(node))
        if (saved.kind == SavedKind::Statistic) intervals_.push_back({node, 2 * n_ - node, *saved.bytes.value()});
    find_gradients(analysis);
  }

  // Gradients of values whose bytes are one (renamed at the first contribution) live together.
  void find_gradients(const Analysis& analysis) {
    std::map<ValueId, ValueId> same;  // value → the one whose gradient's bytes it uses
    const auto root = [&](ValueId value) {
      while (same.contains(value)) value = same[value];
      return value;
    };
    std::map<ValueId, Interval> lives;
    for (std::size_t v = 0; v < flow_.seeded.size(); ++v)
      if (flow_.seeded[v])
        lives[static_cast<ValueId>(v)] = {n_, n_, *train_rules::value_bytes(analysis, static_cast<ValueId>(v)).value()};
    for (int node = n_; node-- > 0;) {
      const train_rules::NodeBackward& backward = flow_.nodes[static_cast<std::size_t>(node)];
      const Node& of = graph_.nodes[static_cast<std::size_t>(node)];
      const int moment = 2 * n_ - node;
      ValueId arriving = kAbsent;
      for (std::size_t i = 0; i < backward.arrives.size(); ++i)
        if (backward.arrives[i]) {
          arriving = root(of.outputs[i]);
          lives.at(arriving).last = moment;
        }
      std::set<ValueId> seen;
      for (const train_rules::Gradient& gradient : backward.gradients) {
        const ValueId value = of.inputs[static_cast<std::size_t>(gradient.input)];
        if (flow_.trained[static_cast<std::size_t>(value)] || !seen.insert(value).second) continue;
        const Int bytes = *train_rules::value_bytes(analysis, value).value();
        const bool is_first = !same.contains(value) && !lives.contains(value);
        if (is_first && gradient.is_renamed) {
          same[value] = arriving;
        } else if (is_first) {
          lives[value] = {moment, moment, bytes};
        } else {
          if (!gradient.is_renamed) intervals_.push_back({moment, moment, bytes});
          lives.at(root(value)).last = moment;
        }
      }
    }
    for (const auto& [value, life] : lives) intervals_.push_back(life);
  }

  const std::vector<SavedTensor>& saved_by(int node) const {
    static const std::vector<SavedTensor> kNone;
    const std::int32_t row = schedule_.steps[static_cast<std::size_t>(node)].row;
    return row < 0 ? kNone : training_.rows[static_cast<std::size_t>(row)].saved;
  }

  const TrainingOptions options_;
  const Graph& graph_;
  const Schedule schedule_;
  const Training& training_;
  train_rules::Flow flow_;
  int n_ = 0;
  std::vector<Interval> intervals_;
};

Model skeleton(const std::string& path) { return load_model(std::string(PAGODA_SOURCE_DIR) + path); }

}  // namespace

TEST_CASE("the peak of a step equals asking every tensor at every moment") {
  for (const char* path :
       {"/models/skeletons/resnet50.onnx", "/tests/train/resnet50_training.onnx", "/tests/train/vit_b_16_training.onnx",
        "/models/skeletons/bert_base.onnx", "/models/skeletons/googlenet.onnx", "/models/skeletons/llama.onnx",
        "/models/skeletons/unet.onnx", "/models/skeletons/efficientnet_b0.onnx", "/models/skeletons/recurrent.onnx"}) {
    CAPTURE(std::string(path));
    const Model model = skeleton(path);
    Bindings bindings;
    for (const std::string& dim : analyze(model).free_dims) bindings[dim] = dim == "batch" ? 2 : 9;
    const Analysis analysis = analyze(model, {.dims = bindings});
    const Training training = train(model, analysis);
    REQUIRE(training.memory.activation_peak_bytes.has_value());
    CHECK(*training.memory.activation_peak_bytes == Dim(Oracle(model, analysis, training).peak()));
  }
}

TEST_CASE("parts of a step add up, and what is kept is alive at the loss") {
  for (const char* path : {"/models/skeletons/resnet50_dynamic.onnx", "/models/skeletons/gpt2.onnx",
                           "/models/skeletons/swin_t_dynamic.onnx", "/models/skeletons/t5_decoder.onnx"}) {
    const Model model = skeleton(path);
    Bindings bindings;
    for (const std::string& dim : analyze(model).free_dims) bindings[dim] = dim == "batch" ? 2 : 9;
    const Analysis analysis = analyze(model, {.dims = bindings});
    for (const Recompute recompute : {Recompute::None, Recompute::Pointwise, Recompute::Sqrt}) {
      CAPTURE(std::string(path));
      CAPTURE(std::string(to_string(recompute)));
      const Training training = train(model, analysis, {.recompute = recompute});
      OpCost sum;
      Dim saved = 0, gradients = 0;
      for (const TrainingRow& row : training.rows) {
        for (const OpCost* part : {&row.forward, &row.dx, &row.dw}) sum += *part;
        if (row.recomputed) sum += row.forward;
        saved += row.saved_bytes();
        gradients += row.parameter_gradient_bytes;
      }
      sum += training.totals.optimizer;
      CHECK(sum.bytes() == training.totals.step.bytes());
      CHECK(flops(sum) == flops(training.totals.step));
      OpCost laid_out;
      for (const NodeReport& row : step_analysis(analysis, training).nodes) laid_out += row.cost;
      CHECK(laid_out.bytes() == training.totals.step.bytes());
      CHECK(flops(laid_out) == flops(training.totals.step));
      CHECK(saved == training.memory.saved_activation_bytes);
      CHECK(gradients == training.memory.gradient_bytes);
      CHECK(*training.memory.activation_peak_bytes->value() >= *saved.value());
    }
  }
}
