// Parses sizes, axes, devices, links, budgets and prices: NAME=V and lists of them.
#include <algorithm>
#include <cctype>
#include <map>

#include "arguments.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "pagoda/base/quantity.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/device.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

std::int64_t size_of(std::string_view text, const std::string& whole) {
  const auto size = base::parse_number<std::int64_t>(text);
  const bool is_list = text.find(',') != std::string_view::npos;
  if (!size || *size < 0)
    throw UsageError(cat("'", text, "' in '", whole, "' is not a size; expected an integer of at least 0",
                         is_list ? cat(", or --sweep ", whole, " for a row per size") : ""));
  return *size;
}

// "1x3x224x224", "1,3,224,224", "[1, 3, 224, 224]" or "(1, 3, 224, 224)", as frameworks print shapes.
std::vector<std::int64_t> shape_of(std::string_view text, const std::string& whole) {
  const bool is_enclosed =
      (text.starts_with('[') && text.ends_with(']')) || (text.starts_with('(') && text.ends_with(')'));
  if (is_enclosed) text = text.substr(1, text.size() - 2);
  const bool has_commas = text.find(',') != std::string_view::npos && text.find('x') == std::string_view::npos;
  std::vector<std::int64_t> shape;
  for (std::string_view size : base::split(text, has_commas ? "," : "x")) {
    size.remove_prefix(std::min(size.find_first_not_of(' '), size.size()));
    const auto number = base::parse_number<std::int64_t>(size);
    if (!number || *number < 0)
      throw UsageError(cat("'", size, "' in '", whole, "' is not a size; expected a shape such as 1x3x224x224"));
    shape.push_back(*number);
  }
  return shape;
}

struct Assignment {
  std::string name;
  std::string_view value;
};

// Names may contain '=', values may not.
Assignment split(const std::string& text, const char* form) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) throw UsageError(cat("'", text, "' is not of the form ", form));
  return {text.substr(0, equals), std::string_view(text).substr(equals + 1)};
}

// The value of --input NAME=VALUE; empty for a shape of several sizes.
std::optional<InputValue> value_of(std::string_view text) {
  if (text == "true" || text == "false") return InputValue{Dim(text == "true" ? 1 : 0)};
  if (const auto integer = base::parse_number<std::int64_t>(text))
    return InputValue{.value = Dim(*integer), .may_be_size = *integer >= 0};
  if (const auto real = base::parse_number<double>(text)) return InputValue{Scalar(*real)};
  return std::nullopt;
}

template <typename Map>
void assign(Map& map, const std::string& name, typename Map::mapped_type value, const char* option) {
  const auto [at, is_new] = map.emplace(name, value);
  if (!is_new && at->second != value)
    throw UsageError(cat(option, " is given twice for '", name, "' with different values; give one"));
}

}  // namespace

AnalyzeOptions sizes_of(const Arguments& arguments) {
  AnalyzeOptions options;
  options.batch = arguments.batch;
  const auto add = [](const std::vector<std::string>& texts, auto& sizes, const char* option) {
    for (const std::string& text : texts) {
      const Assignment size = split(text, "NAME=V");
      assign(sizes, size.name, size_of(size.value, text), option);
    }
  };
  add(arguments.dims, options.dims, "--dim");
  add(arguments.assumed, options.assumed, "--assume");
  for (const std::string& text : arguments.inputs) {
    const Assignment input = split(text, "NAME=AxBxC");
    if (const auto value = value_of(input.value); value && !value->may_be_size) continue;
    assign(options.input_shapes, input.name, shape_of(input.value, text), "--input");
  }
  return options;
}

std::map<std::string, InputValue> input_values(const Arguments& arguments) {
  std::map<std::string, InputValue> values;
  for (const std::string& text : arguments.inputs) {
    const Assignment input = split(text, "NAME=VALUE");
    if (const auto value = value_of(input.value)) assign(values, input.name, *value, "--input");
  }
  return values;
}

std::vector<SweepAxis> sweep_axes(const Arguments& arguments) {
  std::vector<SweepAxis> axes;
  for (const std::string& text : arguments.sweeps) {
    if (text.starts_with(kModes)) continue;
    SweepAxis axis = parsed("--sweep", [&] { return parse_axis(text); });
    if (std::ranges::find(axes, axis.dim, &SweepAxis::dim) != axes.end())
      throw UsageError(cat("--sweep is given twice for '", axis.dim, "'"));
    axes.push_back(std::move(axis));
  }
  return axes;
}

std::vector<ParallelOptions> splits(const Arguments& arguments) {
  static constexpr std::int64_t kMost = std::int64_t{1}
                                        << 20;  // more than any machine has; products of three fit 64 bits
  const auto numbers = [](const char* option, const std::string& text) {
    try {
      std::vector<std::int64_t> list = parse_axis(option + ("=" + text)).sizes;
      if (std::ranges::all_of(list, [](std::int64_t each) { return each >= 1 && each <= kMost; })) return list;
    } catch (const Error&) {  // reported below
    }
    throw UsageError(cat(option, " '", text, "' is not a list of device counts; expected integers from 1 to ", kMost,
                         ", such as 1,2,4..64"));
  };
  std::vector<ParallelOptions> all;
  for (const std::int64_t pipeline : numbers("--pipeline-parallel", arguments.pipeline_parallel))
    for (const std::int64_t expert : numbers("--expert-parallel", arguments.expert_parallel))
      for (const std::int64_t tensor : numbers("--tensor-parallel", arguments.tensor_parallel))
        all.push_back({.tensor = tensor, .pipeline = pipeline, .expert = expert});
  return all;
}

bool has_groups(const Arguments& arguments) {
  const std::vector<ParallelOptions> all = splits(arguments);
  return std::ranges::any_of(all, [](const ParallelOptions& each) { return each.devices() > 1; });
}

std::vector<std::string> device_names(const Arguments& arguments) {
  std::vector<std::string> names = documents::split_devices(arguments.device);
  for (const std::string& text : arguments.sweeps) {
    if (!text.starts_with(kModes)) continue;
    if (names.size() != 1 || !documents::split_mode(names[0]).second.empty())
      throw UsageError("--sweep " + text + " needs --device with one device and no mode, whose modes they are");
    const std::string base = names[0];
    names.clear();
    for (const std::string& mode : documents::split_devices(base + ":" + text.substr(kModes.size())))
      names.push_back(names.empty() ? mode : base + ":" + mode);
  }
  return names;
}

bool is_choice(const Arguments& arguments) {
  return device_names(arguments).size() > 1 || !arguments.what_if.empty() || splits(arguments).size() > 1 ||
         arguments.prompt.has_value();
}

std::optional<double> most_off_provider(const Arguments& arguments) {
  const std::string& text = arguments.max_off_provider;
  if (text.empty()) return std::nullopt;
  const double share = parsed(
      "--max-off-provider", [&] { return base::quantity(base::Measure::Percent, text, "a share of the nodes").value; });
  if (share > 1)
    throw UsageError(cat("--max-off-provider: '", text, "' is not a share of the nodes; expected at most 100%"));
  return share;
}

std::vector<Budget> budgets(const Arguments& arguments) {
  struct Given {
    const char* option;
    BudgetKind kind;
    const std::string& text;
    bool is_question = false;
  };
  const Given given[] = {{"--max-flops", BudgetKind::Flops, arguments.max_flops},
                         {"--max-bytes", BudgetKind::Bytes, arguments.max_bytes},
                         {"--max-params", BudgetKind::Params, arguments.max_params},
                         {"--max-memory", BudgetKind::Memory, arguments.max_memory},
                         {"--max-seconds", BudgetKind::Seconds, arguments.max_seconds},
                         {"--min-fps", BudgetKind::Rate, arguments.min_fps},
                         {"--fps", BudgetKind::Rate, arguments.fps, true}};
  std::vector<Budget> budgets;
  for (const Given& each : given) {
    if (each.text.empty() || each.text == kOfDevice) continue;  // request_of() adds the device's
    budgets.push_back(parsed(each.option, [&] { return parse_budget(each.kind, each.text); }));
    budgets.back().is_question = each.is_question;
    if (each.kind == BudgetKind::Rate && !(budgets.back().limit_rate > 0))
      throw UsageError(cat(each.option, ": '", each.text, "' is not a rate; expected one above 0"));
  }
  return budgets;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> items = base::split(text, ",");
  std::erase(items, "");
  return items;
}

std::map<std::string, double> prices(const Arguments& arguments) {
  std::map<std::string, double> prices;
  for (const std::string& text : arguments.prices) {
    const auto [name, value] = split(text, "DEVICE=X");
    const auto price = base::parse_number<double>(value);
    const std::string id = documents::find_device(name).id;
    if (!price || !(*price >= 0))
      throw UsageError(cat("--price-per-hour: '", value, "' in '", text,
                           "' is not a price; expected an amount of at least 0, such as h200=3.50"));
    assign(prices, id, *price, "--price-per-hour");
  }
  return prices;
}

estimate::LinkChoice link_of(const std::string& text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) == 0) return {.name = text};
  const double rate = parsed(
      "--link", [&] { return base::quantity(base::Measure::BytesPerSecond, text, "a rate in one direction").value; });
  constexpr double kSlowest = 1e6;  // B/s: less is a number whose unit was left out
  if (rate < kSlowest)
    throw UsageError(cat("--link: '", text, "' is ", base::si_rate(rate, "B/s"),
                         "; expected at least 1 MB/s; write the unit, as in 450GB/s"));
  return {.bytes_per_second = rate};
}

}  // namespace pagoda::tools
