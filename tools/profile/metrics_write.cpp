// Generates the catalogue of counters from the library: the formulas that a chip can evaluate, packed into passes.
#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "metrics.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"

namespace pagoda::tools::profile {

std::string version_text(std::uint32_t version) {
  if (version < 10000) return cat("of CUDA 12 (interface ", version, ")");
  return cat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

std::vector<std::string> names_of(const std::vector<documents::MetricTerm>& terms) {
  std::vector<std::string> names;
  for (const documents::MetricTerm& term : terms) names.push_back(term.metric);
  return names;
}

void join(std::vector<std::string>& all, const std::vector<std::string>& more) {
  for (const std::string& name : more)
    if (std::ranges::find(all, name) == all.end()) all.push_back(name);
}

namespace {

template <typename Ids>
bool contains(const Ids& ids, std::string_view id) {
  return std::ranges::find(ids, id) != ids.end();
}

bool knows_sparsity(const HostChip& chip) {
  return std::ranges::any_of(chip.metrics(), [](const std::string& name) { return name.ends_with("_sparsity_on"); });
}

// The rule's formula on this chip; empty if a required term does not exist. `known` already has the base quantities.
std::optional<documents::MetricFormula> resolved(const HostChip& chip, const documents::ChipMetrics& known,
                                                 const std::vector<documents::MetricTerm>& rule) {
  documents::MetricFormula formula;
  for (documents::MetricTerm term : rule) {
    const bool is_optional = term.metric.ends_with('?');
    if (is_optional) term.metric.pop_back();
    if (term.metric.starts_with('!')) {
      if (knows_sparsity(chip)) return std::nullopt;
      term.metric.erase(0, 1);
    }
    if (chip.has(term.metric))
      formula.terms.push_back(term);
    else if (!is_optional)
      return std::nullopt;
  }
  formula.passes = static_cast<std::int64_t>(chip.passes(names_of(formula.terms)));
  formula.term_passes = 1;
  if (formula.passes > 1)
    for (const documents::MetricTerm& term : formula.terms)
      formula.term_passes = std::max(formula.term_passes, static_cast<std::int64_t>(chip.passes({term.metric})));
  std::vector<std::string> with_base = names_of(formula.terms);
  const auto add = [&](std::string_view id) {
    if (const documents::MetricQuantity* base = known.quantity(id))
      join(with_base, names_of(base->formulas.front().terms));
  };
  std::ranges::for_each(kBaseQuantities, add);
  std::ranges::for_each(kClockQuantities, add);
  formula.base_passes = static_cast<std::int64_t>(chip.passes(with_base));
  return formula;
}

struct Packer {
  const HostChip& chip;
  std::vector<documents::MetricGroup> groups = {};

  // Adds to the group if it still fits into one pass with these metrics.
  bool add_to(documents::MetricGroup& group, const std::vector<std::string>& metrics) const {
    if (group.passes > 1) return false;
    std::vector<std::string> both = group.metrics;
    join(both, metrics);
    const bool fits = chip.passes(both) == 1;
    if (fits) group.metrics = both;
    return fits;
  }
  // Adds to the first group that fits; else starts a new group.
  void add(const std::vector<std::string>& metrics, std::size_t first_group) {
    for (std::size_t i = first_group; i < groups.size(); ++i)
      if (add_to(groups[i], metrics)) return;
    groups.push_back({metrics, static_cast<std::int64_t>(chip.passes(metrics))});
  }
};

// The first group holds time, bytes, and as many complete precisions of the tensor units as fit into one pass. Vector
// instructions have their own group, since counting them slows kernels down; further groups hold the rest.
std::vector<documents::MetricGroup> packed(const HostChip& host, const documents::ChipMetrics& chip) {
  Packer packer{host};
  std::vector<std::string> base, scalar;
  std::vector<const documents::MetricQuantity*> tensors;
  for (const documents::MetricQuantity& quantity : chip.quantities) {
    const auto names = names_of(quantity.formulas.front().terms);
    const bool is_tensor = quantity.id.ends_with(".tensor");
    if (contains(kBaseQuantities, quantity.id))
      join(base, names);
    else if (quantity.name().kind == documents::QuantityKind::Flops)
      is_tensor ? tensors.push_back(&quantity) : join(scalar, names);
  }
  packer.add(base, 0);
  std::vector<const documents::MetricQuantity*> left;
  for (const documents::MetricQuantity* quantity : tensors)
    if (quantity->formulas.front().passes > 1 ||
        !packer.add_to(packer.groups.front(), names_of(quantity->formulas.front().terms)))
      left.push_back(quantity);
  for (const std::string_view id : kClockQuantities)
    if (const documents::MetricQuantity* cycles = chip.quantity(id))
      packer.add_to(packer.groups.front(), names_of(cycles->formulas.front().terms));
  packer.add(scalar, 1);
  if (const documents::MetricQuantity* shared = chip.quantity("bytes.shared"))  // also counted by instructions
    packer.add(names_of(shared->formulas.front().terms), 1);
  // If DRAM has no counters, L2 misses are the closest substitute.
  if (const documents::MetricQuantity* misses = chip.quantity("bytes.l2_miss"); misses && !chip.quantity("bytes.dram"))
    for (const documents::MetricTerm& term : misses->formulas.front().terms) packer.add({term.metric}, 2);
  for (const documents::MetricQuantity* quantity : left) {
    const documents::MetricFormula& formula = quantity->formulas.front();
    if (formula.passes == 1) {
      packer.add(names_of(formula.terms), 2);
      continue;
    }
    for (const documents::MetricTerm& term : formula.terms) packer.add({term.metric}, 2);
  }
  return packer.groups;
}

documents::ChipMetrics described(const CuptiLibrary& library, const std::vector<std::string>& chips) {
  const HostChip host(library, chips.front());
  documents::ChipMetrics result;
  result.family = chips.front();
  result.chips = chips;
  result.cupti = version_text(library.version());
  result.collectable = !chips.front().starts_with("GV");  // the range profiler requires Turing or later
  for (const QuantityRule& rule : quantity_rules()) {
    documents::MetricQuantity quantity{rule.id, {}};
    for (const auto& terms : rule.formulas)
      if (const auto formula = resolved(host, result, terms)) quantity.formulas.push_back(*formula);
    // First the formulas whose terms fit into one pass each: these can be collected without replay.
    std::ranges::stable_sort(quantity.formulas, {}, [](const documents::MetricFormula& formula) {
      return std::min<std::int64_t>(formula.term_passes, 2);
    });
    if (contains(kClockQuantities, rule.id) && !quantity.formulas.empty() && quantity.formulas.front().base_passes > 1)
      result.missing.push_back(
          {rule.id, "takes a pass beside time and bytes; its unit's peak is known by cycle alone"});
    else if (!quantity.formulas.empty())
      result.quantities.push_back(std::move(quantity));
    else if (documents::quantity_name(rule.id).kind == documents::QuantityKind::Bytes)
      result.missing.push_back({rule.id, "no metric of this chip counts it"});
  }
  result.groups = packed(host, result);
  return result;
}

}  // namespace

// A family is named by its first chip.
void write_catalogue(const CuptiLibrary& library, const std::string& folder) {
  std::map<std::set<std::string>, std::vector<std::string>> families;
  for (const std::string& chip : library.chips()) try {
      families[HostChip(library, chip).metrics()].push_back(chip);
    } catch (const Error& error) {
      std::fprintf(stderr, "pagoda-metrics: left out: %s\n", error.what());
    }
  for (auto& [metrics, chips] : families) {
    std::ranges::sort(chips);
    const std::string path = folder + "/" + chips.front() + ".json";
    base::write_file(path, documents::write_chip_metrics(described(library, chips)));
    std::printf("%s\n", path.c_str());
  }
}

}  // namespace pagoda::tools::profile
