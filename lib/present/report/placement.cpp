// Where providers put the nodes: what stays, what leaves, why, and what is copied.
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "report/rows.h"

namespace pagoda::present {
namespace report {
namespace {

using documents::EstimatePlacement;

std::string part_of(const Count& some, const Count& all, const char* what) {
  if (!some || !all || *all == 0) return "";
  return cat(percent_of(static_cast<double>(*some), static_cast<double>(*all)), " of the ", what);
}

std::string copies(std::int64_t tensors, const Count& bytes, const char* where) {
  return cat(base::counted(tensors, "tensor"), " ", where, tensors > 0 ? cat(" (", cell(bytes, "B"), ")") : "");
}

// The first operators, and how many more there are.
std::string operators_text(const std::vector<std::string>& operators) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> shown(operators.begin(),
                                 operators.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, operators.size())));
  if (operators.size() > kShown) shown.push_back(cat(operators.size() - kShown, " more"));
  return base::joined(shown, ", ", base::printable);
}

}  // namespace

std::vector<std::string> placement_lines(const documents::EstimateDocument& estimate, const EstimatePlacement& placed) {
  const std::int64_t run = placed.on_provider + placed.on_cpu + placed.unknown;
  const documents::EstimateCounts& totals = estimate.totals.counts;
  const std::string left = dotted(
      {part_of(placed.flops_on_cpu, totals.flops, "FLOPs"), part_of(placed.bytes_on_cpu, totals.bytes, "bytes")});
  std::vector<std::string> lines = {
      cat(base::printable(placed.name), " ", base::printable(placed.version),
          placed.form == "plain" ? ", the nodes of the file" : ", the graph as the runtime runs it",
          placed.is_judged ? "" : " · documented, not judged"),
      dotted({cat(base::grouped(placed.on_provider), " of ", base::grouped(run), " nodes on it, in ",
                  base::counted(placed.parts, "part")),
              cat(base::grouped(placed.on_cpu), " on the CPU", left.empty() ? "" : cat(", ", left)),
              placed.unknown > 0 ? cat(base::grouped(placed.unknown), " unknown") : "",
              placed.folded > 0 ? cat(base::grouped(placed.folded), " folded before it is asked") : "",
              placed.fused > 0 ? cat(base::grouped(placed.fused), " fused") : ""}),
      cat("copied a run", placed.unknown > 0 ? ", at least: " : ": ",
          copies(placed.to_host, placed.to_host_bytes, "to the CPU"), " · ",
          copies(placed.to_provider, placed.to_provider_bytes, "from the CPU"))};
  return lines;
}

base::Grid reasons_grid(const EstimatePlacement& placed) {
  base::Grid grid{.columns = {{.header = "on the CPU because"},
                              {.header = "nodes", .is_number = true},
                              {.header = "FLOPs", .is_number = true},
                              {.header = "bytes", .is_number = true},
                              {.header = "operators"},
                              {.header = "cure"}},
                  .rows = {}};
  for (const EstimatePlacement::Reason& each : placed.reasons)
    grid.rows.push_back({base::printable(each.reason), base::grouped(each.nodes), cell(each.flops),
                         cell(each.bytes, "B"), operators_text(each.operators),
                         base::joined(each.cures, "; ", base::printable)});
  return grid;
}

}  // namespace report

std::string off_provider_report(const documents::EstimatePlacement& placement, double most) {
  const double found = placement.off_provider();
  const auto percent = [](double part) { return part > 0 ? base::rounded(100 * part) : "0"; };
  return cat("off ", base::printable(placement.provider), ": ", found > most ? "exceeds " : "within ", percent(most),
             " %, found ", percent(found), " % of the nodes that run",
             placement.unknown > 0 ? cat(", ", base::counted(placement.unknown, "unknown one"), " among them") : "",
             "\n");
}

}  // namespace pagoda::present
