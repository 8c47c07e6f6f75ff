// One model under several devices, precisions and traffic models: a table, and the choice that matters most.
#include <algorithm>
#include <iterator>
#include <set>

#include "pagoda/base/cat.h"
#include "pagoda/base/plural.h"
#include "report/rows.h"

namespace pagoda::present::report {

namespace {

using Variants = std::vector<documents::EstimateVariant>;

template <typename Key>
bool is_alike(const Variants& variants, const Key& key) {
  return std::ranges::all_of(variants, [&](const auto& each) { return key(each) == key(variants.front()); });
}

// "; 2 products stay in float16 (a, b)", or nothing without nodes.
std::string stay_text(const std::vector<std::string>& nodes, const std::string& one, const std::string& many) {
  constexpr std::ptrdiff_t kNamed = 5;
  if (nodes.empty()) return {};
  const bool is_long = std::ssize(nodes) > kNamed;
  const std::vector<std::string> named(nodes.begin(), is_long ? nodes.begin() + kNamed : nodes.end());
  return cat("; ", base::counted(nodes.size(), one, many), " (", base::joined(named, ", ", base::printable),
             is_long ? ", …)" : ")");
}

// "int8 takes 0.62 of float16's time on t4 under tensorrt; 2 products stay in float16 (a, b)"
std::string narrow_precision_remarks(const Variants& variants) {
  std::string text;
  const auto is_narrow = [](const documents::EstimateVariant& each) {
    return each.precision == Precision::Int8 || each.precision == Precision::Float8;
  };
  for (const documents::EstimateVariant& narrow : variants) {
    if (!narrow.predicted || !is_narrow(narrow)) continue;
    const auto wide = std::ranges::find_if(variants, [&](const documents::EstimateVariant& each) {
      return each.predicted && each.precision && !is_narrow(each) && each.device == narrow.device &&
             each.traffic == narrow.traffic;
    });
    if (wide == variants.end()) continue;
    const std::string floats(to_string(*wide->precision));
    text +=
        cat(to_string(*narrow.precision), " takes ",
            base::rounded(*narrow.predicted->seconds / *wide->predicted->seconds), " of ", floats, "'s time on ",
            base::printable(narrow.device), " under ", base::printable(narrow.predicted->engine),
            stay_text(narrow.predicted->float_products, "product stays in " + floats, "products stay in " + floats),
            stay_text(narrow.predicted->unfused_conversions, "conversion stays a kernel", "conversions stay kernels"),
            "\n");
  }
  return text;
}

// "2 × h200", or "h200" in a table without numbers of devices.
std::string machine_text(const documents::EstimateVariant& variant) {
  const std::string device = base::printable(variant.device);
  return variant.parallel ? cat(variant.devices(), " × ", device) : device;
}

// "longest context: cos_cache has 8,192 rows; memory alone holds 15,282,622 on h200, 2,441,381 on l4", each device in
// the form that comes first.
std::string context_remarks(const Variants& variants) {
  std::string text;
  std::set<std::string_view> devices;
  for (const documents::EstimateVariant& variant : variants) {
    if (!variant.position_table || variant.longest_context != Count(variant.position_table->positions)) continue;
    if (!devices.insert(variant.device).second || !variant.memory_context) continue;
    text += text.empty() ? cat("longest context: ", base::printable(variant.position_table->name), " has ",
                               base::grouped(variant.position_table->positions), " rows; memory alone holds ")
                         : ", ";
    text += cat(base::grouped(*variant.memory_context), " on ", machine_text(variant));
  }
  return text.empty() ? text : text + "\n";
}

// "2 × h100-sxm" for the fewest of each device that hold the model.
std::string least_devices(const Variants& variants) {
  std::vector<std::pair<std::string, std::int64_t>> least;
  for (const documents::EstimateVariant& each : variants) {
    if (!each.fits.value_or(false)) continue;
    const auto found = std::ranges::find_if(least, [&](const auto& one) { return one.first == each.device; });
    if (found == least.end())
      least.emplace_back(each.device, each.devices());
    else
      found->second = std::min(found->second, each.devices());
  }
  const auto text = [](const auto& one) { return cat(one.second, " × ", base::printable(one.first)); };
  return least.empty() ? "fits none of them\n" : cat("fewest that hold it: ", base::joined(least, ", ", text), "\n");
}

// Each reason once, with the rows that it refuses.
std::string refusals(const Variants& variants) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const documents::EstimateVariant& each : variants) {
    if (each.refused.empty()) continue;
    auto found = std::ranges::find_if(reasons, [&](const auto& one) { return one.first == each.refused; });
    if (found == reasons.end()) found = reasons.insert(reasons.end(), {each.refused, {}});
    const std::string machine = machine_text(each);
    if (std::ranges::find(found->second, machine) == found->second.end()) found->second.push_back(machine);
  }
  std::string text;
  for (const auto& [reason, machines] : reasons)
    text += cat("cannot split: ", base::printable(reason), " (", base::joined(machines), ")\n");
  return text;
}

// The row that fits with the largest value: "most tokens/s a device ≈: 836 on 1 × b200".
template <typename Value>
std::string most(const Variants& variants, const std::string& what, const Value& value) {
  const documents::EstimateVariant* best = nullptr;
  for (const documents::EstimateVariant& each : variants)
    if (each.fits.value_or(false) && value(each) && (best == nullptr || *value(each) > *value(*best))) best = &each;
  if (best == nullptr) return {};
  return cat(what, ": ", base::si_rate(*value(*best), ""), " on ", machine_text(*best), "\n");
}

// The best choices of a table over numbers of devices.
std::string device_count_remarks(const documents::EstimateDocument& estimate) {
  const Variants& variants = estimate.variants;
  if (!std::ranges::any_of(variants, [](const auto& each) { return each.parallel.has_value(); })) return {};
  const bool is_predicted = std::ranges::any_of(variants, [](const auto& each) { return each.predicted.has_value(); });
  const auto total = [&](const documents::EstimateVariant& each) {
    return is_predicted ? each.predicted ? each.predicted->items_per_second : std::nullopt
                        : documents::at_compared_seconds(variants, each, each.items_per_second);
  };
  const auto of_each = [&](const documents::EstimateVariant& each) {
    return is_predicted ? each.predicted ? each.predicted->device_items_per_second : std::nullopt
                        : documents::at_compared_seconds(variants, each, each.device_items_per_second);
  };
  const std::string rate = estimate.phase ? "most tokens/s" : "most items/s", sign = is_predicted ? " ≈" : " ≤";
  return least_devices(variants) + most(variants, rate + sign, total) +
         most(variants, rate + " a device" + sign, of_each) + refusals(variants);
}

}  // namespace

std::string above_variants(const EstimateDocument& estimate) {
  const Variants& variants = estimate.variants;
  if (!std::ranges::any_of(variants, [](const auto& each) { return each.parallel.has_value(); })) return {};
  std::vector<std::string> facts;
  if (is_alike(variants, [](const auto& each) { return each.precision; }))
    facts.push_back(cat("precision ", documents::precision_text(estimate, variants[0].traffic, variants[0].precision)));
  if (is_alike(variants, [](const auto& each) { return each.traffic; }))
    facts.push_back(std::string(to_string(variants.front().traffic)) + " traffic");
  facts.emplace_back("memory of the device that needs the most");
  if (std::ranges::any_of(variants, [](const auto& each) { return each.longest_context.has_value(); }))
    facts.emplace_back("most users at this past, longest context at this batch");
  const auto prompted = std::ranges::find_if(variants, [](const auto& each) { return each.prompt.has_value(); });
  if (prompted != variants.end()) facts.emplace_back("a prompt is of one sequence");
  return base::joined(facts, " · ") + "\n\n";
}

// The choice that changes the time most: device, precision or traffic.
std::string decisive(const documents::EstimateDocument& estimate) {
  using Variant = documents::EstimateVariant;
  const Variants& variants = estimate.variants;
  // The widest spread of times over variants that differ in one choice alone.
  std::pair<double, const char*> spreads[] = {
      {1, "the device"}, {1, "the precision"}, {1, "fusion"}, {1, "the number of devices"}};
  const bool are_predicted = std::ranges::all_of(
      variants, [](const Variant& each) { return !each.seconds || (each.predicted && each.predicted->seconds); });
  const auto least = [&](const Variant& each) {
    return are_predicted ? *each.predicted->seconds : *documents::compared_seconds(variants, each);
  };
  for (const Variant& a : variants)
    for (const Variant& b : variants) {
      if (!a.seconds || !b.seconds || !a.fits.value_or(true) || !b.fits.value_or(true)) continue;
      const bool differ[] = {a.device != b.device, a.precision != b.precision, a.traffic != b.traffic,
                             a.devices() != b.devices()};
      if (std::ranges::count(differ, true) != 1) continue;
      double& widest = spreads[std::ranges::find(differ, true) - differ].first;
      widest = std::max(widest, least(a) / least(b));
    }
  const auto& [factor, choice] = *std::ranges::max_element(spreads, {}, &std::pair<double, const char*>::first);
  const auto lacks_launches = [](const Variant& each) { return each.seconds && !each.launched_seconds; };
  const auto unknown = std::ranges::find_if(variants, lacks_launches);
  const bool is_mixed = unknown != variants.end() && !std::ranges::all_of(variants, lacks_launches);
  const std::string remarks = (is_mixed ? cat("times, rates and prices without launches: those of ",
                                              base::printable(unknown->device), " are not known\n")
                                        : "") +
                              device_count_remarks(estimate) + context_remarks(variants) +
                              narrow_precision_remarks(variants);
  if (factor < 1.01) return remarks;
  return cat(remarks, choice, " moves the time most: up to ", base::rounded(factor), "×\n");
}

}  // namespace pagoda::present::report
