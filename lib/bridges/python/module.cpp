// pagoda._core: the estimator for Python. Requests are keyword arguments; counts
// are returned as exact Python integers, unknown numbers as None. Users import pagoda/__init__.py.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/base/sha256.h"
#include "pagoda/base/text.h"
#include "pagoda/core/decoder.h"
#include "pagoda/core/engine.h"
#include "pagoda/core/model.h"
#include "pagoda/core/sweep.h"
#include "pagoda/documents/columns.h"
#include "pagoda/documents/custom_operators.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/compare.h"
#include "pagoda/estimate/engines.h"
#include "pagoda/estimate/make_estimate.h"
#include "pagoda/estimate/what_if.h"
#include "pagoda/present/plot.h"
#include "pagoda/present/report.h"
#include "pagoda/present/spell.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pagoda::python {
namespace {

using documents::Count, documents::EstimateDocument, estimate::EstimateRequest;

constexpr const char* kTool = "pagoda (Python) " PAGODA_VERSION;
using Sizes = std::map<std::string, std::int64_t>;
using Inputs = std::map<std::string, std::variant<bool, std::int64_t, double, std::vector<std::int64_t>>>;
using Axis = std::variant<std::string, std::vector<std::int64_t>>;

nb::object integer(const Int& value) {
  if (value >= INT64_MIN && value <= INT64_MAX) return nb::int_(static_cast<std::int64_t>(value));
  return nb::steal(PyLong_FromString(base::to_string(value).c_str(), nullptr, 10));
}

nb::object number(const Count& value) { return value ? integer(*value) : nb::none(); }
nb::object number(const std::optional<double>& value) { return value ? nb::cast(*value) : nb::none(); }

template <typename Value>
Value chosen(const char* argument, const std::string& text, std::optional<Value> value, std::string_view names) {
  if (!value)
    throw Error(std::string(argument) + " '" + text + "' is not known; expected one of " + std::string(names));
  return *value;
}

// A model in memory. Its weights are not read.
class LoadedModel {
 public:
  explicit LoadedModel(const std::string& path) : model_(load_model(path)), path_(path) {}
  LoadedModel(std::span<const std::byte> bytes, const std::string& name, const std::string& directory)
      : model_(parse_model(bytes, name, directory)), path_(name) {}

  const Model& model() const { return model_; }
  const std::string& path() const { return path_; }

 private:
  Model model_;
  std::string path_;
};

SweepAxis axis_of(const std::string& name, const Axis& values) {
  if (const auto* const text = std::get_if<std::string>(&values)) return parse_axis(name + "=" + *text);
  const auto& sizes = std::get<std::vector<std::int64_t>>(values);
  return parse_axis(name + "=" + base::joined(sizes, ",", [](std::int64_t size) { return std::to_string(size); }));
}

// The arguments of analyze(), as passed from Python.
struct Asked {
  std::int64_t batch;
  Sizes dims, assume;
  std::vector<std::string> custom_ops;
  Inputs inputs;
  std::string phase;
  std::optional<std::int64_t> past, tokens;
  std::string count, traffic, device, precision;
  bool predict;
  std::string engine, calibration;
  int tensor_parallel, pipeline_parallel, expert_parallel;
  bool memory, in_place, training;
  std::string optimizer, recompute;
  std::vector<std::string> frozen;
  std::vector<std::pair<std::string, Axis>> sweep;
  std::vector<std::string> what_if;
  std::string provider, placement_form, host_device;
  bool unfused, advice, formulas;
};

EstimateRequest request_of(const Asked& asked) {
  EstimateRequest request;
  if (asked.batch < 0) throw Error("batch " + std::to_string(asked.batch) + " is not a size; expected at least 1");
  request.sizes.batch = asked.batch;
  for (const auto& [name, size] : asked.dims) request.sizes.dims[name] = size;
  for (const auto& [name, size] : asked.assume) request.sizes.assumed[name] = size;
  request.custom_operators = documents::load_custom_operators(asked.custom_ops);
  for (const auto& [name, input] : asked.inputs)
    if (const auto* const shape = std::get_if<std::vector<std::int64_t>>(&input))
      request.sizes.input_shapes[name] = *shape;
  if (!asked.phase.empty()) {
    request.phase = {.phase = chosen("phase", asked.phase, pagoda::phase(asked.phase), base::joined(phase_names())),
                     .tokens = asked.tokens,
                     .past = asked.past.value_or(0)};
  }
  request.count = chosen("count", asked.count, convention(asked.count), base::joined(convention_names()));
  if (!asked.traffic.empty())
    request.traffic =
        chosen("traffic", asked.traffic, traffic_model(asked.traffic), base::joined(traffic_model_names()));
  if (!asked.device.empty()) request.device = documents::find_device(asked.device);
  if (!asked.precision.empty())
    request.precision = chosen("precision", asked.precision, pagoda::precision(asked.precision), precision_names());
  for (const std::string& text : asked.what_if)
    request.other_precisions.push_back(chosen("what_if", text, pagoda::precision(text), precision_names()));
  estimate::set_providers(asked.provider, asked.placement_form, request);
  request.unfused = asked.unfused;
  if (!asked.host_device.empty()) estimate::set_host_device(asked.host_device, request);
  const std::pair<const char*, int> groups[] = {{"tensor_parallel", asked.tensor_parallel},
                                                {"pipeline_parallel", asked.pipeline_parallel},
                                                {"expert_parallel", asked.expert_parallel}};
  for (const auto& [name, devices] : groups)
    if (devices < 1)
      throw Error(std::string(name) + " " + std::to_string(devices) +
                  " is not a count of devices; expected at least 1");
  if (asked.predict) estimate::set_prediction(asked.engine, asked.calibration, request);
  if (asked.tensor_parallel > 1 || asked.pipeline_parallel > 1 || asked.expert_parallel > 1)
    request.parallel = {
        .tensor = asked.tensor_parallel, .pipeline = asked.pipeline_parallel, .expert = asked.expert_parallel};
  if (asked.memory) request.memory = {.in_place = asked.in_place};
  const Optimizer by =
      chosen("optimizer", asked.optimizer, optimizer(asked.optimizer), base::joined(optimizer_names()));
  const Recompute kept =
      chosen("recompute", asked.recompute, recompute(asked.recompute), base::joined(recompute_names()));
  if (asked.training) request.training = {.optimizer = by, .frozen = asked.frozen, .recompute = kept};
  for (const auto& [name, values] : asked.sweep) request.sweep.push_back(axis_of(name, values));
  request.advice = asked.advice && asked.sweep.empty() && request.device;
  request.formulas = asked.formulas;
  request.row_formulas = asked.formulas;
  request.tool = kTool;
  request.spell = present::python;
  const estimate::Refinements given{.in_place = asked.in_place,
                                    .optimizer = by != Optimizer::Sgd,
                                    .recompute = kept != Recompute::None,
                                    .frozen = !asked.frozen.empty(),
                                    .past = asked.past.has_value(),
                                    .tokens = asked.tokens.has_value(),
                                    .engine = asked.engine != engines().front()->id,
                                    .calibration = !asked.calibration.empty()};
  if (const std::string problem = estimate::refusal(request, given); !problem.empty()) throw Error(problem);
  return request;
}

// The model with its inputs of one element set as asked: the loaded one where nothing sets them, else a copy in
// `changed`.
const Model& with_values(const Model& model, const Asked& asked, const EstimateRequest& request,
                         std::optional<Model>& changed) {
  const auto is_shape = [](const auto& input) {
    return std::holds_alternative<std::vector<std::int64_t>>(input.second);
  };
  if (!request.phase && std::ranges::all_of(asked.inputs, is_shape)) return model;
  changed = model;
  for (const auto& [name, input] : asked.inputs) {
    if (const bool* const flag = std::get_if<bool>(&input)) set_scalar(*changed, name, Dim(*flag ? 1 : 0));
    if (const auto* const integer = std::get_if<std::int64_t>(&input)) set_scalar(*changed, name, Dim(*integer));
    if (const double* const real = std::get_if<double>(&input)) set_scalar(*changed, name, *real);
  }
  if (request.phase) set_phase_flag(*changed, *request.phase);
  return *changed;
}

// An estimate with the data its charts need.
class Estimate {
 public:
  Estimate(const LoadedModel& loaded, Asked asked) : loaded_(&loaded), asked_(std::move(asked)) {
    const EstimateRequest request = request_of(asked_);
    std::optional<Model> changed;
    document_ = estimate::make_estimate(with_values(loaded.model(), asked_, request, changed), request);
    device_ = request.device;
  }

  const EstimateDocument& document() const { return document_; }

  std::string json() const { return documents::write_estimate(document_); }
  std::string table(const std::string& by, std::size_t top, std::size_t width) const {
    return present::table_report(document_, options(by, top, width));
  }
  std::string verdict() const { return present::headline(document_); }
  std::string markdown(const std::string& by, std::size_t top) const {
    return present::markdown_report(document_, options(by, top, 0));
  }
  std::string csv(const std::string& by) const {
    return present::csv_report(document_, options(by.empty() ? "node" : by, 0, 0));
  }
  std::string svg() const { return present::plot_svg(plot(), {.tool = document_.tool}); }
  std::string html() const {
    present::PlotInput input = plot();
    const EstimateRequest request = request_of(asked_);
    std::optional<Model> changed;
    input.estimates.front().what_if =
        estimate::what_if(with_values(loaded_->model(), asked_, request, changed), request);
    return present::plot_html(input, {.tool = document_.tool});
  }
  bool has_device() const { return device_.has_value(); }
  bool has_formulas() const { return asked_.formulas; }

 private:
  present::ReportOptions options(const std::string& by, std::size_t top, std::size_t width) const {
    using present::Rows;
    const std::map<std::string, Rows> rows = {{"", Rows::None}, {"node", Rows::Node}, {"group", Rows::Group}};
    const auto found = rows.find(by);
    if (found == rows.end() || (found->second == Rows::Group && !document_.traffic))
      throw Error("by '" + by + "' is not known here; expected node, or with traffic='fused' group");
    return {.rows = found->second, .top = top, .width = width};
  }
  present::PlotInput plot() const {
    if (!device_) throw Error("a chart needs roofs: analyze with device=…");
    const std::string sha256 = base::hex(base::sha256(json()));
    return {.device = *device_, .estimates = {{document_.model.path, sha256, document_}}};
  }

  const LoadedModel* loaded_;  // kept alive by Python
  Asked asked_;
  EstimateDocument document_;
  std::optional<DeviceSpec> device_;
};

// The arguments after the model are the members of Asked, in their order.
template <typename... Members>
Estimate analyze(const LoadedModel& loaded, Members... members) {
  const nb::gil_scoped_release release;
  return {loaded, Asked{std::move(members)...}};
}

nb::object object(const documents::Cell& cell) {
  const auto list_of = [](const auto& values, auto convert) {
    nb::list list;
    for (const auto& value : values) list.append(convert(value));
    return nb::object(std::move(list));
  };
  const auto text = [](std::string_view value) { return nb::object(nb::str(value.data(), value.size())); };
  if (const Int* const value = documents::whole(cell)) return integer(*value);
  if (const auto* const value = std::get_if<double>(&cell)) return nb::cast(*value);
  if (const auto* const value = std::get_if<bool>(&cell)) return nb::cast(*value);
  if (const auto* const value = std::get_if<std::string_view>(&cell)) return text(*value);
  if (const auto* const value = std::get_if<std::string>(&cell)) return text(*value);
  if (const auto* const values = std::get_if<std::vector<std::string>>(&cell)) return list_of(*values, text);
  if (const auto* const values = std::get_if<std::vector<Int>>(&cell)) return list_of(*values, integer);
  return nb::none();
}

// The columns of one row by name, without empty lists.
nb::dict counts_of(documents::RowKind kind, const documents::EstimateCounts& counts) {
  nb::dict result;
  for (const documents::ResultColumn* column : documents::columns_of(kind, documents::View::Python)) {
    const documents::Cell cell = column->cell({.kind = kind, .counts = &counts});
    if (const auto* const names = std::get_if<std::vector<std::string>>(&cell); names == nullptr || !names->empty())
      result[column->name] = object(cell);
  }
  return result;
}

nb::dict totals(const Estimate& estimate) {
  const documents::EstimateTotals& all = estimate.document().totals;
  nb::dict result = counts_of(documents::RowKind::Total, all.counts);
  result["intensity"] = number(all.intensity);
  result["weight_bytes"] = number(all.weight_bytes);
  result["activation_peak_bytes"] = number(all.activation_peak_bytes);
  result["unmodelled_nodes"] = all.unmodelled_nodes;
  nb::list ops;
  for (const std::string& op : all.unmodelled_ops) ops.append(op);
  result["unmodelled_ops"] = ops;
  result["partial"] = all.partial;
  if (all.at_load) result["at_load"] = counts_of(documents::RowKind::AtLoad, *all.at_load);
  return result;
}

// Columns of equal length by name.
nb::dict columns(const Estimate& estimate, documents::RowKind kind) {
  const EstimateDocument& document = estimate.document();
  const std::vector<documents::Row> rows = documents::rows_of(document, kind);
  nb::dict result;
  for (const documents::ResultColumn* column :
       documents::columns_of(kind, documents::View::Python, document, estimate.has_formulas())) {
    nb::list list;
    for (const documents::Row& row : rows) {
      const bool is_unknown = column->is_timed() && !row.seconds();
      list.append(object(is_unknown ? documents::Cell() : column->cell(row)));
    }
    result[column->name] = list;
  }
  return result;
}

nb::dict nodes(const Estimate& estimate) { return columns(estimate, documents::RowKind::Node); }

nb::object kernels(const Estimate& estimate) {
  if (!estimate.document().traffic) return nb::none();
  return columns(estimate, documents::RowKind::Kernel);
}

nb::list diagnostics(const Estimate& estimate) {
  nb::list list;
  for (const Diagnostic& diagnostic : estimate.document().diagnostics) {
    nb::dict entry;
    entry["severity"] = std::string(to_string(diagnostic.severity));
    entry["node"] = diagnostic.node;
    entry["message"] = diagnostic.message;
    list.append(entry);
  }
  return list;
}

std::string comparison_json(const Estimate& before, const Estimate& after) {
  return present::comparison_report(present::Format::Json, before.document(), after.document(),
                                    estimate::compare(before.document(), after.document()));
}

std::string comparison_table(const Estimate& before, const Estimate& after, std::size_t width) {
  return present::comparison_report(present::Format::Table, before.document(), after.document(),
                                    estimate::compare(before.document(), after.document()), {.width = width});
}

Dim parsed(const std::string& formula) {
  const std::optional<Dim> dim = Dim::parse(formula);
  if (!dim) throw Error("'" + formula + "' is not a formula of sizes");
  return *dim;
}

nb::object evaluate(const std::string& formula, const Sizes& sizes) {
  const Dim value = parsed(formula).bind({sizes.begin(), sizes.end()});
  if (const std::optional<Int> known = value.value()) return integer(*known);
  throw Error("the formula needs " + base::joined(value.symbols()) + ", too");
}

nb::bytes skeleton_of(const nb::bytes& model) {
  const auto* const data = static_cast<const std::byte*>(model.data());
  const std::string text = skeleton({data, model.size()});
  return nb::bytes(text.data(), text.size());
}

NB_MODULE(_core, module) {
  const nb::object error = nb::steal(PyErr_NewException("pagoda._core.Error", PyExc_ValueError, nullptr));
  module.attr("Error") = error;
  nb::register_exception_translator(
      [](const std::exception_ptr& caught, void* type) {
        try {
          std::rethrow_exception(caught);
        } catch (const Error& thrown) {
          PyErr_SetString(static_cast<PyObject*>(type), present::python(thrown.what()).c_str());
        }
      },
      error.ptr());
  module.attr("__version__") = PAGODA_VERSION;

  nb::class_<LoadedModel>(module, "Model")
      .def(nb::init<const std::string&>(), "path"_a, nb::call_guard<nb::gil_scoped_release>())
      .def_static(
          "parse",
          [](const nb::bytes& bytes, const std::string& name, const std::string& directory) {
            const std::span<const std::byte> content(static_cast<const std::byte*>(bytes.data()), bytes.size());
            const nb::gil_scoped_release release;
            return LoadedModel(content, name, directory);
          },
          "bytes"_a, "name"_a = "", "directory"_a = "")
      .def_prop_ro("path", &LoadedModel::path);

  nb::class_<Estimate>(module, "Estimate")
      .def("json", &Estimate::json, nb::call_guard<nb::gil_scoped_release>())
      .def("table", &Estimate::table, "by"_a = "", "top"_a = 0, "width"_a = 0)
      .def("verdict", &Estimate::verdict)
      .def("markdown", &Estimate::markdown, "by"_a = "", "top"_a = 0)
      .def("csv", &Estimate::csv, "by"_a = "")
      .def("svg", &Estimate::svg, nb::call_guard<nb::gil_scoped_release>())
      .def("html", &Estimate::html, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("has_device", &Estimate::has_device)
      .def("totals", &totals)
      .def("nodes", &nodes)
      .def("kernels", &kernels)
      .def("diagnostics", &diagnostics);

  module.def("analyze",
             analyze<std::int64_t, Sizes, Sizes, std::vector<std::string>, Inputs, std::string,
                     std::optional<std::int64_t>, std::optional<std::int64_t>, std::string, std::string, std::string,
                     std::string, bool, std::string, std::string, int, int, int, bool, bool, bool, std::string,
                     std::string, std::vector<std::string>, std::vector<std::pair<std::string, Axis>>,
                     std::vector<std::string>, std::string, std::string, std::string, bool, bool, bool>,
             "model"_a, nb::kw_only(), "batch"_a, "dims"_a, "assume"_a, "custom_ops"_a, "inputs"_a, "phase"_a,
             "past"_a.none(), "tokens"_a.none(), "count"_a, "traffic"_a, "device"_a, "precision"_a, "predict"_a,
             "engine"_a, "calibration"_a, "tensor_parallel"_a, "pipeline_parallel"_a, "expert_parallel"_a, "memory"_a,
             "in_place"_a, "training"_a, "optimizer"_a, "recompute"_a, "frozen"_a, "sweep"_a, "what_if"_a, "provider"_a,
             "placement_form"_a, "host_device"_a, "unfused"_a, "advice"_a, "formulas"_a, nb::keep_alive<0, 1>());
  module.def("comparison_json", &comparison_json, "before"_a, "after"_a, nb::call_guard<nb::gil_scoped_release>());
  module.def("comparison_table", &comparison_table, "before"_a, "after"_a, "width"_a = 0);
  module.def("evaluate", &evaluate, "formula"_a, "sizes"_a);
  module.def(
      "symbols", [](const std::string& formula) { return parsed(formula).symbols(); }, "formula"_a);
  module.def("skeleton", &skeleton_of, "model"_a);
  module.def("device_ids", [] { return documents::device_ids(); });
}

}  // namespace
}  // namespace pagoda::python
