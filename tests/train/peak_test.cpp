// The peak of a training step against an O(n²) recomputation: at every moment of the step, each tensor and each
// gradient is checked for being alive. On random graphs everything is derived here, from the definitions only; on real
// models the library provides the flow of gradients. Also: the parts of a step add up.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "memory/schedule.h"
#include "pagoda/core/model.h"
#include "pagoda/core/train.h"
#include "support/files.h"
#include "support/text_graph.h"
#include "train/flow.h"

using namespace pagoda;

namespace {

// Moments: node i forward at i, the loss at n, node i backward at 2n − i.
struct Interval {
  int first, last;
  Int bytes;
};

Int peak_of(const std::vector<Interval>& intervals, int moments) {
  Int most = 0;
  for (int moment = 0; moment < moments; ++moment) {
    Int alive = 0;
    for (const auto& [first, last, bytes] : intervals)
      if (first <= moment && moment <= last) alive += bytes;
    most = std::max(most, alive);
  }
  return most;
}

// A random network of operators with known backward.
class RandomNet {
 public:
  RandomNet(unsigned seed, int nodes) : random_(seed) {
    values_.push_back({.width = 8});  // the input: needs no gradient
    for (int i = 0; i < nodes; ++i) add_node();
    for (Value& value : values_) value.is_output = value.is_output || (!value.is_read && value.node >= 0);
  }

  std::string text() const {
    std::string result = "v0:f32[4,8]";
    for (const Weight& weight : weights_)
      result +=
          ", " + weight.name + ":f32[" + std::to_string(weight.rows) + "," + std::to_string(weight.columns) + "]=const";
    const char* separator = " -> ";
    for (const Node& node : nodes_) {
      result += separator + name(node.output) + " = " + node.op + "(" + name(node.a) +
                (node.weight >= 0 ? ", " + weights_[at(node.weight)].name
                 : node.b >= 0    ? ", " + name(node.b)
                                  : "") +
                ")";
      separator = "; ";
    }
    separator = " => ";
    for (std::size_t v = 0; v < values_.size(); ++v)
      if (values_[v].is_output) {
        result += separator + name(static_cast<int>(v));
        separator = ", ";
      }
    return result;
  }

  Int peak() const { return peak_of(intervals(), 2 * size() + 1); }
  // What forward saves, each tensor once.
  Int saved_bytes() const {
    std::set<int> saved;
    for (int i = 0; i < size(); ++i)
      for (const int value : kept_by(i)) saved.insert(root(value));
    Int sum = 0;
    for (const int value : saved) sum += bytes(value);
    return sum;
  }

 private:
  struct Value {
    int node = -1;
    int width = 0;  // of f32[4, width]
    bool is_read = false, is_output = false;
  };
  struct Weight {
    std::string name;
    int rows, columns;
  };
  struct Node {
    std::string op;
    int a = -1, b = -1, weight = -1, output = -1;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static std::string name(int value) { return "v" + std::to_string(value); }
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  int size() const { return static_cast<int>(nodes_.size()); }
  Int bytes(int value) const { return Int{4} * 4 * values_[at(value)].width; }

  int some_value() {  // mostly a recent one
    const int count = static_cast<int>(values_.size());
    return pick(3) == 0 ? pick(count) : count - 1 - pick(std::min(count, 4));
  }

  void add_node() {
    static constexpr const char* kOps[] = {"Tanh", "Relu", "Neg", "Identity", "MatMul", "MatMul", "Add", "Mul"};
    Node node{.op = kOps[pick(8)], .a = some_value()};
    int width = values_[at(node.a)].width;
    if (node.op == "MatMul") {
      const int columns = 4 << pick(3);
      node.weight = static_cast<int>(weights_.size());
      weights_.push_back({"w" + std::to_string(node.weight), width, columns});
      width = columns;
    } else if (node.op == "Add" || node.op == "Mul") {
      node.b = some_value();
      if (node.b == node.a || values_[at(node.b)].width != width) {  // use a parameter instead
        node.b = -1;
        node.weight = static_cast<int>(weights_.size());
        weights_.push_back({"w" + std::to_string(node.weight), 4, width});
      }
    }
    for (const int read : {node.a, node.b})
      if (read >= 0) values_[at(read)].is_read = true;
    node.output = static_cast<int>(values_.size());
    values_.push_back({.node = size(), .width = width, .is_output = pick(12) == 0});
    nodes_.push_back(node);
  }

  // The value whose bytes `value` shares: Identity is a view.
  int root(int value) const {
    while (values_[at(value)].node >= 0 && nodes_[at(values_[at(value)].node)].op == "Identity")
      value = nodes_[at(values_[at(value)].node)].a;
    return value;
  }
  // Whether it depends on a weight.
  bool leads(int value) const {
    if (value < 0 || values_[at(value)].node < 0) return false;
    const Node& node = nodes_[at(values_[at(value)].node)];
    return node.weight >= 0 || leads(node.a) || leads(node.b);
  }
  // Whether an output depends on it.
  bool reaches_loss(int value) const {
    if (values_[at(value)].is_output) return true;
    return std::any_of(nodes_.begin(), nodes_.end(), [&](const Node& node) {
      return (node.a == value || node.b == value) && reaches_loss(node.output);
    });
  }
  bool has_gradient(int value) const { return value >= 0 && leads(value) && reaches_loss(value); }
  bool has_backward(int i) const { return has_gradient(nodes_[at(i)].output); }

  // What the backward of a node reads besides the arriving gradient and weights:
  // MatMul dw = xᵀ·dy, Mul da = dy·b, Tanh dx = dy·(1 − y²), Relu dx = y > 0 ? dy : 0; Add, Neg, Identity nothing.
  // MatMul dw = xᵀ·dy, Mul da = dy·b, Tanh dx = dy·(1 − y²), Relu dx = y > 0 ? dy : 0; Add, Neg, Identity nothing.
  std::vector<int> kept_by(int i) const {
    const Node& node = nodes_[at(i)];
    if (!has_backward(i)) return {};
    if (node.op == "Tanh" || node.op == "Relu") return {node.output};
    if (node.op == "MatMul") return {node.a};
    if (node.op != "Mul") return {};
    std::vector<int> kept;
    if (node.b >= 0 && leads(node.a)) kept.push_back(node.b);
    if (node.weight >= 0 || leads(node.b)) kept.push_back(node.a);
    return kept;
  }

  std::vector<Interval> intervals() const {
    std::vector<Interval> result;
    for (int value = 0; value < static_cast<int>(values_.size()); ++value) {
      if (root(value) != value) continue;
      const int first = std::max(values_[at(value)].node, 0);
      int last = values_[at(value)].node;
      for (int i = 0; i < size(); ++i) {
        const Node& node = nodes_[at(i)];
        const bool reads = (node.a >= 0 && root(node.a) == value) || (node.b >= 0 && root(node.b) == value);
        if (reads && node.op != "Identity") last = std::max(last, i);
        for (const int kept : kept_by(i))
          if (root(kept) == value) last = std::max(last, 2 * size() - i);
      }
      for (std::size_t v = 0; v < values_.size(); ++v)
        if (values_[v].is_output && root(static_cast<int>(v)) == value) last = std::max(last, size());
      if (last >= 0) result.push_back({first, last, bytes(value)});
    }
    add_gradients(result);
    return result;
  }

  // A gradient begins at the loss or where the last reader's backward runs, and ends where its
  // producer's has run. Add and Identity pass theirs on under another name; later contributions are
  // added to it, from bytes alive at that moment.
  void add_gradients(std::vector<Interval>& result) const {
    std::map<int, std::size_t> life_of;  // by value, in `result`
    for (int value = 0; value < static_cast<int>(values_.size()); ++value)
      if (values_[at(value)].is_output && leads(value)) {
        life_of[value] = result.size();
        result.push_back({size(), size(), bytes(value)});
      }
    for (int i = size(); i-- > 0;) {
      if (!has_backward(i)) continue;
      const Node& node = nodes_[at(i)];
      const int moment = 2 * size() - i;
      const bool is_renamed = node.op == "Add" || node.op == "Identity";
      const std::size_t arriving = life_of.at(node.output);
      result[arriving].last = moment;
      for (const int input : {node.a, node.b}) {
        if (!has_gradient(input)) continue;
        if (const auto known = life_of.find(input); known != life_of.end()) {
          result[known->second].last = moment;
          if (!is_renamed) result.push_back({moment, moment, bytes(input)});
        } else if (is_renamed) {
          life_of[input] = arriving;
        } else {
          life_of[input] = result.size();
          result.push_back({moment, moment, bytes(input)});
        }
      }
    }
  }

  std::mt19937 random_;
  std::vector<Value> values_;
  std::vector<Weight> weights_;
  std::vector<Node> nodes_;
};

// A real model's step, with the flow of gradients given.
class Oracle {
 public:
  Oracle(const Model& model, const Analysis& analysis, const Training& training)
      : graph_(model.main()), schedule_(schedule_of(model, analysis)), training_(training) {
    flow_ = train_rules::gradient_flow(model, analysis, schedule_, options_);
    n_ = static_cast<int>(graph_.nodes.size());
    find_intervals(analysis);
  }

  Int peak() const { return peak_of(intervals_, 2 * n_ + 1); }

 private:
  void find_intervals(const Analysis& analysis) {
    for (std::size_t s = 0; s < schedule_.storages.size(); ++s) {
      const Storage& of = schedule_.storages[s];
      if (of.place != StoragePlace::Device) continue;
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

  // Gradients that share bytes (renamed at the first contribution) have one lifetime.
  void find_gradients(const Analysis& analysis) {
    std::map<ValueId, ValueId> same;  // value → the value whose gradient's bytes it uses
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

Model skeleton(const std::string& path) { return load_model(test::source_path(path)); }

}  // namespace

TEST_CASE("the peak of a random step, and what it keeps, follow from the definitions") {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    const RandomNet net(seed, 4 + static_cast<int>(seed % 20));
    const std::string text = net.text();
    CAPTURE(text);
    const Model model = test::graph(text);
    const Training training = train(model, analyze(model));
    CHECK(training.memory.saved_activation_bytes.to_string() == Dim(net.saved_bytes()).to_string());
    CHECK(training.memory.activation_peak_bytes.value().to_string() == Dim(net.peak()).to_string());
  }
}

TEST_CASE("the peak of a real step equals asking every tensor at every moment") {
  for (const char* path :
       {"models/skeletons/resnet50.onnx", "tests/train/resnet50_training.onnx", "tests/train/vit_b_16_training.onnx",
        "models/skeletons/bert_base.onnx", "models/skeletons/googlenet.onnx", "models/skeletons/llama.onnx",
        "models/skeletons/unet.onnx", "models/skeletons/efficientnet_b0.onnx", "models/skeletons/recurrent.onnx"}) {
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
  for (const char* path : {"models/skeletons/resnet50_dynamic.onnx", "models/skeletons/gpt2.onnx",
                           "models/skeletons/swin_t_dynamic.onnx", "models/skeletons/t5_decoder.onnx"}) {
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
      for (const NodeReport& row : step_analysis(analysis, training).nodes) {
        laid_out += row.cost;
        // Work without a type has no peak rate, and the step's time would be incomplete.
        const bool has_work = row.cost.arith != Dim(0) || row.cost.special != Dim(0) || row.cost.macs != Dim(0);
        CHECK_MESSAGE((!has_work || row.cost.precision != ElementType::Undefined), row.scope);
      }
      CHECK(laid_out.bytes() == training.totals.step.bytes());
      CHECK(flops(laid_out) == flops(training.totals.step));
      CHECK(saved == training.memory.saved_activation_bytes);
      CHECK(gradients == training.memory.gradient_bytes);
      CHECK(*training.memory.activation_peak_bytes->value() >= *saved.value());
    }
  }
}
