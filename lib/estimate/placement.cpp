// Which nodes a provider of ONNX Runtime leaves to the CPU, why, and what they cost.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "describe.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/files.h"
#include "pagoda/base/plural.h"
#include "pagoda/base/text.h"
#include "pagoda/core/device_arena.h"
#include "pagoda/core/engine.h"
#include "pagoda/core/parallel.h"
#include "pagoda/core/placement.h"
#include "pagoda/core/roofline.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/device.h"
#include "pagoda/documents/provider.h"
#include "pagoda/estimate/engines.h"

namespace pagoda::estimate {
namespace {

using Left = EstimatePlacement::Left;

// Sums over nodes that stay on the CPU.
struct Sum {
  std::int64_t nodes = 0;
  Dim flops = 0, bytes = 0;
  double seconds = 0;
  std::map<std::string, std::int64_t> operators;
  std::optional<ProviderCondition::Answers> answers;

  void write(const Counter& number, bool has_time, Left& left) const {
    left = {.nodes = nodes,
            .flops = number(flops),
            .bytes = number(bytes),
            .seconds = has_time ? std::optional(seconds) : std::nullopt};
  }
};

// The analysis with some size for each free dim: where nodes run seldom depends on which. Empty: the model does not run
// at these.
std::optional<Analysis> with_sizes(const Model& model, const EstimateRequest& request, const Analysis& analysis) {
  constexpr std::int64_t kSize = 16;
  EstimateRequest sized = request;
  for (const std::string& dim : analysis.free_dims) sized.sizes.dims[dim] = kSize;
  try {
    Analysis result = sized_as_run(model, sized).analysis;
    return result.free_dims.empty() && cannot_run_text(model, result).empty() ? std::optional(std::move(result))
                                                                              : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

Dim bytes_of(const TensorType& type) { return byte_size(element_count(*type.shape), type.element); }

// Bytes of all copies; empty: the size of one is not known.
Count copied_bytes(const GraphPlacement& placed, const Analysis& analysis) {
  Dim bytes = 0;
  for (const PlacedCopy& copy : placed.copies) {
    const TensorType& type = analysis.types[static_cast<std::size_t>(copy.value)];
    if (!type.shape) return {};
    bytes += bytes_of(type);
  }
  return Counter(analysis)(bytes);
}

// The link between the device and its host; no name: none is known.
LinkRate link_to_host(const EstimateRequest& request) {
  if (request.link.bytes_per_second) return {"as given", *request.link.bytes_per_second, "as given"};
  const bool has_bus = std::ranges::any_of(
      request.device->links, [](const Link& link) { return link.name == "pcie" && link.bytes_per_second.known(); });
  if (request.link.name.empty() && !has_bus) return {};
  return link_of(*request.device, request.link.name.empty() ? "pcie" : request.link.name, 2);
}

// Whether all operands are tensors of a known type, other than floats of 16 bits, which the runtime casts for the CPU.
bool has_plain_types(const Node& node, const Analysis& analysis) {
  const auto is_plain = [&](ValueId value) {
    if (value == kAbsent) return true;
    const TensorType& type = analysis.types[static_cast<std::size_t>(value)];
    return type.container == Container::Tensor && type.element != ElementType::Undefined &&
           !(is_float(type.element) && bits(type.element) <= 16);
  };
  return std::ranges::all_of(node.inputs, is_plain) && std::ranges::all_of(node.outputs, is_plain);
}

// The first node without a kernel on either side.
std::string refused_text(const Model& model, const Analysis& analysis, const GraphPlacement& placed,
                         const PlaceOptions& options) {
  const auto has_no_kernel = [](const PlacedNode& node) {
    return node.on == PlacedOn::Cpu && node.reason.starts_with("no kernel");
  };
  if (std::ranges::none_of(placed.nodes, has_no_kernel)) return "";
  const GraphPlacement on_cpu = place(model, analysis, find_provider("cpu"), options);
  for (std::size_t i = 0; i < placed.nodes.size(); ++i) {
    const std::string& reason = on_cpu.nodes[i].reason;
    const Node& node = model.main().node(static_cast<std::int32_t>(i));
    if (placed.nodes[i].on != PlacedOn::Cpu || !has_no_kernel(on_cpu.nodes[i]) || !has_plain_types(node, analysis))
      continue;
    return cat(base::printable(display_name(model.main(), node)), ": neither side has a kernel of ",
               base::printable(qualified(node.domain, node.op_type)),
               reason.substr(std::string_view("no kernel").size()));
  }
  return "";
}

// "may be refused: Identity of uint8 (17 of 40 such nodes were)".
std::string doubt_text(const PlacedNode& node) {
  return cat("may be refused: ", node.reason, " (", node.answers->refused, " of ", node.answers->of,
             " such nodes were)");
}

// Nodes of a body and its own bodies.
std::int64_t nodes_inside(const Model& model, GraphId body) {
  const Graph& graph = model.graph(body);
  auto nodes = static_cast<std::int64_t>(graph.nodes.size());
  for (const Node& node : graph.nodes)
    for (const GraphId inner : node.bodies()) nodes += nodes_inside(model, inner);
  return nodes;
}

// Bounds on a run by row of the analysis, on the provider's device and on that of the CPU.
struct Sides {
  std::span<const RowBound> device, host;
  double launch_seconds = 0;  // of a kernel on the device, or of a copy

  // Rows of bodies, and nodes whose side is not known, run on the faster one.
  double seconds(const Analysis& analysis, const GraphPlacement& placed) const {
    double sum = 0, launches = static_cast<double>(placed.copies.size());
    std::set<std::int32_t> launched;  // groups
    for (std::size_t i = 0; i < analysis.nodes.size(); ++i) {
      const NodeReport& row = analysis.nodes[i];
      const PlacedOn on = row.graph == 0 ? placed.nodes[static_cast<std::size_t>(row.node)].on : PlacedOn::Unknown;
      sum += on == PlacedOn::Provider ? device[i].seconds
             : on == PlacedOn::Cpu    ? host[i].seconds
                                      : std::min(device[i].seconds, host[i].seconds);
      const bool runs = on == PlacedOn::Provider && device[i].bound != Bound::None;
      if (runs && (device[i].group < 0 || launched.insert(device[i].group).second)) ++launches;
    }
    return std::max(sum, launches * launch_seconds);
  }
};

// Predicted times of rows on each side. A row that its engine computes within another's kernel has none of its own: it
// counts by its bound where that other row is on the other side.
class PredictedSides {
 public:
  struct Side {
    const Prediction& time;
    std::span<const RowBound> bounds;
  };
  PredictedSides(const Model& model, const Analysis& analysis, Side device, Side host)
      : graph_(model.main()), analysis_(analysis), device_(device), host_(host), writers_(graph_.values.size(), -1) {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      for (const ValueId output : graph_.nodes[n].outputs)
        if (output != kAbsent) writers_[static_cast<std::size_t>(output)] = static_cast<std::int32_t>(n);
  }

  // Copies come on top: the engine waits for them. Empty: their time is not known.
  std::optional<PlacementPrediction::Time> time(const GraphPlacement& placed,
                                                const std::optional<double>& copy_seconds) const {
    if (!copy_seconds) return std::nullopt;
    double on_device = 0, on_host = 0;
    for (std::size_t i = 0; i < analysis_.nodes.size(); ++i) {
      const std::int32_t n = analysis_.nodes[i].node;
      const bool is_host = is_on_cpu(placed, n);
      const Side& side = is_host ? host_ : device_;
      double seconds = side.time.row_seconds[i];
      if (seconds == 0 && is_cut(placed, n)) seconds = side.bounds[i].seconds;
      (is_host ? on_host : on_device) += seconds;
    }
    PlacementPrediction::Time sum{.seconds = on_device + on_host + *copy_seconds, .low = {}, .high = {}};
    if ((on_device > 0 && !device_.time.low) || (on_host > 0 && !host_.time.low)) return sum;
    const auto scaled = [&](std::optional<double> Prediction::*end) {
      const auto part = [&](double seconds, const Prediction& time) {
        return seconds > 0 ? seconds * *(time.*end) / *time.seconds : 0;
      };
      return part(on_device, device_.time) + part(on_host, host_.time) + *copy_seconds;
    };
    sum.low = scaled(&Prediction::low);
    sum.high = scaled(&Prediction::high);
    return sum;
  }

 private:
  static bool is_on_cpu(const GraphPlacement& placed, std::int32_t n) {
    return placed.nodes[static_cast<std::size_t>(n)].on == PlacedOn::Cpu;
  }
  // Whether a node on the other side writes one of its inputs.
  bool is_cut(const GraphPlacement& placed, std::int32_t n) const {
    return std::ranges::any_of(graph_.node(n).inputs, [&](ValueId input) {
      const std::int32_t writer = input == kAbsent ? -1 : writers_[static_cast<std::size_t>(input)];
      return writer >= 0 && is_on_cpu(placed, writer) != is_on_cpu(placed, n);
    });
  }

  const Graph& graph_;
  const Analysis& analysis_;
  Side device_, host_;
  std::vector<std::int32_t> writers_;  // by value
};

PlacementPrediction::Time time_of(const Prediction& prediction) {
  return {.seconds = *prediction.seconds, .low = prediction.low, .high = prediction.high};
}

// The time that the provider's engine takes for all nodes; null, with the reason in `missing`: it is not known.
const Prediction* predicted_on_provider(const Provider& provider, const EstimateRequest& request,
                                        const EstimateRoofline& roofline, std::string& missing) {
  if (provider.arena_of.empty())
    missing = cat("no engine models provider ", provider.id);
  else if (request.engine->engine != provider.arena_of)
    missing = cat("the nodes on the provider need ", base::field("engine", provider.arena_of),
                  " with a `calibration` of this device");
  else if (!roofline.predicted)
    missing = cat(provider.arena_of, " does not predict this model");
  else
    return &*roofline.predicted;
  return nullptr;
}

// The same of the host's engine.
std::optional<Prediction> predicted_on_cpu(const Model& model, const EstimateRequest& request, std::string& missing) {
  if (!request.host_engine) {
    missing = cat("the nodes on the CPU need a calibration of ", request.host_device->name,
                  ": measure it by pagoda-calibrate --here onnxruntime-cpu -o FILE, and give FILE as `host_device`");
    return std::nullopt;
  }
  EstimateRequest on_host = request;
  on_host.precision.reset();
  on_host.device = request.host_device;
  const Analysis analysis = sized(model, on_host).analysis;
  Prediction time = predict(model, analysis, *request.host_device, *request.host_engine);
  if (time.seconds) return time;
  missing = cat(request.host_engine->engine, " does not predict this model");
  return std::nullopt;
}

std::optional<double> copy_seconds(const Count& bytes, const LinkRate& link) {
  const std::optional<double> amount = real(bytes);
  if (amount == 0) return 0;
  return amount && link.bytes_per_second > 0 ? std::optional(*amount / link.bytes_per_second) : std::nullopt;
}

// Weights are loaded first; a run then requests its activations as one block.
EngineFit engine_fit(const Provider& provider, const GraphPlacement& placed, const EstimateFit& fit, bool at_least) {
  constexpr Int kMost = Int{1} << 50;  // more than any device has
  const bool has_total = fit.activation_bytes && *fit.activation_bytes <= kMost;
  const DeviceArena arena =
      device_arena(placed.weight_bytes, has_total ? static_cast<std::int64_t>(*fit.activation_bytes) : 0);
  const auto bytes = [&](std::int64_t number) { return Count(number).at_least(at_least); };
  EngineFit engine{
      .engine = provider.arena_of,
      .weight_bytes = bytes(std::accumulate(placed.weight_bytes.begin(), placed.weight_bytes.end(), std::int64_t{0})),
      .arena_bytes = bytes(arena.before_last),
      .options = {}};
  if (!has_total) return engine;
  const auto total = [&](std::int64_t number) { return Count(number).at_least(at_least || fit.at_least); };
  engine.total_bytes = total(arena.median);
  engine.total_low_bytes = total(arena.low);
  engine.total_high_bytes = total(arena.high);
  if (arena.as_requested < arena.median)
    engine.options.push_back({"arena_extend_strategy=kSameAsRequested", total(arena.as_requested)});
  return engine;
}

}  // namespace

std::vector<std::string> provider_ids() { return documents::provider_ids(); }

void set_providers(std::string_view names, std::string_view form, EstimateRequest& request) {
  for (const std::string& name : base::split(std::string(names), ",")) {
    if (name.empty() && names.empty()) continue;
    if (name.empty())
      throw Error(
          cat(base::field("provider", names), " has an empty name; expected ids or files, separated by commas"));
    Provider provider = find_provider(name);
    const auto is_same = [&](const Provider& other) { return other.id == provider.id; };
    if (std::ranges::none_of(request.providers, is_same)) request.providers.push_back(std::move(provider));
  }
  if (form != "plain" && form != "default")
    throw Error(cat(base::field("placement_form", form), " is not known; expected default or plain"));
  request.placement_form = form == "plain" ? PlacementForm::Plain : PlacementForm::Default;
}

void set_host_device(const std::string& name, EstimateRequest& request) {
  if (base::is_path(name)) {
    const std::string text = base::read_text(name, "a device");
    if (engine_of_calibration(text, name) == "onnxruntime-cpu") {
      CalibrationFile file = parse_calibration(text, name);
      if (!file.device) throw Error(name + ": states no machine; expected the file that pagoda-calibrate --here wrote");
      request.host_device = std::move(file.device);
      request.host_engine = std::move(file.fitted);
      return;
    }
  }
  request.host_device = find_device(name);
}

std::string unfit_text(const Provider& provider, const EstimateRequest& request) {
  const auto is_none_of = [](const std::vector<std::string>& listed, const std::string& text) {
    return !listed.empty() && !text.empty() && std::ranges::find(listed, text) == listed.end();
  };
  if (request.host_device && is_none_of({"cpu"}, request.host_device->kind))
    return cat("`host_device` ", request.host_device->name, " is not a CPU");
  if (!request.device) return "";
  const DeviceSpec& device = *request.device;
  if (!is_none_of(provider.device_kinds, device.kind) && !is_none_of(provider.device_vendors, device.vendor)) return "";
  return cat("provider ", provider.id, " does not run on ", device.name, ": times are that device's all the same");
}

EstimatePlacement placement_of(const Model& model, const EstimateRequest& request, Findings& findings,
                               const Provider& provider) {
  const Analysis& analysis = findings.analysis;
  const PlaceOptions options{.form = request.placement_form};
  const GraphPlacement placed = place(model, analysis, provider, options);
  const Counter number(analysis);
  // Times of one device, at sizes that are given.
  const auto& roofline = findings.estimate.roofline;
  const bool has_time = roofline && !findings.group && roofline->rows.size() == analysis.nodes.size();
  EstimatePlacement result;
  result.provider = provider.id;
  result.name = provider.name;
  result.version = provider.version;
  result.is_judged = provider.is_judged;
  result.form = request.placement_form == PlacementForm::Plain ? "plain" : "default";
  result.parts = placed.parts;
  for (const PlacedNode& node : placed.nodes) {
    std::int64_t* const counts[] = {&result.on_provider, &result.off.nodes, &result.folded, &result.fused,
                                    &result.unknown};
    ++*counts[static_cast<std::size_t>(node.on)];
  }
  for (const Node& node : model.main().nodes)
    for (const GraphId body : node.bodies()) result.in_bodies += nodes_inside(model, body);
  result.refused = refused_text(model, analysis, placed, options);
  if (auto& fit = findings.estimate.fit; fit && !fit->engine && !findings.group && !provider.arena_of.empty() && result.refused.empty())
    fit->engine = engine_fit(provider, placed, *fit, result.unknown + result.in_bodies > 0);
  const bool is_open = has_open_sizes(analysis, request.placement_form);
  bool has_cures = false, fixes_dims = false;
  Sum all;
  std::map<std::pair<std::string, std::string>, Sum> by_reason, by_doubt;  // and cure
  result.nodes.reserve(analysis.nodes.size());
  for (std::size_t i = 0; i < analysis.nodes.size(); ++i) {
    const NodeReport& row = analysis.nodes[i];
    if (row.graph != 0) continue;
    const PlacedNode& at = placed.nodes[static_cast<std::size_t>(row.node)];
    const bool is_doubtful = at.on == PlacedOn::Provider && at.answers;
    EstimatePlacement::Node& placed_node = result.nodes.emplace_back();
    placed_node.index = i;
    placed_node.on = to_string(at.on);
    placed_node.part = at.part;
    placed_node.reason = is_doubtful ? doubt_text(at) : at.reason;
    if (at.on != PlacedOn::Cpu && !is_doubtful) continue;
    const Node& node = model.main().node(row.node);
    const std::string op = qualified(node.domain, node.op_type);
    const ProviderCure* const cure = is_doubtful ? nullptr : cure_of(provider, at.reason, op, is_open);
    fixes_dims = fixes_dims || (cure != nullptr && cure->of_free_dims);
    Sum& of_reason =
        is_doubtful ? by_doubt[{at.reason, ""}] : by_reason[{at.reason, cure == nullptr ? "" : cure->cure}];
    of_reason.answers = at.answers;
    for (Sum* const sum : {is_doubtful ? nullptr : &all, &of_reason}) {
      if (sum == nullptr) continue;
      ++sum->nodes;
      sum->flops += core::flops(row.cost, request.count);
      sum->bytes += row.cost.bytes();
      if (has_time) sum->seconds += roofline->rows[i].seconds;
      ++sum->operators[op];
    }
  }
  all.nodes = result.off.nodes;  // with those that have no row
  all.write(number, has_time, result.off);
  for (auto* const sums : {&by_reason, &by_doubt}) {
    std::vector<EstimatePlacement::Reason>& reasons = sums == &by_reason ? result.reasons : result.doubts;
    for (const auto& [key, sum] : *sums) {
      EstimatePlacement::Reason& reason = reasons.emplace_back();
      sum.write(number, has_time, reason);
      reason.reason = key.first;
      reason.cure = key.second;
      if (sum.answers) reason.refused = sum.answers->refused, reason.answers = sum.answers->of;
      has_cures = has_cures || !reason.cure.empty();
      std::vector<std::pair<std::int64_t, std::string>> operators;
      for (const auto& [name, nodes] : sum.operators) operators.emplace_back(-nodes, name);
      std::ranges::sort(operators);
      for (auto& [nodes, name] : operators) reason.operators.push_back(std::move(name));
    }
    std::ranges::stable_sort(reasons, std::ranges::greater(), [](const EstimatePlacement::Reason& each) {
      return std::tuple(each.seconds.value_or(0), each.flops.value_or(0), each.bytes.value_or(0), each.nodes);
    });
  }
  for (const PlacedCopy& copy : placed.copies) {
    const TensorType& type = analysis.types[static_cast<std::size_t>(copy.value)];
    result.copies.push_back({.tensor = model.main().value(copy.value).name,
                             .bytes = type.shape ? number(bytes_of(type)) : Count(),
                             .is_to_host = copy.is_to_host});
  }
  result.copied_bytes = copied_bytes(placed, analysis);
  std::optional<GraphPlacement> cured;
  const std::optional<Analysis> fixed = fixes_dims ? with_sizes(model, request, analysis) : std::nullopt;
  if (has_cures && (!fixes_dims || fixed)) {
    cured = place(model, fixed ? *fixed : analysis, provider, {.form = options.form, .with_cures = true});
    result.cured = {.nodes = std::ranges::count(cured->nodes, PlacedOn::Cpu, &PlacedNode::on),
                    .parts = cured->parts,
                    .copies = static_cast<std::int64_t>(cured->copies.size()),
                    .copied_bytes = fixed ? Count() : copied_bytes(*cured, analysis)};
  }
  if (!request.host_device || !has_time || provider.is_on_host) return result;
  EstimateRequest on_host = request;
  on_host.device = request.host_device;
  const Roofline host = bounds_of(model, on_host, analysis);
  const Sides sides{roofline->rows, host.rows, roofline->launch_overhead_seconds.value_or(0)};
  const LinkRate link = link_to_host(request);
  PlacementTimes& times = result.times.emplace();
  times.host_device = request.host_device->id;
  times.link = link.name;
  times.on_provider_seconds = roofline->totals.launched_seconds();
  times.on_cpu_seconds = host.totals.seconds;
  times.copy_seconds = copy_seconds(result.copied_bytes, link);
  times.placed_seconds = std::max(sides.seconds(analysis, placed), times.copy_seconds.value_or(0));
  if (cured && !fixed)
    times.cured_seconds =
        std::max(sides.seconds(analysis, *cured), copy_seconds(result.cured->copied_bytes, link).value_or(0));
  if (!predicts(request)) return result;
  PlacementPrediction& predicted = times.predicted.emplace();
  std::string missing;
  const Prediction* const on_provider = predicted_on_provider(provider, request, *roofline, missing);
  if (!missing.empty()) predicted.missing.push_back(std::exchange(missing, ""));
  const std::optional<Prediction> on_cpu = predicted_on_cpu(model, request, missing);
  if (!missing.empty()) predicted.missing.push_back(missing);
  if (on_provider != nullptr) predicted.on_provider = time_of(*on_provider);
  if (on_cpu) predicted.on_cpu = time_of(*on_cpu);
  if (on_provider == nullptr || !on_cpu) return result;
  const std::int64_t open = result.unknown + result.in_bodies;
  const auto has_rows = [&](const Prediction& time) { return time.row_seconds.size() == analysis.nodes.size(); };
  if (!has_rows(*on_provider) || !has_rows(*on_cpu))
    missing = "an engine gives no time by node";
  else if (open > 0)
    missing = cat("the side of ", base::counted(open, "node"), " is not known");
  else if (!times.copy_seconds)
    missing = link.name.empty() ? "copies take an unknown time; `link` gives the rate of the link to the host"
                                : "the size of a copy is not known";
  else
    missing.clear();
  if (!missing.empty()) {
    predicted.missing.push_back("as placed: " + missing);
    return result;
  }
  const PredictedSides rows(model, analysis, {*on_provider, roofline->rows}, {*on_cpu, host.rows});
  predicted.placed = rows.time(placed, times.copy_seconds);
  if (cured && !fixed) predicted.cured = rows.time(*cured, copy_seconds(result.cured->copied_bytes, link));
  return result;
}

}  // namespace pagoda::estimate
