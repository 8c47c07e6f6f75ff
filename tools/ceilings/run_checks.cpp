#include "run_checks.h"

#include "pagoda/base/number.h"

namespace pagoda::tools::ceilings {

std::string fixed(double value, int digits) { return base::decimal(value, std::chars_format::fixed, digits); }

std::string general(double value) { return base::decimal(value, std::chars_format::general, 6); }

void attach_code(std::string_view kernel, const CodeAudit& loop, std::vector<documents::Ceiling>& ceilings) {
  for (documents::Ceiling& c : ceilings) {
    if (c.kernel != kernel) continue;
    for (const auto& [name, count] : loop.instructions) c.code[name] = std::int64_t{count};
    c.code["total"] = std::int64_t{loop.total};
    if (!loop.error.empty()) c.code["error"] = loop.error;
  }
}

std::string audit_line(std::string_view name, const CodeAudit& loop, std::string_view wrong) {
  std::string line = cat(name, ": ");
  for (const auto& [mnemonic, count] : loop.instructions) line += cat(count, " ", mnemonic, " ");
  return line + cat("of ", loop.total, wrong.empty() ? "" : " - ", wrong, "\n");
}

void check_order(std::initializer_list<const char*> levels, const char* suffix, double least, int digits,
                 documents::CeilingsDocument& document) {
  double outer = 0;
  std::string detail;
  bool passed = true;
  for (const char* level : levels) {
    const documents::Ceiling* found = documents::find_ceiling(document, cat(level, suffix));
    if (found == nullptr || !found->value) continue;
    detail += cat(detail.empty() ? "" : " < ", level, " ", fixed(*found->value * 1e-9, digits));
    passed = passed && *found->value > least * outer;
    outer = *found->value;
  }
  if (!detail.empty()) document.checks.push_back({"levels in order", passed, detail + " GB/s"});
}

void apply_plateaus(const std::vector<lab::Plateau>& plateaus, const char* only, int digits,
                    documents::CeilingsDocument& document) {
  for (const lab::Plateau& p : plateaus) {
    document.checks.push_back({"plateau " + p.level, !p.ambiguous,
                               cat(fixed(p.bytes_per_second * 1e-9, digits), " GB/s over ", p.points, " working sets",
                                   p.why.empty() ? "" : "; ", p.why)});
    if (!p.ambiguous || (*only != '\0' && p.level != only)) continue;
    for (documents::Ceiling& c : document.ceilings) {
      if (c.level != p.level) continue;
      if (c.status == documents::CeilingStatus::Ok) c.status = documents::CeilingStatus::Ambiguous;
      c.config["plateau"] = "ambiguous: " + p.why;
    }
  }
}

}  // namespace pagoda::tools::ceilings
