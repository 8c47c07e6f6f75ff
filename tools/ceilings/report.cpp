// The outputs of a run: tables, CSV and the formats of other tools, the comparison with a baseline, the exit code.
#include <algorithm>
#include <cstdio>

#include "pagoda/base/csv_line.h"
#include "pagoda/base/files.h"
#include "pagoda/base/text.h"
#include "run_checks.h"
#include "runs.h"

namespace pagoda::tools::ceilings {
namespace {

using documents::Ceiling, documents::CeilingKind, documents::CeilingStatus;

std::string percent(const std::optional<double>& value) { return value ? printed("%.1f", *value) : "-"; }

// The value if it converged, else its range from p5 to p95, so that no single number looks more certain than it is.
std::string value_text(const Ceiling& c) {
  if (!c.value) return "-";
  if (c.converged || c.status == CeilingStatus::Ok) return with_unit(*c.value, c.unit);
  if (!c.p5 || !c.p95) return "~" + with_unit(*c.value, c.unit);
  const std::string high = with_unit(*c.p95, c.unit);
  return with_unit(*c.p5, c.unit) + " .. " + high;
}

std::string interval_text(const Ceiling& c) {
  if (!c.ci95 || !c.value || *c.value <= 0) return "-";
  return printed("%.2f", 50 * ((*c.ci95)[1] - (*c.ci95)[0]) / *c.value);
}

std::string number(const std::optional<double>& value) { return value ? printed("%.9g", *value) : ""; }

bool usable(const Ceiling& c) {
  return c.value && c.status != CeilingStatus::Impossible && c.status != CeilingStatus::WrongResult &&
         c.status != CeilingStatus::Unavailable && (c.scope == "device" || c.scope.empty());
}

// The roofs that other tools plot; empty: not a column of that tool.
struct RoofRow {
  const char *rocprof, *ert, *level;
  const char *precision = "", *unit_type = "";  // of arithmetic
};
constexpr RoofRow kRoofs[] = {
    {"HBMBw", "DRAM", "dram"},
    {"", "L3", "l3"},
    {"L2Bw", "L2", "l2"},
    {"L1Bw", "L1", "l1"},
    {"LDSBw", "", "shared"},
    {"FP16Flops", "FP16 GFLOPs", "", "float16", "vector"},
    {"BF16Flops", "", "", "bfloat16", "vector"},
    {"FP32Flops", "FP32 GFLOPs", "", "float32", "vector"},
    {"FP64Flops", "FP64 GFLOPs", "", "float64", "vector"},
    {"I8Ops", "", "", "int8", "vector"},
    {"MFMAF8Flops", "", "", "float8", "tensor"},
    {"MFMAF16Flops", "", "", "float16", "tensor"},
    {"MFMABF16Flops", "", "", "bfloat16", "tensor"},
    {"MFMAF64Flops", "", "", "float64", "tensor"},
    {"MFMAI8Ops", "", "", "int8", "tensor"},
};

// The best device-wide bandwidth of a roof's level, or rate of its unit in its precision; if there is none (a machine
// with one core), the best of any scope.
const Ceiling* best(const documents::CeilingsDocument& document, const RoofRow& roof) {
  const auto matches = [&](const Ceiling& c) {
    if (*roof.level != '\0') return c.kind == CeilingKind::Bandwidth && c.level == roof.level;
    return c.kind == CeilingKind::Compute && c.precision == roof.precision && c.unit_type == roof.unit_type;
  };
  const Ceiling* found = nullptr;
  for (const bool device : {true, false}) {
    for (const Ceiling& c : document.ceilings)
      if ((device ? usable(c) : c.value.has_value()) && matches(c) && (found == nullptr || *c.value > *found->value))
        found = &c;
    if (found != nullptr) break;
  }
  return found;
}

// Reports a failure and continues: one full disk must not prevent the other outputs.
bool write(const std::string& path, const std::string& text) {
  if (path.empty()) return true;
  if (path == "-") return std::fputs(text.c_str(), stdout) >= 0;
  try {
    base::write_file(path, text);
  } catch (const Error& error) {
    std::fprintf(stderr, "ert-ceilings: %s\n", error.what());
    return false;
  }
  return true;
}

// "a/here.json" → "a/here.points.csv"
std::string beside(const Options& options, const char* what) {
  std::string path = options.json;
  if (path.empty() || path == "-") return "";
  if (path.ends_with(".json")) path.resize(path.size() - 5);
  return path + what;
}

// True if a ceiling is in both files with the same mode: quick runs measure bursts, others sustained rates.
bool any_shared(const documents::CeilingsDocument& now, const documents::CeilingsDocument& baseline) {
  return std::ranges::any_of(now.ceilings, [&](const Ceiling& a) {
    return std::ranges::any_of(baseline.ceilings, [&](const Ceiling& b) { return a.id == b.id && a.mode == b.mode; });
  });
}

}  // namespace

std::string with_unit(double value, const std::string& unit) {
  if (unit == "W") return printed("%.4g W", value);
  return base::si_text(value, unit, {.least = -4, .most = 4, .digits = 4});
}

std::string table(const documents::CeilingsDocument& document) {
  std::string out = document.name() + "\n";
  base::Grid grid;
  grid.columns = {{.header = "ceiling"},
                  {.header = "mode"},
                  {.header = "value"},
                  {.header = "+-%", .is_number = true},
                  {.header = "per clk", .is_number = true},
                  {.header = "%clock", .is_number = true},
                  {.header = "%max", .is_number = true},
                  {.header = "clock/GHz", .is_number = true},
                  {.header = "status"}};
  for (const Ceiling& c : document.ceilings) {
    std::string status(to_string(c.status));
    for (const std::string& reason : c.throttle) status += " " + reason;
    if (c.dropped > 0)
      status += printed(" (%lld of %lld samples dropped)", static_cast<long long>(c.dropped),
                        static_cast<long long>(c.dropped + c.n));
    grid.rows.push_back({c.id, std::string(to_string(c.mode)), value_text(c), interval_text(c),
                         c.per_clock_unit ? printed("%.4g", *c.per_clock_unit) : "-",
                         percent(c.percent(c.theory.observed_clock)), percent(c.percent(c.theory.max_clock)),
                         c.clock_hz ? printed("%.3f", *c.clock_hz * 1e-9) : "-", status});
  }
  out += base::aligned(grid, 0);
  for (const documents::CeilingCheck& check : document.checks)
    out += printed("%s %s: %s\n", check.passed ? "passed" : "FAILED", check.name.c_str(), check.detail.c_str());
  for (const std::string& line : document.not_run) out += "not run: " + line + "\n";
  return out;
}

std::string csv(const documents::CeilingsDocument& document) {
  std::string out =
      "id,mode,kind,level,precision,unit_type,op,scope,value,low,high,unit,median,p5,p95,n,dropped,converged,status,"
      "clock_hz,per_clock_unit,theory_datasheet,theory_max_clock,theory_observed_clock,percent_observed_clock,"
      "kernel\r\n";
  for (const Ceiling& c : document.ceilings) {
    base::CsvLine line;
    line.add(c.id).add(to_string(c.mode)).add(to_string(c.kind)).add(c.level).add(c.precision).add(c.unit_type);
    line.add(c.op).add(c.scope).add(number(c.value));
    line.add(c.ci95 ? number((*c.ci95)[0]) : "").add(c.ci95 ? number((*c.ci95)[1]) : "").add(c.unit);
    line.add(number(c.median)).add(number(c.p5)).add(number(c.p95)).add(c.n).add(c.dropped);
    line.add(c.converged ? "true" : "false").add(to_string(c.status)).add(number(c.clock_hz));
    line.add(number(c.per_clock_unit)).add(number(c.theory.datasheet)).add(number(c.theory.max_clock));
    line.add(number(c.theory.observed_clock)).add(number(c.percent(c.theory.observed_clock))).add(c.kernel);
    out += std::move(line).end();
  }
  return out;
}

std::string ert_csv(const documents::CeilingsDocument& document) {
  std::string out;
  for (auto roof = std::rbegin(kRoofs); roof != std::rend(kRoofs); ++roof)  // ERT begins with arithmetic
    if (*roof->ert != '\0')
      if (const Ceiling* c = best(document, *roof)) out += printed("%.2f %s EMP\n", *c->value * 1e-9, roof->ert);
  return out;
}

std::string rocprof_csv(const documents::CeilingsDocument& document) {
  std::string header = "device", row = "0";
  for (const RoofRow& roof : kRoofs) {
    if (*roof.rocprof == '\0') continue;
    const Ceiling* c = best(document, roof);
    header += cat(",", roof.rocprof, ",", roof.rocprof, "Low,", roof.rocprof, "High");
    // rocprof-compute uses GB/s and GFLOP/s; 0 means none.
    const double value = c ? *c->value * 1e-9 : 0;
    const double low = c && c->ci95 ? (*c->ci95)[0] * 1e-9 : value, high = c && c->ci95 ? (*c->ci95)[1] * 1e-9 : value;
    row += printed(",%.3f,%.3f,%.3f", value, low, high);
  }
  return header + "\n" + row + "\n";
}

std::optional<documents::CeilingsDocument> check_files(const Options& options) {
  std::optional<documents::CeilingsDocument> baseline;
  if (!options.baseline.empty()) baseline = documents::load_ceilings(options.baseline);
  for (const std::string& path : options.outputs())
    if (!path.empty() && path != "-") base::check_writable(path);
  return baseline;
}

int publish(const Options& options, const std::optional<documents::CeilingsDocument>& baseline,
            const Outcome& outcome) {
  const documents::CeilingsDocument& document = outcome.document;
  const std::vector<std::string> outputs = options.outputs();
  if (std::ranges::find(outputs, "-") == outputs.end()) std::fputs(table(document).c_str(), stdout);
  bool written = true;
  for (const auto& [path, text] :
       {std::pair{options.json, documents::write_ceilings(document)}, std::pair{options.csv, csv(document)},
        std::pair{options.ert_csv, ert_csv(document)}, std::pair{options.rocprof_csv, rocprof_csv(document)},
        std::pair{outcome.points_csv.empty() ? "" : beside(options, ".points.csv"), outcome.points_csv},
        std::pair{outcome.trace_csv.empty() ? "" : beside(options, ".trace.csv"), outcome.trace_csv}})
    written = write(path, text) && written;
  if (!written) return kUnusable;

  int code = outcome.exit;
  for (const documents::Ceiling& c : document.ceilings)
    if (c.status == documents::CeilingStatus::Impossible || c.status == documents::CeilingStatus::WrongResult) {
      std::fprintf(stderr, "ert-ceilings: %s: %s\n", c.id.c_str(), c.note.c_str());
      code = kImpossible;
    }
  if (baseline) {
    if (baseline->name() != document.name())
      std::fprintf(stderr, "ert-ceilings: %s was measured on \"%s\", this is \"%s\"\n", options.baseline.c_str(),
                   baseline->name().c_str(), document.name().c_str());
    const documents::Agreement agreement = documents::agreement(document, *baseline);
    if (!any_shared(document, *baseline)) {
      std::fprintf(stderr,
                   "ert-ceilings: %s: nothing to compare: none of its ceilings is one of this run's in the same mode; "
                   "measure the baseline with the same --quick or --full and --only\n",
                   options.baseline.c_str());
      if (code == kDone) code = kUnusable;
    } else {
      std::fprintf(stderr, "ert-ceilings: %s: %lld of %lld intervals meet; %.1f may miss each other by chance\n",
                   options.baseline.c_str(), static_cast<long long>(agreement.compared - agreement.apart),
                   static_cast<long long>(agreement.compared), agreement.expected_apart);
    }
    for (const documents::CeilingChange& change : documents::compare_ceilings(document, *baseline, options.tolerance)) {
      std::fprintf(stderr, "ert-ceilings: %s: %.4g, was %.4g (%+.1f %%)%s\n", change.id.c_str(), change.now,
                   change.before, 100 * (change.now / change.before - 1), change.worse ? ": worse" : "");
      if (change.worse && code == kDone) code = kPartial;
    }
  }
  const auto is_unsure = [](const Ceiling& c) { return c.value && !c.converged; };
  if (options.strict && code == kDone && std::ranges::any_of(document.ceilings, is_unsure)) code = kImpossible;
  return code;
}

void require_any(const Options& options, std::size_t experiments) {
  if (options.only.empty() || experiments > 0 || options.energy) return;
  throw UsageError("--only " + base::joined(options.only, ",") +
                   ": no ceiling's id holds one of these; ids are as --json has them: float32.scalar.fma.core, "
                   "l1.load.core, dram.triad.all");
}

}  // namespace pagoda::tools::ceilings
