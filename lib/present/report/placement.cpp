// Where providers put the nodes: what stays, what leaves, why, and what is copied.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>

#include "pagoda/base/cat.h"
#include "pagoda/base/plural.h"
#include "pagoda/base/text.h"
#include "report/rows.h"

namespace pagoda::present {
namespace report {
namespace {

using documents::EstimatePlacement;
using documents::PlacementTimes;

std::string part_of(const Count& some, const Count& all, const char* what) {
  if (!some || !all || *all == 0) return "";
  return cat(percent_of(static_cast<double>(*some), static_cast<double>(*all)), " of the ", what);
}

// "54 tensors from the CPU (110 kB)"; empty: none in this direction.
std::string copies_text(const EstimatePlacement& placed, bool is_to_host) {
  std::int64_t tensors = 0;
  Count bytes{Int{0}};
  for (const EstimatePlacement::Copy& copy : placed.copies)
    if (copy.is_to_host == is_to_host) {
      ++tensors;
      bytes = bytes + copy.bytes;
    }
  if (tensors == 0) return "";
  return cat(base::counted(tensors, "tensor"), is_to_host ? " to" : " from", " the CPU",
             bytes ? cat(" (", cell(bytes, "B"), ")") : "");
}

std::string refused_line(const EstimatePlacement& placed) {
  return cat("the runtime refuses the model: ", placed.refused);
}

std::int64_t nodes_that_run(const EstimatePlacement& placed) {
  return placed.on_provider + placed.off.nodes + placed.unknown;
}

// "3 % of the FLOPs · 5 % of the bytes · 4 % of the bound".
std::string shares_text(const documents::EstimateDocument& estimate, const EstimatePlacement& placed) {
  const documents::EstimateCounts& totals = estimate.totals.counts;
  std::string bound;
  if (placed.off.seconds && estimate.roofline->totals.seconds > 0)
    bound = cat(percent_of(*placed.off.seconds, estimate.roofline->totals.seconds), " of the bound");
  return dotted(
      {part_of(placed.off.flops, totals.flops, "FLOPs"), part_of(placed.off.bytes, totals.bytes, "bytes"), bound});
}

// "on the CPU alone: 2 ms · all on the device: 1 ms · as placed: 1.2 ms · cured: 1 ms".
template <typename Time>
std::string sides_text(const Time& on_cpu, const Time& on_provider, const Time& placed, const Time& cured) {
  const auto text = [](std::string_view what, const Time& time) {
    if (!time) return std::string();
    if constexpr (std::is_same_v<Time, std::optional<double>>)
      return cat(what, base::si_seconds(*time));
    else
      return cat(what, base::si_seconds(*time->seconds),
                 time->low ? cat(" (", base::si_seconds(*time->low), " … ", base::si_seconds(*time->high), ")") : "");
  };
  return dotted({text("on the CPU alone: ", on_cpu), text("all on the device: ", on_provider),
                 text("as placed: ", placed), text("cured: ", cured)});
}

std::string bounds_text(const PlacementTimes& times) {
  const auto some = [](double seconds) { return std::optional(seconds); };
  return cat("at least: ",
             sides_text(some(times.on_cpu_seconds), some(times.on_provider_seconds), some(times.placed_seconds),
                        times.cured_seconds),
             " · host device: ", base::printable(times.host_device),
             times.copy_seconds ? "" : "; copies are not counted");
}

void add_predicted(const documents::PlacementPrediction& times, std::vector<std::string>& lines) {
  const std::string sides = sides_text(times.on_cpu, times.on_provider, times.placed, times.cured);
  if (!sides.empty()) lines.push_back(cat("predicted: ", sides));
  for (const std::string& reason : times.missing) lines.push_back(cat("not predicted: ", base::printable(reason)));
}

// "GPU memory: weights 346 MB · the runtime's arena takes 538 MB with activations (537 MB to 1.08 GB, by the order of
// loading), or 354 MB with arena_extend_strategy=kSameAsRequested · workspaces come on top".
std::string memory_text(const documents::EstimateFit& fit) {
  const documents::EngineFit& engine = *fit.engine;
  const auto bytes = [](const Count& count) { return cell(count, "B"); };
  const std::string low = bytes(engine.total_low_bytes), high = bytes(engine.total_high_bytes);
  std::string total;
  if (engine.total_bytes)
    total = cat("the runtime's arena takes ", bytes(engine.total_bytes), " with activations",
                low == high ? "" : cat(" (", low, " to ", high, ", by the order of loading)"));
  for (const documents::EngineFit::Option& each : engine.options)
    total += cat(", or ", bytes(each.total_bytes), " with ", each.option);
  const bool is_full = fit.device_bytes && engine.total_bytes && *engine.total_bytes > *fit.device_bytes;
  return cat("GPU memory: ", dotted({cat("weights ", bytes(engine.weight_bytes)), total,
                                     is_full ? "by default it does not fit" : "", "workspaces come on top"}));
}

// The first operators, and how many more there are.
std::string operators_text(const std::vector<std::string>& operators) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> shown(operators.begin(),
                                 operators.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, operators.size())));
  if (operators.size() > kShown) shown.push_back(cat(operators.size() - kShown, " more"));
  return base::joined(shown, ", ", base::printable);
}

// "17 of 40 such nodes were refused".
std::string answers_text(const EstimatePlacement::Reason& reason) {
  return cat(base::grouped(reason.refused.value_or(0)), " of ", base::grouped(*reason.answers),
             " such nodes were refused");
}

}  // namespace

std::vector<std::string> placement_lines(const documents::EstimateDocument& estimate, const EstimatePlacement& placed) {
  const std::int64_t run = nodes_that_run(placed);
  const std::string left = shares_text(estimate, placed),
                    copied = dotted({copies_text(placed, true), copies_text(placed, false)});
  std::vector<std::string> lines = {
      cat(base::printable(placed.name), " ", base::printable(placed.version),
          placed.form == "plain" ? ", the nodes of the file" : ", the graph as the runtime runs it",
          placed.is_judged ? "" : " · documented, not judged"),
      dotted({cat(base::grouped(placed.on_provider), " of ", base::grouped(run), " nodes on it, in ",
                  base::counted(placed.parts, "part")),
              cat(base::grouped(placed.off.nodes), " on the CPU", left.empty() ? "" : cat(", ", left)),
              placed.unknown > 0 ? cat(base::grouped(placed.unknown), " unknown") : "",
              placed.in_bodies > 0 ? cat(base::grouped(placed.in_bodies), " in bodies, not judged") : "",
              placed.folded > 0 ? cat(base::grouped(placed.folded), " folded before it is asked") : "",
              placed.fused > 0 ? cat(base::grouped(placed.fused), " fused") : ""}),
      cat("copied a run", placed.unknown + placed.in_bodies > 0 ? ", at least: " : ": ",
          copied.empty() ? "nothing" : copied)};
  if (!placed.refused.empty()) lines.push_back(refused_line(placed));
  for (const EstimatePlacement::Reason& each : placed.doubts)
    lines.push_back(cat("may be refused: ", base::counted(each.nodes, "node"), ", ", base::printable(each.reason), " (",
                        answers_text(each), ")"));
  const auto& cured = placed.cured;
  const bool changes =
      cured && (cured->nodes != placed.off.nodes || cured->copies != static_cast<std::int64_t>(placed.copies.size()));
  if (changes)
    lines.push_back(
        cat("with the cures below: ", base::grouped(cured->nodes), " on the CPU, ", base::counted(cured->parts, "part"),
            ", ", cured->copies == 0 ? "nothing copied" : cat(base::counted(cured->copies, "tensor"), " copied")));
  if (placed.times) lines.push_back(bounds_text(*placed.times));
  if (placed.times && placed.times->predicted) add_predicted(*placed.times->predicted, lines);
  const bool is_first = &placed == &estimate.placement.front();
  if (is_first && estimate.fit && estimate.fit->engine) lines.push_back(memory_text(*estimate.fit));
  return lines;
}

base::Grid placements_grid(const documents::EstimateDocument& estimate) {
  const std::vector<EstimatePlacement>& all = estimate.placement;
  const bool has_time = all.front().off.seconds.has_value();
  const bool has_times = std::ranges::any_of(all, [](const auto& each) { return each.times.has_value(); });
  const bool has_unknown = std::ranges::any_of(all, [](const auto& each) { return each.unknown + each.in_bodies > 0; });
  const bool has_cures = std::ranges::any_of(all, [](const auto& each) { return each.cured.has_value(); });
  base::Grid grid{.columns = {{.header = "provider"}}, .rows = {}};
  const auto add = [&](const char* header, bool is_there = true) {
    if (is_there) grid.columns.push_back({.header = header, .is_number = true});
  };
  add("nodes on it");
  add("parts");
  add("not judged", has_unknown);
  add("on the CPU");
  add("of the FLOPs");
  add("of the bytes");
  add("of the bound", has_time);
  add("copies");
  add("copied");
  add("as placed ≥", has_times);
  add("on the CPU, cured", has_cures);
  for (const EstimatePlacement& placed : all) {
    const documents::EstimateCounts& totals = estimate.totals.counts;
    const auto share = [&](const auto& some, const auto& whole) -> std::string {
      if (placed.off.nodes == 0) return "0 %";
      return some && whole && *whole > 0 ? percent_of(static_cast<double>(*some), static_cast<double>(*whole)) : "?";
    };
    std::vector<std::string>& row = grid.rows.emplace_back();
    row = {cat(base::printable(placed.provider), " ", base::printable(placed.version),
               placed.is_judged ? "" : " (documented, not judged)"),
           cat(base::grouped(placed.on_provider), " of ", base::grouped(nodes_that_run(placed))),
           base::grouped(placed.parts)};
    if (has_unknown) row.push_back(base::grouped(placed.unknown + placed.in_bodies));
    row.push_back(base::grouped(placed.off.nodes));
    row.push_back(share(placed.off.flops, totals.flops));
    row.push_back(share(placed.off.bytes, totals.bytes));
    if (has_time) row.push_back(share(placed.off.seconds, std::optional(estimate.roofline->totals.seconds)));
    row.push_back(base::grouped(static_cast<std::int64_t>(placed.copies.size())));
    row.push_back(cell(placed.copied_bytes, "B"));
    if (has_times) row.push_back(placed.times ? base::si_seconds(placed.times->placed_seconds) : "");
    if (has_cures) row.push_back(placed.cured ? base::grouped(placed.cured->nodes) : "");
  }
  return grid;
}

std::vector<std::string> refused_lines(const documents::EstimateDocument& estimate) {
  std::vector<std::string> lines;
  for (const EstimatePlacement& placed : estimate.placement)
    if (!placed.refused.empty()) lines.push_back(cat(base::printable(placed.provider), ": ", refused_line(placed)));
  return lines;
}

std::vector<std::string> fused_lines(const documents::EstimateDocument& estimate) {
  if (estimate.fused_by.empty()) return {};
  std::map<std::string, std::int64_t> counts;
  for (const documents::EstimateFused& each : estimate.fused) ++counts[each.pattern];
  const std::string list = base::joined(
      counts, ", ", [](const auto& each) { return cat(base::grouped(each.second), " ", each.first); });
  return {base::printable(estimate.fused_by), list.empty() ? "fuses nothing" : cat("fuses ", list),
          estimate.unfused.empty() ? "nothing nearly matches a pattern" : ""};
}

base::Grid unfused_grid(const documents::EstimateDocument& estimate) {
  struct Row {
    std::int64_t count = 0, others = 0;
    std::string where;
    std::optional<double> seconds = 0;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Row> rows;
  bool has_time = false;
  for (const documents::EstimateUnfused& each : estimate.unfused) {
    Row& row = rows[{each.pattern, each.condition, each.cure}];
    if (++row.count == 1 && !each.nodes.empty() && each.nodes.back() < estimate.nodes.size())
      row.where = base::printable(estimate.nodes[each.nodes.back()].name);
    row.others = std::max(row.others, static_cast<std::int64_t>(each.others.size()));
    has_time = has_time || each.seconds;
    row.seconds = row.seconds && each.seconds ? std::optional(*row.seconds + *each.seconds) : std::nullopt;
  }
  std::vector<std::vector<std::string>> texts;
  for (const auto& [key, row] : rows) {
    const auto& [pattern, condition, cure] = key;
    std::vector<std::string>& text = texts.emplace_back();
    text = {pattern, base::grouped(row.count), cat(base::printable(condition), row.others > 0 ? cat(", and ", row.others, " more") : "")};
    if (has_time) text.push_back(row.seconds ? base::si_seconds(*row.seconds) : "?");
    text.push_back(base::printable(row.where));
    text.push_back(base::printable(cure));
  }
  base::Grid grid{.columns = {{.header = "not fused"}, {.header = "×", .is_number = true}, {.header = "because"}}, .rows = std::move(texts)};
  if (has_time) grid.columns.push_back({.header = "costs", .is_number = true});
  grid.columns.push_back({.header = "such as"});
  grid.columns.push_back({.header = "cure"});
  return grid;
}

bool has_reasons(const documents::EstimateDocument& estimate) {
  return std::ranges::any_of(estimate.placement,
                             [](const EstimatePlacement& placed) { return !placed.reasons.empty(); });
}

base::Grid reasons_grid(const documents::EstimateDocument& estimate) {
  const bool has_time = estimate.placement.front().off.seconds.has_value(), are_several = estimate.placement.size() > 1;
  base::Grid grid{.columns = {}, .rows = {}};
  if (are_several) grid.columns.push_back({.header = "provider"});
  grid.columns.push_back({.header = "on the CPU because"});
  for (const char* header : {"nodes", "FLOPs", "bytes"}) grid.columns.push_back({.header = header, .is_number = true});
  if (has_time) grid.columns.push_back({.header = "bound", .is_number = true});
  grid.columns.push_back({.header = "operators"});
  grid.columns.push_back({.header = "cure"});
  for (const EstimatePlacement& placed : estimate.placement)
    for (const EstimatePlacement::Reason& each : placed.reasons) {
      const std::string reason =
          cat(base::printable(each.reason), each.answers ? cat(" (", answers_text(each), ")") : "");
      std::vector<std::string>& row = grid.rows.emplace_back();
      if (are_several) row.push_back(base::printable(placed.provider));
      for (std::string& text :
           std::vector<std::string>{reason, base::grouped(each.nodes), cell(each.flops), cell(each.bytes, "B")})
        row.push_back(std::move(text));
      if (has_time) row.push_back(each.seconds ? base::si_seconds(*each.seconds) : "?");
      row.push_back(operators_text(each.operators));
      row.push_back(base::printable(each.cure));
    }
  return grid;
}

}  // namespace report

std::string off_provider_report(const documents::EstimatePlacement& placement, double most) {
  const std::string begin = cat("off ", base::printable(placement.provider), ": ");
  if (!placement.refused.empty()) return cat(begin, report::refused_line(placement), "\n");
  const double found = placement.off_provider();
  const auto percent = [](double part) { return part > 0 ? base::rounded(100 * part) : "0"; };
  const std::int64_t open = placement.unknown + placement.in_bodies;
  return cat(begin, placement.keeps(most) ? "within " : "exceeds ", percent(most), " %, found ", percent(found),
             " % of the nodes that run", open > 0 ? cat(", ", base::grouped(open), " of them not judged") : "", "\n");
}

}  // namespace pagoda::present
