#include "surroundings/outputs.h"

#include "pagoda/base/text.h"
#include "pagoda/core/model.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/engines.h"
#include "pagoda/estimate/make_estimate.h"
#include "pagoda/lab/result_report.h"
#include "pagoda/present/plot.h"
#include "pagoda/present/report.h"
#include "pagoda/present/viewers.h"
#include "report_results/sample.h"
#include "support/files.h"
#include "support/onnx_file.h"
#include "support/text_graph.h"

namespace pagoda::test {
namespace {

const Model& model() {
  static const Model made = graph(
      "x:f32[batch,3,32,32], w:f32[8,3,3,3]=const, fc:f32[10,2048]=const, axes:i64[2]=[0,-1] -> "
      "c = Conv(x, w) {strides=[2,2], pads=[1,1,1,1]} @ conv; r = Relu(c); f = Reshape(r, axes); "
      "y = Gemm(f, fc) {transB=1}; p = Softmax(y) {axis=1}");
  return made;
}

const estimate::EstimateRequest& request() {
  static const estimate::EstimateRequest made = [] {
    estimate::EstimateRequest result{.sizes = {.batch = 3}, .traffic = TrafficModel::Fused};
    result.device = documents::find_device("rtx-3090");
    result.precision = Precision::Float16;
    result.memory = MemoryOptions{};
    result.budgets = {parse_budget(BudgetKind::Bytes, "1.5GB")};
    estimate::set_prediction("pytorch-amp", "", result);
    return result;
  }();
  return made;
}

const documents::EstimateDocument& document() {
  static const documents::EstimateDocument made = estimate::make_estimate(model(), request());
  return made;
}

const std::string& json() {
  static const std::string made = documents::write_estimate(document());
  return made;
}

const present::PlotInput& plot_input() {
  static const present::PlotInput made{.device = *request().device,
                                       .estimates = {present::read_plot_estimate("net.json", json())}};
  return made;
}

const std::vector<documents::Result>& results() {
  static const std::vector<documents::Result> list = [] {
    std::vector<documents::Result> all;
    for (int day = 1; day <= 3; ++day)
      append(all, made({.compile = "inductor",
                        .samples = 20,
                        .run = [=] { return 0.0123 / day; },
                        .time = "2026-03-0" + std::to_string(day) + "T10:00:00Z"}));
    return all;
  }();
  return list;
}

const lab::History& history() {
  static const lab::History made = lab::history(lab::by_day(results()));
  return made;
}

std::string sweep() {
  estimate::EstimateRequest swept = request();
  swept.sizes.batch = 0;
  swept.sweep = {parse_axis("batch=1,2,8")};
  return present::sweep_report(present::Format::Table, estimate::make_estimate(model(), swept));
}

std::string loaded() {
  static const std::string bytes = onnx_bytes(model());
  const Model read = parse_model(std::as_bytes(std::span(bytes)));
  return std::to_string(read.main().nodes.size()) + " nodes of " + std::to_string(bytes.size()) + " bytes";
}

// clang-format off
constexpr Output kOutputs[] = {
    {"model",            loaded},
    {"analysis",         [] { return flops(analyze(model()).totals.cost).to_string(); }},
    {"estimate",         [] { return documents::write_estimate(estimate::make_estimate(model(), request())); }},
    {"estimate, read",   [] { return documents::write_estimate(documents::parse_estimate(json(), "estimate")); }},
    {"sweep",            sweep},
    {"CSV",              [] { return present::csv_report(document()); }},
    {"table",            [] { return present::table_report(document(), {.width = 100}); }},
    {"Markdown",         [] { return present::markdown_report(document()); }},
    {"memory",           [] { return present::memory_timeline_csv(document()) + present::memory_timeline_svg(document()); }},
    {"budgets",          [] { return present::budgets_report(*document().budgets); }},
    {"clocks",           [] { return base::si_text(*documents::find_device("orin-agx:gpu=650.25MHz").boost_clock_hz.value, "Hz"); }},
    {"devices",          [] { return present::list_report(present::Format::Table, present::List::Devices); }},
    {"Netron",           [] { return present::netron_attachment({document()}); }},
    {"data of a chart",  [] { return present::plot_json(plot_input()); }},
    {"picture",          [] { return present::plot_svg(plot_input()); }},
    {"page",             [] { return present::plot_html(plot_input()); }},
    {"chart as text",    [] { return present::plot_csv(plot_input()) + present::plot_text(plot_input()); }},
    {"record",           [] { return documents::write_result(documents::parse_result(documents::write_result(results().front()), "record")); }},
    {"history",          [] { return lab::history_report(history(), lab::ReportFormat::Text); }},
    {"history, picture", [] { return lab::history_report(history(), lab::ReportFormat::Svg); }},
    {"latest",           [] { return lab::latest_report(history(), lab::ReportFormat::Text); }},
    {"latest, picture",  [] { return lab::latest_report(history(), lab::ReportFormat::Svg); }},
    {"times",            [] { return lab::times_report(results(), lab::ReportFormat::Text); }},
};
// clang-format on

}  // namespace

std::span<const Output> outputs() { return kOutputs; }

}  // namespace pagoda::test
