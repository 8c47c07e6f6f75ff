// One model under several devices, precisions and traffic models: a table, and the choice that matters most.
#include <algorithm>
#include <iterator>
#include <set>

#include "pagoda/base/csv_line.h"
#include "report/rows.h"

namespace pagoda::present::report {

base::Grid variants_grid(const documents::EstimateDocument& estimate) {
  const std::vector<documents::EstimateVariant>& variants = estimate.variants;
  base::Grid grid;
  const bool is_priced = std::any_of(variants.begin(), variants.end(),
                                     [](const auto& variant) { return variant.price_per_million.has_value(); });
  grid.columns = {{.header = "device"},
                  {.header = "precision"},
                  {.header = "traffic", .drop_order = 1},
                  {.header = "memory", .is_number = true},
                  {.header = "of", .is_number = true, .drop_order = 2},
                  {.header = "fits"},
                  {.header = "time ≥", .is_number = true},
                  {.header = "× first", .is_number = true},
                  {.header = "bound"},
                  {.header = "whatever is fused ≥", .is_number = true, .drop_order = 3},
                  {.header = estimate.phase ? "tokens/s ≤" : "items/s ≤", .is_number = true}};
  const bool has_users = std::any_of(variants.begin(), variants.end(), [](const auto& variant) {
    return variant.largest_batch || variant.longest_context;
  });
  if (has_users) {
    grid.columns.push_back({.header = "most users", .is_number = true});
    grid.columns.push_back({.header = "longest context", .is_number = true});
  }
  const bool has_joules =
      std::any_of(variants.begin(), variants.end(), [](const auto& variant) { return variant.joules.has_value(); });
  if (has_joules) grid.columns.push_back({.header = "energy ≈", .is_number = true});
  const auto timed =
      std::find_if(variants.begin(), variants.end(), [](const auto& variant) { return variant.predicted.has_value(); });
  const bool has_engine = timed != variants.end();
  if (has_engine) grid.columns.push_back({.header = base::printable(timed->predicted->engine) + " ≈", .is_number = true});
  const bool has_engine_memory = has_engine && timed->predicted->memory;
  if (has_engine_memory) grid.columns.push_back({.header = "process +", .is_number = true});
  const bool has_rate = has_engine && estimate.phase;
  if (has_rate) grid.columns.push_back({.header = "tokens/s ≈", .is_number = true});
  if (is_priced) grid.columns.push_back({.header = "price of a million ≥", .is_number = true});
  const auto seconds = [](const std::optional<double>& value) { return value ? base::si_seconds(*value) : "?"; };
  for (const documents::EstimateVariant& variant : variants) {
    const auto& first = variants.front().seconds;
    std::vector<std::string> row = {base::printable(variant.device),
                                    variant.precision ? std::string(to_string(*variant.precision)) : "as filed",
                                    std::string(to_string(variant.traffic)),
                                    cell(variant.total_bytes, "B"),
                                    cell(variant.device_bytes, "B"),
                                    !variant.fits   ? "?"
                                    : *variant.fits ? "fits"
                                                    : "does not fit",
                                    (variant.at_least ? "(part) " : "") + seconds(variant.seconds),
                                    variant.seconds && first ? base::rounded(*variant.seconds / *first) : "?",
                                    std::string(to_string(variant.bound)),
                                    seconds(variant.floor_seconds),
                                    variant.items_per_second ? base::si_rate(*variant.items_per_second, "") : "?"};
    const auto limit = [](const Count& value) { return value ? base::grouped(*value) : std::string("?"); };
    if (has_users) row.insert(row.end(), {limit(variant.largest_batch), limit(variant.longest_context)});
    if (has_joules) row.push_back(variant.joules ? base::si_text(*variant.joules, "J") : "?");
    if (has_engine) row.push_back(variant.predicted ? base::si_seconds(variant.predicted->seconds) : "?");
    if (has_engine_memory)
      row.push_back(variant.predicted && variant.predicted->memory ? cell(variant.predicted->memory->bytes, "B") : "?");
    if (has_rate)
      row.push_back(variant.predicted && variant.predicted->items_per_second
                        ? base::si_rate(*variant.predicted->items_per_second, "")
                        : "?");
    if (is_priced) row.push_back(variant.price_per_million ? base::rounded(*variant.price_per_million) : "");
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

std::string variants_csv(const documents::EstimateDocument& estimate) {
  std::string text = base::csv_line({"device", "precision", "traffic", "total_bytes", "device_bytes", "fits", "seconds",
                                     "floor_seconds", "at_least", "bound", "items_per_second", "largest_batch",
                                     "longest_context", "joules", "price_per_million", "predicted_engine",
                                     "predicted_seconds", "predicted_low", "predicted_high"});
  const auto truth = [](bool value) { return std::string(value ? "true" : "false"); };
  for (const documents::EstimateVariant& variant : estimate.variants) {
    const auto& predicted = variant.predicted;
    base::CsvLine line;
    line.name(variant.device).add(variant.precision ? std::string(to_string(*variant.precision)) : std::string());
    line.add(std::string(to_string(variant.traffic))).add(variant.total_bytes).add(variant.device_bytes);
    line.add(variant.fits ? truth(*variant.fits) : std::string()).add(variant.seconds).add(variant.floor_seconds);
    line.add(truth(variant.at_least)).add(std::string(to_string(variant.bound))).add(variant.items_per_second);
    line.add(variant.largest_batch).add(variant.longest_context).add(variant.joules).add(variant.price_per_million);
    line.name(predicted ? predicted->engine : "").add(predicted ? std::optional(predicted->seconds) : std::nullopt);
    line.add(predicted ? predicted->low : std::nullopt).add(predicted ? predicted->high : std::nullopt);
    text += std::move(line).end();
  }
  return text;
}

namespace {

// "int8 takes 0.62 of float16's time on t4 under tensorrt; 2 products stay in float16 (a, b)"
std::string under_engine(const std::vector<documents::EstimateVariant>& variants) {
  std::string text;
  const auto named = [](const std::vector<std::string>& nodes, const char* what) {
    constexpr std::size_t kNamed = 5;
    if (nodes.empty()) return std::string();
    std::string list;
    for (std::size_t i = 0; i < std::min(nodes.size(), kNamed); ++i)
      list += (i == 0 ? "" : ", ") + base::printable(nodes[i]);
    return "; " + std::to_string(nodes.size()) + " " + what + " (" + list + (nodes.size() > kNamed ? ", …)" : ")");
  };
  const auto is_narrow = [](const documents::EstimateVariant& each) {
    return each.precision == Precision::Int8 || each.precision == Precision::Float8;
  };
  for (const documents::EstimateVariant& narrow : variants) {
    if (!narrow.predicted || !is_narrow(narrow)) continue;
    const auto wide = std::find_if(variants.begin(), variants.end(), [&](const documents::EstimateVariant& each) {
      return each.predicted && each.precision && !is_narrow(each) && each.device == narrow.device &&
             each.traffic == narrow.traffic;
    });
    if (wide == variants.end()) continue;
    const std::string floats(to_string(*wide->precision));
    text += std::string(to_string(*narrow.precision)) + " takes " +
            base::rounded(narrow.predicted->seconds / wide->predicted->seconds) + " of " + floats + "'s time on " +
            base::printable(narrow.device) + " under " + base::printable(narrow.predicted->engine) +
            named(narrow.predicted->float_products, ("products stay in " + floats).c_str()) +
            named(narrow.predicted->unfused_conversions, "conversions stay kernels") + "\n";
  }
  return text;
}

// "longest context: cos_cache has 8,192 rows; memory alone holds 15,282,622 on h200, 2,441,381 on l4", each device in the
// form that comes first.
std::string under_table(const std::vector<documents::EstimateVariant>& variants) {
  std::string text;
  std::set<std::string_view> devices;
  for (const documents::EstimateVariant& variant : variants) {
    if (!variant.position_table || variant.longest_context != Count(variant.position_table->positions)) continue;
    if (!devices.insert(variant.device).second || !variant.memory_context) continue;
    text += text.empty() ? "longest context: " + base::printable(variant.position_table->name) + " has " +
                               base::grouped(variant.position_table->positions) + " rows; memory alone holds "
                         : ", ";
    text += base::grouped(*variant.memory_context) + " on " + base::printable(variant.device);
  }
  return text.empty() ? text : text + "\n";
}

}  // namespace

// The choice that changes the time most: device, precision or traffic.
std::string decisive(const std::vector<documents::EstimateVariant>& variants) {
  using Variant = documents::EstimateVariant;
  const auto can_run = [](const Variant& each) { return each.seconds && each.fits.value_or(true); };
  const auto spread = [&](auto same, auto differs) {
    double widest = 1;
    for (const Variant& a : variants)
      for (const Variant& b : variants)
        if (can_run(a) && can_run(b) && same(a, b) && differs(a, b)) widest = std::max(widest, *a.seconds / *b.seconds);
    return widest;
  };
  const auto device = [](const Variant& a, const Variant& b) { return a.device == b.device; };
  const auto precision = [](const Variant& a, const Variant& b) { return a.precision == b.precision; };
  const auto traffic = [](const Variant& a, const Variant& b) { return a.traffic == b.traffic; };
  const auto both = [](auto p, auto q) {
    return [=](const Variant& a, const Variant& b) { return p(a, b) && q(a, b); };
  };
  const auto no = [](auto p) { return [=](const Variant& a, const Variant& b) { return !p(a, b); }; };
  const std::pair<double, const char*> spreads[] = {{spread(both(precision, traffic), no(device)), "the device"},
                                                    {spread(both(device, traffic), no(precision)), "the precision"},
                                                    {spread(both(device, precision), no(traffic)), "fusion"}};
  const auto most = std::max_element(std::begin(spreads), std::end(spreads));
  const std::string remarks = under_table(variants) + under_engine(variants);
  if (most->first < 1.01) return remarks;
  return remarks + std::string(most->second) + " moves the time most: up to " +
         base::rounded(most->first) + "×\n";
}

}  // namespace pagoda::present::report
