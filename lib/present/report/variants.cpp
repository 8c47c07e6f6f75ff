// One model under several devices, precisions and traffic models: a table, and the choice that matters most.
#include <algorithm>
#include <iterator>
#include <set>

#include "pagoda/base/csv_line.h"
#include "report/rows.h"

namespace pagoda::present::report {

namespace {

using Variants = std::vector<documents::EstimateVariant>;

template <typename Has>
bool any(const Variants& variants, const Has& has) {
  return std::any_of(variants.begin(), variants.end(), has);
}

template <typename Key>
bool is_alike(const Variants& variants, const Key& key) {
  return std::all_of(variants.begin(), variants.end(),
                     [&](const auto& each) { return key(each) == key(variants.front()); });
}

std::string seconds_text(const std::optional<double>& value) { return value ? base::si_seconds(*value) : "?"; }
std::string rate_text(const std::optional<double>& value) { return value ? base::si_rate(*value, "") : "?"; }

std::string precision_text(const documents::EstimateVariant& variant) {
  return variant.precision ? std::string(to_string(*variant.precision)) : "as filed";
}

std::string fits_text(const documents::EstimateVariant& variant) {
  if (!variant.refused.empty()) return "cannot split";
  return !variant.fits ? "?" : *variant.fits ? "fits" : "does not fit";
}

std::string limit_text(const Count& value) { return value ? base::grouped(*value) : "?"; }

// "8", or "8: 4 tensor, 2 pipeline" where it is not the tensor split alone.
std::string split_text(const ParallelOptions& devices) {
  std::string text = std::to_string(devices.devices());
  if (devices.tensor == devices.devices()) return text;
  const std::pair<std::int64_t, const char*> parts[] = {
      {devices.tensor, "tensor"}, {devices.pipeline, "pipeline"}, {devices.expert, "expert"}};
  const char* before = ": ";
  for (const auto& [count, name] : parts) {
    if (count == 1) continue;
    text += before + std::to_string(count) + " " + name;
    before = ", ";
  }
  return text;
}

// One column of the table.
struct VariantColumn {
  base::Column column;
  bool is_choice;  // also known of devices that cannot share the model
  std::string (*text)(const documents::EstimateVariant& variant, const documents::EstimateVariant& first);
};

}  // namespace

base::Grid variants_grid(const documents::EstimateDocument& estimate) {
  using Variant = documents::EstimateVariant;
  const Variants& variants = estimate.variants;
  const bool has_groups = any(variants, [](const Variant& each) { return each.parallel.has_value(); });
  const bool has_several = any(variants, [](const Variant& each) { return each.devices() > 1; });
  // Beside numbers of devices, columns that are alike in all rows stand above the table.
  const bool has_precision = !has_groups || !is_alike(variants, [](const Variant& each) { return each.precision; });
  const bool has_traffic = !has_groups || !is_alike(variants, [](const Variant& each) { return each.traffic; });
  const auto timed =
      std::find_if(variants.begin(), variants.end(), [](const Variant& each) { return each.predicted.has_value(); });
  const bool has_engine = timed != variants.end();
  const std::string engine = has_engine ? base::printable(timed->predicted->engine) + " ≈" : std::string();
  const auto prompted =
      std::find_if(variants.begin(), variants.end(), [](const Variant& each) { return each.prompt.has_value(); });
  const bool has_prompt = prompted != variants.end();
  const bool is_prompt_timed = any(variants, [](const Variant& each) { return each.prompt && each.prompt->predicted; });
  const std::string prompt = has_prompt ? "prompt of " + base::grouped(prompted->prompt->tokens) : std::string();
  const bool has_users = any(variants, [](const Variant& each) { return each.largest_batch || each.longest_context; });

  std::vector<VariantColumn> columns;
  enum class Kind { Choice, Number, ChosenNumber, Word };
  const auto add = [&](bool is_shown, const std::string& header, Kind kind, auto text, int drop_order = 0) {
    const bool is_number = kind == Kind::Number || kind == Kind::ChosenNumber;
    if (is_shown)
      columns.push_back({.column = {.header = header, .is_number = is_number, .drop_order = drop_order},
                         .is_choice = kind == Kind::Choice || kind == Kind::ChosenNumber,
                         .text = text});
  };
  add(true, "device", Kind::Choice, [](const Variant& v, const Variant&) { return base::printable(v.device); });
  add(has_groups, "devices", Kind::ChosenNumber,
      [](const Variant& v, const Variant&) { return split_text(v.parallel.value_or(ParallelOptions{})); });
  add(has_precision, "precision", Kind::Choice, [](const Variant& v, const Variant&) { return precision_text(v); });
  add(
      has_traffic, "traffic", Kind::Choice,
      [](const Variant& v, const Variant&) { return std::string(to_string(v.traffic)); }, 1);
  add(
      has_groups, "weights", Kind::Number, [](const Variant& v, const Variant&) { return cell(v.weight_bytes, "B"); },
      4);
  add(
      has_groups, "cache", Kind::Number, [](const Variant& v, const Variant&) { return cell(v.cache_bytes, "B"); }, 4);
  add(true, "memory", Kind::Number, [](const Variant& v, const Variant&) { return cell(v.total_bytes, "B"); });
  add(
      true, "of", Kind::ChosenNumber, [](const Variant& v, const Variant&) { return cell(v.device_bytes, "B"); }, 2);
  add(true, "fits", Kind::Choice, [](const Variant& v, const Variant&) { return fits_text(v); });
  add(true, "time ≥", Kind::Number,
      [](const Variant& v, const Variant&) { return (v.at_least ? "(part) " : "") + seconds_text(v.seconds); });
  add(!has_groups, "× first", Kind::Number, [](const Variant& v, const Variant& first) -> std::string {
    return v.seconds && first.seconds ? base::rounded(*v.seconds / *first.seconds) : "?";
  });
  add(true, "bound", Kind::Word, [](const Variant& v, const Variant&) { return std::string(to_string(v.bound)); });
  add(
      !has_groups, "whatever is fused ≥", Kind::Number,
      [](const Variant& v, const Variant&) { return seconds_text(v.floor_seconds); }, 3);
  add(true, estimate.phase ? "tokens/s ≤" : "items/s ≤", Kind::Number,
      [](const Variant& v, const Variant&) { return rate_text(v.items_per_second); });
  add(has_several, "a device ≤", Kind::Number,
      [](const Variant& v, const Variant&) { return rate_text(v.device_items_per_second); });
  add(has_users, "most users", Kind::Number,
      [](const Variant& v, const Variant&) { return limit_text(v.largest_batch); });
  add(has_users, "longest context", Kind::Number,
      [](const Variant& v, const Variant&) { return limit_text(v.longest_context); });
  add(any(variants, [](const Variant& each) { return each.joules.has_value(); }), "energy ≈", Kind::Number,
      [](const Variant& v, const Variant&) { return v.joules ? base::si_text(*v.joules, "J", {.trims = false}) : std::string("?"); });
  add(has_engine, engine, Kind::Number, [](const Variant& v, const Variant&) {
    return v.predicted ? base::si_seconds(v.predicted->seconds) : std::string("?");
  });
  add(has_engine && timed->predicted->memory, "process +", Kind::Number, [](const Variant& v, const Variant&) {
    return v.predicted && v.predicted->memory ? cell(v.predicted->memory->bytes, "B") : std::string("?");
  });
  add(has_engine && estimate.phase, "tokens/s ≈", Kind::Number, [](const Variant& v, const Variant&) {
    return rate_text(v.predicted ? v.predicted->items_per_second : std::nullopt);
  });
  add(has_engine && has_several, "a device ≈", Kind::Number, [](const Variant& v, const Variant&) {
    return rate_text(v.predicted ? v.predicted->device_items_per_second : std::nullopt);
  });
  add(has_prompt, prompt + " ≥", Kind::Number, [](const Variant& v, const Variant&) {
    return v.prompt ? (v.prompt->at_least ? "(part) " : "") + seconds_text(v.prompt->seconds) : std::string("?");
  });
  add(is_prompt_timed, prompt + " ≈", Kind::Number, [](const Variant& v, const Variant&) {
    return v.prompt && v.prompt->predicted ? base::si_seconds(v.prompt->predicted->seconds) : std::string("?");
  });
  add(any(variants, [](const Variant& each) { return each.price_per_million.has_value(); }), "price of a million ≥",
      Kind::Number, [](const Variant& v, const Variant&) {
        return v.price_per_million ? base::rounded(*v.price_per_million) : std::string();
      });

  base::Grid grid;
  for (VariantColumn& each : columns) grid.columns.push_back(std::move(each.column));
  for (const Variant& variant : variants) {
    std::vector<std::string>& row = grid.rows.emplace_back();
    for (const VariantColumn& each : columns)
      row.push_back(each.is_choice || variant.refused.empty() ? each.text(variant, variants.front()) : std::string());
  }
  return grid;
}

std::string variants_csv(const documents::EstimateDocument& estimate) {
  std::string text = base::csv_line({"device",
                                     "precision",
                                     "traffic",
                                     "total_bytes",
                                     "device_bytes",
                                     "fits",
                                     "seconds",
                                     "floor_seconds",
                                     "at_least",
                                     "bound",
                                     "items_per_second",
                                     "largest_batch",
                                     "longest_context",
                                     "joules",
                                     "price_per_million",
                                     "predicted_engine",
                                     "predicted_seconds",
                                     "predicted_low",
                                     "predicted_high",
                                     "devices",
                                     "tensor",
                                     "pipeline",
                                     "expert",
                                     "weight_bytes",
                                     "cache_bytes",
                                     "device_items_per_second",
                                     "predicted_items_per_second",
                                     "predicted_device_items_per_second",
                                     "prompt_tokens",
                                     "prompt_seconds",
                                     "prompt_predicted_seconds",
                                     "prompt_predicted_low",
                                     "prompt_predicted_high",
                                     "refused"});
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
    const auto& split = variant.parallel;
    for (const Count& each : {split ? Count(split->devices()) : Count(), split ? Count(split->tensor) : Count(),
                              split ? Count(split->pipeline) : Count(), split ? Count(split->expert) : Count()})
      line.add(each);
    line.add(variant.weight_bytes).add(variant.cache_bytes).add(variant.device_items_per_second);
    line.add(predicted ? predicted->items_per_second : std::nullopt);
    line.add(predicted ? predicted->device_items_per_second : std::nullopt);
    const auto& prompt = variant.prompt;
    const std::optional<documents::EstimateEngineTime> filled = prompt ? prompt->predicted : std::nullopt;
    line.add(prompt ? Count(prompt->tokens) : Count()).add(prompt ? prompt->seconds : std::nullopt);
    line.add(filled ? std::optional(filled->seconds) : std::nullopt).add(filled ? filled->low : std::nullopt);
    line.add(filled ? filled->high : std::nullopt).name(variant.refused);
    text += std::move(line).end();
  }
  return text;
}

namespace {

// "int8 takes 0.62 of float16's time on t4 under tensorrt; 2 products stay in float16 (a, b)"
std::string under_engine(const std::vector<documents::EstimateVariant>& variants) {
  std::string text;
  const auto named = [](const std::vector<std::string>& nodes, const std::string& one, const std::string& many) {
    constexpr std::size_t kNamed = 5;
    if (nodes.empty()) return std::string();
    std::string list;
    for (std::size_t i = 0; i < std::min(nodes.size(), kNamed); ++i)
      list += (i == 0 ? "" : ", ") + base::printable(nodes[i]);
    return "; " + std::to_string(nodes.size()) + " " + (nodes.size() == 1 ? one : many) + " (" + list + (nodes.size() > kNamed ? ", …)" : ")");
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
            named(narrow.predicted->float_products, "product stays in " + floats, "products stay in " + floats) +
            named(narrow.predicted->unfused_conversions, "conversion stays a kernel", "conversions stay kernels") + "\n";
  }
  return text;
}

// "2 × h200", or "h200" in a table without numbers of devices.
std::string machine_text(const documents::EstimateVariant& variant) {
  const std::string device = base::printable(variant.device);
  return variant.parallel ? std::to_string(variant.devices()) + " × " + device : device;
}

// "longest context: cos_cache has 8,192 rows; memory alone holds 15,282,622 on h200, 2,441,381 on l4", each device in
// the form that comes first.
std::string under_table(const std::vector<documents::EstimateVariant>& variants) {
  std::string text;
  std::set<std::string_view> devices;
  for (const documents::EstimateVariant& variant : variants) {
    if (!variant.position_table || variant.longest_context != Count(variant.position_table->positions)) continue;
    if (!devices.insert(variant.device).second || !variant.memory_context) continue;
    text += text.empty() ? "longest context: " + base::printable(variant.position_table->name) + " has " +
                               base::grouped(variant.position_table->positions) + " rows; memory alone holds "
                         : ", ";
    text += base::grouped(*variant.memory_context) + " on " + machine_text(variant);
  }
  return text.empty() ? text : text + "\n";
}

// "2 × h100-sxm" for the fewest of each device that hold the model.
std::string least_devices(const Variants& variants) {
  std::vector<std::pair<std::string, std::int64_t>> least;
  for (const documents::EstimateVariant& each : variants) {
    if (!each.fits.value_or(false)) continue;
    const auto found =
        std::find_if(least.begin(), least.end(), [&](const auto& one) { return one.first == each.device; });
    if (found == least.end())
      least.emplace_back(each.device, each.devices());
    else
      found->second = std::min(found->second, each.devices());
  }
  std::vector<std::string> texts;
  texts.reserve(least.size());
  for (const auto& [device, count] : least) texts.push_back(std::to_string(count) + " × " + base::printable(device));
  return texts.empty() ? "fits none of them\n" : "fewest that hold it: " + base::joined(texts) + "\n";
}

// Each reason once, with the rows that it refuses.
std::string refusals(const Variants& variants) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const documents::EstimateVariant& each : variants) {
    if (each.refused.empty()) continue;
    auto found =
        std::find_if(reasons.begin(), reasons.end(), [&](const auto& one) { return one.first == each.refused; });
    if (found == reasons.end()) found = reasons.insert(reasons.end(), {each.refused, {}});
    const std::string machine = machine_text(each);
    if (std::find(found->second.begin(), found->second.end(), machine) == found->second.end())
      found->second.push_back(machine);
  }
  std::string text;
  for (const auto& [reason, machines] : reasons)
    text += "cannot split: " + base::printable(reason) + " (" + base::joined(machines) + ")\n";
  return text;
}

// The row that fits with the largest value: "most tokens/s a device ≈: 836 on 1 × b200".
template <typename Value>
std::string most(const Variants& variants, const std::string& what, const Value& value) {
  const documents::EstimateVariant* best = nullptr;
  for (const documents::EstimateVariant& each : variants)
    if (each.fits.value_or(false) && value(each) && (best == nullptr || *value(each) > *value(*best))) best = &each;
  if (best == nullptr) return {};
  return what + ": " + base::si_rate(*value(*best), "") + " on " + machine_text(*best) + "\n";
}

// What a table over numbers of devices says to one who has to choose.
std::string under_groups(const documents::EstimateDocument& estimate) {
  const Variants& variants = estimate.variants;
  if (!any(variants, [](const auto& each) { return each.parallel.has_value(); })) return {};
  const bool is_predicted = any(variants, [](const auto& each) { return each.predicted.has_value(); });
  const auto total = [&](const documents::EstimateVariant& each) {
    return is_predicted ? each.predicted ? each.predicted->items_per_second : std::nullopt : each.items_per_second;
  };
  const auto of_each = [&](const documents::EstimateVariant& each) {
    return is_predicted ? each.predicted ? each.predicted->device_items_per_second : std::nullopt
                        : each.device_items_per_second;
  };
  const std::string rate = estimate.phase ? "most tokens/s" : "most items/s", sign = is_predicted ? " ≈" : " ≤";
  return least_devices(variants) + most(variants, rate + sign, total) +
         most(variants, rate + " a device" + sign, of_each) + refusals(variants);
}

}  // namespace

std::string above_variants(const EstimateDocument& estimate) {
  const Variants& variants = estimate.variants;
  if (!any(variants, [](const auto& each) { return each.parallel.has_value(); })) return {};
  std::vector<std::string> said;
  if (is_alike(variants, [](const auto& each) { return each.precision; }))
    said.push_back("precision " + precision_text(variants.front()));
  if (is_alike(variants, [](const auto& each) { return each.traffic; }))
    said.push_back(std::string(to_string(variants.front().traffic)) + " traffic");
  said.emplace_back("memory of the device that needs the most");
  if (any(variants, [](const auto& each) { return each.longest_context.has_value(); }))
    said.emplace_back("most users at this past, longest context at this batch");
  const auto prompted =
      std::find_if(variants.begin(), variants.end(), [](const auto& each) { return each.prompt.has_value(); });
  if (prompted != variants.end()) said.emplace_back("a prompt is of one sequence");
  return base::joined(said, " · ") + "\n\n";
}

// The choice that changes the time most: device, precision or traffic.
std::string decisive(const documents::EstimateDocument& estimate) {
  using Variant = documents::EstimateVariant;
  const Variants& variants = estimate.variants;
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
  const auto count = [](const Variant& a, const Variant& b) { return a.devices() == b.devices(); };
  const std::pair<double, const char*> spreads[] = {
      {spread(both(count, both(precision, traffic)), no(device)), "the device"},
      {spread(both(count, both(device, traffic)), no(precision)), "the precision"},
      {spread(both(count, both(device, precision)), no(traffic)), "fusion"},
      {spread(both(device, both(precision, traffic)), no(count)), "the number of devices"}};
  const auto widest = std::max_element(std::begin(spreads), std::end(spreads));
  const std::string remarks = under_groups(estimate) + under_table(variants) + under_engine(variants);
  if (widest->first < 1.01) return remarks;
  return remarks + std::string(widest->second) + " moves the time most: up to " + base::rounded(widest->first) + "×\n";
}

}  // namespace pagoda::present::report
