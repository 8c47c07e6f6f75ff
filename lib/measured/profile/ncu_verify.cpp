// Compares counts of two measurements of one program, per kernel: operations must be equal, bytes within a tolerance.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "import/runs.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/plural.h"
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
  std::erase_if(name, [](unsigned char c) { return std::isspace(c) != 0; });
  if (name.starts_with("void")) name.erase(0, 4);
  return name;
}

// The name without template and call arguments: "cutlass::Kernel2".
std::string base_name(const std::string& plain) {
  std::string base = plain;
  replace_all(base, "(anonymousnamespace)", "unnamed");
  return base.substr(0, base.find_first_of("<("));
}

using Counts = std::map<std::string, documents::Amount>;

// Sum over all kernels of one name. A number that any of them lacks is unknown for the sum.
struct Sum {
  std::string name;
  std::optional<std::int64_t> launches;
  std::optional<import::LaunchSample> sample;  // empty: no kernel

  void add(const documents::MeasuredKernel& kernel) {
    const import::LaunchSample more{kernel.seconds, kernel.flops, kernel.bytes};
    if (!sample) {
      *this = {kernel.name, kernel.launches, more};
      return;
    }
    launches = launches && kernel.launches ? std::optional(*launches + *kernel.launches) : std::nullopt;
    import::accumulate(*sample, more);
  }
  Counts counts() const {
    Counts counts;
    for (const auto& [precision, flops] : sample->flops) counts[cat("flops.", precision)] = flops;
    for (const documents::LevelField& level : documents::kLevels)
      counts[cat("bytes.", level.name)] = sample->bytes.*level.bytes;
    return counts;
  }
};

using Sides = std::array<const documents::Measured*, 2>;  // ours and theirs

// The kernels of both sides by name: by base name where the two sides spell the rest of it differently.
std::vector<std::array<Sum, 2>> matched(const Sides& sides) {
  std::map<std::string, std::array<std::set<std::string>, 2>> spellings;  // by base name
  for (std::size_t side = 0; side < sides.size(); ++side)
    for (const documents::MeasuredKernel& kernel : sides[side]->kernels) {
      const std::string plain = plain_name(kernel.name);
      spellings[base_name(plain)][side].insert(plain);
    }
  std::vector<std::array<Sum, 2>> sums;
  std::map<std::string, std::size_t> index;
  for (std::size_t side = 0; side < sides.size(); ++side)
    for (const documents::MeasuredKernel& kernel : sides[side]->kernels) {
      const std::string plain = plain_name(kernel.name), base = base_name(plain);
      const auto& [ours, theirs] = spellings[base];
      const auto [found, is_new] = index.try_emplace(ours != theirs ? base : plain, sums.size());
      if (is_new) sums.emplace_back();
      sums[found->second][side].add(kernel);
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
  CountComparison result;
  result.bytes_tolerance = bytes_tolerance;
  for (const auto& [our_sum, their_sum] : matched({&ours, &theirs})) {
    ComparedKernel kernel{our_sum.sample ? our_sum.name : their_sum.name, our_sum.launches, their_sum.launches, {}};
    if (kernel.launches_agree()) kernel.counts = compared(our_sum.counts(), their_sum.counts(), bytes_tolerance);
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
    } else if (std::ranges::none_of(kernel.counts, differs)) {
      ++same;
    } else {
      text += cat(name, ", ", *kernel.our_launches, " launches\n");
      for (const ComparedCount& count : kernel.counts)
        if (differs(count)) count_line("", count);
    }
  }
  text += cat(same, " of ", base::counted(verification.kernels.size(), "kernel agrees", "kernels agree"), "\n");
  for (const ComparedCount& total : verification.totals) count_line("sum of ", total);
  const auto& tolerance = verification.bytes_tolerance;
  return cat(text, verification.passed() ? "ncu confirms the counts" : "ncu does not confirm the counts",
             " (operations exactly, bytes ",
             tolerance ? cat("within ", base::rounded(100 * *tolerance), " %") : "not judged", ")\n");
}

}  // namespace pagoda::measured::profile
