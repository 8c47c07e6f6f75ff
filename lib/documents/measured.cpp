// pagoda.measured/1 to and from values.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/measured.h"

namespace pagoda::documents {
namespace {

using base::JsonField;
using Layout = base::JsonWriter::Layout;

constexpr std::string_view kMeasuredSchema = "pagoda.measured/1";

// Writing ------------------------------------------------------------------------------------------------------------

// Counts are doubles because averages over runs and a source's decimal units give fractions; whole numbers below 2^53
// are printed as integers.
void write_amount(base::JsonWriter& json, std::string_view key, const std::optional<double>& amount) {
  json.key(key);
  if (amount && *amount == std::floor(*amount) && std::abs(*amount) < 9007199254740992.0)
    json.value(static_cast<std::int64_t>(*amount));
  else
    json.value(amount);
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

void write_bytes(base::JsonWriter& json, const LevelBytes& bytes) {
  json.key("bytes");
  if (std::ranges::none_of(kLevels, [&](const LevelField& level) { return (bytes.*level.bytes).has_value(); })) {
    json.null();
    return;
  }
  json.begin_object(Layout::Line);
  for (const LevelField& level : kLevels) write_amount(json, level.name, bytes.*level.bytes);
  json.end_object();
}

void write_kernel(base::JsonWriter& json, const MeasuredKernel& kernel) {
  json.begin_object();
  json.member("name", kernel.name);
  json.member_if_any("op_type", kernel.op_type);
  json.member_or_null("node", kernel.node);
  if (!kernel.nodes.empty()) json.member("nodes", kernel.nodes);
  json.member_or_null("nvtx", kernel.nvtx);
  json.member_if_any("provider", kernel.provider);
  json.member_if_any("detail", kernel.detail);
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
    json.member("nodes", kernel.joined->nodes);
    json.end_object();
  }
  if (kernel.device) json.member("device", *kernel.device);
  json.end_object();
}

void write_device(base::JsonWriter& json, const MeasuredDevice& device) {
  json.begin_object();
  json.member_or_null("name", device.name);
  json.member_or_null("chip", device.chip);
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
  json.member("nodes", group.nodes);
  json.member("kernels", group.kernels);
  json.member("seconds", group.seconds);
  write_pair(json, "flops", group.measured_flops, group.static_flops, group.flops_ratio());
  write_pair(json, "contraction", group.measured_contraction, group.static_contraction, group.contraction_ratio());
  write_pair(json, "bytes", group.measured_bytes, group.static_bytes, group.bytes_ratio());
  write_pair(json, "bytes_read", group.measured_read, group.static_read, group.read_ratio());
  json.key("flags").begin_array(Layout::Line);
  for (const CountFlag flag : group.flags) json.value(to_string(flag));
  json.end_array().end_object();
}

// Reading ------------------------------------------------------------------------------------------------------------

std::optional<Spread> read_spread(const JsonField& object, const char* key) {
  const auto found = object.object(key);
  if (!found) return std::nullopt;
  const auto required = [&](const char* name) {
    const std::optional<double> value = found->amount(name);
    if (!value) found->fail(std::string("\"") + name + "\" is missing");
    return *value;
  };
  return Spread{required("min"), required("max"), required("mean"), found->count("n", 1)};
}

std::vector<std::size_t> read_indices(const JsonField& object, const char* key) {
  (void)object.array(key);
  return object.at(key).indices();
}

MeasuredKernel read_kernel(const JsonField& json) {
  MeasuredKernel kernel;
  kernel.name = json.text("name");
  kernel.op_type = json.text("op_type");
  kernel.node = json.text("node");
  kernel.nodes = json.texts("nodes");
  kernel.nvtx = json.text("nvtx");
  kernel.provider = json.text("provider");
  kernel.detail = json.text("detail");
  if (json.find("launches")) kernel.launches = json.count("launches");
  kernel.seconds = json.amount("seconds");
  kernel.spread = read_spread(json, "seconds_spread");
  if (const auto flops = json.object("flops"))
    for (const auto& [precision, value] : flops->members()) kernel.flops[precision] = flops->amount(precision);
  if (const auto bytes = json.object("bytes"))
    for (const LevelField& level : kLevels) kernel.bytes.*level.bytes = bytes->amount(level.name);
  kernel.energy_joules = json.amount("energy_joules");
  if (const auto joined = json.object("joined"))
    kernel.joined = Joined{joined->text("rule"), read_indices(*joined, "nodes")};
  if (const auto device = json.integer("device")) {
    if (*device < 0) json.at("device").fail("is negative; expected a place in devices");
    kernel.device = static_cast<std::size_t>(*device);
  }
  return kernel;
}

MeasuredDevice read_device(const JsonField& json) {
  MeasuredDevice device;
  device.name = json.text("name");
  device.chip = json.text("chip");
  if (const auto clocks = json.object("clocks"))
    for (const auto& [clock, value] : clocks->members())
      if (const auto hz = clocks->amount(clock)) device.clocks[clock] = *hz;
  if (const auto peaks = json.object("peaks"))
    for (const auto& [of, peak] : peaks->members()) {
      const auto per_cycle = peak.amount("per_cycle");
      if (!per_cycle) peak.fail("\"per_cycle\" is missing");
      device.peaks[of] = {*per_cycle, peak.amount("per_second")};
    }
  return device;
}

MeasuredRun read_run(const JsonField& json) {
  return {json.settings("config"), json.amount("seconds"), json.amount("watts"), json.amount("energy_joules"),
          json.text("note")};
}

CountFlag read_flag(const std::string& name, const JsonField& group) {
  for (int i = 0; i <= static_cast<int>(CountFlag::ExtraTraffic); ++i)
    if (to_string(static_cast<CountFlag>(i)) == name) return static_cast<CountFlag>(i);
  group.fail("has the flag \"" + name + "\", which is not known");
}

NodeCounts read_counts(const JsonField& json) {
  NodeCounts group;
  group.nodes = read_indices(json, "nodes");
  group.kernels = read_indices(json, "kernels");
  group.seconds = json.amount("seconds");
  const auto pair = [&](const char* key, std::optional<double>& measured, std::optional<double>& expected) {
    const auto found = json.find(key);
    if (!found || !found->value().is_object()) json.fail(std::string("expected an object \"") + key + "\"");
    measured = found->amount("measured");
    expected = found->amount("static");
  };
  pair("flops", group.measured_flops, group.static_flops);
  pair("contraction", group.measured_contraction, group.static_contraction);
  pair("bytes", group.measured_bytes, group.static_bytes);
  if (json.find("bytes_read")) pair("bytes_read", group.measured_read, group.static_read);
  for (const std::string& flag : json.texts("flags")) group.flags.push_back(read_flag(flag, json));
  return group;
}

// Reads the elements of an optional array.
template <typename T>
std::vector<T> read_each(const JsonField& object, const char* key, T (*read)(const JsonField&)) {
  std::vector<T> result;
  if (object.find(key))
    for (const JsonField& element : object.array(key)) result.push_back(read(element));
  return result;
}

Missing read_missing(const JsonField& json) { return {json.text("what"), json.text("why")}; }

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
  json.member("schema", kMeasuredSchema).member("source", measured.source);
  json.member_or_null("tool", measured.tool);
  json.member_or_null("device", measured.device);
  json.member("clocks", measured.clocks);
  json.member("env", measured.env);
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
      json.member("config", run.config);
      json.member("seconds", run.seconds).member("watts", run.watts).member("energy_joules", run.energy_joules);
      json.member_if_any("note", run.note);
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
    json.member("silent_nodes", measured.join->silent_nodes);
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
  const std::string expected =
      "expected a file of schema " + std::string(kMeasuredSchema) + "; write one with pagoda-import";
  const base::JsonDocument parsed = base::parse_json(json, subject, expected);
  const JsonField document = parsed.root();
  if (parsed.schema() != kMeasuredSchema) document.fail(expected);
  Measured measured;
  measured.source = document.text("source");
  if (std::ranges::find(kMeasuredSources, measured.source) == std::end(kMeasuredSources))
    base::fail(std::string(subject) + ".source",
               "is \"" + measured.source + "\"; expected one of " + base::joined(kMeasuredSources));
  measured.tool = document.text("tool");
  measured.device = document.text("device");
  measured.clocks = document.settings("clocks");
  measured.env = document.settings("env");
  measured.repeats = document.count("repeats", 1);
  measured.warmup = document.count("warmup");
  measured.seconds = document.amount("seconds");
  measured.spread = read_spread(document, "seconds_spread");
  const std::vector<JsonField> kernels = document.array("kernels");
  for (const JsonField& kernel : kernels) measured.kernels.push_back(read_kernel(kernel));
  measured.runs = read_each(document, "runs", read_run);
  measured.devices = read_each(document, "devices", read_device);
  for (std::size_t i = 0; i < kernels.size(); ++i)
    if (measured.kernels[i].device.value_or(0) >= std::max<std::size_t>(1, measured.devices.size()))
      kernels[i].at("device").fail("is not one of the devices");
  measured.missing = read_each(document, "missing", read_missing);
  measured.notes = document.texts("notes");
  if (const auto join = document.object("join"))
    measured.join = JoinSummary{join->text("model"), join->amount("seconds"), join->amount("joined_seconds"),
                                read_indices(*join, "silent_nodes"), read_each(*join, "counts", read_counts)};
  return measured;
}

Measured load_measured(const std::string& path) {
  return parse_measured(base::read_file(path, "a measurement of schema pagoda.measured/1, as pagoda-import writes it"),
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
    case CountFlag::Winograd:
      return "Winograd";
    case CountFlag::Sparsity:
      return "sparsity";
    case CountFlag::Tf32:
      return "TF32";
    case CountFlag::OtherPrecision:
      return "other precision";
    case CountFlag::SplitK:
      return "split-K";
    case CountFlag::Dequantisation:
      return "dequantisation";
    case CountFlag::LayoutChange:
      return "layout change";
    case CountFlag::ScaledAddition:
      return "scaled addition";
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

std::optional<double> NodeCounts::read_ratio() const { return ratio(measured_read, static_read); }

}  // namespace pagoda::documents
