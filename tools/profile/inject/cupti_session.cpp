#include "cupti_session.h"

#include <algorithm>
#include <fstream>
#include <optional>

#include "pagoda/base/error.h"

namespace pagoda::tools::profile {
namespace {

class CuptiSession : public CounterSession {
 public:
  CuptiSession(const CuptiLibrary& library, CUctx_st* context, const SessionOptions& options)
      : options_(options), chip_(library, options.chip, counter_availability(library, context)) {
    for (const std::string& metric : options.metrics)
      if (chip_.has(metric) && can_count(metric)) (is_constant(metric) ? constants_ : metrics_).push_back(metric);
    if (metrics_.empty()) throw Error("the device can count none of the metrics chosen for " + options.chip);
    configure();
    if (passes_ > 1 && !options.replay) leave_out_clocks();
    if (passes_ > 1 && !options.replay)
      throw Error("on this device the metrics need " + std::to_string(passes_) +
                  " passes, which takes replay of kernels; use --mode exact");
    profiler_.emplace(library, context, config_, all_metrics(), options_.ranges);
  }

  const std::vector<std::string>& metrics() const override { return metrics_; }

  void start() override {
    profiler_->prepare(options_.of_ranges);
    profiler_->start();
  }

  Counted stop() override {
    profiler_->stop();
    const std::size_t dropped = profiler_->decode();
    Counted counted{chip_.evaluate(profiler_->image(), profiler_->ranges(), metrics_), dropped, {}};
    if (!counted.ranges.empty()) add_constants(counted);
    keep_image(counted);
    return counted;
  }

  void push(const std::string& name) override { profiler_->push(name); }
  void pop() override { profiler_->pop(); }

 private:
  static bool is_constant(const std::string& metric) { return metric.ends_with(".peak_sustained"); }

  // Reads the constants with the first range; a failure does not affect the counters.
  void add_constants(Counted& counted) {
    if (has_constants_ || constants_.empty()) return;
    has_constants_ = true;
    try {
      const std::vector<double> values = chip_.evaluate(profiler_->image(), 1, constants_).front();
      for (std::size_t i = 0; i < values.size(); ++i) counted.constants.emplace_back(constants_[i], values[i]);
    } catch (const Error&) {
    }
  }

  // Clocks only turn peaks per cycle into peaks per second: a device with fewer counters does without them.
  void leave_out_clocks() {
    const auto first = std::remove_if(metrics_.begin(), metrics_.end(),
                                      [](const std::string& name) { return name.ends_with("__cycles_elapsed.avg"); });
    if (first == metrics_.end() || first == metrics_.begin()) return;
    metrics_.erase(first, metrics_.end());
    configure();
  }

  // Constants add nothing to a configuration, but CUPTI must be given every metric that is evaluated later.
  std::vector<std::string> all_metrics() const {
    std::vector<std::string> all = metrics_;
    all.insert(all.end(), constants_.begin(), constants_.end());
    return all;
  }
  void configure() {
    config_ = chip_.config(all_metrics());
    passes_ = chip_.passes(all_metrics());
  }

  // An availability image removes counters, but the metrics' names remain.
  bool can_count(const std::string& metric) const {
    try {
      return chip_.passes({metric}) > 0;
    } catch (const Error&) {
      return false;
    }
  }

  // Evaluating an image needs only the host library: pagoda-metrics --decode can repeat it on any machine and compare
  // its values with those written here.
  void keep_image(const Counted& counted) {
    if (options_.raw_prefix.empty() || counted.ranges.empty()) return;
    const std::string path = options_.raw_prefix + "." + std::to_string(kept_++);
    const std::vector<std::uint8_t>& image = profiler_->image();
    std::ofstream(path + ".counters", std::ios::binary)
        .write(reinterpret_cast<const char*>(image.data()), static_cast<std::streamsize>(image.size()));
    std::ofstream text(path + ".txt");
    text.precision(17);
    text << "chip\t" << options_.chip << "\nranges\t" << counted.ranges.size() << "\npasses\t" << passes_ << "\n";
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      text << "metric\t" << metrics_[i];
      for (const std::vector<double>& range : counted.ranges) text << '\t' << range[i];
      text << '\n';
    }
    for (const auto& [metric, value] : counted.constants) text << "peak\t" << metric << '\t' << value << '\n';
  }

  const SessionOptions options_;
  const HostChip chip_;
  std::vector<std::string> metrics_, constants_;
  bool has_constants_ = false;  // read, once per session
  std::vector<std::uint8_t> config_;
  std::optional<RangeProfiler> profiler_;
  std::size_t kept_ = 0, passes_ = 0;  // passes: for the counters of this device, which may differ from its chip's
};

}  // namespace

std::unique_ptr<CounterSession> open_cupti_session(const CuptiLibrary& library, CUctx_st* context,
                                                   const SessionOptions& options) {
  return std::make_unique<CuptiSession>(library, context, options);
}

}  // namespace pagoda::tools::profile
