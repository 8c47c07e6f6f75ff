// Compares counts of two measurements of one program, per kernel: operations must be equal, bytes within a tolerance.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/metrics.h"
#include "pagoda/measured/ncu.h"

namespace pagoda::measured::profile {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// "void f<(int)4, (bool)1>(float *)" and "void f<4, true>(float*)" are the same kernel.
std::string plain_name(std::string name) {
  replace_all(name, "<unnamed>", "(anonymous namespace)");
  replace_all(name, "(bool)1", "true");
  replace_all(name, "(bool)0", "false");
  for (const char* cast : {"(int)", "(unsigned int)", "(long)", "(unsigned long)", "(short)", "(char)"})
    replace_all(name, cast, "");
  name.erase(std::remove_if(name.begin(), name.end(), [](unsigned char c) { return std::isspace(c) != 0; }),
             name.end());
  if (name.starts_with("void")) name.erase(0, 4);
  return name;
}

// The name without template and call arguments: "cutlass::Kernel2".
std::string base_name(const std::string& plain) {
  std::string base = plain;
  replace_all(base, "(anonymousnamespace)", "unnamed");
  return base.substr(0, base.find_first_of("<("));
}

using Counts = std::map<std::string, std::optional<double>>;

Counts counts_of(const documents::MeasuredKernel& kernel) {
  Counts counts;
  for (const auto& [precision, flops] : kernel.flops) counts[cat("flops.", precision)] = flops;
  for (const documents::LevelField& level : documents::kLevels)
    counts[cat("bytes.", level.name)] = kernel.bytes.*level.bytes;
  return counts;
}

// Sum over all kernels of one name. A number that any of them lacks is unknown for the sum.
struct Sum {
  std::string name;
  std::optional<std::int64_t> launches = 0;
  Counts counts;
  bool is_first = true;

  void add(const documents::MeasuredKernel& kernel) {
    launches = launches && kernel.launches ? std::optional(*launches + *kernel.launches) : std::nullopt;
    const Counts more = counts_of(kernel);
    if (is_first) {
      counts = more;
      name = kernel.name;
      is_first = false;
      return;
    }
    for (auto& [what, sum] : counts) sum = documents::plus(sum, documents::amount(more, what));
    for (const auto& [what, count] : more) counts.try_emplace(what, std::nullopt);
  }
};

using Sums = std::map<std::string, Sum>;

// Base names whose kernels the two measurements spell differently.
std::set<std::string> differing_bases(const documents::Measured& ours, const documents::Measured& theirs) {
  std::map<std::string, std::pair<std::set<std::string>, std::set<std::string>>> names;
  for (const documents::MeasuredKernel& kernel : ours.kernels)
    names[base_name(plain_name(kernel.name))].first.insert(plain_name(kernel.name));
  for (const documents::MeasuredKernel& kernel : theirs.kernels)
    names[base_name(plain_name(kernel.name))].second.insert(plain_name(kernel.name));
  std::set<std::string> result;
  for (const auto& [base, pair] : names)
    if (pair.first != pair.second) result.insert(base);
  return result;
}

Sums sums_of(const documents::Measured& measured, const std::set<std::string>& by_base,
             std::vector<std::string>& order) {
  Sums sums;
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    const std::string plain = plain_name(kernel.name), base = base_name(plain);
    const std::string& key = by_base.contains(base) ? base : plain;
    const auto [found, is_new] = sums.try_emplace(key);
    if (is_new && std::find(order.begin(), order.end(), key) == order.end()) order.push_back(key);
    found->second.add(kernel);
  }
  return sums;
}

ComparedCount compared(const std::string& what, const std::optional<double>& ours, const std::optional<double>& theirs,
                       std::optional<double> tolerance) {
  ComparedCount count{what, ours, theirs, CountVerdict::NotCompared};
  const bool is_work = documents::quantity_name(what).kind == documents::QuantityKind::Flops;
  if (!ours || !theirs || (!is_work && !tolerance)) return count;
  const bool is_same = is_work ? *ours == *theirs : std::abs(*ours - *theirs) <= *tolerance * *theirs;
  count.verdict = is_same ? CountVerdict::Same : CountVerdict::Differs;
  return count;
}

std::vector<ComparedCount> compared(const Counts& ours, const Counts& theirs, std::optional<double> tolerance) {
  Counts all = ours;
  all.insert(theirs.begin(), theirs.end());
  std::vector<ComparedCount> result;
  for (const auto& [what, unused] : all) {
    const auto our_count = documents::amount(ours, what), their_count = documents::amount(theirs, what);
    if (our_count || their_count) result.push_back(compared(what, our_count, their_count, tolerance));
  }
  return result;
}

// Sums over kernels; the total is unknown if either side lacks the number for a kernel.
std::vector<ComparedCount> totals_of(const std::vector<ComparedKernel>& kernels, std::optional<double> tolerance) {
  std::map<std::string, std::pair<documents::Amount, documents::Amount>> totals;
  for (const ComparedKernel& kernel : kernels)
    for (const ComparedCount& count : kernel.counts) {
      auto& [ours, theirs] = totals.try_emplace(count.what, 0.0, 0.0).first->second;
      ours = documents::plus(ours, count.ours);
      theirs = documents::plus(theirs, count.theirs);
      if (!ours || !theirs) ours = theirs = std::nullopt;
    }
  std::vector<ComparedCount> result;
  result.reserve(totals.size());
  for (const auto& [what, total] : totals) result.push_back(compared(what, total.first, total.second, tolerance));
  return result;
}

std::string amount_text(const std::optional<double>& value) { return value ? base::shortest(*value) : "?"; }

}  // namespace

std::optional<double> ComparedCount::relative() const {
  return ours && theirs ? documents::ratio(*ours - *theirs, theirs) : std::nullopt;
}

bool CountComparison::passed() const {
  bool is_compared = false;
  for (const ComparedKernel& kernel : kernels) {
    if (!kernel.launches_agree()) return false;
    for (const ComparedCount& count : kernel.counts)
      if (documents::quantity_name(count.what).kind == documents::QuantityKind::Flops &&
          count.verdict == CountVerdict::Differs)
        return false;
  }
  for (const ComparedCount& total : totals) {
    if (total.verdict == CountVerdict::Differs) return false;
    is_compared = is_compared || total.verdict == CountVerdict::Same;
  }
  return is_compared;
}

CountComparison verify_counts(const documents::Measured& ours, const documents::Measured& theirs,
                              std::optional<double> bytes_tolerance) {
  const std::set<std::string> by_base = differing_bases(ours, theirs);
  std::vector<std::string> order;
  const Sums our_sums = sums_of(ours, by_base, order), their_sums = sums_of(theirs, by_base, order);
  CountComparison result;
  result.bytes_tolerance = bytes_tolerance;
  for (const std::string& key : order) {
    const auto a = our_sums.find(key), b = their_sums.find(key);
    ComparedKernel kernel;
    kernel.name = a != our_sums.end() ? a->second.name : b->second.name;
    if (a != our_sums.end()) kernel.our_launches = a->second.launches;
    if (b != their_sums.end()) kernel.their_launches = b->second.launches;
    if (kernel.launches_agree()) kernel.counts = compared(a->second.counts, b->second.counts, bytes_tolerance);
    result.kernels.push_back(std::move(kernel));
  }
  result.totals = totals_of(result.kernels, bytes_tolerance);
  return result;
}

std::string verification_report(const CountComparison& verification) {
  std::string text;
  const auto count_line = [&](const char* where, const ComparedCount& count) {
    const auto relative = count.relative();
    text += cat("  ", where, count.what, ": ours ", amount_text(count.ours), ", ncu ", amount_text(count.theirs),
                relative ? cat(", ", base::rounded(100 * *relative), " %") : "", ", ", to_string(count.verdict), "\n");
  };
  const auto launches = [](const std::optional<std::int64_t>& n) { return n ? std::to_string(*n) : "none known"; };
  const auto differs = [](const ComparedCount& count) { return count.verdict == CountVerdict::Differs; };
  std::size_t same = 0;
  for (const ComparedKernel& kernel : verification.kernels) {
    const std::string name = base::printable(kernel.name);
    if (!kernel.launches_agree()) {
      text += cat(name, ": launches differ: ours ", launches(kernel.our_launches), ", ncu ",
                  launches(kernel.their_launches), "\n");
    } else if (std::none_of(kernel.counts.begin(), kernel.counts.end(), differs)) {
      ++same;
    } else {
      text += cat(name, ", ", *kernel.our_launches, " launches\n");
      for (const ComparedCount& count : kernel.counts)
        if (differs(count)) count_line("", count);
    }
  }
  text += cat(same, " of ", verification.kernels.size(), " kernels agree\n");
  for (const ComparedCount& total : verification.totals) count_line("sum of ", total);
  const auto& tolerance = verification.bytes_tolerance;
  return cat(text, verification.passed() ? "ncu confirms the counts" : "ncu does not confirm the counts",
             " (operations exactly, bytes ",
             tolerance ? cat("within ", base::rounded(100 * *tolerance), " %") : "not judged", ")\n");
}

}  // namespace pagoda::measured::profile
