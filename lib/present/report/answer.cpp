// The answer to the first questions: how much work and memory, does it fit, how fast, what to do next, where the time
// goes.
#include <algorithm>
#include <utility>

#include "pagoda/base/cat.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/base/plural.h"
#include "pagoda/estimate/engine_memory.h"
#include "pagoda/estimate/measured_runs.h"
#include "report/rows.h"
#include "report/verdict.h"

namespace pagoda::present::report {
namespace {

using documents::EstimateFit;
using documents::EstimateRoofline;

constexpr std::size_t kHeaviest = 5, kActions = 3;
constexpr std::size_t kWide = 110;      // terminals of at least this width show how far a row is from its next limit
constexpr std::size_t kMargin = 24;     // most columns of Line::what and Line::value
constexpr std::size_t kNameWidth = 48;  // of a kernel's name if the width of the terminal is unknown

// One line of the answer: name, value, and explanation.
struct Line {
  std::string what, value, remark;
};

std::string bytes(const Count& value) { return cell(value, "B"); }
std::string bytes_rate(double value) { return base::si_rate(value, "B/s"); }
std::string joules(double value, std::string_view unit = "J") { return base::si_text(value, unit); }

std::string at_least(double seconds) { return cat("≥ ", base::si_seconds(seconds)); }

std::string joules_an_item(const std::optional<double>& value, const EstimateDocument& estimate) {
  return value ? joules(*value, estimate.phase ? "J a token" : "J an item") : "";
}

std::string of_forward(const EstimateDocument& estimate) { return estimate.training ? "of the forward pass" : ""; }

Line work_line(const Data& data) {
  const EstimateTotals& totals = data.estimate.totals;
  const Convention count = data.estimate.count;
  const bool has_flops = !data.counts_macs();
  const std::string unmodelled = unmodelled_text(data.estimate);
  std::string once;
  // Do not mention shapes or masks made of constants.
  constexpr int kLeastFlops = 1'000'000;
  if (const auto& load = totals.at_load; load && load->flops.value_or(0) >= kLeastFlops)
    once = cat("once at load: ", load->macs.value_or(0) > 0 ? cat(cell(load->macs), " MACs")
                                                            : cat(cell(load->flops), " ", operation(count), "s"));
  return {"work", cell(totals.counts.flops.at_least(totals.partial), operation(count)),
          dotted({of_forward(data.estimate),
                  has_flops ? cat(cell(totals.counts.macs.at_least(totals.partial)), " multiply-accumulates") : "",
                  cat(cell(totals.counts.params), totals.counts.params == Count(1) ? " parameter" : " parameters"),
                  has_flops && count != Convention::Flops ? cat("FLOPs: ", meaning(count)) : "", unmodelled, once})};
}

// The memory of a training step, else of a run, with the parts that add up to it.
Line memory_line(const EstimateDocument& estimate) {
  const EstimateTotals& totals = estimate.totals;
  if (estimate.fit && estimate.can_run()) {
    const EstimateFit& fit = *estimate.fit;
    std::string parts = cat("weights ", bytes(fit.weight_bytes), " + activations ", bytes(fit.activation_bytes));
    if (fit.cache_bytes && *fit.cache_bytes > 0) parts += cat(" + cache ", bytes(fit.cache_bytes));
    if (fit.gradient_bytes) parts += cat(" + gradients ", bytes(fit.gradient_bytes));
    if (fit.optimizer_bytes && *fit.optimizer_bytes > 0) parts += cat(" + optimizer ", bytes(fit.optimizer_bytes));
    if (estimate.roofline && estimate.roofline->parallel) parts += " · of each device";
    return {"memory", bytes(fit.total_bytes.at_least(fit.at_least)), parts};
  }
  if (estimate.training)
    return {"memory", bytes(estimate.training->peak_bytes), "of a training step, at its peak; parts below"};
  const Count &weights = totals.weight_bytes, &peak = totals.activation_peak_bytes;
  const bool is_least = totals.partial || peak.is_at_least();
  return {
      "memory", bytes((weights + peak).at_least(is_least)),
      cat("weights ", bytes(weights), " + activations ", bytes(peak), estimate.phase ? ", the cache among them" : "")};
}

Line traffic_line(const Data& data) {
  const EstimateTotals& totals = data.estimate.totals;
  const std::optional<double> intensity = data.estimate.moved_intensity();
  constexpr base::EnumNames<TrafficModel::Resident> kMeanings(
      "every node reads its inputs and writes its outputs", "fused: what stays within a kernel moves nothing",
      "fused, and tensors stay in the cache of the device while they fit");
  return {"traffic", bytes(data.estimate.moved().bytes.at_least(totals.partial)),
          dotted({of_forward(data.estimate),
                  intensity ? cat(intensity_text(*intensity), " ", operation(data.estimate.count), "/B") : "",
                  std::string(kMeanings[data.traffic()])})};
}

// The phase of a language model: new tokens per run, growth of the cache, bytes per token.
Line phase_line(const EstimateDocument& estimate) {
  const documents::EstimatePhase& phase = *estimate.phase;
  const bool grows = phase.cache_bytes_per_token && *phase.cache_bytes_per_token > 0;
  return {
      "phase", std::string(to_string(phase.phase)),
      dotted({phase.tokens ? cat(base::counted(static_cast<std::int64_t>(*phase.tokens), "new token"), " a run") : "",
              grows ? cat("the cache grows by ", bytes(phase.cache_bytes_per_token), " a position") : "",
              phase.bytes_per_token ? cat(base::si_rate(*phase.bytes_per_token, "B"), " moved a token") : ""})};
}

// What the engine of the prediction takes: the pool of a serving engine, or an engine file with its activations.
Line engine_line(const documents::EngineFit& engine) {
  const std::string id = base::printable(engine.engine);
  if (!engine.pool_bytes)
    return {"engine", bytes(engine.total_bytes),
            cat(id, ": weights and activations; workspaces of its kernels are not known")};
  const auto counted = [](const Count& count, const std::string& what) {
    return count ? cat(base::grouped(*count), what) : std::string();
  };
  const std::string users =
      engine.users ? cat(base::counted(*engine.users, "user"), " of ", base::grouped(*engine.context), " tokens") : "";
  const std::string takes = cat(id, " takes ", estimate::kPoolPercent, " % of the device first (gpu_memory_utilization)");
  if (engine.blocks == 0)
    return {"engine", bytes(engine.pool_bytes), dotted({takes, "nothing of it is left for a cache"})};
  return {"engine", bytes(engine.pool_bytes),
          dotted({takes,
                  engine.cache_bytes ? cat("about ", bytes(engine.cache_bytes), " left for the cache") : "",
                  counted(engine.blocks, cat(" blocks of ", estimate::kBlockTokens, " tokens")), users})};
}

Line fit_line(const EstimateDocument& estimate) {
  const EstimateFit& fit = *estimate.fit;
  const std::string device = device_text(*estimate.roofline);
  if (!estimate.cannot_run.empty()) return {"fits", "no", table_text(estimate)};
  if (!fit.device_bytes) return {"fits", "?", cat("the memory of ", device, " is not known")};
  if (!fit.total_bytes) return {"fits", "?", cat("depends on ", base::joined(estimate.unset, ", ", base::printable))};
  const bool has_users = estimate.phase && estimate.phase->phase == Phase::Decode;
  std::string context;
  if (fit.longest_context) context = cat("longest context ", base::grouped(*fit.longest_context));
  if (fit.position_table && fit.longest_context == Count(fit.position_table->positions))
    context = dotted({cat(context, ", the rows of ", base::printable(fit.position_table->name)),
                      fit.memory_context ? cat("memory alone holds ", base::grouped(*fit.memory_context)) : ""});
  return {
      "fits",
      !fit.fits   ? "?"
      : *fit.fits ? "yes"
                  : "does not fit",
      dotted({cat(fit.at_least
                      ? fits_bytes(fit)
                      : memory_share(static_cast<double>(*fit.total_bytes), static_cast<double>(*fit.device_bytes)),
                  " of the ", bytes(fit.device_bytes), " of ", device),
              fit.largest_batch ? cat(has_users ? "most users " : "largest batch ", base::grouped(*fit.largest_batch))
                                : "",
              context})};
}

// The precision assumed for the time, if engines may use a different one.
std::string precision_remark(const Data& data) {
  const EstimateDocument& estimate = data.estimate;
  if (estimate.precision) return "";
  // An engine that fuses folds the conversions of quantised operands into its products.
  const auto quantised = std::ranges::find_if(
      estimate.nodes, [](const EstimateNode& node) { return node.dequantized_from != ElementType::Undefined; });
  if (quantised != estimate.nodes.end() && data.traffic() == TrafficModel::Unfused)
    return cat("in ", to_string(quantised->precision), " unfused, in ", to_string(quantised->dequantized_from),
               " with --traffic fused");
  // If the device has TF32, the engine chooses whether float32 products use it.
  const bool has_tf32 =
      std::ranges::any_of(estimate.advice, [](const auto& advice) { return advice.precision == Precision::Tf32; });
  return has_tf32 ? "in float32, where many engines take TF32" : "";
}

// "≤ 3,810 items/s", and what one user and one device get; with launches where those are the limit.
Line speed_line(const Data& data, const Bounds& bounds) {
  const EstimateDocument& estimate = data.estimate;
  const EstimateRoofline& roofline = *estimate.roofline;
  const double seconds = bounds.is_launch_bound() ? *bounds.launched : bounds.seconds;
  const auto rate = [&](double count, double time) { return rate_text(count / time, rate_unit(estimate)); };
  const double items = items_kept(estimate);
  std::string shares;
  if (const auto& phase = estimate.phase) {
    const double slower = bounds.seconds / seconds * items / documents::real(roofline.items).value_or(1);
    if (phase->user_tokens_per_second)
      shares = cat(rate_text(*phase->user_tokens_per_second * slower, "tokens/s"), " a user");
    if (phase->device_tokens_per_second && roofline.parallel)
      shares = dotted({shares, cat(rate_text(*phase->device_tokens_per_second * slower, "tokens/s"), " a device")});
  }
  if (bounds.gains_from_graph())
    shares = dotted({shares, cat(rate(items, bounds.graph), " as a ", graph_name(bounds.device))});
  const RooflineTotals& totals = roofline.totals;
  const std::string kernels = cat(base::counted(totals.launches, "kernel"),
                                  data.traffic() == TrafficModel::Unfused ? ", one a node" : " after fusion");
  return {"speed", cat("≤ ", rate(items, seconds)),
          dotted({shares, estimate.training ? "" : kernels, precision_remark(data)})};
}

// The predicted token rate of a decoder: in total, per user and per device.
std::string predicted_rate(const EstimateDocument& estimate) {
  const EstimateRoofline& roofline = *estimate.roofline;
  if (!estimate.phase || !roofline.items) return "";
  const documents::EstimatePhase& phase = *estimate.phase;
  const double steps = 1 / *roofline.predicted->seconds, tokens = items_kept(estimate);
  const double own = documents::real(phase.sequence_tokens).value_or(0) * tokens / static_cast<double>(*roofline.items);
  std::string accepted;
  if (phase.speculated)
    accepted = cat(base::rounded(phase.speculated->tokens_per_step), " tokens of a user's step stay");
  std::string rate = rate_text(tokens * steps, "tokens/s");
  if (own > 0) rate += cat(", ", rate_text(own * steps, "a user"));
  if (roofline.parallel)
    rate +=
        cat(", ", rate_text(tokens * steps / static_cast<double>(roofline.parallel->devices.devices()), "a device"));
  return dotted({accepted, rate});
}

// The number of collectives, and the bytes that they move in total.
void add_devices(std::vector<Line>& lines, const EstimateDocument& estimate) {
  const documents::EstimateParallel& parallel = *estimate.roofline->parallel;
  const ParallelOptions& devices = parallel.devices;
  std::string split;
  for (const auto& [count, what] : {std::pair{devices.tensor, " by columns and rows"},
                                    {devices.pipeline, " stages"},
                                    {devices.expert, " groups of experts"}})
    if (count > 1) split += cat(split.empty() ? "" : " × ", count, what);
  if (devices.pipeline == 1) split += cat(" · each ", cell(parallel.macs), " multiply-accumulates");
  if (parallel.whole_weight_bytes && *parallel.whole_weight_bytes > 0)
    split += cat(" · ", bytes(parallel.whole_weight_bytes),
                 " of weights on every device: ", base::printable(parallel.whole_reason));
  lines.push_back({"devices", std::to_string(devices.devices()), split});
  std::map<CollectiveKind, std::pair<std::int64_t, double>> kinds;
  for (const auto& each : parallel.collectives) {
    auto& [count, sum] = kinds[each.kind];
    ++count;
    sum += documents::real(each.bytes).value_or(0);
  }
  std::vector<std::string> moved;
  for (const auto& [kind, sum] : kinds) {
    std::string name(to_string(kind));
    std::ranges::replace(name, '_', '-');
    moved.push_back(cat(base::counted(sum.first, name), ", ", base::si_rate(sum.second, "B")));
  }
  if (moved.empty()) return;
  const auto& time = parallel.time;
  lines.push_back({"link", at_least(time.link_seconds),
                   dotted({dotted(moved),
                           cat(base::printable(parallel.link.name), ", ", bytes_rate(parallel.link.bytes_per_second),
                               " in one direction"),
                           cat("work takes ", at_least(time.work_seconds))})});
  if (devices.pipeline > 1)
    lines.push_back(
        {"stages", percent_of(time.bubble, 1),
         cat("of the time a stage waits, with the step in ", base::counted(time.parts, "part"), " · a step each ",
             at_least(time.interval_seconds), " where ", devices.pipeline, " are on their way")});
}

// The energy at the least time by the device's constants, its balance points, and whether finishing early saves energy.
void add_energy(std::vector<Line>& lines, const EstimateDocument& estimate) {
  if (!estimate.roofline->energy) return;
  const documents::EstimateEnergy& energy = *estimate.roofline->energy;
  const auto share = [&](double part) { return percent_of(part, energy.joules); };
  lines.push_back({"energy", cat("≈ ", joules(energy.joules)),
                   dotted({cat("at the least time: work ", share(energy.work_joules), ", traffic ",
                               share(energy.traffic_joules), ", constant power ", share(energy.constant_joules)),
                           energy.flops_per_joule ? base::si_rate(*energy.flops_per_joule, "FLOP/J") : "",
                           joules_an_item(energy.joules_per_item, estimate)})});
  lines.push_back({"", "",
                   cat("balance of time ", intensity_text(energy.time_balance), " FLOP/B, of energy ",
                       intensity_text(energy.energy_balance),
                       energy.race_to_idle ? " · finishing early saves energy" : " · a slower run can save energy")});
}

void add_prediction(std::vector<Line>& lines, const EstimateDocument& estimate) {
  const EstimateRoofline& roofline = *estimate.roofline;
  const documents::EstimatePrediction& predicted = *roofline.predicted;
  lines.push_back(
      {"predicted", base::si_seconds(*predicted.seconds),
       dotted({interval_text(roofline), predicted_rate(estimate)}) + " · " + base::printable(predicted.calibration)});
  if (predicted.other_placement)
    lines.push_back(
        {"", base::si_seconds(predicted.other_placement->seconds), placement_text(*predicted.other_placement)});
  if (predicted.joules)
    lines.push_back({"", cat("≈ ", joules(*predicted.joules)),
                     dotted({"in the predicted time", joules_an_item(predicted.joules_per_item, estimate)})});
  if (const auto& memory = predicted.memory)
    lines.push_back({"process", cat("+", bytes(memory->bytes)),
                     cat(bytes(memory->low), " … ", bytes(memory->high), " for ", percent_of(memory->coverage, 1),
                         " of networks · resident memory that loading and running add · ", bytes(memory->load_bytes),
                         " while it loads")});
}

void add_times(std::vector<Line>& lines, const Data& data, const Verdict& verdict) {
  const EstimateDocument& estimate = data.estimate;
  const EstimateRoofline& roofline = *estimate.roofline;
  const Bounds bounds = bounds_of(estimate);
  if (bounds.seconds <= 0) return;
  // A headline of launches, a prediction or a run leaves the bound to a line of its own.
  Bounds of_work = bounds;
  of_work.launched.reset();
  Verdict bound;
  say_bounds(bound, of_work);
  if (verdict.limit != bound.limit) lines.push_back({"bound", at_least(bounds.seconds), bound.headline(" · ")});
  lines.push_back(speed_line(data, bounds));
  if (const std::string why = why_at_least(estimate); !why.empty()) lines.push_back({"", "", why});
  const bool is_step = estimate.training && estimate.training->time;
  if (bounds.is_launch_bound())
    lines.push_back({"launches", at_least(*bounds.launched),
                     cat(base::counted((is_step ? *estimate.training->time : roofline.totals).launches, "kernel"),
                         ", each launched in ", base::si_seconds(*roofline.launch_overhead_seconds),
                         roofline.launch_is_assumed ? " (assumed)" : "",
                         bounds.gains_from_graph() ? cat(" · a ", graph_name(bounds.device), " lowers that") : "")});
  if (const auto& handover = roofline.handover)
    lines.push_back(
        {"handover", at_least(handover->transfer_seconds),
         cat("a cache of ", bytes(handover->cache_bytes), " to ", base::printable(handover->device), " over ",
             base::printable(handover->link.name), ", ", bytes_rate(handover->link.bytes_per_second),
             " in one direction · decodes there, ", at_least(handover->decode_seconds), " a step")});
  if (const auto& run = estimate.measured) {
    std::string range, rate;
    if (run->shortest && run->longest)
      range = cat(base::si_seconds(*run->shortest), " … ", base::si_seconds(*run->longest));
    if (const auto flops = estimate::total_work(estimate).flops; run->joules && flops && *run->joules > 0)
      rate = base::si_rate(*flops / *run->joules, operation(estimate.count) + "/J");
    constexpr const char* kBases[] = {"", "while kernels ran", "what its kernels add up to"};  // by MeasuredBasis
    lines.push_back({"measured", cat(run->at_least ? "≥ " : "", base::si_seconds(run->seconds)),
                     dotted({kBases[static_cast<std::size_t>(run->basis)], range,
                             run->joules ? joules(*run->joules) : "", rate, base::printable(run->source)})});
  }
  if (roofline.predicted) add_prediction(lines, estimate);
}

void add_actions(std::vector<Line>& lines, const Verdict& verdict) {
  for (std::size_t i = 0; i < std::min(verdict.actions.size(), kActions); ++i) {
    const Action& action = verdict.actions[i];
    lines.push_back(
        {i > 0                ? ""
         : verdict.is_blocked ? "cure"
                              : "advice",
         action.gain ? cat(base::rounded(*action.gain), action.of_what.empty() ? "× lower" : cat("× ", action.of_what))
                     : "",
         dotted({action.text, action.request})});
  }
}

// The end of a name distinguishes layers: keeps as many of its last parts as fit.
std::string end_of(const std::string& name, std::size_t columns) {
  if (base::display_width(name) <= columns) return name;
  for (std::size_t slash = name.find('/', 1); slash != std::string::npos; slash = name.find('/', slash + 1))
    if (std::string end = "…" + name.substr(slash); base::display_width(end) <= columns) return end;
  return base::elide(name, columns);
}

// The change that gives a row another limit.
std::string next_limit(const RowBound& row) {
  const std::string factor = cat(base::rounded(*row.headroom), "× the ");
  if (row.bound == Bound::Memory) return cat(", compute with ", factor, "work");
  return row.bound == Bound::Compute ? cat(", memory with ", factor, "traffic") : "";
}

void add_heaviest(std::vector<Line>& lines, const EstimateDocument& estimate, std::size_t width) {
  const auto [rows, total] = folded_rows(estimate);
  const bool is_narrow = width > 0 && width < kWide;
  const char* const label = has_predicted_rows(estimate) ? "slowest" : "heaviest";
  const bool is_launched = estimate.roofline && estimate.can_run() && bounds_of(estimate).is_launch_bound();
  const char* const of_what = is_launched && !has_predicted_rows(estimate) ? " of the bound" : "";
  for (std::size_t i = 0; i < std::min(rows.size(), kHeaviest); ++i) {
    const Folded& row = rows[i];
    std::string remark = base::elide(base::printable(row.ops), 24), bound;
    if (row.times > 1) remark += " ×" + std::to_string(row.times);
    if (row.bound != nullptr && row.bound->bound != Bound::None) {
      bound = row.bound->bound == Bound::Latency ? "  shorter than a launch" : cat("  ", to_string(row.bound->bound));
      if (row.bound->headroom && !is_narrow) bound += next_limit(*row.bound);
    }
    // The name gets the remaining width.
    const std::size_t taken = kMargin + base::display_width(remark) + 2 + base::display_width(bound);
    const std::size_t room = width == 0 ? kNameWidth : width > taken + 16 ? width - taken : 16;
    lines.push_back({i == 0 ? label : "", percent_of(row.weight, total) + (i == 0 ? of_what : ""),
                     remark + "  " + end_of(base::printable(row.name), room) + bound});
  }
}

std::vector<Line> answer_lines(const Data& data) {
  const EstimateDocument& estimate = data.estimate;
  std::vector<Line> lines = {work_line(data), memory_line(estimate), traffic_line(data)};
  if (estimate.phase) lines.push_back(phase_line(estimate));
  if (estimate.roofline && estimate.unset.empty()) {
    const std::optional<Verdict> verdict = verdict_of(estimate);
    if (estimate.fit) lines.push_back(fit_line(estimate));
    if (estimate.fit && estimate.fit->engine && estimate.placement.empty())
      lines.push_back(engine_line(*estimate.fit->engine));
    if (estimate.cannot_run.empty()) {  // else no run has a time
      if (estimate.roofline->parallel) add_devices(lines, estimate);
      add_times(lines, data, *verdict);
      add_energy(lines, estimate);
      add_actions(lines, *verdict);
    }
  }
  // Shares of time are not known at open sizes.
  if (!data.published() && (estimate.can_run() || !estimate.roofline))
    add_heaviest(lines, estimate, data.options.width);
  return lines;
}

}  // namespace

std::string headline_text(const EstimateDocument& estimate, std::size_t width) {
  const std::optional<Verdict> verdict = verdict_of(estimate);
  if (!verdict) return "";
  const std::string margin(verdict->subject.size() + 2, ' ');
  std::string begin = verdict->subject + "  ", text;
  std::string said = dotted({verdict->headline(" · "), verdict->device});
  // "fastest on h200" in a sentence of its own is "h200" beside the subject.
  for (const char* const word : {" on ", " in "})
    if (const std::string again = verdict->subject + word; said.starts_with(again)) said.erase(0, again.size());
  for (const std::string& part : wrapped(said, width, margin.size()))
    text += std::exchange(begin, margin) + part + "\n";
  return text;
}

std::string answer(const Data& data) {
  std::size_t what = 0, value = 0;
  const std::vector<Line> lines = answer_lines(data);
  for (const Line& line : lines) {
    what = std::max(what, base::display_width(line.what));
    value = std::max(value, base::display_width(line.value));
  }
  const auto padded = [](const std::string& text, std::size_t width) {
    return text + std::string(width - base::display_width(text) + 2, ' ');
  };
  std::string text;
  for (const Line& line : lines) {
    const std::string margin(what + value + 4, ' ');
    std::string begin = padded(line.what, what) + padded(line.value, value);
    for (const std::string& part : wrapped(line.remark, data.options.width, margin.size())) {
      std::string row = std::exchange(begin, margin) + part;
      if (data.options.width > 0) row = base::elide(row, data.options.width);
      row.erase(row.find_last_not_of(' ') + 1);
      text += row + "\n";
    }
  }
  return text;
}

base::Grid answer_grid(const Data& data) {
  base::Grid grid{.columns = {{.header = ""}, {.header = ""}, {.header = ""}}, .rows = {}};
  for (Line& line : answer_lines(data))
    grid.rows.push_back({std::move(line.what), std::move(line.value), std::move(line.remark)});
  return grid;
}

}  // namespace pagoda::present::report
