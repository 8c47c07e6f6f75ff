// Documents, profiles of every engine, studies, records, and sizes in the syntax of options.
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/readers.h"
#include "import/formats.h"
#include "pagoda/base/error.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/ceilings.h"
#include "pagoda/documents/device.h"
#include "pagoda/documents/estimate.h"
#include "pagoda/documents/measured.h"
#include "pagoda/documents/metrics.h"
#include "pagoda/documents/result.h"
#include "pagoda/lab/study.h"
#include "pagoda/measured/energy_table.h"
#include "pagoda/measured/import.h"
#include "pagoda/measured/join.h"
#include "pagoda/measured/record.h"
#include "request.h"


namespace pagoda::fuzz {
namespace {

// The text written for an accepted value must be read without an Error, and give the same text when written again.
template <typename Value>
void reads_back(const Value& value, std::string (*write)(const Value&),
                Value (*parse)(std::string_view, std::string_view)) {
  const std::string text = write(value);
  std::string again;
  try {
    again = write(parse(text, kSubject));
  } catch (const Error& error) {
    again = error.what();
  }
  require(again == text, "written: " + text + "\nread back and written: " + again);
}

// Values of --dim, --assume, --input, --sweep, --tensor-parallel and --max-flops, one per line.
void sizes(std::string_view text) {
  tools::Arguments arguments;
  for (std::size_t line = 0; !text.empty() && line < 8; ++line) {
    const std::string value(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), value.size() + 1));
    if (value.empty()) continue;
    const std::string rest = value.substr(1);
    switch (value.front()) {
      case 'd':
        arguments.dims.push_back(rest);
        break;
      case 'a':
        arguments.assumed.push_back(rest);
        break;
      case 'i':
        arguments.inputs.push_back(rest);
        break;
      case 's':
        arguments.sweeps.push_back(rest);
        break;
      case 'p':
        arguments.tensor_parallel = rest;
        break;
      default:
        arguments.max_flops = arguments.max_bytes = rest;
    }
  }
  (void)tools::sizes_of(arguments);
  (void)tools::input_values(arguments);
  (void)tools::sweep_axes(arguments);
  (void)tools::splits(arguments);
  (void)tools::budgets(arguments);
}

void energy(std::string_view text) { (void)measured::read_energy_csv(text, kSubject); }

std::string write_whole(const documents::EstimateDocument& estimate) { return documents::write_estimate(estimate); }

// The first byte selects the document type.
void documents(std::string_view text) {
  using namespace pagoda::documents;
  if (text.empty()) return;
  const std::string_view json = text.substr(1);
  switch (text.front()) {
    case 'e':
      return reads_back(parse_estimate(json, kSubject), write_whole, parse_estimate);
    case 'c':
      return reads_back(parse_ceilings(json, kSubject), write_ceilings, parse_ceilings);
    case 'm':
      return reads_back(parse_measured(json, kSubject), write_measured, parse_measured);
    case 'r':
      return reads_back(parse_result(json, kSubject), write_result, parse_result);
    case 'd':
      return (void)parse_device(json, kSubject);
    case 'R':
      return (void)parse_results(json, kSubject);
    case 'k':
      return reads_back(parse_calibration(json, kSubject), to_json, parse_calibration);
    case 'x':
      return (void)parse_config(json, kSubject);
    case 'M':
      return (void)parse_chip_metrics(json, kSubject);
    default:
      return;
  }
}

void study(std::string_view text) { (void)lab::parse_study(text, kSubject); }
void record(std::string_view text) { (void)measured::profile::parse_record(text, kSubject); }

// A measurement from a profile: it must read back, and the join receives names and ranges that no engine ever wrote.
void use(documents::Measured measured) {
  reads_back(measured, documents::write_measured, documents::parse_measured);
  documents::EstimateDocument estimate;
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    if (estimate.nodes.size() >= 50) break;
    documents::EstimateNode row;
    row.name = kernel.name.substr(0, kernel.name.size() / 2);
    row.op_type = kernel.op_type;
    row.scope = kernel.nvtx;
    row.inputs = {"v" + std::to_string(estimate.nodes.size())};
    row.outputs = {{"v" + std::to_string((estimate.nodes.size() + 1) % 40), {}}};  // with a cycle
    estimate.nodes.push_back(row);
  }
  measured::join(measured, estimate);
  (void)measured::join_report(measured, estimate);
}

template <measured::ProfileFormat kFormat>
void import_as(std::string_view text) {
  use(measured::import_profile(text, kSubject, {.format = kFormat}));
}

// Two texts, separated by a zero byte.
void tensorrt(std::string_view text) {
  const std::size_t zero = text.find('\0');
  const std::string_view layers = zero == std::string_view::npos ? std::string_view() : text.substr(zero + 1);
  use(measured::import::import_tensorrt(text.substr(0, zero), kSubject, layers, kSubject));
}

using measured::ProfileFormat;
constexpr Target kTargets[] = {
    {"documents", documents},
    {"energy", energy},
    {"jetson", import_as<ProfileFormat::Jetson>},
    {"kineto", import_as<ProfileFormat::Kineto>},
    {"ncu", import_as<ProfileFormat::Ncu>},
    {"nsys", import_as<ProfileFormat::Nsys>},
    {"ort", import_as<ProfileFormat::OnnxRuntime>},
    {"record", record},
    {"rocprof", import_as<ProfileFormat::Rocprof>},
    {"sizes", sizes},
    {"study", study},
    {"tensorrt", tensorrt},
};

}  // namespace

std::span<const Target> targets() { return kTargets; }

}  // namespace pagoda::fuzz
