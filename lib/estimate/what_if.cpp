// Formulas of a request with free dims, at the precisions that a reader can choose.
#include "pagoda/estimate/what_if.h"

#include <algorithm>
#include <cmath>

#include "describe.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/device.h"

namespace pagoda::estimate {
namespace {

constexpr double kSame = 1e-9;                  // relative; allows for the order of summation
constexpr std::int64_t kLargestSize = 1 << 20;  // the largest size tried

// Offered for models with float products, in addition to the file's own precisions.
constexpr Precision kOffered[] = {Precision::Float32,  Precision::Tf32,   Precision::Float16,
                                  Precision::Bfloat16, Precision::Float8, Precision::Int8};

bool is_answered(const EstimateRequest& request) {
  return request.device && !request.training && !request.parallel && request.sweep.empty() &&
         request.traffic != TrafficModel::Resident && !is_published(request.count) && request.sizes.extra_rules.empty();
}

// Requests whose analyses leave dims free, most free dims first; the last adds none.
std::vector<EstimateRequest> open_requests(const EstimateRequest& request) {
  std::vector<EstimateRequest> tries;
  const auto add = [&](bool dims, bool batch) {
    EstimateRequest open = request;
    if (dims) open.sizes.dims.clear();
    if (dims && open.phase) open.phase->past = std::nullopt;
    if (batch) open.sizes.batch = 0;
    open.sizes.symbolic_batch = batch;
    tries.push_back(std::move(open));
  };
  add(true, true);
  if (request.sizes.batch == 0) add(true, false);
  add(false, true);
  add(false, false);
  return tries;
}

// The sizes that the page's controls set, from the dims that an analysis leaves free.
std::vector<WhatIf::Size> sizes_of(const Model& model, const EstimateRequest& request, const Sized& open,
                                   const Bindings& bindings) {
  const Analysis& analysis = open.analysis;
  std::vector<WhatIf::Size> sizes;
  std::vector<std::string> taken;
  const auto value_of = [&](const std::string& symbol) -> std::optional<std::int64_t> {
    const auto found = bindings.find(symbol);
    return found == bindings.end() ? std::nullopt : std::optional(found->second);
  };
  try {
    WhatIf::Size batch{"batch", "`batch=`", axis_symbols(model, analysis, "batch"), std::nullopt, std::nullopt, true};
    batch.value = request.sizes.batch > 0 ? std::optional(request.sizes.batch) : value_of(batch.symbols.front());
    taken = batch.symbols;
    sizes.push_back(std::move(batch));
  } catch (const Error&) {  // no batch, or only one works
  }
  for (const std::string& symbol : analysis.free_dims) {
    if (std::find(taken.begin(), taken.end(), symbol) != taken.end()) continue;
    // Skip dims for which formulas hold only at some values.
    if (analysis.equalities.contains(symbol) || analysis.ones_or.contains(symbol)) continue;
    if (open.phase && open.phase->masks.contains(symbol)) continue;
    std::string name = symbol;
    for (const auto& [filed, renamed] : analysis.renamed)
      if (renamed == symbol) name = filed;
    if (open.phase && symbol == open.phase->past_dim && request.phase && !open.phase->past_dim.empty()) {
      sizes.push_back({"past", "`past=`", {symbol}, request.phase->past.value_or(0), std::nullopt, false});
      continue;
    }
    sizes.push_back({name, base::field("dims", name + "="), {symbol}, value_of(symbol), std::nullopt, false});
  }
  return sizes;
}

Bindings bindings_of(const std::vector<WhatIf::Size>& sizes) {
  Bindings bindings;
  for (const WhatIf::Size& size : sizes)
    for (const std::string& symbol : size.symbols) bindings[symbol] = size.value.value_or(1);
  return bindings;
}

// Whether the formulas and the analysis of the request give the same results at its sizes.
bool agrees(const Analysis& open, const Bindings& at, const Analysis& bound, const DeviceSpec& device) {
  if (open.nodes.size() != bound.nodes.size()) return false;
  const std::vector<Bindings> points = {at};
  const RooflineTotals a = roofline_sweep(open, device, {}, points).front(), b = roofline(bound, device).totals;
  const auto same = [](double x, double y) { return std::abs(x - y) <= kSame * std::max(std::abs(x), std::abs(y)); };
  return a.unknown_rows == b.unknown_rows && a.launches == b.launches && same(a.seconds, b.seconds) &&
         same(a.floor_seconds, b.floor_seconds);
}

// The largest size that the operators allow: tables written by an exporter, for example of positions, are finite.
std::optional<std::int64_t> most_of(const Model& model, const EstimateRequest& request, const WhatIf::Size& size,
                                    std::int64_t unmodelled) {
  const auto works = [&](std::int64_t value) {
    EstimateRequest probe = request;
    if (size.name == "past" && probe.phase)
      probe.phase->past = value;
    else
      probe.sizes.dims[size.name] = value;
    try {
      return sized(model, probe).analysis.totals.unmodelled_nodes <= unmodelled;
    } catch (const Error&) {
      return false;
    }
  };
  std::int64_t low = size.value.value_or(1), high = kLargestSize;
  if (works(high) || !works(low)) return std::nullopt;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (works(middle) ? low : high) = middle;
  }
  return low;
}

std::vector<std::string> arguments_of(const Model& model, const EstimateRequest& request) {
  std::vector<std::string> arguments = {model.path};
  const auto add = [&](const char* field, std::string value) {
    arguments.emplace_back(field);
    arguments.push_back(std::move(value));
  };
  if (request.phase) add("`phase`", std::string(to_string(request.phase->phase)));
  if (request.phase && request.phase->tokens) add("`tokens`", std::to_string(*request.phase->tokens));
  for (const auto& [input, shape] : request.sizes.input_shapes)
    add("`inputs`", cat(input, "=", base::joined(shape, "x", [](std::int64_t size) { return std::to_string(size); })));
  if (request.count != Convention::Flops) add("`count`", std::string(to_string(request.count)));
  return arguments;
}

}  // namespace

std::optional<WhatIf> what_if(const Model& file_model, const EstimateRequest& asked) {
  if (!is_answered(asked)) return std::nullopt;
  const std::optional<Model> taken = with_branches_taken(file_model);
  const Model& model = taken ? *taken : file_model;
  EstimateRequest request = asked;
  const Sized bound = sized_as_run(model, request);
  WhatIf result;
  EstimateRequest open;
  std::optional<Sized> start;
  for (const EstimateRequest& each : open_requests(request)) {
    try {
      Sized tried = sized(model, each);
      std::vector<WhatIf::Size> sizes = sizes_of(model, request, tried, bound.analysis.bindings);
      if (!agrees(tried.analysis, bindings_of(sizes), bound.analysis, *request.device)) continue;
      result.sizes = std::move(sizes);
      start = std::move(tried);
      open = each;
      break;
    } catch (const Error&) {  // the model cannot be analysed with free sizes
    }
  }
  if (!start) return std::nullopt;
  for (WhatIf::Size& size : result.sizes)
    if (!size.is_batch) size.most = most_of(model, request, size, bound.analysis.totals.unmodelled_nodes);

  std::vector<std::optional<Precision>> precisions = {std::nullopt};
  const bool multiplies_floats = multiplies(
      bound.analysis, {ElementType::Float64, ElementType::Float32, ElementType::Float16, ElementType::Bfloat16});
  if (multiplies_floats || request.precision)
    precisions.insert(precisions.end(), std::begin(kOffered), std::end(kOffered));
  if (std::find(precisions.begin(), precisions.end(), request.precision) == precisions.end())
    precisions.push_back(request.precision);
  RooflineTables tables;
  for (const std::optional<Precision>& precision : precisions) {
    open.precision = precision;
    const Analysis analysis = precision == request.precision ? std::move(start->analysis) : sized(model, open).analysis;
    const Traffic fused = traffic(model, analysis, {.model = TrafficModel::Fused});
    if (precision == request.precision) {
      result.at = result.cases.size();
      result.group_of.assign(fused.group_of.begin(), fused.group_of.end());
    }
    WhatIf::Case& each = result.cases.emplace_back();
    each.precision = precision;
    each.rows = tables.add(analysis);
    each.fused = tables.add(analysis, &fused);
    const OpCost& cost = analysis.totals.cost;
    each.totals = {tables.add(cost.macs),        tables.add(cost.arith),      tables.add(cost.special),
                   tables.add(cost.comparisons), tables.add(cost.bytes_read), tables.add(cost.bytes_written)};
    each.fused_read = tables.add(fused.bytes_read);
    each.fused_written = tables.add(fused.bytes_written);
    if (const std::optional<Dim> memory = memory_formula(model, analysis)) each.memory = tables.add(*memory);
  }
  if (start->phase) result.tokens = tables.add(start->phase->tokens);
  result.formulas = tables.formulas();
  result.devices.push_back(*request.device);
  for (const std::string& id : device_ids())
    if (id != request.device->id) result.devices.push_back(device(id));
  result.arguments = arguments_of(model, request);
  return result;
}

}  // namespace pagoda::estimate
