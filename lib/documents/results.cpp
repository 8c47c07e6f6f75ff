// Results: keys and labels of configs, pagoda.result/1 to and from values, and files of them, which are appended
// atomically, read despite torn lines and merged by key.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "pagoda/base/cat.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/open_file.h"
#include "pagoda/base/sha256.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/archive.h"
#include "pagoda/documents/result.h"

namespace pagoda::documents {
namespace members {
template <>
inline constexpr ResultStatus kLast<ResultStatus> = ResultStatus::NotAvailable;
template <>
inline constexpr VerificationCode kLast<VerificationCode> = VerificationCode::NonFinite;
}  // namespace members
namespace {

using base::JsonWriter;
using members::Layout;
using members::Reader;

constexpr const char* kResultSchema = "pagoda.result/1";
constexpr base::EnumNames<ResultStatus::NotAvailable> kResultStatuses("ok", "failed", "timeout", "out_of_memory",
                                                                      "killed", "not_available");
constexpr base::EnumNames<VerificationCode::NonFinite> kCodes("PASS", "FAIL", "NO_REFERENCE", "REFERENCE_FAILED",
                                                              "UNSUPPORTED_OUTPUT", "COUNT_DIFFERS", "SHAPES_DIFFER",
                                                              "NON_FINITE");

// Members are in alphabetical order.
template <typename A>
void latency(A& a, typename A::template Ref<base::Latency> l) {
  a("ci95", l.ci95);
  a("converged", l.converged);
  a.need("max", l.max);
  a.need("mean", l.mean);
  a.need("min", l.min);
  a("n", l.n);
  a.need("p50", l.p50);
  a.need("p95", l.p95);
  a.need("p99", l.p99);
  a("samples", l.samples);
  a.need("std", l.std);
  a.derived("unit", std::string("s"));
}

template <typename A>
void energy(A& a, typename A::template Ref<RunEnergy> e) {
  a("joules", e.joules);
  a("period_seconds", e.period_seconds);
  a.list("rails", e.rails, [](A& inner, auto& rail) {
    inner("counted", rail.is_counted);
    inner("name", rail.name);
    inner("watts", rail.watts);
  });
  a("samples", e.samples);
  a.text("source", e.source);
  a("watts", e.watts);
}

template <typename A>
void interference(A& a, typename A::template Ref<Interference> i) {
  a("clock_hz_after", i.clock_hz_after);
  a("clock_hz_before", i.clock_hz_before);
  a("handoff_seconds", i.handoff_seconds);
  a("load", i.load);
  a("steal_seconds", i.steal_seconds);
  a("temperature_celsius", i.temperature_celsius);
  a("throttle", i.throttle);
}

template <typename A>
void verification(A& a, typename A::template Ref<Verification> v) {
  a.need("code", v.code);
  a.text("detail", v.detail);
  a("mean_relative_error", v.error);
  a("reference", v.reference);
  a.need("threshold", v.threshold);
}

// Parts of the timing are null without one.
template <typename A, typename Part>
void timed(A& a, const char* key, typename A::template Ref<Result> r, const Part& part) {
  r.timing ? part(key, *r.timing) : a.derived(key, std::optional<double>());
}

template <typename A>
void result_members(A& a, typename A::template Ref<Result> r) {
  if constexpr (A::kReads) {
    if (a.has("latency")) r.timing.emplace();
  }
  a.text("clock", r.clock);
  a("compile_seconds", r.compile_seconds);
  a.required("config");
  a.settings("config", r.config);
  a.object("energy", Layout::Compact, [&](A& inner) { energy(inner, r.energy); });
  a("exit_code", r.exit_code);
  timed(a, "first_call_seconds", r, [&](const char* key, auto& timing) { a(key, timing.first_call_seconds); });
  a.list("inputs", r.inputs, [](A& inner, auto& input) {
    inner("name", input.name);
    inner.need("shape", input.shape);
    inner("type", input.type);
  });
  a.object("interference", Layout::Compact, [&](A& inner) { interference(inner, r.interference); });
  a("items", r.items);
  a.derived("items_per_second", r.timing && r.items && r.timing->latency.p50 > 0
                                    ? std::optional(*r.items / r.timing->latency.p50)
                                    : std::nullopt);
  a("key", r.key);
  timed(a, "latency", r, [&](const char* key, auto& timing) {
    a.object(key, Layout::Compact, [&](A& inner) { latency(inner, timing.latency); });
  });
  a.list("layers", r.layers, [](A& inner, auto& layer) {
    inner.settings("facts", layer.facts);
    inner("name", layer.name);
    inner.text("note", layer.note);
    inner.text("op_type", layer.op_type);
    inner("seconds", layer.seconds);
  });
  a("load_seconds", r.load_seconds);
  a.object("memory", Layout::Compact, [&](A& inner) {
    inner("device_peak_bytes", r.device_peak_bytes);
    inner("host_peak_bytes", r.host_peak_bytes);
  });
  a.settings("metadata", r.metadata);
  a.text("reason", r.reason);
  a.derived("schema", std::string(kResultSchema));
  a("signal", r.signal);
  a.need("status", r.status);
  a.text("stderr", r.stderr_tail);
  members::nullable(a, "verification", Layout::Compact, r.verification, verification<A>);
  a("wall_seconds", r.wall_seconds);
  timed(a, "warmup", r, [&](const char* key, auto& timing) {
    a.object(key, Layout::Compact, [&](A& inner) {
      inner("iterations", timing.warmup_iterations);
      inner("seconds", timing.warmup_seconds);
      inner("settled", timing.settled);
    });
  });
}

template <typename T>
std::optional<T> value_of(const Config& config, const std::string& axis) {
  const auto found = config.find(axis);
  const T* const value = found == config.end() ? nullptr : std::get_if<T>(&found->second);
  return value == nullptr ? std::nullopt : std::optional<T>(*value);
}

void merge(ResultSet& set, std::map<std::string, std::size_t>& index, Result result) {
  for (const std::string& member : result.unknown)
    if (std::find(set.unknown.begin(), set.unknown.end(), member) == set.unknown.end()) set.unknown.push_back(member);
  const auto [it, is_new] = index.try_emplace(result.key, set.results.size());
  if (is_new) {
    set.results.push_back(std::move(result));
  } else {
    set.results[it->second] = std::move(result);
    ++set.duplicates;
  }
}

bool is_json(std::string_view text) {
  try {
    (void)base::parse_json(text, "", "");
    return true;
  } catch (const Error&) {
    return false;
  }
}

void add_lines(ResultSet& set, std::map<std::string, std::size_t>& index, std::string_view text,
               std::string_view subject) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    // A line without its end is torn even if it happens to parse: some of its bytes may be missing.
    if (end == std::string_view::npos) {
      ++set.torn;
      return;
    }
    text.remove_prefix(end + 1);
    if (line.find_first_not_of(" \r\t") == std::string_view::npos) continue;
    try {
      merge(set, index, parse_result(line, subject));
    } catch (const Error& error) {
      if (!is_json(line))
        ++set.torn;
      else if (++set.unreadable == 1)
        set.unreadable_reason = error.what();
    }
  }
}

// Published one-way times within one cache are 16 to 51 ns, across two of one processor 85 to 154
// (github.com/nviennot/core-to-core-latency; those that it measures itself).
constexpr double kApartSeconds = 65e-9;

}  // namespace

std::string canonical(const Config& config) {
  JsonWriter json(JsonWriter::Style::Plain);
  return std::move(json.value(config, JsonWriter::Layout::Compact)).line();
}

Config parse_config(std::string_view json, std::string_view subject) {
  return base::parse_json(json, subject, "a config is an object of values, as `list` prints it").root().settings();
}

std::string text_of(const Config& config, const std::string& axis) {
  return value_of<std::string>(config, axis).value_or("");
}

std::optional<std::int64_t> integer_of(const Config& config, const std::string& axis) {
  return value_of<std::int64_t>(config, axis);
}

std::optional<double> number_of(const Config& config, const std::string& axis) {
  if (const auto value = integer_of(config, axis)) return static_cast<double>(*value);
  return value_of<double>(config, axis);
}

bool is_set(const Config& config, const std::string& axis) { return value_of<bool>(config, axis).value_or(false); }

bool is_axis(std::string_view key) {
  constexpr std::string_view kOthers = " model_file model_name model_sha256 seed repeat layers verify ";
  return kOthers.find(" " + std::string(key) + " ") == std::string_view::npos && !key.starts_with("measure.");
}

std::string config_key(const Config& config) {
  Config deciding = config;
  deciding.erase("model_file");
  JsonWriter identity(JsonWriter::Style::Plain);
  identity.begin_object(JsonWriter::Layout::Compact);
  identity.member("config", deciding).member("schema", kResultSchema).end_object();
  return base::hex(base::sha256(std::move(identity).line())).substr(0, 32);
}

std::string config_label(const Config& config, const std::vector<std::string>& without) {
  std::string text;
  const auto add = [&](const std::string& part) { text.append(text.empty() ? "" : " ").append(part); };
  const auto skip = [&](const std::string& name) {
    return std::find(without.begin(), without.end(), name) != without.end() || !config.contains(name);
  };
  for (const char* bare : {"model", "backend"})
    if (!skip(bare)) add(text_of(config, bare));
  for (const auto& [name, value] : config)
    if (is_axis(name) && name != "model" && name != "backend" && !skip(name))
      add(name + "=" + base::setting_text(value));
  return text;
}

std::string_view to_string(ResultStatus status) { return kResultStatuses[status]; }
std::string_view to_string(VerificationCode code) { return kCodes[code]; }

std::string to_string(const InputTensor& input) {
  const std::string sizes = base::joined(input.shape, ",", [](std::int64_t size) { return std::to_string(size); });
  return cat(input.name, ":", input.type, "[", sizes, "]");
}

std::string write_result(const Result& result) {
  JsonWriter json(JsonWriter::Style::Plain);
  members::Writer writer(json);
  json.begin_object(Layout::Compact);
  result_members(writer, result);
  json.end_object();
  return std::move(json).line();
}

Result parse_result(std::string_view source, std::string_view subject) {
  const base::JsonDocument parsed = base::parse_json(source, subject, "expected a result of schema pagoda.result/1");
  const base::JsonField root = parsed.root();
  if (parsed.schema() != kResultSchema) parsed.fail_schema(cat("a result of schema ", kResultSchema));
  Result result;
  result.unknown = members::read(root, result, result_members<Reader>, Reader::Numbers::Any);
  if (result.key.empty() || !root.find("config")) root.fail("a result without key or config");
  return result;
}

CachePlacement placement(const Interference& interference) {
  const std::vector<double>& seconds = interference.handoff_seconds;
  const auto apart = std::count_if(seconds.begin(), seconds.end(), [](double each) { return each > kApartSeconds; });
  if (seconds.empty()) return CachePlacement::Unknown;
  if (apart == 0) return CachePlacement::Together;
  return static_cast<std::size_t>(apart) == seconds.size() ? CachePlacement::Apart : CachePlacement::Moved;
}

void append_result(const std::string& path, const Result& result) {
  const auto fail = [&](const char* what) { throw Error(path + ": cannot be " + what + ": " + std::strerror(errno)); };
  const base::OpenFile file = base::OpenFile::appended(path);
  if (!file) fail("opened");
  if (!file.lock()) fail("locked");
  // The line before may have been torn off by a crash.
  const auto there = file.state();
  if (!there) fail("read");
  char last = '\n';
  if (there->bytes > 0 && file.read_at(there->bytes - 1, {&last, 1}) != 1) fail("read");
  const std::string line = (last == '\n' ? "" : "\n") + write_result(result) + "\n";
  // Readers treat a partial line, as a full disk leaves it, as torn.
  if (!file.write(line)) fail("written whole");
  if (!file.sync()) fail("written to the disk");
}

ResultSet parse_results(std::string_view jsonl, std::string_view subject) {
  ResultSet set;
  std::map<std::string, std::size_t> index;
  add_lines(set, index, jsonl, subject);
  return set;
}

ResultSet load_results(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> files;
  if (fs::is_directory(path, error)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(path))
      if (entry.path().extension() == ".jsonl" && entry.is_regular_file()) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
  } else {
    files.emplace_back(path);
  }
  ResultSet set;
  std::map<std::string, std::size_t> index;
  for (const fs::path& name : files) {
    const std::string text =
        base::read_text(name.string(), "results.jsonl of pagoda-bench, or its folder", base::Reads::Text);
    add_lines(set, index, text, name.string());
  }
  return set;
}

}  // namespace pagoda::documents
