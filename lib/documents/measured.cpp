// pagoda.measured/1 to and from values.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "pagoda/base/json_fields.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/documents/measured.h"

namespace pagoda::documents {
namespace {

using base::fail;
using base::Json;
using base::JsonWriter;
using Layout = base::JsonWriter::Layout;

constexpr std::string_view kSchema = "pagoda.measured/1";
constexpr std::array<std::string_view, 8> kSources = {"onnxruntime", "tensorrt",       "ncu",          "kineto",
                                                      "jetson",      "pagoda-profile", "pagoda-bench", "torch"};

using LevelField = std::optional<double> LevelBytes::*;
constexpr std::array<std::pair<const char*, LevelField>, 5> kLevels = {{
    {"dram_read", &LevelBytes::dram_read},
    {"dram_write", &LevelBytes::dram_write},
    {"dram", &LevelBytes::dram},
    {"l2", &LevelBytes::l2},
    {"l1", &LevelBytes::l1},
}};

// Writing ------------------------------------------------------------------------------------------------------------

// Counts are doubles here because averages over runs and decimal units of a source make fractions; whole ones up to
// 2^53 are printed as the integers that they are.
void write_amount(base::JsonWriter& json, std::string_view key, const std::optional<double>& amount) {
  json.key(key);
  if (amount && *amount == std::floor(*amount) && std::abs(*amount) < 9007199254740992.0)
    json.value(static_cast<std::int64_t>(*amount));
  else
    json.value(amount);
}

void write_maybe(base::JsonWriter& json, std::string_view key, const std::string& text) {
  json.key(key);
  text.empty() ? json.null() : json.value(text);
}

void write_present(base::JsonWriter& json, std::string_view key, const std::string& text) {
  if (!text.empty()) json.member(key, text);
}

void write_spread(base::JsonWriter& json, std::string_view key, const std::optional<Spread>& spread) {
  json.key(key);
  if (!spread) {
    json.null();
    return;
  }
  json.begin_object(Layout::Line);
  json.member("min", spread->min).member("max", spread->max).member("mean", spread->mean).member("n", spread->n);
  json.end_object();
}

void write_settings(base::JsonWriter& json, std::string_view key, const base::Settings& settings) {
  json.key(key).begin_object(Layout::Line);
  for (const auto& [name, setting] : settings) {
    json.key(name);
    std::visit(
        [&](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
            json.null();
          else
            json.value(value);
        },
        setting);
  }
  json.end_object();
}

template <typename Items>
void write_line(base::JsonWriter& json, std::string_view key, const Items& items) {
  json.key(key).begin_array(Layout::Line);
  for (const auto& item : items) json.value(item);
  json.end_array();
}

void write_bytes(base::JsonWriter& json, const LevelBytes& bytes) {
  json.key("bytes");
  if (std::none_of(kLevels.begin(), kLevels.end(), [&](const auto& level) { return bytes.*level.second; })) {
    json.null();
    return;
  }
  json.begin_object(Layout::Line);
  for (const auto& [name, field] : kLevels) write_amount(json, name, bytes.*field);
  json.end_object();
}

void write_kernel(base::JsonWriter& json, const MeasuredKernel& kernel) {
  json.begin_object();
  json.member("name", kernel.name);
  write_present(json, "op_type", kernel.op_type);
  write_maybe(json, "node", kernel.node);
  if (!kernel.nodes.empty()) write_line(json, "nodes", kernel.nodes);
  write_maybe(json, "nvtx", kernel.nvtx);
  write_present(json, "provider", kernel.provider);
  write_present(json, "detail", kernel.detail);
  json.member("launches", kernel.launches).member("seconds", kernel.seconds);
  write_spread(json, "seconds_spread", kernel.spread);
  json.key("flops");
  if (kernel.flops.empty()) {
    json.null();
  } else {
    json.begin_object(Layout::Line);
    for (const auto& [precision, flops] : kernel.flops) write_amount(json, precision, flops);
    json.end_object();
  }
  write_bytes(json, kernel.bytes);
  json.member("energy_joules", kernel.energy_joules);
  if (kernel.joined) {
    json.key("joined").begin_object(Layout::Line).member("rule", kernel.joined->rule);
    write_line(json, "nodes", kernel.joined->nodes);
    json.end_object();
  }
  if (kernel.device) json.member("device", *kernel.device);
  json.end_object();
}

void write_device(base::JsonWriter& json, const MeasuredDevice& device) {
  json.begin_object();
  write_maybe(json, "name", device.name);
  write_maybe(json, "chip", device.chip);
  json.key("clocks").begin_object(Layout::Line);
  for (const auto& [clock, hz] : device.clocks) json.member(clock, hz);
  json.end_object();
  json.key("peaks").begin_object();
  for (const auto& [of, peak] : device.peaks) {
    json.key(of).begin_object(Layout::Line);
    write_amount(json, "per_cycle", peak.per_cycle);
    json.member("per_second", peak.per_second).end_object();
  }
  json.end_object().end_object();
}

void write_pair(base::JsonWriter& json, std::string_view key, const std::optional<double>& measured,
                const std::optional<double>& expected, const std::optional<double>& ratio) {
  json.key(key).begin_object(Layout::Line);
  write_amount(json, "measured", measured);
  write_amount(json, "static", expected);
  json.member("ratio", ratio).end_object();
}

void write_counts(base::JsonWriter& json, const NodeCounts& group) {
  json.begin_object();
  write_line(json, "nodes", group.nodes);
  write_line(json, "kernels", group.kernels);
  json.member("seconds", group.seconds);
  write_pair(json, "flops", group.measured_flops, group.static_flops, group.flops_ratio());
  write_pair(json, "contraction", group.measured_contraction, group.static_contraction, group.contraction_ratio());
  write_pair(json, "bytes", group.measured_bytes, group.static_bytes, group.bytes_ratio());
  json.key("flags").begin_array(Layout::Line);
  for (const CountFlag flag : group.flags) json.value(to_string(flag));
  json.end_array().end_object();
}

// Reading ------------------------------------------------------------------------------------------------------------

std::optional<double> read_amount(const base::Json& object, const char* key, const std::string& place) {
  const std::optional<double> value = base::number(object, key, place);
  if (value && *value < 0) base::fail(place + "." + key, "is negative; expected an amount or null");
  return value;
}

std::int64_t read_count(const base::Json& object, const char* key, std::int64_t least, const std::string& place) {
  const std::int64_t value = base::integer(object, key, place).value_or(least);
  if (value < least) base::fail(place + "." + key, "expected at least " + std::to_string(least));
  return value;
}

std::optional<Spread> read_spread(const base::Json& object, const char* key, const std::string& place) {
  const base::Json* found = base::member(object, key);
  if (!found) return std::nullopt;
  const std::string inner = place + "." + key;
  if (!found->is_object()) base::fail(inner, "expected an object or null");
  const auto required = [&](const char* name) {
    const std::optional<double> value = read_amount(*found, name, inner);
    if (!value) base::fail(inner, std::string("\"") + name + "\" is missing");
    return *value;
  };
  return Spread{required("min"), required("max"), required("mean"), read_count(*found, "n", 1, inner)};
}

std::vector<std::size_t> read_indices(const base::Json& object, const char* key, const std::string& place) {
  std::vector<std::size_t> result;
  for (const base::Json& index : base::array(object, key, place)) {
    if (!index.is_number_unsigned()) base::fail(place + "." + key, "expected indices");
    result.push_back(index.get<std::size_t>());
  }
  return result;
}

MeasuredKernel read_kernel(const base::Json& json, const std::string& place) {
  if (!json.is_object()) base::fail(place, "expected an object");
  MeasuredKernel kernel;
  kernel.name = base::text(json, "name", place);
  kernel.op_type = base::text(json, "op_type", place);
  kernel.node = base::text(json, "node", place);
  kernel.nodes = base::texts(json, "nodes", place);
  kernel.nvtx = base::text(json, "nvtx", place);
  kernel.provider = base::text(json, "provider", place);
  kernel.detail = base::text(json, "detail", place);
  if (base::member(json, "launches")) kernel.launches = read_count(json, "launches", 0, place);
  kernel.seconds = read_amount(json, "seconds", place);
  kernel.spread = read_spread(json, "seconds_spread", place);
  if (const base::Json* flops = base::member(json, "flops")) {
    if (!flops->is_object()) base::fail(place + ".flops", "expected an object or null");
    for (const auto& [precision, value] : flops->items())
      kernel.flops[precision] = read_amount(*flops, precision.c_str(), place + ".flops");
  }
  if (const base::Json* bytes = base::member(json, "bytes")) {
    if (!bytes->is_object()) base::fail(place + ".bytes", "expected an object or null");
    for (const auto& [name, field] : kLevels) kernel.bytes.*field = read_amount(*bytes, name, place + ".bytes");
  }
  kernel.energy_joules = read_amount(json, "energy_joules", place);
  if (const base::Json* joined = base::member(json, "joined")) {
    if (!joined->is_object()) base::fail(place + ".joined", "expected an object or null");
    kernel.joined =
        Joined{base::text(*joined, "rule", place + ".joined"), read_indices(*joined, "nodes", place + ".joined")};
  }
  if (const auto device = base::integer(json, "device", place)) {
    if (*device < 0) base::fail(place + ".device", "is negative; expected a place in devices");
    kernel.device = static_cast<std::size_t>(*device);
  }
  return kernel;
}

MeasuredDevice read_device(const base::Json& json, const std::string& place) {
  if (!json.is_object()) base::fail(place, "expected an object");
  MeasuredDevice device;
  device.name = base::text(json, "name", place);
  device.chip = base::text(json, "chip", place);
  for (const char* key : {"clocks", "peaks"})
    if (const base::Json* found = base::member(json, key); found && !found->is_object())
      base::fail(place + "." + key, "expected an object");
  if (const base::Json* clocks = base::member(json, "clocks"))
    for (const auto& [clock, unused] : clocks->items())
      if (const auto hz = read_amount(*clocks, clock.c_str(), place + ".clocks")) device.clocks[clock] = *hz;
  if (const base::Json* peaks = base::member(json, "peaks"))
    for (const auto& [of, peak] : peaks->items()) {
      const std::string inner = place + ".peaks." + of;
      if (!peak.is_object()) base::fail(inner, "expected an object");
      const auto per_cycle = read_amount(peak, "per_cycle", inner);
      if (!per_cycle) base::fail(inner, "\"per_cycle\" is missing");
      device.peaks[of] = {*per_cycle, read_amount(peak, "per_second", inner)};
    }
  return device;
}

MeasuredRun read_run(const base::Json& json, const std::string& place) {
  if (!json.is_object()) base::fail(place, "expected an object");
  return {base::settings(json, "config", place), read_amount(json, "seconds", place), read_amount(json, "watts", place),
          read_amount(json, "energy_joules", place), base::text(json, "note", place)};
}

CountFlag read_flag(const std::string& name, const std::string& place) {
  for (int i = 0; i <= static_cast<int>(CountFlag::ExtraTraffic); ++i)
    if (to_string(static_cast<CountFlag>(i)) == name) return static_cast<CountFlag>(i);
  base::fail(place, "has the flag \"" + name + "\", which is not known");
}

NodeCounts read_counts(const base::Json& json, const std::string& place) {
  if (!json.is_object()) base::fail(place, "expected an object");
  NodeCounts group;
  group.nodes = read_indices(json, "nodes", place);
  group.kernels = read_indices(json, "kernels", place);
  group.seconds = read_amount(json, "seconds", place);
  const auto pair = [&](const char* key, std::optional<double>& measured, std::optional<double>& expected) {
    const base::Json* found = base::member(json, key);
    if (!found || !found->is_object()) base::fail(place, std::string("expected an object \"") + key + "\"");
    measured = read_amount(*found, "measured", place + "." + key);
    expected = read_amount(*found, "static", place + "." + key);
  };
  pair("flops", group.measured_flops, group.static_flops);
  pair("contraction", group.measured_contraction, group.static_contraction);
  pair("bytes", group.measured_bytes, group.static_bytes);
  for (const std::string& flag : base::texts(json, "flags", place)) group.flags.push_back(read_flag(flag, place));
  return group;
}

// "M.kernels[3]": where an element is, for messages.
std::string element(const std::string& place, const char* key, std::size_t index) {
  return place + "." + key + "[" + std::to_string(index) + "]";
}

std::optional<double> ratio(std::optional<double> a, std::optional<double> b) {
  return a && b && *b > 0 ? std::optional(*a / *b) : std::nullopt;
}

}  // namespace

std::optional<double> JoinSummary::share() const {
  if (!seconds || !joined_seconds || !(*seconds > 0)) return std::nullopt;
  return *joined_seconds / *seconds;
}

std::optional<double> Measured::kernel_seconds() const {
  double sum = 0;
  for (const MeasuredKernel& kernel : kernels) {
    if (!kernel.seconds) return std::nullopt;
    sum += *kernel.seconds;
  }
  return sum;
}

std::string write_measured(const Measured& measured) {
  base::JsonWriter json;
  json.begin_object();
  json.member("schema", kSchema).member("source", measured.source);
  write_maybe(json, "tool", measured.tool);
  write_maybe(json, "device", measured.device);
  write_settings(json, "clocks", measured.clocks);
  write_settings(json, "env", measured.env);
  json.member("repeats", measured.repeats).member("warmup", measured.warmup);
  json.member("seconds", measured.seconds);
  write_spread(json, "seconds_spread", measured.spread);
  json.key("kernels").begin_array();
  for (const MeasuredKernel& kernel : measured.kernels) write_kernel(json, kernel);
  json.end_array();
  if (!measured.devices.empty()) {
    json.key("devices").begin_array();
    for (const MeasuredDevice& device : measured.devices) write_device(json, device);
    json.end_array();
  }
  if (!measured.runs.empty()) {
    json.key("runs").begin_array();
    for (const MeasuredRun& run : measured.runs) {
      json.begin_object(Layout::Line);
      write_settings(json, "config", run.config);
      json.member("seconds", run.seconds).member("watts", run.watts).member("energy_joules", run.energy_joules);
      write_present(json, "note", run.note);
      json.end_object();
    }
    json.end_array();
  }
  json.key("missing").begin_array();
  for (const Missing& missing : measured.missing)
    json.begin_object(Layout::Line).member("what", missing.what).member("why", missing.why).end_object();
  json.end_array();
  json.key("notes").begin_array();
  for (const std::string& note : measured.notes) json.value(note);
  json.end_array();
  if (measured.join) {
    json.key("join").begin_object().member("model", measured.join->model);
    json.member("seconds", measured.join->seconds).member("joined_seconds", measured.join->joined_seconds);
    json.member("share", measured.join->share());
    write_line(json, "silent_nodes", measured.join->silent_nodes);
    if (!measured.join->counts.empty()) {
      json.key("counts").begin_array();
      for (const NodeCounts& group : measured.join->counts) write_counts(json, group);
      json.end_array();
    }
    json.end_object();
  }
  json.end_object();
  return std::move(json).text();
}

Measured parse_measured(std::string_view json, std::string_view subject) {
  const std::string place(subject);
  const std::string expected = "a file of schema " + std::string(kSchema) + "; write one with pagoda-import";
  const base::Json document = base::parse_json(json, subject, expected);
  if (!document.is_object() || base::text(document, "schema", place) != kSchema)
    base::fail(place, "expected " + expected);
  Measured measured;
  measured.source = base::text(document, "source", place);
  if (std::find(kSources.begin(), kSources.end(), measured.source) == kSources.end())
    base::fail(place + ".source", "is \"" + measured.source +
                                      "\"; expected onnxruntime, tensorrt, ncu, kineto, jetson, "
                                      "pagoda-profile, pagoda-bench or torch");
  measured.tool = base::text(document, "tool", place);
  measured.device = base::text(document, "device", place);
  measured.clocks = base::settings(document, "clocks", place);
  measured.env = base::settings(document, "env", place);
  measured.repeats = read_count(document, "repeats", 1, place);
  measured.warmup = read_count(document, "warmup", 0, place);
  measured.seconds = read_amount(document, "seconds", place);
  measured.spread = read_spread(document, "seconds_spread", place);
  const base::Json& kernels = base::array(document, "kernels", place);
  for (std::size_t i = 0; i < kernels.size(); ++i)
    measured.kernels.push_back(read_kernel(kernels[i], element(place, "kernels", i)));
  if (base::member(document, "runs")) {
    const base::Json& runs = base::array(document, "runs", place);
    for (std::size_t i = 0; i < runs.size(); ++i) measured.runs.push_back(read_run(runs[i], element(place, "runs", i)));
  }
  if (base::member(document, "devices")) {
    const base::Json& devices = base::array(document, "devices", place);
    for (std::size_t i = 0; i < devices.size(); ++i)
      measured.devices.push_back(read_device(devices[i], element(place, "devices", i)));
  }
  for (std::size_t i = 0; i < measured.kernels.size(); ++i)
    if (measured.kernels[i].device.value_or(0) >= std::max<std::size_t>(1, measured.devices.size()))
      base::fail(element(place, "kernels", i) + ".device", "is none of the devices");
  if (base::member(document, "missing")) {
    const base::Json& missing = base::array(document, "missing", place);
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (!missing[i].is_object()) base::fail(element(place, "missing", i), "expected an object");
      measured.missing.push_back({base::text(missing[i], "what", element(place, "missing", i)),
                                  base::text(missing[i], "why", element(place, "missing", i))});
    }
  }
  measured.notes = base::texts(document, "notes", place);
  if (const base::Json* join = base::member(document, "join")) {
    const std::string inner = place + ".join";
    if (!join->is_object()) base::fail(inner, "expected an object or null");
    measured.join = JoinSummary{base::text(*join, "model", inner),
                                read_amount(*join, "seconds", inner),
                                read_amount(*join, "joined_seconds", inner),
                                read_indices(*join, "silent_nodes", inner),
                                {}};
    if (base::member(*join, "counts")) {
      const base::Json& counts = base::array(*join, "counts", inner);
      for (std::size_t i = 0; i < counts.size(); ++i)
        measured.join->counts.push_back(read_counts(counts[i], element(inner, "counts", i)));
    }
  }
  return measured;
}

Measured load_measured(const std::string& path) {
  return parse_measured(base::read_text(path, "a measurement of schema pagoda.measured/1, as pagoda-import writes it"),
                        path);
}

std::string_view to_string(CountFlag flag) {
  switch (flag) {
    case CountFlag::Fused:
      return "fused";
    case CountFlag::Incomplete:
      return "incomplete";
    case CountFlag::Padding:
      return "padding";
    case CountFlag::ExtraWork:
      return "extra work";
    case CountFlag::FewerOperations:
      return "fewer operations";
    case CountFlag::Sparsity:
      return "sparsity";
    case CountFlag::OtherPrecision:
      return "other precision";
    case CountFlag::Specials:
      return "specials";
    case CountFlag::CacheResident:
      return "cache resident";
    case CountFlag::ExtraTraffic:
      return "extra traffic";
  }
  return "";
}

std::optional<double> NodeCounts::contraction_ratio() const {
  return measured_contraction.value_or(0) > 0 ? ratio(measured_contraction, static_contraction) : std::nullopt;
}

std::optional<double> NodeCounts::flops_ratio() const { return ratio(measured_flops, static_flops); }

std::optional<double> NodeCounts::bytes_ratio() const { return ratio(measured_bytes, static_bytes); }

}  // namespace pagoda::documents
