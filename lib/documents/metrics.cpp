// Reads the catalogue, chooses the groups that a mode collects, and evaluates collected values.
#include "pagoda/documents/metrics.h"

#include <algorithm>
#include <array>
#include <set>

#include "embedded.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/archive.h"

namespace pagoda::documents {
namespace {

template <typename A>
void formula(A& a, typename A::template Ref<MetricFormula> x) {
  a("passes", x.passes);
  if constexpr (A::kReads) {
    x.term_passes = x.passes;
    x.base_passes = x.passes + 1;
  }
  a("term_passes", x.term_passes);
  a("base_passes", x.base_passes);
  a.required("terms");
  a.list("terms", x.terms, [](A& inner, typename A::template Ref<MetricTerm> term) {
    inner("metric", term.metric);
    inner("weight", term.weight);
  });
}

template <typename A>
void metrics_members(A& a, typename A::template Ref<ChipMetrics> x) {
  a("family", x.family);
  a("chips", x.chips);
  a("cupti", x.cupti);
  a("collectable", x.collectable);
  for (const char* needed : {"quantities", "groups", "missing"}) a.required(needed);
  const auto quantity = [](A& inner, typename A::template Ref<MetricQuantity> y) {
    inner("id", y.id);
    inner.required("formulas");
    inner.list("formulas", y.formulas, formula<A>);
  };
  a.list("quantities", x.quantities, quantity, members::Layout::Block);
  const auto group = [](A& inner, typename A::template Ref<MetricGroup> y) {
    inner("passes", y.passes);
    inner.lines("metrics", y.metrics);
  };
  a.list("groups", x.groups, group, members::Layout::Block);
  a.list("missing", x.missing, [](A& inner, typename A::template Ref<Missing> missing) {
    inner("what", missing.what);
    inner("why", missing.why);
  });
}

using Has = std::function<bool(const std::string&)>;

// The first group with the operations of one precision in place of the others.
MetricGroup quick_group(const ChipMetrics& chip, std::string_view precision) {
  const MetricQuantity* const wanted = chip.quantity(cat("flops.", precision));
  if (wanted == nullptr) {
    std::vector<std::string_view> known;
    for (const MetricQuantity& quantity : chip.quantities)
      if (const QuantityName name = quantity.name(); name.kind == QuantityKind::Flops) known.push_back(name.of);
    throw Error(cat("precision \"", precision, "\": ", chip.family, " counts ", base::joined(known)));
  }
  for (const MetricFormula& formula : wanted->formulas) {
    if (formula.base_passes != 1) continue;
    MetricGroup group{{}, 1};
    for (const std::string& metric : chip.groups.front().metrics)
      if (metric.find("__ops_path_") == std::string::npos) group.metrics.push_back(metric);
    for (const MetricTerm& term : formula.terms) group.metrics.push_back(term.metric);
    return group;
  }
  throw Error(cat("precision \"", precision, "\" does not fit into one pass beside time and bytes on ", chip.family,
                  "; use `mode=rotate` or `mode=exact`"));
}

std::string why_missing(const MetricQuantity& quantity, MetricMode mode, const Has& has) {
  if (quantity.usable(has) == nullptr)
    return "this device cannot count it (a shared instance of MIG, or another limit that its driver reports)";
  if (mode == MetricMode::Quick) return "does not fit into the one pass of quick; use `mode=rotate` or exact";
  return "needs several passes of one kernel; use `mode=exact`";
}

}  // namespace

QuantityName quantity_name(std::string_view id) {
  constexpr std::array<std::pair<std::string_view, QuantityKind>, 3> kPrefixes = {
      {{"bytes.", QuantityKind::Bytes}, {"flops.", QuantityKind::Flops}, {"peak.", QuantityKind::Peak}}};
  for (const auto& [prefix, kind] : kPrefixes)
    if (id.starts_with(prefix)) return {kind, id.substr(prefix.size())};
  return {QuantityKind::Other, id};
}

const MetricQuantity* ChipMetrics::quantity(std::string_view id) const {
  const auto found = std::ranges::find(quantities, id, &MetricQuantity::id);
  return found == quantities.end() ? nullptr : &*found;
}

ChipMetrics parse_chip_metrics(std::string_view json, std::string_view subject) {
  const base::JsonDocument parsed = base::parse_json(json, subject, "expected a file of the metric catalogue");
  const base::JsonField root = parsed.root();
  if (parsed.schema() != "pagoda.metrics/1") parsed.fail_schema("pagoda.metrics/1, a file of data/metrics");
  ChipMetrics chip;
  chip.unknown = members::read(root, chip, metrics_members<members::Reader>, members::Reader::Numbers::Any);
  for (const MetricQuantity& quantity : chip.quantities) {
    if (quantity.formulas.empty()) root.fail("quantity " + quantity.id + " has no formula; expected at least one");
    for (const MetricFormula& formula : quantity.formulas)
      if (formula.terms.empty()) root.fail("a formula of " + quantity.id + " has no terms");
  }
  return chip;
}

std::string write_chip_metrics(const ChipMetrics& chip) {
  return members::write("pagoda.metrics/1", chip, metrics_members<members::Writer>);
}

std::span<const ChipMetrics> metric_catalogue() {
  static const std::vector<ChipMetrics> kCatalogue = [] {
    std::vector<ChipMetrics> all;
    for (const base::EmbeddedFile& file : documents::metric_files())
      all.push_back(parse_chip_metrics(file.text, "data/metrics/" + std::string(file.name)));
    return all;
  }();
  return kCatalogue;
}

const ChipMetrics* find_chip_metrics(std::string_view chip) {
  for (const ChipMetrics& family : metric_catalogue())
    if (std::ranges::find(family.chips, chip) != family.chips.end()) return &family;
  return nullptr;
}

const ChipMetrics& chip_metrics(std::string_view chip) {
  if (const ChipMetrics* const found = find_chip_metrics(chip)) return *found;
  std::vector<std::string> known;
  for (const ChipMetrics& family : metric_catalogue())
    known.insert(known.end(), family.chips.begin(), family.chips.end());
  throw Error(cat("chip \"", chip, "\" is not in the metric catalogue, which has ", base::joined(known),
                  "; run pagoda-metrics with a CUPTI that knows it and add the file to data/metrics"));
}

MetricPlan plan_metrics(const ChipMetrics& chip, MetricMode mode, std::string_view precision, const Has& given) {
  const Has has = given ? given : [](const std::string&) { return true; };
  MetricPlan plan;
  std::set<std::string> collected;
  for (std::size_t i = 0; i < chip.groups.size(); ++i) {
    if (mode == MetricMode::Quick && i > 0) break;
    if (mode == MetricMode::Rotate && chip.groups[i].passes > 1) continue;
    MetricGroup group = mode == MetricMode::Quick && !precision.empty() ? quick_group(chip, precision) : chip.groups[i];
    std::erase_if(group.metrics, [&](const std::string& metric) { return !has(metric); });
    collected.insert(group.metrics.begin(), group.metrics.end());
    if (!group.metrics.empty()) plan.groups.push_back(std::move(group));
  }
  for (const MetricQuantity& quantity : chip.quantities) {
    if (quantity.name().kind == QuantityKind::Peak) {
      if (const MetricFormula* const peak = quantity.usable(has))
        for (const MetricTerm& term : peak->terms) plan.constants.push_back(term.metric);
      continue;
    }
    // Covered by other metrics: bytes.dram is read + write, and L2 misses are not needed if DRAM bytes are counted.
    const bool is_covered =
        quantity.id == "bytes.dram" || (quantity.id == "bytes.l2_miss" && chip.quantity("bytes.dram"));
    if (!is_covered && !quantity.usable([&](const std::string& metric) { return collected.contains(metric); }))
      plan.missing.push_back({quantity.id, why_missing(quantity, mode, has)});
  }
  plan.missing.insert(plan.missing.end(), chip.missing.begin(), chip.missing.end());
  return plan;
}

std::map<std::string, double> evaluate_metrics(const ChipMetrics& chip, const std::map<std::string, double>& values) {
  std::map<std::string, double> amounts;
  for (const MetricQuantity& quantity : chip.quantities)
    if (const auto* formula = quantity.usable([&](const std::string& metric) { return values.contains(metric); })) {
      double& sum = amounts[quantity.id] = 0;
      for (const MetricTerm& term : formula->terms) sum += term.weight * values.at(term.metric);
    }
  if (const Amount both = plus(amount(amounts, "bytes.dram_read"), amount(amounts, "bytes.dram_write")))
    amounts.try_emplace("bytes.dram", *both);
  return amounts;
}

}  // namespace pagoda::documents
