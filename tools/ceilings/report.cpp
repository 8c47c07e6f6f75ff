// Tables and CSV of measured ceilings.
#include "report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace pagoda::tools::ceilings {
namespace {

using documents::Ceiling;
using documents::CeilingKind;
using documents::CeilingStatus;

template <typename... Args>
std::string format(const char* pattern, Args... args) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

std::string percent(const std::optional<double>& value) { return value ? format("%.1f", *value) : "-"; }

// Of what settled the value; of what did not, where it was seen, so that no single figure looks better than it is.
std::string value_text(const Ceiling& c) {
  if (!c.value) return "-";
  if (c.converged || c.status == CeilingStatus::Ok) return with_unit(*c.value, c.unit);
  if (!c.p5 || !c.p95) return "~" + with_unit(*c.value, c.unit);
  const std::string high = with_unit(*c.p95, c.unit);
  return with_unit(*c.p5, c.unit) + " .. " + high;
}

std::string interval_text(const Ceiling& c) {
  if (!c.ci95 || !c.value || *c.value <= 0) return "-";
  return format("%.2f", 50 * ((*c.ci95)[1] - (*c.ci95)[0]) / *c.value);
}

std::string number(const std::optional<double>& value) { return value ? format("%.9g", *value) : ""; }

bool usable(const Ceiling& c) {
  return c.value && c.status != CeilingStatus::Impossible && c.status != CeilingStatus::WrongResult &&
         c.status != CeilingStatus::Unavailable && (c.scope == "device" || c.scope.empty());
}

// The best device-wide ceiling that `matches`; where the machine has one core, that of the core.
template <typename Predicate>
const Ceiling* best(const documents::CeilingsDocument& document, Predicate matches) {
  const Ceiling* found = nullptr;
  for (const bool device : {true, false}) {
    for (const Ceiling& c : document.ceilings)
      if ((device ? usable(c) : c.value.has_value()) && matches(c) && (found == nullptr || *c.value > *found->value))
        found = &c;
    if (found != nullptr) break;
  }
  return found;
}

}  // namespace

std::string with_unit(double value, const std::string& unit) {
  constexpr std::array<const char*, 9> kPrefixes = {"p", "n", "u", "m", "", "k", "M", "G", "T"};
  if (value == 0 || unit == "W") return format("%.4g %s", value, unit.c_str());
  int index = 4;
  while (std::abs(value) >= 1000 && index < 8) {
    value /= 1000;
    ++index;
  }
  while (std::abs(value) < 1 && index > 0) {
    value *= 1000;
    --index;
  }
  return format("%.4g %s%s", value, kPrefixes[static_cast<std::size_t>(index)], unit.c_str());
}

std::string table(const documents::CeilingsDocument& document) {
  std::string out = document.name() + "\n";
  std::size_t widest = 7;
  for (const Ceiling& c : document.ceilings) widest = std::max(widest, c.id.size());
  const int width = static_cast<int>(widest);
  out += format("%-*s  %-9s  %-30s  %6s  %9s  %7s  %7s  %9s  %s\n", width, "ceiling", "mode", "value", "+-%", "per clk",
                "%clock", "%max", "clock/GHz", "status");
  for (const Ceiling& c : document.ceilings) {
    out +=
        format("%-*s  %-9s  %-30s  %6s  %9s  %7s  %7s  %9s  %s", width, c.id.c_str(),
               std::string(to_string(c.mode)).c_str(), value_text(c).c_str(), interval_text(c).c_str(),
               c.per_clock_unit ? format("%.4g", *c.per_clock_unit).c_str() : "-",
               percent(c.percent(c.theory.observed_clock)).c_str(), percent(c.percent(c.theory.max_clock)).c_str(),
               c.clock_hz ? format("%.3f", *c.clock_hz * 1e-9).c_str() : "-", std::string(to_string(c.status)).c_str());
    for (const std::string& reason : c.throttle) out += " " + reason;
    if (c.dropped > 0)
      out += format(" (%lld of %lld samples dropped)", static_cast<long long>(c.dropped),
                    static_cast<long long>(c.dropped + c.n));
    out += "\n";
  }
  for (const documents::CeilingCheck& check : document.checks)
    out += format("%s %s: %s\n", check.passed ? "passed" : "FAILED", check.name.c_str(), check.detail.c_str());
  for (const std::string& line : document.not_run) out += "not run: " + line + "\n";
  return out;
}

std::string csv(const documents::CeilingsDocument& document) {
  std::string out =
      "id,mode,kind,level,precision,unit_type,op,scope,value,low,high,unit,median,p5,p95,n,dropped,converged,status,"
      "clock_hz,per_clock_unit,theory_datasheet,theory_max_clock,theory_observed_clock,percent_observed_clock,kernel\n";
  for (const Ceiling& c : document.ceilings) {
    const auto low = c.ci95 ? std::optional((*c.ci95)[0]) : std::nullopt;
    const auto high = c.ci95 ? std::optional((*c.ci95)[1]) : std::nullopt;
    out += c.id + "," + std::string(to_string(c.mode)) + "," + std::string(to_string(c.kind)) + "," + c.level + "," +
           c.precision + "," + c.unit_type + "," + c.op + "," + c.scope + "," + number(c.value) + "," + number(low) +
           "," + number(high) + "," + c.unit + "," + number(c.median) + "," + number(c.p5) + "," + number(c.p95) + "," +
           std::to_string(c.n) + "," + std::to_string(c.dropped) + "," + (c.converged ? "true" : "false") + "," +
           std::string(to_string(c.status)) + "," + number(c.clock_hz) + "," + number(c.per_clock_unit) + "," +
           number(c.theory.datasheet) + "," + number(c.theory.max_clock) + "," + number(c.theory.observed_clock) + "," +
           number(c.percent(c.theory.observed_clock)) + "," + c.kernel + "\n";
  }
  return out;
}

std::string ert_csv(const documents::CeilingsDocument& document) {
  std::string out;
  constexpr std::array<std::pair<const char*, const char*>, 3> kPrecisions = {
      {{"float64", "FP64"}, {"float32", "FP32"}, {"float16", "FP16"}}};
  for (const auto& [precision, label] : kPrecisions) {
    const Ceiling* c = best(document, [&, wanted = std::string(precision)](const Ceiling& x) {
      return x.kind == CeilingKind::Compute && x.precision == wanted && x.unit_type == "vector";
    });
    if (c) out += format("%.2f %s GFLOPs EMP\n", *c->value * 1e-9, label);
  }
  constexpr std::array<std::pair<const char*, const char*>, 4> kLevels = {
      {{"l1", "L1"}, {"l2", "L2"}, {"l3", "L3"}, {"dram", "DRAM"}}};
  for (const auto& [level, label] : kLevels) {
    const Ceiling* c = best(document, [&, wanted = std::string(level)](const Ceiling& x) {
      return x.kind == CeilingKind::Bandwidth && x.level == wanted;
    });
    if (c) out += format("%.2f %s EMP\n", *c->value * 1e-9, label);
  }
  return out;
}

std::string rocprof_csv(const documents::CeilingsDocument& document) {
  struct Column {
    const char* name;
    const char* level;
    const char* precision;
    const char* unit_type;
  };
  constexpr std::array<Column, 14> kColumns = {{
      {"HBMBw", "dram", "", ""},
      {"L2Bw", "l2", "", ""},
      {"L1Bw", "l1", "", ""},
      {"LDSBw", "shared", "", ""},
      {"FP16Flops", "", "float16", "vector"},
      {"BF16Flops", "", "bfloat16", "vector"},
      {"FP32Flops", "", "float32", "vector"},
      {"FP64Flops", "", "float64", "vector"},
      {"I8Ops", "", "int8", "vector"},
      {"MFMAF8Flops", "", "float8", "tensor"},
      {"MFMAF16Flops", "", "float16", "tensor"},
      {"MFMABF16Flops", "", "bfloat16", "tensor"},
      {"MFMAF64Flops", "", "float64", "tensor"},
      {"MFMAI8Ops", "", "int8", "tensor"},
  }};
  std::string header = "device", row = "0";
  for (const Column& column : kColumns) {
    const Ceiling* c = best(document, [&](const Ceiling& x) {
      if (*column.level) return x.kind == CeilingKind::Bandwidth && x.level == column.level;
      return x.kind == CeilingKind::Compute && x.precision == column.precision && x.unit_type == column.unit_type;
    });
    header += std::string(",") + column.name + "," + column.name + "Low," + column.name + "High";
    // GB/s and GFLOP/s there; 0 is its way to say: none.
    const double value = c ? *c->value * 1e-9 : 0;
    const double low = c && c->ci95 ? (*c->ci95)[0] * 1e-9 : value, high = c && c->ci95 ? (*c->ci95)[1] * 1e-9 : value;
    row += format(",%.3f,%.3f,%.3f", value, low, high);
  }
  return header + "\n" + row + "\n";
}

}  // namespace pagoda::tools::ceilings
