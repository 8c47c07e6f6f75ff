#include "pagoda/core/placement.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <set>

#include "graph/index.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/enum_names.h"
#include "place/conditions.h"
#include "place/loaded.h"
#include "place/parts.h"
#include "place/units.h"

namespace pagoda::inline core {
namespace {

constexpr std::string_view kUnknownType = "the type of an operand is not known";
constexpr Release kNewest = {std::numeric_limits<int>::max(), 0};
constexpr Int kSmallWeight = 100;  // elements of a stored tensor that host code may read (IsSmallInitializer)

bool is_sequence(const TensorType& type) { return type.container == Container::Sequence; }

// 0 where the type is not known, or is of a kind that no kernel takes.
TypeSet set_of(const TensorType& type) {
  if (type.element == ElementType::Undefined) return 0;
  const auto bit = static_cast<unsigned>(type.element);
  if (type.container == Container::Tensor) return TypeSet{1} << bit;
  return is_sequence(type) ? TypeSet{1} << (32 + bit) : 0;
}

bool is_narrow_float(ElementType type) { return is_float(type) && bits(type) <= 16; }

class Placer {
 public:
  Placer(const Model& model, LoadedGraph& loaded, const Provider& provider, const PlaceOptions& options)
      : model_(model),
        loaded_(loaded),
        nodes_(loaded.nodes()),
        provider_(provider),
        form_(options.form),
        with_cures_(options.with_cures),
        with_fusions_(options.with_fusions),
        units_(loaded, provider.units),
        order_(loaded.order()),
        rank_(nodes_.size(), 0),
        free_(loaded.computed()),
        kernels_(nodes_.size(), nullptr),
        rows_(nodes_.size()) {
    for (std::size_t i = 0; i < order_.size(); ++i) rank_[index(order_[i])] = i;
  }

  GraphPlacement run() {
    // From the last node back, as conditions may ask where the readers are.
    for (auto n = order_.rbegin(); n != order_.rend(); ++n)
      if (const std::size_t unit = units_.of(*n); units_.all()[unit].node == *n) ask(unit);
    const bool is_copied = !provider_.is_on_host, moves = is_copied && !provider_.compiles_parts;
    if (moves) move_shape_arithmetic();
    result_.parts = number_parts(units_, provider_, free_, rows_);
    if (moves) {
      list_copies();
      list_weights();
    } else if (is_copied)
      list_crossings();
    name_fates();
    return std::move(result_);
  }

 private:
  // Of the nodes that are left, and of the others. The answers of some releases name the nodes that run: what a later
  // level fused is then part of another node, and so is what was made anew, unless all nodes are on the provider.
  void name_fates() {
    const std::vector<bool> is_covered = loaded_.covered(loaded_.cast_halves());
    std::vector<std::int32_t> moved;
    std::vector<bool> is_taken(nodes_.size());
    for (const std::int32_t n : order_) {
      is_taken[index(n)] = is_on(n, PlacedOn::Provider);
      if (is_taken[index(n)] && is_in(provider_.channels_last, nodes_[index(n)])) moved.push_back(n);
    }
    if (!provider_.channels_last.empty()) loaded_.change_layout(moved);
    if (form_ == PlacementForm::Default)
      loaded_.fuse_late(provider_, is_taken, with_fusions_ ? &result_.unfused : nullptr);
    if (with_fusions_) result_.fused = loaded_.fused();
    std::vector<ValueId> copied;
    for (const PlacedCopy& copy : result_.copies)
      if (copy.is_to_host) copied.push_back(copy.value);
    const bool is_mixed = std::ranges::any_of(order_, [&](std::int32_t n) { return is_on(n, PlacedOn::Cpu); });
    const std::vector<bool> is_constant = loaded_.constant_in_file(),
                            is_covered_later = provider_.compiles_parts ? is_covered : loaded_.covered(copied);
    result_.nodes.resize(is_constant.size());
    for (std::size_t n = 0; n < is_constant.size(); ++n) {
      const bool is_fused = !is_constant[n] && (is_covered[n] || is_covered_later[n]);
      result_.nodes[n].on = is_fused ? PlacedOn::Fused : PlacedOn::Folded;
    }
    for (const std::int32_t n : order_) {
      const LoadedNode& node = nodes_[index(n)];
      if (node.file < 0) continue;
      const bool is_asked_itself = form_ == PlacementForm::Plain && provider_.compiles_parts;
      const bool is_expanded =
          !is_asked_itself && (node.is_expanded || (is_on(n, PlacedOn::Cpu) && is_defined_by_others(node)));
      const bool is_renamed = provider_.names_what_runs && node.is_remade && is_mixed;
      // A Q or DQ is made anew beside a Transpose, and judged as before.
      const bool is_pair = quantises(node) || dequantises(node);
      const bool is_gone = node.is_gone && (provider_.names_what_runs ||
                                            (is_taken[index(n)] && !provider_.channels_last.empty() && !is_pair));
      if (is_expanded || is_renamed || is_gone) rows_[index(n)] = {.on = PlacedOn::Fused, .part = -1, .reason = {}};
      result_.nodes[index(node.file)] = std::move(rows_[index(n)]);
    }
  }
  static bool is_in(const std::vector<std::string>& operators, const LoadedNode& node) {
    return is_plain(node) && std::ranges::find(operators, node.op) != operators.end();
  }

  const TensorType& type(ValueId value) const { return loaded_.type(value); }
  bool is_on(std::int32_t node, PlacedOn on) const { return rows_[index(node)].on == on; }
  bool is_stored(ValueId value) const { return loaded_.is_constant(value); }

  static bool contains(const std::vector<std::int32_t>& operands, std::size_t i) {
    return std::ranges::find(operands, static_cast<std::int32_t>(i)) != operands.end();
  }
  bool is_host_output(std::int32_t node, std::size_t i) const {
    const ProviderOperator* known = kernels_[index(node)];
    return known != nullptr && contains(known->host_outputs, i);
  }
  bool is_host_input(std::int32_t node, std::size_t i) const {
    const ProviderOperator* known = kernels_[index(node)];
    return known != nullptr && contains(known->host_inputs, i);
  }

  // The version of the operator that an opset selects; null: the operator is younger.
  static const OperatorVersion* version_of(const ProviderOperator& known, std::int64_t imported) {
    const auto next = std::ranges::upper_bound(known.versions, imported, {}, &OperatorVersion::since);
    return next == known.versions.begin() ? nullptr : &*std::prev(next);
  }

  static bool fits_version(const ProviderKernel& kernel, std::int64_t version) {
    return kernel.first == version || (kernel.last && kernel.first <= version && version <= *kernel.last);
  }

  // The first operand whose type the kernel does not take; kAbsent if all fit.
  ValueId misfit(const ProviderKernel& kernel, const OperatorVersion& version, const LoadedNode& node) const {
    for (const ProviderKernel::Types& each : kernel.types)
      for (const auto& [constraints, values] :
           {std::pair(&version.inputs, &node.inputs), {&version.outputs, &node.outputs}})
        for (std::size_t i = 0; i < values->size() && !constraints->empty(); ++i) {
          const ValueId value = (*values)[i];
          if (value == kAbsent || (*constraints)[std::min(i, constraints->size() - 1)] != each.constraint) continue;
          // Maps and the like: the kernel lists no type that is known here.
          if (each.types != 0 && (set_of(type(value)) & each.types) == 0) return value;
        }
    return kAbsent;
  }

  // Why no kernel fits; empty if one does.
  std::string no_kernel(const LoadedNode& node, const ProviderOperator* known) const {
    if (known == nullptr || known->kernels.empty()) return "no kernel: operator";
    const OperatorVersion imported = {.since = model_.opset(node.domain), .inputs = {}, .outputs = {}};
    const OperatorVersion* version = known->versions.empty() ? &imported : version_of(*known, imported.since);
    if (version == nullptr) return "no kernel: opset";
    bool is_version_known = false;
    ValueId wrong = kAbsent;
    for (const ProviderKernel& kernel : known->kernels) {
      if (!fits_version(kernel, version->since)) continue;
      is_version_known = true;
      const ValueId value = misfit(kernel, *version, node);
      if (value == kAbsent) return "";
      if (wrong == kAbsent) wrong = value;
    }
    if (!is_version_known) return cat("no kernel: opset ", version->since);
    if (type(wrong).element == ElementType::Undefined) return std::string(kUnknownType);
    return cat("no kernel: ", to_string(type(wrong).element));
  }

  bool is_cured(std::string_view reason, const LoadedNode& node) const {
    return with_cures_ && cure_of(provider_, reason, qualified_name(node), false) != nullptr;
  }

  bool knows_types(const LoadedNode& node) const {
    const auto is_known = [&](ValueId value) {
      return value == kAbsent || type(value).element != ElementType::Undefined;
    };
    return std::ranges::all_of(node.inputs, is_known) && std::ranges::all_of(node.outputs, is_known);
  }

  const ProviderOperator* known_operator(const std::string& name) {
    const auto [found, is_new] = operators_.try_emplace(name);
    if (is_new) found->second = provider_.operators(name);
    return found->second ? &*found->second : nullptr;
  }

  // Steps 1 and 2 for one node, and those that go with it.
  void ask(std::size_t id) {
    const NodeUnit& unit = units_.all()[id];
    const LoadedNode& node = nodes_[index(unit.node)];
    PlacedNode& row = rows_[index(unit.node)];
    if (model_.function(node.domain, node.op, "") != nullptr) {
      row = {.on = PlacedOn::Unknown,
             .part = -1,
             .reason = "a function of the file, which the runtime replaces by its nodes"};
      return;
    }
    if (node.is_expanded) {  // most such nodes have kernels
      row.on = PlacedOn::Provider;
      return;
    }
    const std::string name = qualified_name(node);
    const ProviderOperator* known = known_operator(name);
    row.reason = no_kernel(node, known);
    const ProviderCondition* doubt = nullptr;
    for (const ProviderCondition& condition : provider_.conditions) {
      if (!row.reason.empty()) break;
      if ((doubt != nullptr && !condition.decides()) || !holds(condition, name, unit, units_)) continue;
      if (condition.decides())
        row = {.on = row.on, .part = -1, .reason = condition.reason, .answers = condition.answers};
      else
        doubt = &condition;
    }
    // Kernels without constraints take what the conditions let through, but those need types.
    if (row.reason.empty() && known->versions.empty() && !knows_types(node)) row.reason = kUnknownType;
    if (is_cured(row.reason, node)) row.reason.clear();
    row.on = row.reason.empty() ? PlacedOn::Provider : row.reason == kUnknownType ? PlacedOn::Unknown : PlacedOn::Cpu;
    if (row.reason.empty()) kernels_[index(unit.node)] = known;
    if (row.on == PlacedOn::Cpu) units_.leave_on_cpu(unit.node);
    if (row.on == PlacedOn::Provider && doubt != nullptr)
      row = {.on = row.on, .part = -1, .reason = doubt->reason, .answers = doubt->answers};
    for (const std::vector<std::int32_t>* others : {&unit.before, &unit.behind})
      for (const std::int32_t other : *others)
        if (units_.of(other) == id) rows_[index(other)] = row;
  }

  // Step 3.
  void move_shape_arithmetic() {
    std::vector<bool> is_tentative(nodes_.size());
    for (std::size_t n = 0; n < nodes_.size(); ++n) is_tentative[n] = rows_[n].on == PlacedOn::Provider;
    std::vector<std::int32_t> moved = walk(is_tentative);
    const auto is_taken = [](const PlacedNode& row) { return row.on == PlacedOn::Provider; };
    if (!provider_.is_asked_twice || moved.empty() || std::ranges::none_of(rows_, is_taken)) return;
    // The second time, only what was moved is undecided.
    is_tentative.assign(nodes_.size(), false);
    for (const std::int32_t n : moved) {
      is_tentative[index(n)] = true;
      rows_[index(n)] = {.on = PlacedOn::Provider, .part = -1, .reason = {}};
    }
    walk(is_tentative);
  }

  // Moves tentative nodes that only compute with tensors in host memory to the CPU, and returns them.
  std::vector<std::int32_t> walk(const std::vector<bool>& is_tentative) {
    std::vector<std::int32_t> moved;
    std::set<std::pair<std::size_t, std::int32_t>> candidates;  // in topological order
    std::vector<bool> is_host(free_.size(), false), is_visited(nodes_.size(), false);
    const auto hold = [&](ValueId value) {
      if (value == kAbsent) return;
      is_host[index(value)] = true;
      for (const std::int32_t reader : loaded_.readers(value)) candidates.emplace(rank_[index(reader)], reader);
    };
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      for (std::size_t i = 0; i < nodes_[n].outputs.size(); ++i)
        if (is_tentative[n] && is_host_output(static_cast<std::int32_t>(n), i)) hold(nodes_[n].outputs[i]);
    while (!candidates.empty()) {
      const std::int32_t n = candidates.begin()->second;
      candidates.erase(candidates.begin());
      if (is_visited[index(n)]) continue;
      is_visited[index(n)] = true;
      if (is_on(n, PlacedOn::Cpu)) {
        if (provider_.passes_unsupported)
          for (const ValueId output : nodes_[index(n)].outputs) hold(output);
        continue;
      }
      if (!is_tentative[index(n)] || !is_host_work(n, is_host)) continue;
      rows_[index(n)] = {.on = PlacedOn::Cpu, .part = -1, .reason = "shape arithmetic"};
      moved.push_back(n);
      for (const ValueId output : nodes_[index(n)].outputs) hold(output);
    }
    return moved;
  }

  bool is_host_work(std::int32_t n, const std::vector<bool>& is_host) const {
    const LoadedNode& node = nodes_[index(n)];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (input == kAbsent) continue;
      if (is_narrow_float(type(input).element)) return false;
      if (is_stored(input) ? is_small(input) : loaded_.writer(input) < 0) continue;  // or an input of the model
      if (!is_host[index(input)] || is_host_input(n, i)) return false;
    }
    return true;
  }

  bool is_small(ValueId value) const {
    const auto& shape = type(value).shape;
    return shape && element_count(*shape).value().value_or(kSmallWeight + 1) <= kSmallWeight;
  }

  // One copy for each tensor and direction in which it is wanted.
  void list_copies() {
    // Bodies of a node on the CPU read there; a node on the provider copies what its bodies read.
    std::vector<bool> is_read_by_body(free_.size(), false);
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      if (is_on(static_cast<std::int32_t>(n), PlacedOn::Cpu))
        for (const ValueId value : nodes_[n].captured) is_read_by_body[index(value)] = true;
    for (ValueId value = 0; value < static_cast<ValueId>(free_.size()); ++value) {
      if (is_stored(value)) continue;  // on both sides
      const std::int32_t writer = loaded_.writer(value);
      if (writer >= 0 && is_on(writer, PlacedOn::Unknown)) continue;
      bool is_on_provider = false, is_wanted_on_host = is_read_by_body[index(value)], is_wanted_on_provider = false;
      if (writer >= 0) {
        const auto& outputs = nodes_[index(writer)].outputs;
        const auto place = static_cast<std::size_t>(std::ranges::find(outputs, value) - outputs.begin());
        is_on_provider = is_on(writer, PlacedOn::Provider) && !is_host_output(writer, place);
      }
      for (const std::int32_t reader : loaded_.readers(value)) {
        if (is_on(reader, PlacedOn::Unknown)) continue;
        const auto& inputs = nodes_[index(reader)].inputs;
        for (std::size_t i = 0; i < inputs.size(); ++i)
          if (inputs[i] == value)
            (is_on(reader, PlacedOn::Provider) && !is_host_input(reader, i) ? is_wanted_on_provider
                                                                            : is_wanted_on_host) = true;
      }
      if (writer < 0) {  // an input of the model: fed where its readers are, unless both sides read it
        if (is_wanted_on_host && is_wanted_on_provider) result_.copies.push_back({loaded_.original(value), false});
      } else if (is_on_provider ? is_wanted_on_host : is_wanted_on_provider) {
        result_.copies.push_back({loaded_.original(value), is_on_provider});
      }
    }
  }

  std::int64_t stored_bytes(ValueId value) const {
    const auto& shape = type(value).shape;
    if (!is_stored(value) || loaded_.writer(value) >= 0 || !shape) return 0;
    return byte_size(element_count(*shape), type(value).element).value64().value_or(0);
  }

  void list_weights() {
    std::vector<std::int64_t> bytes(free_.size(), 0);  // of those that some node reads
    for (const std::int32_t n : order_) {
      if (!is_on(n, PlacedOn::Provider)) continue;
      const LoadedNode& node = nodes_[index(n)];
      std::int64_t packed = 0;
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (const ValueId value = node.inputs[i]; value != kAbsent && !is_host_input(n, i))
          packed += bytes[index(value)] = stored_bytes(value);
      const auto& packs = provider_.packs_weights;
      if (std::ranges::find(packs, qualified_name(node)) != packs.end()) bytes.push_back(packed);
    }
    std::ranges::copy_if(bytes, std::back_inserter(result_.weight_bytes), [](std::int64_t each) { return each > 0; });
  }

  // Tensors that leave a part or enter one: each part is one call.
  void list_crossings() {
    for (ValueId value = 0; value < static_cast<ValueId>(free_.size()); ++value) {
      const std::int32_t writer = loaded_.writer(value);
      if (writer < 0 || is_on(writer, PlacedOn::Unknown)) continue;
      const std::int32_t from = rows_[index(writer)].part;
      bool is_leaving = false, is_entering = false;
      for (const std::int32_t reader : loaded_.readers(value)) {
        if (is_on(reader, PlacedOn::Unknown)) continue;
        const std::int32_t to = rows_[index(reader)].part;
        is_leaving = is_leaving || (from >= 0 && to != from);
        is_entering = is_entering || (to >= 0 && to != from);
      }
      if (is_leaving) result_.copies.push_back({loaded_.original(value), true});
      if (is_entering) result_.copies.push_back({loaded_.original(value), false});
    }
  }

  const Model& model_;
  LoadedGraph& loaded_;
  const std::vector<LoadedNode>& nodes_;
  const Provider& provider_;
  PlacementForm form_;
  bool with_cures_, with_fusions_;
  NodeUnits units_;
  std::vector<std::int32_t> order_;
  std::vector<std::size_t> rank_;                                     // by node, in that order
  std::vector<bool> free_;                                            // by value: depends on no input of the model
  std::map<std::string, std::optional<ProviderOperator>> operators_;  // of the provider, once asked for
  std::vector<const ProviderOperator*> kernels_;                      // by node on the provider
  std::vector<PlacedNode> rows_;                                      // by node of the loaded graph
  GraphPlacement result_;
};

}  // namespace

std::string_view to_string(PlacedOn on) {
  constexpr base::EnumNames<PlacedOn::Unknown> kNames("provider", "cpu", "folded", "fused", "unknown");
  return kNames[on];
}

namespace {

// "1.21.1" is {1, 21}; the newest where the text does not begin so.
Release release_of(std::string_view version) {
  Release release;
  const char* const end = version.data() + version.size();
  const auto major = std::from_chars(version.data(), end, release.first);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return kNewest;
  return std::from_chars(major.ptr + 1, end, release.second).ec == std::errc() ? release : kNewest;
}

}  // namespace

bool has_open_sizes(const Analysis& analysis, PlacementForm form) {
  return form == PlacementForm::Default && !analysis.free_dims.empty() && analysis.symbols.empty();
}

const ProviderCure* cure_of(const Provider& provider, std::string_view reason, std::string_view op,
                            bool has_open_sizes) {
  const auto found = std::ranges::find_if(provider.cures, [&](const ProviderCure& cure) {
    return cure.reason == reason && (has_open_sizes || !cure.of_free_dims) &&
           (cure.operators.empty() || std::ranges::find(cure.operators, op) != cure.operators.end());
  });
  return found == provider.cures.end() ? nullptr : &*found;
}

GraphPlacement place(const Model& model, const Analysis& analysis, const Provider& provider,
                     const PlaceOptions& options) {
  LoadedGraph loaded(model, analysis);
  const Release release = release_of(provider.version);
  if (options.form == PlacementForm::Default)
    loaded.optimise(release);
  else
    loaded.infer(release);
  loaded.expand(provider, options.form);
  return Placer(model, loaded, provider, options).run();
}

}  // namespace pagoda::inline core
