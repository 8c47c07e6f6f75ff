#include "pagoda/estimate/engine_table.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "describe.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/plural.h"
#include "pagoda/base/text.h"

namespace pagoda::estimate {
namespace {

// Two forms of a network under one engine on one machine: of 56 pairs, which docs/engines.md lists, the measured ratio
// of 49 lies within this factor of the predicted one.
constexpr double kRatioError = 1.5;
// Taken around a time without an interval.
constexpr double kNoInterval = 3;
constexpr double kPart = 0.1;  // of the time, from which on a reason is named

// The type of most multiply-accumulates.
std::string form_of(const EstimateDocument& estimate) {
  std::map<std::string, Int> macs;
  for (const EstimateNode& node : estimate.nodes) {
    if (!node.counts.macs || *node.counts.macs == 0) continue;
    const ElementType type = node.dequantized_from != ElementType::Undefined ? node.dequantized_from : node.precision;
    macs[type == ElementType::Uint8 ? "int8" : std::string(to_string(type))] += *node.counts.macs;
  }
  const auto most = std::ranges::max_element(macs, {}, [](const auto& each) { return each.second; });
  return most == macs.end() ? "" : most->first;
}

bool converts(const EstimateNode& node) {
  return node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear" ||
         node.op_type == "DynamicQuantizeLinear";
}

// "quantising and dequantising takes 1.2 ms".
std::string conversions_text(const EstimateDocument& estimate) {
  const EstimatePrediction& time = *estimate.roofline->predicted;
  if (time.row_seconds.size() != estimate.nodes.size()) return "";
  double seconds = 0;
  for (std::size_t i = 0; i < estimate.nodes.size(); ++i)
    if (converts(estimate.nodes[i])) seconds += time.row_seconds[i];
  return seconds < kPart * *time.seconds ? ""
                                         : cat("conversions from and to integers take ", base::si_seconds(seconds));
}

// "1,204 launches take at least 3.2 ms".
std::string launches_text(const EstimateRoofline& roofline, double seconds) {
  const double launches = static_cast<double>(roofline.totals.launches);
  const double least = launches * roofline.launch_overhead_seconds.value_or(0);
  if (least <= roofline.totals.seconds || least < kPart * seconds) return "";
  return cat(base::counted(roofline.totals.launches, "launch", "launches"), " take at least ", base::si_seconds(least));
}

// "24 nodes leave the GPU (DynamicQuantizeLinear, MatMulInteger), with 48 copies"; empty: none with work does.
std::string leaving_text(const EstimatePlacement& placed) {
  if (!placed.off.flops || *placed.off.flops == 0) return "";
  std::vector<std::string> operators;
  for (const EstimatePlacement::Reason& reason : placed.reasons)
    if (reason.flops.value_or(0) > 0)
      for (const std::string& each : reason.operators)
        if (operators.size() < 3 && !holds(operators, each)) operators.push_back(each);
  return cat(base::counted(placed.off.nodes, "node leaves", "nodes leave"), " the GPU (",
             base::joined(operators, ", ", base::printable), "), with ",
             base::counted(placed.copies.size(), "copy", "copies"));
}

void add(std::vector<std::string>& reasons, std::string text) {
  if (!text.empty()) reasons.push_back(std::move(text));
}

void set_prediction(const EstimatePrediction& time, EngineRow& row) {
  row.seconds = time.seconds;
  row.low = time.low;
  row.high = time.high;
}

void fill(const Model& model, const EngineChoice& choice, EngineRow& row) {
  constexpr std::string_view kNote = "prediction: ", kNone = "no prediction: ";
  const EstimateDocument estimate = make_estimate(model, choice.request);
  row.form = choice.form.empty() ? form_of(estimate) : choice.form;
  if (!estimate.cannot_run.empty()) row.problem = cat("the model cannot run: ", estimate.cannot_run);
  if (!estimate.unset.empty()) row.problem = cat("a size is missing: ", base::joined(estimate.unset));
  if (!estimate.roofline || !row.problem.empty()) return;
  const EstimateRoofline& roofline = *estimate.roofline;
  const EstimatePrediction* time = roofline.predicted ? &*roofline.predicted : nullptr;
  row.least_seconds = roofline.totals.launched_seconds();
  if (!choice.request.other_precisions.empty() && !estimate.variants.empty()) {
    const EstimateVariant& variant = estimate.variants.front();
    row.least_seconds = variant.least_seconds();
    time = variant.predicted ? &*variant.predicted : nullptr;
  } else if (time != nullptr && row.is_on_cpu) {
    add(row.reasons, conversions_text(estimate));
  }
  std::string leaves;
  if (!estimate.placement.empty()) {
    const EstimatePlacement& placed = estimate.placement.front();
    if (!placed.refused.empty()) row.problem = cat("the runtime refuses the model: ", placed.refused);
    leaves = leaving_text(placed);
    if (!leaves.empty()) row.least_seconds = roofline.totals.seconds;  // a node on the CPU is not launched
  }
  if (!leaves.empty() && row.problem.empty()) row.problem = cat(leaves, ": the time of such a run is not predicted");
  if (time != nullptr && row.problem.empty()) set_prediction(*time, row);
  if (!row.is_on_cpu && leaves.empty())
    add(row.reasons, launches_text(roofline, row.seconds.value_or(*row.least_seconds)));
  for (const Diagnostic& each : estimate.diagnostics) {
    if (each.message.starts_with(kNote)) add(row.reasons, each.message.substr(kNote.size()));
    if (each.message.starts_with(kNone) && row.problem.empty()) row.problem = each.message.substr(kNone.size());
  }
}

// Whether `row` may be faster than `fastest`, which is predicted.
bool may_be_faster(const EngineRow& row, const EngineRow& fastest) {
  const double most = fastest.high.value_or(*fastest.seconds * kNoInterval);
  if (row.seconds && row.engine == fastest.engine && row.device == fastest.device)
    return *row.seconds < kRatioError * *fastest.seconds;
  if (row.seconds) return row.low.value_or(*row.seconds / kNoInterval) < most;
  return row.least_seconds.value_or(0) < most;
}

}  // namespace

EngineRow engine_row(const Model& model, const EngineChoice& choice) {
  EngineRow row{.model = model.path, .form = {}, .engine = choice.engine, .device = {}};
  if (const auto& device = choice.request.device) {
    row.device = device->measured ? device->name : device->id;
  }
  row.is_on_cpu = choice.engine.ends_with("-cpu");
  try {
    fill(model, choice, row);
  } catch (const Error& error) {
    if (row.problem.empty()) row.problem = error.what();
  }
  if (!choice.problem.empty()) row.problem = choice.problem;
  return row;
}

EngineTable compare_engines(std::vector<EngineRow> rows) {
  EngineTable table{.rows = std::move(rows)};
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const EngineRow& row = table.rows[i];
    if (row.seconds && (!table.fastest || *row.seconds < *table.rows[*table.fastest].seconds)) table.fastest = i;
  }
  if (!table.fastest) return table;
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    if (i != *table.fastest && may_be_faster(table.rows[i], table.rows[*table.fastest])) table.rivals.push_back(i);
  std::ranges::stable_sort(table.rivals, {}, [&](std::size_t i) {
    const EngineRow& row = table.rows[i];
    return std::pair(!row.seconds, row.seconds.value_or(row.least_seconds.value_or(0)));
  });
  return table;
}

}  // namespace pagoda::estimate
