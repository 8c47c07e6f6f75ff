// onnx-estimate: how much work an ONNX model is, where it goes, and how fast a machine could do it, from the file
// alone.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "arguments.h"
#include "pagoda/base/sha256.h"
#include "pagoda/core/conventions.h"
#include "pagoda/core/model.h"
#include "pagoda/core/predict.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/device.h"
#include "pagoda/present/plot.h"
#include "pagoda/present/report.h"

namespace pagoda::tool {
namespace {

enum ExitCode { kDone = 0, kUnusableInput = 1, kUsage = 2, kPartial = 3, kNoDevice = 4 };

std::size_t terminal_width() {
  if (isatty(STDOUT_FILENO) == 0) return 0;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr && std::atoi(columns) > 0)
    return static_cast<std::size_t>(std::atoi(columns));
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

void write_output(const std::string& path, const std::string& text) {
  if (!path.empty() && path != "-") return base::write_file(path, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw Error(std::string("cannot write to standard output: ") + std::strerror(errno));
}

// The cache next to memory that the whole device shares.
std::int64_t cache_bytes(const DeviceSpec& device) {
  for (const MemoryLevel& level : device.levels)
    if (level.level != "dram" && !level.per_unit && level.capacity_bytes.known())
      return static_cast<std::int64_t>(*level.capacity_bytes.value);
  throw Error("--traffic resident: the capacity of a cache that all of " + device.id +
              " shares is not known; give a device file that states it");
}

// One run of the tool: what was asked for, and everything that is computed on the way, which reports point into.
class Run {
 public:
  explicit Run(const Arguments& arguments)
      : arguments_(arguments),
        options_(analyze_options(arguments)),
        axes_(sweep_axes(arguments)),
        limits_(budgets(arguments)),
        format_(format_of(arguments)) {}

  int run() {
    if (!arguments_.device.empty()) device_ = documents::find_device(arguments_.device);
    roofline_options_.convention = *convention(arguments_.count);
    if (!arguments_.precision.empty()) roofline_options_.precision = precision(arguments_.precision);

    model_ = load_model(arguments_.model);
    set_flags(model_);
    analyze_model();
    check_sizes();
    set_report_options();
    if (roofline_options_.convention == Convention::Pagoda) count_published();
    if (arguments_.training) add_training();
    say(present::diagnostics_report(analysis_));
    write_output(arguments_.output, text());
    if (!arguments_.timeline.empty()) write_timeline();
    return check_budgets() && (is_complete_ || !arguments_.strict) ? kDone : kPartial;
  }

 private:
  // A phase is one side of a merged decoder.
  void set_flags(Model& model) const {
    std::map<std::string, bool> flags = input_flags(arguments_);
    if (!arguments_.phase.empty() && has_flag(model, kCacheBranch))
      flags.emplace(kCacheBranch, phase(arguments_.phase) == Phase::Decode || arguments_.past.value_or(0) > 0);
    for (const auto& [input, value] : flags) set_flag(model, input, value);
  }

  void analyze_model() {
    options_ = sweep_options(options_, axes_);
    analysis_ = analyze(model_, options_);
    if (!arguments_.phase.empty()) set_phase();
    is_complete_ = !analysis_.partial;
  }

  void set_phase() {
    const auto is_swept = [&](const char* dim) {
      return std::any_of(axes_.begin(), axes_.end(), [&](const SweepAxis& axis) { return axis.dim == dim; });
    };
    PhaseOptions options = phase_options();
    if (is_swept("past")) options.past = std::nullopt;
    const PhaseSizes sizes = phase_sizes(model_, analysis_, options);
    analysis_ = in_phase(analysis_, sizes);
    for (SweepAxis& axis : axes_) {
      if (axis.dim == "past" && !sizes.past_dim.empty()) axis.dim = sizes.past_dim;
      if (axis.dim == "tokens" && !sizes.token_dim.empty()) axis.dim = sizes.token_dim;
    }
    phase_.phase = options.phase;
    phase_.tokens = sizes.tokens.evaluate({});
    items_ = sizes.tokens;
    if (!memory_) memory_ = plan_memory(model_, analysis_, {.reorder = false, .arena = false});
    phase_.bytes_per_token = memory_->kv_cache.bytes_per_token.evaluate({});
    report_.sections.phase = &phase_;
  }

  PhaseOptions phase_options() const {
    return {.phase = *phase(arguments_.phase), .tokens = arguments_.tokens, .past = arguments_.past.value_or(0)};
  }

  // Times and plans are of sizes; a sweep has its own.
  void check_sizes() {
    const bool needs_sizes =
        device_ || arguments_.memory || !arguments_.timeline.empty() || !arguments_.profile_structure.empty();
    if (!needs_sizes) return;
    const std::string problem = present::impossible_size(analysis_);
    if (!problem.empty() && axes_.empty()) throw Error(problem);
    has_sizes_ = problem.empty();
  }

  void set_report_options() {
    report_.count = roofline_options_.convention;
    report_.top = static_cast<std::size_t>(arguments_.top);
    report_.formulas = arguments_.symbolic;
    report_.node_formulas = arguments_.symbolic && (!arguments_.by.empty() || format_ == "csv");
    const bool to_terminal = arguments_.output.empty() || arguments_.output == "-";
    report_.width = to_terminal ? terminal_width() : 0;
    report_.tool = kTool;
    const bool has_memory = arguments_.memory || format_ == "html";
    if (has_memory || !arguments_.timeline.empty()) {
      memory_ = plan_memory(model_, analysis_, {.in_place = arguments_.in_place});
      if (has_memory) report_.sections.memory = &*memory_;
    }
    const TrafficModel moved = *traffic_model(arguments_.traffic);
    if (moved != TrafficModel::Unfused) {
      if (moved == TrafficModel::Resident) l2_bytes_ = cache_bytes(*device_);
      traffic_ = traffic(model_, analysis_, {.model = moved, .l2_bytes = l2_bytes_});
      report_.sections.traffic = &*traffic_;
    }
    report_.rows = arguments_.by == "type"                                           ? present::Rows::Type
                   : arguments_.by == "group" || (arguments_.by.empty() && traffic_) ? present::Rows::Group
                                                                                     : present::Rows::Node;
    if (!device_ || !has_sizes_) return;
    roofline_ = traffic_ ? roofline(analysis_, *traffic_, *device_, roofline_options_)
                         : roofline(analysis_, *device_, roofline_options_);
    time_.device = &*device_;
    time_.options = roofline_options_;
    time_.bound = &roofline_;
    report_.sections.time = &time_;
    if (arguments_.predict) predict_time();
  }

  void predict_time() {
    const std::string& name = arguments_.calibration;
    const bool is_file = name.find('/') != std::string::npos || name.ends_with(".json");
    const Calibration fitted =
        is_file ? documents::load_calibration(name) : documents::calibration(name.empty() ? kCalibration : name);
    const Prediction prediction = predict(model_, analysis_, *device_, fitted);
    if (!prediction.problem.empty()) say("prediction: " + base::printable(prediction.problem) + "\n");
    if (!prediction.seconds) return;
    if (*prediction.seconds < roofline_.totals.seconds && !roofline_options_.precision)
      say("prediction: autocast to " + std::string(to_string(kPredictedPrecision)) +
          " makes it shorter than the bound, which holds for the file's own precisions; --precision fp16 gives bounds "
          "of the same regime\n");
    time_.predicted = documents::EstimatePrediction{.seconds = *prediction.seconds,
                                                    .low = prediction.low,
                                                    .high = prediction.high,
                                                    .coverage = prediction.coverage,
                                                    .calibration = prediction.calibration + ": " + fitted.regime};
  }

  void add_training() {
    section_.options.optimizer = *optimizer(arguments_.optimizer);
    section_.options.recompute = *recompute(arguments_.recompute);
    section_.options.frozen = arguments_.frozen;
    training_ = train(model_, analysis_, section_.options);
    is_complete_ = is_complete_ && !training_.partial;
    step_ = step_analysis(analysis_, training_);
    section_.training = &training_;
    if (device_) section_.time = roofline(step_, *device_, roofline_options_).totals;
    report_.sections.training = &section_;
    if (!training_.partial) return;
    std::string ops;
    for (const std::string& op : training_.totals.unmodelled_ops) ops += (ops.empty() ? "" : ", ") + op;
    say("warning: the backward of " + std::to_string(training_.totals.unmodelled_nodes) +
        " nodes is not modelled: " + base::printable(ops) + "\n");
  }

  // The published rules multiply the graph as exported by the batch.
  void count_published() {
    AnalyzeOptions as_exported = options_;
    as_exported.batch = 0;
    as_exported.symbolic_batch = false;
    report_.published = pagoda_counts(
        model_, options_.batch == 0 && !options_.symbolic_batch ? analysis_ : analyze(model_, as_exported),
        std::max<std::int64_t>(options_.batch, 1));
    if (arguments_.training) {  // its step is three times everything but the parameters
      report_.published->total = pagoda_training(report_.published->total);
      for (PagodaCount& node : report_.published->nodes) node = pagoda_training(node);
    }
    if (report_.published->failure.empty()) return;
    say("warning: no counts: " + base::printable(report_.published->failure) + "\n");
    is_complete_ = false;
  }

  std::string text() {
    if (!arguments_.compare.empty()) return comparison();
    if (!arguments_.profile_structure.empty())
      return present::structure_report(*present::format(arguments_.profile_structure),
                                       structure_profile(model_, analysis_), report_);
    if (!axes_.empty()) return swept();
    say(present::free_dims_report(analysis_));
    evaluate_budgets();
    if (is_chart(format_)) return chart();
    switch (*present::format(format_)) {
      case present::Format::Json:
        return present::json_report(model_, analysis_, report_);
      case present::Format::Csv:
        return present::csv_report(model_, analysis_, report_);
      case present::Format::Markdown:
        return present::markdown_report(model_, analysis_, report_);
      case present::Format::Table:
        break;
    }
    return present::table_report(model_, analysis_, report_);
  }

  std::string swept() {
    SweepOptions options{
        .count = report_.count, .traffic = *traffic_model(arguments_.traffic), .l2_bytes = l2_bytes_, .items = items_};
    if (device_) options.time = SweepTime{*device_, roofline_options_};
    Analysis unswept = analysis_;
    for (const SweepAxis& axis : axes_)
      for (const std::string& symbol : axis_symbols(model_, analysis_, axis.dim)) {
        std::erase(unswept.free_dims, symbol);
        std::erase_if(unswept.symbols, [&](const Symbol& other) { return other.name == symbol; });
      }
    if (const std::string problem = present::impossible_size(unswept); device_ && !problem.empty())
      throw Error(problem);
    const Sweep points = sweep(model_, arguments_.training ? step_ : analysis_, axes_, options);
    say(present::free_dims_report(unswept));
    if (is_chart(format_)) {
      report_.sections.sweep = &points;
      return chart();
    }
    return present::sweep_report(*present::format(format_), model_, format_ == "json" ? analysis_ : unswept, points,
                                 report_);
  }

  // The roofline of this very report.
  std::string chart() {
    const documents::EstimateDocument estimate = present::estimate_document(model_, analysis_, report_);
    const std::string sha256 = base::hex(base::sha256(documents::write_estimate(estimate)));
    const present::PlotInput input{.device = *device_, .estimates = {{arguments_.model, sha256, estimate}}};
    const present::PlotOptions options{.tool = kTool};
    if (format_ == "html") return present::plot_html(input, options);
    if (format_ == "svg") return present::plot_svg(input, options);
    return format_ == "png" ? present::plot_png(input, options) : present::plot_pdf(input, options);
  }

  std::string comparison() {
    Model other = load_model(arguments_.compare);
    set_flags(other);
    Analysis before = analyze(other, options_);
    if (!arguments_.phase.empty()) before = in_phase(before, phase_sizes(other, before, phase_options()));
    say(present::free_dims_report(analysis_));
    is_complete_ = is_complete_ && !before.partial;
    present::ReportOptions options = report_;
    options.sections = {};
    return present::comparison_report(*present::format(format_), {other, before}, {model_, analysis_},
                                      compare(other, before, model_, analysis_), options);
  }

  void write_timeline() {
    const bool is_svg = arguments_.timeline.ends_with(".svg");
    base::write_file(arguments_.timeline, is_svg ? present::memory_timeline_svg(model_, *memory_)
                                                 : present::memory_timeline_csv(model_, *memory_));
  }

  void evaluate_budgets() {
    if (limits_.empty() || !results_.empty()) return;
    BudgetOptions options{.count = report_.count,
                          .traffic = traffic_ ? &*traffic_ : nullptr,
                          .time = device_ ? &roofline_.totals : nullptr};
    if (section_.time) options.time = &*section_.time;
    for (const Budget& limit : limits_)
      results_.push_back(check_budget(limit, arguments_.training ? step_ : analysis_, options));
    report_.sections.budgets = &results_;
  }

  // Says what each limit found; true where all are kept.
  bool check_budgets() {
    evaluate_budgets();
    say(present::budgets_report(results_));
    return std::all_of(results_.begin(), results_.end(),
                       [](const BudgetResult& result) { return result.verdict == Verdict::Fits; });
  }

  const Arguments& arguments_;
  AnalyzeOptions options_;
  std::vector<SweepAxis> axes_;
  std::vector<Budget> limits_;
  std::string format_;
  std::optional<DeviceSpec> device_;
  RooflineOptions roofline_options_;
  Model model_;
  Analysis analysis_;
  std::optional<MemoryPlan> memory_;
  std::optional<Traffic> traffic_;
  std::int64_t l2_bytes_ = 0;
  Roofline roofline_;
  present::TimeSection time_;
  present::PhaseSection phase_;
  std::optional<Dim> items_;  // tokens of a run
  Training training_;
  Analysis step_;  // the training step as rows
  present::TrainingSection section_;
  std::vector<BudgetResult> results_;
  present::ReportOptions report_;
  bool is_complete_ = true, has_sizes_ = true;
};

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("How much work an ONNX model is, where it goes, and how fast a machine could do it.", "onnx-estimate");
  add_options(app, arguments);
  const auto fail = [](const std::exception& error, int code) {
    say("onnx-estimate: " + base::printable(error.what()) + (code == kUsage ? "; see onnx-estimate --help\n" : "\n"));
    return code;
  };
  try {
    app.allow_extras();
    app.parse(argc, argv);
    if (const auto extra = app.remaining(); !extra.empty())
      throw UsageError("'" + extra.front() +
                       (extra.front().starts_with('-') ? "' is no option" : "' is one argument too many"));
    if (arguments.list_ops || arguments.list_devices) {
      write_output(arguments.output, arguments.list_ops ? present::list_operators(terminal_width())
                                                        : present::list_devices(terminal_width()));
      return kDone;
    }
    check(arguments);
    return Run(arguments).run();
  } catch (const CLI::Success& request) {  // --help, --version
    app.exit(request);
    return kDone;
  } catch (const CLI::ParseError& error) {
    return fail(error, kUsage);
  } catch (const UsageError& error) {
    return fail(error, kUsage);
  } catch (const UnknownDevice& error) {
    return fail(error, kNoDevice);
  } catch (const std::exception& error) {
    return fail(error, kUnusableInput);
  }
}

}  // namespace
}  // namespace pagoda::tool

int main(int argc, char** argv) { return pagoda::tool::run(argc, argv); }
