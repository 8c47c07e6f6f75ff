// Reads and compares outputs of runs.
#include "experiment_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/text.h"

namespace pagoda::tools::bench {
namespace {

using documents::Verification, documents::VerificationCode;

template <typename T>
void read_as(const std::string& bytes, std::vector<double>& values) {
  values.resize(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(value);
  }
}

struct TypeRow {
  const char* name;
  void (*read)(const std::string&, std::vector<double>&);
};
constexpr TypeRow kTypes[] = {
    {"float32", read_as<float>},        {"float64", read_as<double>},       {"int64", read_as<std::int64_t>},
    {"int32", read_as<std::int32_t>},   {"int16", read_as<std::int16_t>},   {"int8", read_as<std::int8_t>},
    {"uint8", read_as<std::uint8_t>},   {"uint16", read_as<std::uint16_t>}, {"uint32", read_as<std::uint32_t>},
    {"uint64", read_as<std::uint64_t>}, {"bool", read_as<std::uint8_t>},
};

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return cat("[", base::joined(shape, ",", [](std::int64_t size) { return cat(size); }), "]");
}

bool all_finite(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

}  // namespace

std::vector<OutputTensor> load_outputs(const base::JsonValue& event) {
  const auto error = [](const std::string& what) {
    return Error(cat("outputs of a worker: ", what, "; see \"outputs\" in the workers' README"));
  };
  const base::JsonDocument document("outputs of a worker", event);
  const base::JsonField root = document.root();
  const std::string path = root.at("path").text();
  std::ifstream file(path, std::ios::binary);
  if (!file) throw error(path + " cannot be read");
  std::vector<OutputTensor> tensors;
  for (const base::JsonField& entry : root.array("tensors")) {
    OutputTensor tensor{.name = entry.at("name").text(), .type = entry.at("type").text(), .shape = {}, .values = {}};
    for (const base::JsonField& size : entry.array("shape")) tensor.shape.push_back(size.integer());
    const auto* row = std::ranges::find(kTypes, tensor.type, &TypeRow::name);
    const std::int64_t bytes = entry.at("bytes").integer();
    if (row != std::end(kTypes)) {
      if (bytes < 0) throw error("a negative size");
      file.seekg(0, std::ios::end);
      const std::int64_t offset = entry.at("offset").integer();
      if (offset < 0 || bytes > static_cast<std::int64_t>(file.tellg()) - offset) throw error(path + " is too short");
      std::string content(static_cast<std::size_t>(bytes), '\0');
      file.seekg(offset).read(content.data(), bytes);
      row->read(content, tensor.values);
      tensor.readable = true;
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Verification compare_outputs(const std::vector<OutputTensor>& got, const std::vector<OutputTensor>& reference,
                             double threshold) {
  Verification v;
  v.threshold = threshold;
  const auto with = [&](VerificationCode code, const std::string& detail) {
    v.code = code;
    v.detail = detail;
    v.error.reset();
    return v;
  };
  if (reference.empty()) return with(VerificationCode::UnsupportedOutput, "the reference has no tensors");
  if (got.size() != reference.size())
    return with(VerificationCode::CountDiffers, cat(got.size(), " outputs, the reference has ", reference.size()));
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const OutputTensor &a = got[i], &b = reference[i];
    const std::string name = b.name.empty() ? cat(i) : b.name;
    if (!a.readable || !b.readable)
      return with(VerificationCode::UnsupportedOutput, name + ": " + (a.readable ? b.type : a.type));
    if (a.shape != b.shape || a.values.size() != b.values.size())
      return with(VerificationCode::ShapesDiffer,
                  cat(name, ": ", shape_text(a.shape), ", the reference has ", shape_text(b.shape)));
    if (!all_finite(b.values)) return with(VerificationCode::UnsupportedOutput, name + ": the reference is not finite");
    if (!all_finite(a.values)) return with(VerificationCode::NonFinite, name);
    double difference = 0, size = 0;
    for (std::size_t j = 0; j < a.values.size(); ++j) {
      difference += std::abs(a.values[j] - b.values[j]);
      size += std::abs(b.values[j]);
    }
    // If the reference is all zeros, any difference has an infinite relative error.
    const double error = difference == 0 ? 0 : size > 0 ? difference / size : HUGE_VAL;
    if (error > worst) v.detail = name;
    worst = std::max(worst, error);
  }
  v.code = worst <= threshold ? VerificationCode::Pass : VerificationCode::Fail;
  if (std::isfinite(worst)) v.error = worst;
  return v;
}

}  // namespace pagoda::tools::bench
