// The summary that a run prints: where the time went, the rates reached, and the closest peak.
#include <algorithm>
#include <map>
#include <set>

#include "join/causes.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/measured/peaks.h"
#include "pagoda/measured/record.h"

namespace pagoda::measured::profile {
namespace {

// Operations of all precisions; a precision that was not collected makes the sum a lower bound.
struct Operations {
  double sum = 0;
  bool is_known = false, is_whole = true;

  void add(const std::map<std::string, std::optional<double>>& flops) {
    is_whole = is_whole && !flops.empty();
    for (const auto& [precision, count] : flops) {
      is_known = is_known || count.has_value();
      is_whole = is_whole && count.has_value();
      sum += count.value_or(0);
    }
  }
};

struct Line {
  std::string name;
  std::int64_t launches = 0;
  std::optional<double> seconds = 0, bytes = 0;
  Operations operations;
  std::set<std::string> others;           // nodes of a kernel, or kernels of a node
  std::map<std::string, double> at_peak;  // seconds that each peak alone would have taken
  std::size_t with_peak = 0, rows = 0;

  void add(const documents::MeasuredKernel& kernel, const std::vector<documents::MeasuredDevice>& devices) {
    launches += kernel.launches.value_or(0);
    seconds = documents::plus(seconds, kernel.seconds);
    bytes = documents::plus(bytes, kernel.bytes.dram);
    operations.add(kernel.flops);
    ++rows;
    if (!kernel.device || *kernel.device >= devices.size()) return;
    const auto shares = shares_of_peak(kernel, devices[*kernel.device]);
    with_peak += shares.empty() ? 0 : 1;
    for (const auto& [of, share] : shares) at_peak[of] += share * *kernel.seconds;
  }

  // The peak that alone would have taken the largest part of the time: "62 % dram".
  std::string closest() const {
    if (at_peak.empty() || with_peak != rows || !seconds || !(*seconds > 0)) return "-";
    const auto most = std::max_element(at_peak.begin(), at_peak.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (!(most->second > 0)) return "-";
    const std::string& of = most->first;
    return cat(base::rounded(100 * most->second / *seconds), " % ", documents::quantity_name(of).of);
  }
};

std::string rate(const std::optional<double>& amount, const std::optional<double>& seconds, const char* unit) {
  const auto rate = documents::ratio(amount, seconds);
  return rate ? base::si_rate(*rate, unit) : "-";
}

// Marks a lower bound if some precisions were not collected; "-" if nothing is known.
std::string bounded(const Operations& operations, const std::string& text) {
  if (text == "-" || !operations.is_known || (operations.sum == 0 && !operations.is_whole)) return "-";
  return (operations.is_whole ? "" : "≥ ") + text;
}

std::vector<std::string> cells(const Line& line, const std::optional<double>& all_seconds) {
  const bool has_share = line.seconds && all_seconds && *all_seconds > 0;
  const std::optional<double> flops = line.operations.sum;
  std::string others = line.others.empty() ? "" : *line.others.begin();
  if (line.others.size() > 1) others += cat(" +", line.others.size() - 1);
  return {std::to_string(line.launches),
          line.seconds ? base::si_seconds(*line.seconds) : "-",
          has_share ? base::rounded(100 * *line.seconds / *all_seconds) : "-",
          rate(line.bytes, line.seconds, "B/s"),
          bounded(line.operations, rate(flops, line.seconds, "FLOP/s")),
          line.bytes && *line.bytes > 0 ? bounded(line.operations, base::rounded(*flops / *line.bytes)) : "-",
          line.closest(),
          base::elide(line.name, 70),
          base::elide(others, 40)};
}

// The precisions missing from sums marked "≥".
std::string not_collected(const documents::Measured& measured) {
  std::set<std::string> precisions;
  bool is_any_known = false;
  for (const documents::MeasuredKernel& kernel : measured.kernels)
    for (const auto& [precision, count] : kernel.flops) {
      if (!count) precisions.insert(precision);
      is_any_known = is_any_known || count.has_value();
    }
  if (precisions.empty() || !is_any_known) return "";
  return cat("operations not collected: ", base::joined(precisions), "\n");
}

}  // namespace

std::string profile_table(const documents::Measured& measured, std::size_t top, TableBy by) {
  std::vector<Line> lines;
  std::map<std::string, std::size_t> index;
  Line total;
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    const std::string node = !kernel.node.empty() ? kernel.node : kernel.nvtx;
    const std::string& name = by == TableBy::Kernel ? kernel.name : node;
    const std::string& other = by == TableBy::Kernel ? kernel.node : kernel.name;
    const auto [found, is_new] = index.try_emplace(name, lines.size());
    if (is_new) lines.emplace_back().name = name.empty() ? "(no range)" : name;
    Line& line = lines[found->second];
    line.add(kernel, measured.devices);
    if (!other.empty()) line.others.insert(other);
    total.add(kernel, measured.devices);
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.seconds.value_or(0) > b.seconds.value_or(0); });
  const bool by_kernel = by == TableBy::Kernel;
  base::Grid grid;
  for (const char* header : {"launches", "time", "%", is_replayed(measured) ? "DRAM, replayed" : "DRAM", "operations",
                             "FLOP/B", "closest peak"})
    grid.columns.push_back({header, true});
  grid.columns.push_back({by_kernel ? "kernel" : "node"});
  grid.columns.push_back({by_kernel ? "node" : "kernel"});
  for (std::size_t i = 0; i < lines.size() && i < top; ++i) grid.rows.push_back(cells(lines[i], total.seconds));
  if (lines.size() > top) {
    Line rest;
    rest.name = cat("... ", lines.size() - top, by_kernel ? " more kernels" : " more nodes");
    for (std::size_t i = top; i < lines.size(); ++i) {
      rest.launches += lines[i].launches;
      rest.seconds = documents::plus(rest.seconds, lines[i].seconds);
    }
    rest.bytes.reset();
    grid.rows.push_back(cells(rest, total.seconds));
  }
  total.name = "all of one run";
  grid.rows.push_back(cells(total, total.seconds));
  return base::aligned(grid, 0) + not_collected(measured);
}

}  // namespace pagoda::measured::profile
