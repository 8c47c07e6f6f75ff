#include "memory/oracle.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>

namespace pagoda::test {
namespace {

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

Oracle::Oracle(const Model& model, const Analysis& analysis, Bindings bindings)
    : model_(model), analysis_(analysis), bindings_(std::move(bindings)) {
  const Graph& graph = model.main();
  row_.assign(graph.nodes.size(), -1);
  for (std::size_t i = analysis.nodes.size(); i-- > 0;)
    if (analysis.nodes[i].graph == 0) row_[index(analysis.nodes[i].node)] = static_cast<std::int32_t>(i);
  producer_.assign(graph.values.size(), -1);
  for (std::size_t v = 0; v < graph.values.size(); ++v) root_.push_back(static_cast<ValueId>(v));
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    for (const ValueId output : node.outputs) {
      if (output == kAbsent) continue;
      producer_[index(output)] = static_cast<std::int32_t>(i);
      const bool is_view =
          analysis.nodes[index(row_[i])].cost.mark == Mark::View && node.op_type != "If" && node.op_type != "Loop";
      if (is_view && !node.inputs.empty()) root_[index(output)] = root_[index(node.inputs[0])];
    }
  }
}

bool Oracle::is_constant(ValueId value) const {
  if (model_.main().values[index(value)].initializer >= 0) return true;
  return producer_[index(value)] >= 0 &&
         analysis_.nodes[index(row_[index(producer_[index(value)])])].cost.mark == Mark::Folded;
}

Int Oracle::stored_bytes(ValueId value) const {
  const TensorType& type = analysis_.types[index(value)];
  return std::max<Int>(byte_size(element_count(type.shape.value()), type.element).evaluate(bindings_), 0);
}

Int Oracle::bytes(ValueId value) const {
  if (root(value) != value || is_constant(value)) return 0;
  const std::int32_t from = producer_[index(value)];
  if (from >= 0 && analysis_.nodes[index(row_[index(from)])].cost.mark == Mark::Host) return 0;
  return stored_bytes(value);
}

bool Oracle::reads(std::size_t node) const {
  const Node& written = model_.main().nodes[node];
  const Mark mark = analysis_.nodes[index(row_[node])].cost.mark;
  return mark == Mark::Compute || mark == Mark::Unmodelled || written.op_type == "If" || written.op_type == "Loop";
}

std::vector<Int> Oracle::alive(const std::vector<std::int32_t>& order) const {
  const Graph& graph = model_.main();
  std::map<std::int32_t, std::size_t> position;
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  // For each root, the positions at which it is needed.
  std::vector<std::set<std::size_t>> needed(graph.values.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!reads(i)) continue;
    ValueIds inputs = graph.nodes[i].inputs;
    for (const Attribute& attribute : graph.nodes[i].attributes)
      if (const GraphId* body = std::get_if<GraphId>(&attribute.value))
        for (const Value& value : model_.graphs[index(*body)].values) inputs.push_back(value.outer);
    for (const ValueId input : inputs)
      if (input != kAbsent) needed[index(root(input))].insert(position.at(static_cast<std::int32_t>(i)));
  }
  for (const ValueId output : graph.outputs)
    if (output != kAbsent) needed[index(root(output))].insert(order.size() - 1);
  std::vector<std::pair<std::size_t, Int>> owners;  // of storage: first position and bytes
  std::vector<std::size_t> last;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const auto value = static_cast<ValueId>(v);
    const bool exists = producer_[v] >= 0 || graph.values[v].is_input;
    if (!exists || root(value) != value || bytes(value) == 0 || (producer_[v] < 0 && needed[v].empty())) continue;
    owners.emplace_back(producer_[v] < 0 ? 0 : position.at(producer_[v]), bytes(value));
    last.push_back(needed[v].empty() ? owners.back().first : std::max(*needed[v].rbegin(), owners.back().first));
  }
  std::vector<Int> result;
  for (std::size_t step = 0; step < order.size(); ++step) {
    Int sum = 0;
    for (std::size_t i = 0; i < owners.size(); ++i)
      if (owners[i].first <= step && step <= last[i]) sum += owners[i].second;
    result.push_back(sum);
  }
  return result;
}

bool Oracle::can_run_in_order(const Traffic& traffic) const {
  const Graph& graph = model_.main();
  std::vector<std::int32_t> made_by(graph.values.size(), -1);  // the group that makes each value, through views
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::int32_t group = traffic.group_of[index(row_[i])];
    const bool is_view = analysis_.nodes[index(row_[i])].cost.mark == Mark::View;
    std::int32_t latest = -1;
    for (const ValueId input : graph.nodes[i].inputs)
      if (input != kAbsent) latest = std::max(latest, made_by[index(input)]);
    if (group >= 0 && latest > group) return false;
    for (const ValueId output : graph.nodes[i].outputs)
      if (output != kAbsent) made_by[index(output)] = group >= 0 ? group : is_view ? latest : -1;
  }
  return true;
}

std::string random_graph(unsigned seed, int nodes) {
  std::mt19937 random(seed);
  std::string text =
      "v0:f32[4,N], s:i64[N], zero:i64[1]=[0], one:i64[1]=[1], last:i64[1]=[-1], w:f32[4,4]=const -> n = Shape(s); ";
  std::vector<int> width = {1};  // of each value, in multiples of N; 0: one element per row
  for (int i = 1; i <= nodes; ++i) {
    const auto pick = [&] { return std::max(0, i - 1 - static_cast<int>(random() % 7)); };
    const int a = pick(), b = pick();
    const int wa = width[static_cast<std::size_t>(a)], wb = width[static_cast<std::size_t>(b)];
    const std::string va = "v" + std::to_string(a), vb = "v" + std::to_string(b);
    std::string call = "Slice(" + va + ", zero, n, one)";
    int made = 1;
    switch (random() % 8) {
      case 0:
      case 1:
        if (wa != wb && wa != 0 && wb != 0) break;
        call = "Add(" + va + ", " + vb + ")", made = std::max(wa, wb);
        break;
      case 2:
        call = "Relu(" + va + ")", made = wa;
        break;
      case 3:
        call = "Softmax(" + va + ")", made = wa;
        break;
      case 4:
        call = "ReduceSum(" + va + ", last)", made = 0;
        break;
      case 5:
        call = "MatMul(w, " + va + ")", made = wa;
        break;
      case 6:
        call = "Identity(" + va + ")", made = wa;
        break;
      default:
        if (wa == 0 || wb == 0 || wa + wb > 40) break;
        call = "Concat(" + va + ", " + vb + ") {axis=1}", made = wa + wb;
    }
    if (made == 1 && wa == 0 && call.starts_with("Slice")) call = "Relu(" + va + ")", made = 0;
    text += "v" + std::to_string(i) + " = " + call + "; ";
    width.push_back(made);
  }
  text.resize(text.size() - 2);
  return text;
}

std::vector<ValueId> inputs_read(const Node& node) {
  const bool first_only = node.op_type.starts_with("Reduce") || node.op_type == "Expand" ||
                          node.op_type == "CastLike" || node.op_type == "Dropout" || node.op_type == "Slice" ||
                          node.op_type == "Split" || node.op_type == "Pad" || node.op_type == "Tile";
  std::vector<ValueId> inputs;
  for (const ValueId input : node.inputs) {
    if (input != kAbsent) inputs.push_back(input);
    if (first_only) break;
  }
  return inputs;
}

// Operators of the tests' models and rows that read dequantised numbers and can dequantise for themselves.
constexpr std::array<std::string_view, 9> kDequantisesItself = {"Add", "Conv", "Exp",     "Gemm",          "MatMul",
                                                                "Mul", "Relu", "Sigmoid", "QuantizeLinear"};

const Node* Oracle::recomputed_by(ValueId value) const {
  const Graph& graph = model_.main();
  const std::int32_t producer = producer_[index(value)];
  if (producer < 0 || graph.nodes[index(producer)].op_type != "DequantizeLinear") return nullptr;
  int readers = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& inputs = graph.nodes[i].inputs;
    const bool is_reader = reads(i) && std::any_of(inputs.begin(), inputs.end(),
                                                   [&](ValueId v) { return v != kAbsent && root(v) == value; });
    if (!is_reader) continue;
    const auto& known = kDequantisesItself;
    if (std::find(known.begin(), known.end(), graph.nodes[i].op_type) == known.end()) return nullptr;
    ++readers;
  }
  for (const ValueId output : graph.outputs)
    if (output != kAbsent && root(output) == value) return nullptr;
  return readers > 1 ? &graph.nodes[index(producer)] : nullptr;
}

Int Oracle::group_bytes(const TrafficGroup& group) const {
  const Graph& graph = model_.main();
  std::set<std::int32_t> members;
  for (const std::int32_t row : group.rows) members.insert(analysis_.nodes[index(row)].node);
  std::set<ValueId> made, written;
  std::map<ValueId, Int> read;  // the parts of a value add up to at most the whole
  for (const std::int32_t node : members)
    for (const ValueId output : graph.nodes[index(node)].outputs)
      if (output != kAbsent) made.insert(output);
  const auto take = [&](ValueId value, const Node& node) {
    const Node* dequantize = recomputed_by(value);
    if (dequantize == nullptr) {
      const bool picks = (node.op_type == "Slice" || node.op_type == "Gather") && value == root(node.inputs[0]);
      const Int part = stored_bytes(picks ? node.outputs[0] : value);
      read[value] = std::min(stored_bytes(value), read[value] + part);
      return;
    }
    for (const ValueId input : dequantize->inputs)
      if (input != kAbsent && !made.contains(root(input))) read[root(input)] = stored_bytes(root(input));
  };
  for (const std::int32_t node : members)
    for (const ValueId input : inputs_read(graph.nodes[index(node)]))
      if (!made.contains(root(input))) take(root(input), graph.nodes[index(node)]);
  std::set<ValueId> read_inside;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const bool is_member = members.contains(static_cast<std::int32_t>(i));
    for (const ValueId input : graph.nodes[i].inputs) {
      if (input == kAbsent || !made.contains(root(input)) || !reads(i)) continue;
      if (is_member) read_inside.insert(root(input));
      const Node* dequantize = is_member ? nullptr : recomputed_by(root(input));
      if (!is_member && dequantize == nullptr) written.insert(root(input));
    }
  }
  for (const ValueId output : graph.outputs)
    if (output != kAbsent && made.contains(root(output))) written.insert(root(output));
  for (const ValueId value : made)
    if (!read_inside.contains(value)) written.insert(value);  // includes values that nothing reads
  Int sum = 0;
  for (const auto& [value, bytes] : read) sum += bytes;
  for (const ValueId value : written) sum += stored_bytes(value);
  return sum;
}

}  // namespace pagoda::test
