// pagoda-metrics: writes the metric catalogue (data/metrics) out of CUPTI's host library, and checks that what is
// recorded is what the library says. Needs CUPTI, but no GPU; up to CUDA 13.1 no driver either.
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "cupti_library.h"
#include "decode.h"
#include "metrics_rules.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/documents/metrics.h"

namespace {

using pagoda::documents::ChipMetrics;
using pagoda::documents::MetricFormula;
using pagoda::documents::MetricGroup;
using pagoda::documents::MetricQuantity;
using pagoda::documents::MetricTerm;
using profile::CuptiLibrary;
using profile::HostChip;

constexpr int kDone = 0, kUnusable = 1, kUsage = 2, kNoLibrary = 77;

std::string version_text(std::uint32_t version) {
  if (version < 10000) return "of CUDA 12 (interface " + std::to_string(version) + ")";
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::vector<std::string> names_of(const std::vector<pagoda::documents::MetricTerm>& terms) {
  std::vector<std::string> names;
  for (const pagoda::documents::MetricTerm& term : terms) names.push_back(term.metric);
  return names;
}

void join(std::vector<std::string>& all, const std::vector<std::string>& more) {
  for (const std::string& name : more)
    if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
}

bool knows_sparsity(const HostChip& chip) {
  return std::any_of(chip.metrics().begin(), chip.metrics().end(),
                     [](const std::string& name) { return name.ends_with("_sparsity_on"); });
}

// The rule's formula on this chip; empty where a term that must exist does not. `known` has the
// base quantities already.
std::optional<pagoda::documents::MetricFormula> resolved(const HostChip& chip,
                                                         const pagoda::documents::ChipMetrics& known,
                                                         const std::vector<pagoda::documents::MetricTerm>& rule) {
  pagoda::documents::MetricFormula formula;
  for (pagoda::documents::MetricTerm term : rule) {
    const bool is_optional = term.metric.ends_with('?');
    if (is_optional) term.metric.pop_back();
    if (term.metric.starts_with('!')) {
      if (knows_sparsity(chip)) return std::nullopt;
      term.metric.erase(0, 1);
    }
    if (chip.has(term.metric))
      formula.terms.push_back(term);
    else if (!is_optional)
      return std::nullopt;
  }
  formula.passes = static_cast<std::int64_t>(chip.passes(names_of(formula.terms)));
  formula.term_passes = 1;
  if (formula.passes > 1)
    for (const pagoda::documents::MetricTerm& term : formula.terms)
      formula.term_passes = std::max(formula.term_passes, static_cast<std::int64_t>(chip.passes({term.metric})));
  std::vector<std::string> with_base = names_of(formula.terms);
  for (const auto& ids : {profile::base_quantities(), profile::clock_quantities()})
    for (const std::string& id : ids)
      if (const pagoda::documents::MetricQuantity* base = known.quantity(id))
        join(with_base, names_of(base->formulas.front().terms));
  formula.base_passes = static_cast<std::int64_t>(chip.passes(with_base));
  return formula;
}

class Packer {
 public:
  explicit Packer(const HostChip& chip) : chip_(chip) {}

  // Into the first group, alone or with what is there, that stays within one pass; else a group of its own.
  void add(const std::vector<std::string>& metrics, std::size_t first_group) {
    for (std::size_t i = first_group; i < groups_.size(); ++i)
      if (fits(groups_[i], metrics)) return join(groups_[i].metrics, metrics);
    groups_.push_back({metrics, static_cast<std::int64_t>(chip_.passes(metrics))});
  }
  bool add_to_first(const std::vector<std::string>& metrics) {
    if (!fits(groups_.front(), metrics)) return false;
    join(groups_.front().metrics, metrics);
    return true;
  }
  std::vector<pagoda::documents::MetricGroup> groups() && { return std::move(groups_); }

 private:
  bool fits(const pagoda::documents::MetricGroup& group, const std::vector<std::string>& metrics) const {
    if (group.passes > 1) return false;
    std::vector<std::string> both = group.metrics;
    join(both, metrics);
    return chip_.passes(both) == 1;
  }
  const HostChip& chip_;
  std::vector<pagoda::documents::MetricGroup> groups_;
};

// The first group holds time, bytes, and as many whole precisions of the tensor units as one pass can; instructions of
// the vector units have one of their own, as counting them slows kernels down; the rest fills further groups.
std::vector<pagoda::documents::MetricGroup> packed(const HostChip& host, const pagoda::documents::ChipMetrics& chip) {
  Packer packer(host);
  std::vector<std::string> base, scalar;
  std::vector<const pagoda::documents::MetricQuantity*> tensors;
  const std::vector<std::string> base_ids = profile::base_quantities();
  for (const pagoda::documents::MetricQuantity& quantity : chip.quantities) {
    const auto names = names_of(quantity.formulas.front().terms);
    const bool is_tensor = quantity.id.ends_with(".tensor");
    if (std::find(base_ids.begin(), base_ids.end(), quantity.id) != base_ids.end())
      join(base, names);
    else if (quantity.name().kind == pagoda::documents::QuantityKind::Flops)
      is_tensor ? tensors.push_back(&quantity) : join(scalar, names);
  }
  packer.add(base, 0);
  std::vector<const pagoda::documents::MetricQuantity*> left;
  for (const pagoda::documents::MetricQuantity* quantity : tensors)
    if (quantity->formulas.front().passes > 1 || !packer.add_to_first(names_of(quantity->formulas.front().terms)))
      left.push_back(quantity);
  for (const std::string& id : profile::clock_quantities())
    if (const pagoda::documents::MetricQuantity* cycles = chip.quantity(id))
      packer.add_to_first(names_of(cycles->formulas.front().terms));
  packer.add(scalar, 1);
  // Where memory has no counters, what misses the L2 is the nearest to them.
  if (const pagoda::documents::MetricQuantity* misses = chip.quantity("bytes.l2_miss");
      misses && !chip.quantity("bytes.dram"))
    for (const pagoda::documents::MetricTerm& term : misses->formulas.front().terms) packer.add({term.metric}, 2);
  for (const pagoda::documents::MetricQuantity* quantity : left) {
    const pagoda::documents::MetricFormula& formula = quantity->formulas.front();
    if (formula.passes == 1) {
      packer.add(names_of(formula.terms), 2);
      continue;
    }
    for (const pagoda::documents::MetricTerm& term : formula.terms) packer.add({term.metric}, 2);
  }
  return std::move(packer).groups();
}

pagoda::documents::ChipMetrics described(const CuptiLibrary& library, const std::vector<std::string>& chips) {
  const HostChip host(library, chips.front());
  pagoda::documents::ChipMetrics result;
  result.family = chips.front();
  result.chips = chips;
  result.cupti = version_text(library.version());
  result.collectable = !chips.front().starts_with("GV");  // the range profiler begins with Turing
  for (const profile::QuantityRule& rule : profile::quantity_rules()) {
    pagoda::documents::MetricQuantity quantity{rule.id, {}};
    for (const auto& terms : rule.formulas)
      if (const auto formula = resolved(host, result, terms)) quantity.formulas.push_back(*formula);
    // Those whose terms fit into a pass can be collected without replay.
    std::stable_sort(quantity.formulas.begin(), quantity.formulas.end(),
                     [](const pagoda::documents::MetricFormula& a, const pagoda::documents::MetricFormula& b) {
                       return std::min<std::int64_t>(a.term_passes, 2) < std::min<std::int64_t>(b.term_passes, 2);
                     });
    const std::vector<std::string> clocks = profile::clock_quantities();
    const bool is_clock = std::find(clocks.begin(), clocks.end(), rule.id) != clocks.end();
    if (is_clock && !quantity.formulas.empty() && quantity.formulas.front().base_passes > 1)
      result.missing.push_back(
          {rule.id, "takes a pass beside time and bytes; its unit's peak is known by cycle alone"});
    else if (!quantity.formulas.empty())
      result.quantities.push_back(std::move(quantity));
    else if (pagoda::documents::quantity_name(rule.id).kind == pagoda::documents::QuantityKind::Bytes)
      result.missing.push_back({rule.id, "no metric of this chip counts it"});
  }
  result.groups = packed(host, result);
  return result;
}

std::string written(const pagoda::documents::ChipMetrics& chip) {
  using Layout = pagoda::base::JsonWriter::Layout;
  pagoda::base::JsonWriter json;
  json.begin_object();
  json.member("schema", "pagoda.metrics/1").member("family", chip.family);
  json.key("chips").begin_array(Layout::Line);
  for (const std::string& name : chip.chips) json.value(name);
  json.end_array();
  json.member("cupti", chip.cupti).member("collectable", chip.collectable);
  json.key("quantities").begin_array();
  for (const pagoda::documents::MetricQuantity& quantity : chip.quantities) {
    json.begin_object().member("id", quantity.id).key("formulas").begin_array();
    for (const pagoda::documents::MetricFormula& formula : quantity.formulas) {
      json.begin_object(Layout::Line).member("passes", formula.passes).member("term_passes", formula.term_passes);
      json.member("base_passes", formula.base_passes);
      json.key("terms").begin_array();
      for (const pagoda::documents::MetricTerm& term : formula.terms)
        json.begin_object().member("metric", term.metric).member("weight", term.weight).end_object();
      json.end_array().end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().key("groups").begin_array();
  for (const pagoda::documents::MetricGroup& group : chip.groups) {
    json.begin_object().member("passes", group.passes).key("metrics").begin_array();
    for (const std::string& metric : group.metrics) json.value(metric);
    json.end_array().end_object();
  }
  json.end_array().key("missing").begin_array();
  for (const pagoda::documents::Missing& missing : chip.missing)
    json.begin_object(Layout::Line).member("what", missing.what).member("why", missing.why).end_object();
  return std::move(json.end_array().end_object()).text();
}

// Chips that list the same metrics are one family, named by its first chip.
int generate(const CuptiLibrary& library, const std::string& folder) {
  std::map<std::set<std::string>, std::vector<std::string>> families;
  for (const std::string& chip : library.chips()) try {
      families[HostChip(library, chip).metrics()].push_back(chip);
    } catch (const pagoda::Error& error) {
      std::fprintf(stderr, "pagoda-metrics: left out: %s\n", error.what());
    }
  for (auto& [metrics, chips] : families) {
    std::sort(chips.begin(), chips.end());
    const std::string path = folder + "/" + chips.front() + ".json";
    std::ofstream file(path, std::ios::binary);
    file << written(described(library, chips));
    file.close();
    if (!file) throw pagoda::Error(path + ": cannot be written");
    std::printf("%s\n", path.c_str());
  }
  return kDone;
}

class Check {
 public:
  void expect(bool fine, const std::string& what) {
    ++checks_;
    if (fine) return;
    ++failures_;
    std::fprintf(stderr, "pagoda-metrics: %s\n", what.c_str());
  }
  void passes(const HostChip& host, const std::string& chip, const std::vector<std::string>& names,
              std::int64_t recorded, const std::string& what) {
    for (const std::string& name : names) {
      expect(host.has(name), chip + ": " + what + ": there is no " + name);
      if (!host.has(name)) return;
    }
    const auto found = static_cast<std::int64_t>(host.passes(names));
    expect(found == recorded, chip + ": " + what + " takes " + std::to_string(found) + " passes, recorded are " +
                                  std::to_string(recorded));
  }
  // Constants take no counter: with and without them, a configuration is the same to the byte.
  void constants(const HostChip& host, const std::string& chip, const std::vector<std::string>& names,
                 const std::vector<std::string>& constants) {
    std::vector<std::string> both = names;
    join(both, constants);
    for (const std::string& name : both)
      if (!host.has(name)) return;  // said by passes()
    expect(host.config(both) == host.config(names), chip + ": peaks change what is counted beside " + names.front());
  }
  // Other versions know other chips, and early ones count some of their counters in more passes: no fault of the
  // catalogue's.
  int finish(const std::string& recorded, const std::string& library) const {
    std::printf("%d checks, %d failed\n", checks_, failures_);
    if (failures_ == 0) return kDone;
    if (recorded == library) return kUnusable;
    std::printf("skipped: the catalogue is of CUPTI %s, this is %s\n", recorded.c_str(), library.c_str());
    return kNoLibrary;
  }

 private:
  int checks_ = 0, failures_ = 0;
};

// Every name and pass count of every chip. A library may know more chips; one that knows fewer is of another version.
int check(const CuptiLibrary& library) {
  Check check;
  std::set<std::string> known;
  for (const std::string& chip : library.chips()) known.insert(chip);
  for (const pagoda::documents::ChipMetrics& family : pagoda::documents::metric_catalogue())
    for (const std::string& chip : family.chips) {
      check.expect(known.contains(chip), chip + ": CUPTI " + version_text(library.version()) + " does not know it");
      if (!known.contains(chip)) continue;
      const HostChip host(library, chip);
      for (const pagoda::documents::MetricQuantity& quantity : family.quantities)
        for (const pagoda::documents::MetricFormula& formula : quantity.formulas)
          check.passes(host, chip, names_of(formula.terms), formula.passes, quantity.id);
      const pagoda::documents::MetricPlan plan =
          pagoda::documents::plan_metrics(family, pagoda::documents::MetricMode::Exact);
      for (const pagoda::documents::MetricGroup& group : plan.groups)
        check.constants(host, chip, group.metrics, plan.constants);
      for (std::size_t i = 0; i < family.groups.size(); ++i)
        check.passes(host, chip, family.groups[i].metrics, family.groups[i].passes, "group " + std::to_string(i));
    }
  return check.finish(pagoda::documents::metric_catalogue().front().cupti, version_text(library.version()));
}

// From CUDA 13.2 on the library answers nothing without a driver; that of 13.2 crashes, so a child asks.
bool answers(const CuptiLibrary& library) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      _exit(library.version() != 0 && !library.chips().empty() ? 0 : 1);
    } catch (...) {
      _exit(1);
    }
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Writes or checks the catalogue of hardware counters; needs CUPTI, no GPU."};
  app.set_version_flag("--version", "pagoda-metrics " PAGODA_VERSION);
  std::string folder, path, list, images;
  bool is_check = false;
  app.add_option("--write", folder, "write a file a family of chips into this folder");
  app.add_flag("--check", is_check, "hold the built-in catalogue against the library; exit 77 where there is none");
  app.add_option("--list", list, "print every metric of this chip with what it counts");
  app.add_option(
      "--decode", images,
      "evaluate a counter image of pagoda-profile --keep-raw, or all of a folder, and compare with the values "
      "beside it; exit 77 where there is none");
  app.add_option("--cupti", path, "the library: path of libcupti.so");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  try {
    const CuptiLibrary library(path);
    if (!library.available()) {
      std::fprintf(stderr, "pagoda-metrics: skipped: %s\n", library.why().c_str());
      return kNoLibrary;
    }
    if (!answers(library)) {
      std::fprintf(
          stderr,
          "pagoda-metrics: skipped: %s does not answer; from CUDA 13.2 on it needs a driver: give CUPTI of CUDA "
          "12.6 to 13.1 with --cupti\n",
          library.path().c_str());
      return kNoLibrary;
    }
    if (!list.empty()) {
      const HostChip host(library, list);
      for (const std::string& name : host.metrics())
        std::printf("%s\t%s\n", name.c_str(), host.description(name).c_str());
      return kDone;
    }
    if (!images.empty()) return profile::decode_images(library, images);
    if (!folder.empty()) return generate(library, folder);
    if (is_check) return check(library);
    std::fprintf(stderr, "pagoda-metrics: say what to do: --write FOLDER, --check, --list CHIP or --decode IMAGE\n");
    return kUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pagoda-metrics: %s\n", error.what());
    return kUnusable;
  }
}
