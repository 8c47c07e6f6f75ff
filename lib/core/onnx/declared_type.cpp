// TypeProto → TensorType.
#include "onnx/declared_type.h"

#include "onnx/stored_tensor.h"

namespace pagoda::inline core::wire {
namespace {

// Formulas beyond this many characters in all are taken as sizes that the file leaves open: reading one can
// take time quadratic in its terms.
constexpr std::size_t kMostFormulaCharacters = std::size_t{1} << 16;

constexpr std::size_t kLongestSymbol = 200;

// What a type is behind its sequences, optionals and maps.
struct Core {
  Container container = Container::Tensor;
  std::int64_t element = 0;
  const ::onnx::TensorShapeProto* shape = nullptr;
};

Core core_of(const ::onnx::TypeProto& type) {
  Core core;
  const ::onnx::TypeProto* at = &type;
  while (true) {
    switch (at->value_case()) {
      case ::onnx::TypeProto::kTensorType:
        core.element = at->tensor_type().elem_type();
        if (at->tensor_type().has_shape()) core.shape = &at->tensor_type().shape();
        return core;
      case ::onnx::TypeProto::kSparseTensorType:
        core.container = Container::SparseTensor;
        core.element = at->sparse_tensor_type().elem_type();
        if (at->sparse_tensor_type().has_shape()) core.shape = &at->sparse_tensor_type().shape();
        return core;
      case ::onnx::TypeProto::kSequenceType:
        core.container = core.container == Container::Optional ? Container::OptionalSequence : Container::Sequence;
        at = &at->sequence_type().elem_type();
        break;
      case ::onnx::TypeProto::kOptionalType:
        core.container = Container::Optional;
        at = &at->optional_type().elem_type();
        break;
      case ::onnx::TypeProto::kMapType:
        if (core.container == Container::Tensor) core.container = Container::Map;
        at = &at->map_type().value_type();
        break;
      case ::onnx::TypeProto::kOpaqueType:
      case ::onnx::TypeProto::VALUE_NOT_SET:
        return core;
    }
  }
}

// Placeholders that some exporters write for sizes without a name.
bool is_placeholder(std::string_view name) { return name.empty() || name == "?" || name == "-1" || name == "None"; }

}  // namespace

void DimNames::reserve(const ::onnx::TypeProto& type) {
  const Core core = core_of(type);
  if (core.shape == nullptr) return;
  for (const ::onnx::TensorShapeProto::Dimension& dim : core.shape->dim())
    if (dim.has_dim_param() && !is_placeholder(dim.dim_param()) && !known_.contains(dim.dim_param()))
      if (const std::optional<Dim> as = as_written(dim.dim_param())) known_.emplace(dim.dim_param(), *as);
}

TensorType DimNames::read(const ::onnx::TypeProto& type, std::string_view value) {
  const Core core = core_of(type);
  TensorType result{.element = known_element(core.element), .shape = std::nullopt, .container = core.container};
  if (core.shape != nullptr) result.shape = shape(*core.shape, value);
  return result;
}

Shape DimNames::shape(const ::onnx::TensorShapeProto& proto, std::string_view value) {
  Shape result;
  result.reserve(static_cast<std::size_t>(proto.dim_size()));
  for (int axis = 0; axis < proto.dim_size(); ++axis) {
    const ::onnx::TensorShapeProto::Dimension& dim = proto.dim(axis);
    if (dim.has_dim_value() && dim.dim_value() >= 0)
      result.push_back(dim.dim_value());
    else if (dim.has_dim_param() && !is_placeholder(dim.dim_param()))
      result.push_back(named(dim.dim_param()));
    else
      result.push_back(unnamed(value, axis));
  }
  return result;
}

Dim DimNames::named(const std::string& name) {
  if (const auto found = known_.find(name); found != known_.end()) return found->second;
  std::optional<Dim> dim = as_written(name);
  if (!dim) {
    const std::string symbol = unused(Dim::identifier(name.substr(0, kLongestSymbol)));
    renamed_.emplace(name, symbol);
    dim = Dim::symbol(symbol);
  }
  known_.emplace(name, *dim);
  return *dim;
}

// An identifier or a formula; empty for all else.
std::optional<Dim> DimNames::as_written(const std::string& name) {
  if (name.size() <= kLongestSymbol && Dim::identifier(name) == name) {
    taken_.try_emplace(name, 1);
    return Dim::symbol(name);
  }
  formula_characters_ += name.size();
  if (formula_characters_ > kMostFormulaCharacters) return std::nullopt;
  std::optional<Dim> formula = Dim::parse(name);
  if (!formula || (formula->is_constant() && *formula->value() < 0)) return std::nullopt;
  for (const std::string& symbol : formula->symbols()) taken_.try_emplace(symbol, 1);
  return formula;
}

Dim DimNames::unnamed(std::string_view value, int axis) {
  return Dim::symbol(unused(Dim::identifier(value.substr(0, kLongestSymbol)) + "_dim_" + std::to_string(axis)));
}

std::string DimNames::unused(std::string identifier) {
  const auto [stem, is_new] = taken_.try_emplace(identifier, 1);
  if (is_new) return identifier;
  for (std::uint64_t& last = stem->second;;) {
    std::string numbered = identifier + "_" + std::to_string(++last);
    if (!taken_.contains(numbered)) {
      taken_.emplace(numbered, 1);
      return numbered;
    }
  }
}

}  // namespace pagoda::inline core::wire
