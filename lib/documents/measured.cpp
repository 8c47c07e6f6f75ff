// pagoda.measured/1 to and from values.
#include <algorithm>
#include <iterator>

#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/archive.h"
#include "pagoda/documents/measured.h"

namespace pagoda::documents {
namespace members {
template <>
inline constexpr CountFlag kLast<CountFlag> = CountFlag::ExtraTraffic;
}  // namespace members
namespace {

using members::Layout;
using members::Reader;

constexpr std::string_view kMeasuredSchema = "pagoda.measured/1";
constexpr std::string_view kCountFlags[] = {
    "fused",           "incomplete", "padding",         "extra work",   "fewer operations", "Winograd",
    "sparsity",        "TF32",       "other precision", "split-K",      "dequantisation",   "layout change",
    "scaled addition", "specials",   "cache resident",  "extra traffic"};

template <typename A>
void spread(A& a, const char* key, typename A::template Ref<std::optional<Spread>> x) {
  members::nullable(a, key, Layout::Line, x, [](A& inner, auto& s) {
    inner.need("min", s.min);
    inner.need("max", s.max);
    inner.need("mean", s.mean);
    inner.count("n", s.n, 1);
  });
}

template <typename A>
void bytes(A& a, typename A::template Ref<LevelBytes> x) {
  if constexpr (!A::kReads)
    if (std::ranges::none_of(kLevels, [&](const LevelField& level) { return (x.*level.bytes).has_value(); }))
      return a("bytes", std::optional<double>());
  a.object("bytes", Layout::Line, [&](A& inner) {
    for (const LevelField& level : kLevels) inner.amount(level.name, x.*level.bytes);
  });
}

// Operations by precision; null if none was collected.
template <typename A>
void flops(A& a, typename A::template Ref<std::map<std::string, std::optional<double>>> x) {
  if constexpr (A::kReads) {
    a.object("flops", Layout::Line, [&](A& inner) {
      inner.each_member([&](const std::string& name, const auto& field) { inner.read(field, x[name]); });
    });
  } else {
    if (x.empty()) return a("flops", std::optional<double>());
    a.object("flops", Layout::Line, [&](A& inner) {
      for (const auto& [name, amount] : x) inner.amount(name.c_str(), amount);
    });
  }
}

template <typename A>
void kernel(A& a, typename A::template Ref<MeasuredKernel> x) {
  a("name", x.name);
  a.maybe("op_type", x.op_type);
  a.text("node", x.node);
  a.maybe("nodes", x.nodes);
  a.text("nvtx", x.nvtx);
  a.maybe("provider", x.provider);
  a.maybe("detail", x.detail);
  a("launches", x.launches);
  a("seconds", x.seconds);
  spread(a, "seconds_spread", x.spread);
  flops(a, x.flops);
  bytes(a, x.bytes);
  a("energy_joules", x.energy_joules);
  members::part(a, "joined", Layout::Line, x.joined, [](A& inner, auto& joined) {
    inner("rule", joined.rule);
    inner("nodes", joined.nodes);
  });
  a.maybe("unjoined", x.unjoined);
  a.maybe("device", x.device);
}

template <typename A>
void device(A& a, typename A::template Ref<MeasuredDevice> x) {
  a.text("name", x.name);
  a.text("chip", x.chip);
  a.object("clocks", Layout::Line, [&](A& inner) { inner.entries(x.clocks); });
  a.map("peaks", x.peaks, [](A& inner, auto& peak) {
    inner.required("per_cycle");
    inner.amount("per_cycle", peak.per_cycle);
    inner("per_second", peak.per_second);
  });
}

template <typename A>
void measured_run(A& a, typename A::template Ref<MeasuredRun> x) {
  a.settings("config", x.config);
  a("seconds", x.seconds);
  a("watts", x.watts);
  a("energy_joules", x.energy_joules);
  a.maybe("note", x.note);
}

template <typename A>
void counts(A& a, typename A::template Ref<NodeCounts> x) {
  const auto pair = [&](const char* key, auto& each, const Amount& ratio) {
    a.object(key, Layout::Line, [&](A& inner) {
      inner.amount("measured", each.measured);
      inner.amount("static", each.expected);
      inner.derived("ratio", ratio);
    });
  };
  for (const char* needed : {"nodes", "kernels", "flops", "contraction", "bytes"}) a.required(needed);
  a("nodes", x.nodes);
  a("kernels", x.kernels);
  a("seconds", x.seconds);
  pair("flops", x.flops, x.flops.ratio());
  pair("contraction", x.contraction, x.contraction_ratio());
  pair("bytes", x.bytes, x.bytes.ratio());
  pair("bytes_read", x.bytes_read, x.bytes_read.ratio());
  a("flags", x.flags);
}

template <typename A>
void join_of(A& a, typename A::template Ref<JoinSummary> x) {
  a.required("silent_nodes");
  a("model", x.model);
  a("seconds", x.seconds);
  a("joined_seconds", x.joined_seconds);
  a.derived("share", x.share());
  a("silent_nodes", x.silent_nodes);
  a.maybe_list("unjoined", x.unjoined, [](A& inner, auto& each) {
    inner.required("cause");
    inner("cause", each.cause);
    inner("kernels", each.kernels);
    inner("seconds", each.seconds);
  });
  a.maybe_list("counts", x.counts, counts<A>, Layout::Block);
}

template <typename A>
void measured_members(A& a, typename A::template Ref<Measured> x) {
  a("source", x.source);
  a.text("tool", x.tool);
  a.text("device", x.device);
  a.settings("clocks", x.clocks);
  a.settings("env", x.env);
  a.count("repeats", x.repeats, 1);
  a.count("warmup", x.warmup);
  a("seconds", x.seconds);
  spread(a, "seconds_spread", x.spread);
  a.maybe("busy_seconds", x.busy_seconds);
  a.required("kernels");
  a.list("kernels", x.kernels, kernel<A>, Layout::Block);
  a.maybe_list("devices", x.devices, device<A>, Layout::Block);
  a.maybe_list("runs", x.runs, measured_run<A>);
  a.list("missing", x.missing, [](A& inner, auto& missing) {
    inner("what", missing.what);
    inner("why", missing.why);
  });
  a.lines("notes", x.notes);
  members::part(a, "join", Layout::Block, x.join, join_of<A>);
}

}  // namespace

Amount plus(const Amount& a, const Amount& b) { return a && b ? Amount(*a + *b) : std::nullopt; }
Amount ratio(const Amount& a, const Amount& b) { return a && b && *b > 0 ? Amount(*a / *b) : std::nullopt; }

Amount JoinSummary::share() const { return ratio(joined_seconds, seconds); }

Amount NodeCounts::contraction_ratio() const {
  return contraction.measured.value_or(0) > 0 ? contraction.ratio() : std::nullopt;
}

double Measured::known_seconds() const {
  double sum = 0;
  for (const MeasuredKernel& kernel : kernels) sum += kernel.seconds.value_or(0);
  return sum;
}

Amount Measured::kernel_seconds() const {
  Amount sum = 0;
  for (const MeasuredKernel& kernel : kernels) sum = plus(sum, kernel.seconds);
  return sum;
}

std::string write_measured(const Measured& measured) {
  return members::write(kMeasuredSchema, measured, measured_members<members::Writer>);
}

Measured parse_measured(std::string_view json, std::string_view subject) {
  const std::string expected = cat("a file of schema ", kMeasuredSchema, "; write one with pagoda-import");
  const base::JsonDocument parsed = base::parse_json(json, subject, "expected " + expected);
  const base::JsonField root = parsed.root();
  if (parsed.schema() != kMeasuredSchema) parsed.fail_schema(expected);
  Measured measured;
  measured.unknown = members::read(root, measured, measured_members<Reader>);
  if (std::ranges::find(kMeasuredSources, measured.source) == std::end(kMeasuredSources))
    base::fail(cat(subject, ".source"),
               cat("is \"", measured.source, "\"; expected one of ", base::joined(kMeasuredSources)));
  const std::vector<base::JsonField> kernels = root.array("kernels");
  for (std::size_t i = 0; i < kernels.size(); ++i)
    if (measured.kernels[i].device.value_or(0) >= std::max<std::size_t>(1, measured.devices.size()))
      kernels[i].at("device").fail("is not one of the devices");
  return measured;
}

Measured load_measured(const std::string& path) {
  return parse_measured(base::read_text(path, "a measurement of schema pagoda.measured/1, as pagoda-import writes it"),
                        path);
}

std::string_view to_string(CountFlag flag) { return kCountFlags[static_cast<std::size_t>(flag)]; }

}  // namespace pagoda::documents
