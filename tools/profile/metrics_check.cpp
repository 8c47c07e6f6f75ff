// Checks the catalogue against CUPTI's host library.
#include <cstdio>
#include <set>

#include "metrics.h"
#include "pagoda/base/cat.h"
#include "tool.h"

namespace pagoda::tools::profile {
namespace {

class Check {
 public:
  void expect(bool fine, const std::string& what) {
    ++checks_;
    if (fine) return;
    ++failures_;
    std::fprintf(stderr, "pagoda-metrics: %s\n", what.c_str());
  }
  void passes(const HostChip& host, const std::vector<std::string>& names, std::int64_t recorded,
              const std::string& what) {
    for (const std::string& name : names) {
      expect(host.has(name), cat(host.chip(), ": ", what, ": there is no ", name));
      if (!host.has(name)) return;
    }
    const auto found = static_cast<std::int64_t>(host.passes(names));
    expect(found == recorded, cat(host.chip(), ": ", what, " takes ", found, " passes, recorded are ", recorded));
  }
  // Constants use no counter: with and without them, configurations are identical byte for byte.
  void constants(const HostChip& host, const std::vector<std::string>& names,
                 const std::vector<std::string>& constants) {
    std::vector<std::string> both = names;
    join(both, constants);
    for (const std::string& name : both)
      if (!host.has(name)) return;  // passes() reports it
    expect(host.config(both) == host.config(names),
           cat(host.chip(), ": peaks change what is counted beside ", names.front()));
  }
  // Other versions support other chips, and early ones need more passes for some counters: differences from another
  // version are not errors of the catalogue.
  int finish(const std::string& recorded, const std::string& library) const {
    std::printf("%d checks, %d failed\n", checks_, failures_);
    if (failures_ == 0) return kDone;
    if (recorded == library) return kUnusable;
    std::printf("skipped: the catalogue was made with CUPTI %s, this is %s\n", recorded.c_str(), library.c_str());
    return kNoLibrary;
  }

 private:
  int checks_ = 0, failures_ = 0;
};

}  // namespace

// Checks every name and pass count of every chip. A library may have further chips; if it lacks one, the check fails.
int check_catalogue(const CuptiLibrary& library) {
  Check check;
  const std::vector<std::string> chips = library.chips();
  const std::set<std::string> known(chips.begin(), chips.end());
  for (const documents::ChipMetrics& family : documents::metric_catalogue())
    for (const std::string& chip : family.chips) {
      check.expect(known.contains(chip), chip + ": CUPTI " + version_text(library.version()) + " does not know it");
      if (!known.contains(chip)) continue;
      const HostChip host(library, chip);
      for (const documents::MetricQuantity& quantity : family.quantities)
        for (const documents::MetricFormula& formula : quantity.formulas)
          check.passes(host, names_of(formula.terms), formula.passes, quantity.id);
      const documents::MetricPlan plan = documents::plan_metrics(family, documents::MetricMode::Exact);
      for (const documents::MetricGroup& group : plan.groups) check.constants(host, group.metrics, plan.constants);
      for (std::size_t i = 0; i < family.groups.size(); ++i)
        check.passes(host, family.groups[i].metrics, family.groups[i].passes, cat("group ", i));
    }
  return check.finish(documents::metric_catalogue().front().cupti, version_text(library.version()));
}

}  // namespace pagoda::tools::profile
