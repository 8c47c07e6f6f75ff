// A table of causes for differences between counters and the estimate, each with its test.
#include "join/causes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <string_view>

#include "import/engine_names.h"

namespace pagoda::measured {
namespace {

using documents::Amount, documents::CountFlag, documents::EstimateNode;

// Thresholds for a ratio to differ from 1. Products are counted exactly, so the tolerance is small; for memory traffic
// it is larger.
constexpr double kExact = 0.005, kFewer = 0.98, kSpecialShare = 0.01, kResident = 0.9, kRefetched = 1.1;
// A sum of operations is judged as a product if at least this share of it is products.
constexpr double kMostlyProducts = 0.9;
// Winograd's F(4x4, 3x3) needs 36 products instead of 144, F(2x2, 3x3) 16 instead of 36; edge tiles are padded, assumed
// at most as for a 7 x 7 output ((8/7)^2).
constexpr double kFewestOfWinograd = 36.0 / 144, kMostOfWinograd = 16.0 / 36 * 64 / 49;

// Facts of a group -------------------------------------------------------------------------------------------------

bool any_name(const Evidence& e, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(e.kernels, [&](const std::string& name) { return import::has_any(name, words); });
}

template <typename Predicate>
bool any_node(const Evidence& e, Predicate holds) {
  return std::ranges::any_of(e.group.nodes, [&](std::size_t node) {
    const EstimateNode& row = e.estimate.nodes[node];
    return !row.runs_nothing() && holds(row);
  });
}

bool has_product(const EstimateNode& row) { return row.counts.macs.value_or(0) > 0; }

// Measured / estimated products: on tensor units; else all operations if these are mostly products.
Amount products(const Evidence& e) {
  if (const Amount contraction = e.group.contraction_ratio()) return contraction;
  const Amount all = e.group.flops.ratio();
  return all && e.group.contraction.expected.value_or(0) >= kMostlyProducts * *e.group.flops.expected ? all
                                                                                                      : std::nullopt;
}

// The ratio of the group's own traffic: of reads if known separately, else of all bytes; empty for replayed kernels.
Amount traffic(const Evidence& e) {
  if (e.is_replayed) return std::nullopt;
  const Amount read = e.group.bytes_read.ratio();
  return read ? read : e.group.bytes.ratio();
}

bool has_more_products(const Evidence& e) { return products(e).value_or(1) > 1 + kExact; }
bool has_fewer_products(const Evidence& e) { return products(e).value_or(1) < kFewer && !e.is_sparse; }
bool has_more_traffic(const Evidence& e) { return traffic(e).value_or(1) > kRefetched; }
bool has_more_operations(const Evidence& e) { return e.group.flops.ratio().value_or(1) > 1 + kExact; }
bool has_more(const Evidence& e) { return has_more_products(e) || has_more_operations(e) || has_more_traffic(e); }

// The format of most of the tensor units' work; empty: no such work.
std::string_view format_of(const Evidence& e) {
  const auto most = std::ranges::max_element(e.by_format, {}, [](const auto& each) { return each.second; });
  return most == e.by_format.end() || !(most->second > 0) ? std::string_view() : std::string_view(most->first);
}
bool is_other_format(const Evidence& e) {
  const std::string_view format = format_of(e);
  return !format.empty() && e.group.contraction_ratio() && !any_node(e, [&](const EstimateNode& row) {
    return has_product(row) && to_string(row.precision).starts_with(format);
  });
}

// A 3 x 3 kernel's depth is a multiple of 9.
bool may_be_winograd(const EstimateNode& row) {
  if (row.op_type != "Conv" || row.outputs.empty() || !has_product(row)) return false;
  const auto shape = documents::sizes(row.outputs.front().type);
  if (!shape || shape->size() != 4) return false;
  Int elements = 1;
  for (const Int size : *shape) elements *= size;
  return elements > 0 && *row.counts.macs % elements == 0 && *row.counts.macs / elements % 9 == 0;
}

// Rules ------------------------------------------------------------------------------------------------------------

bool fused(const Evidence& e) {
  return std::ranges::count_if(e.group.nodes,
                               [&](std::size_t node) { return !e.estimate.nodes[node].runs_nothing(); }) > 1;
}
bool incomplete(const Evidence& e) { return e.is_partial; }
bool padding(const Evidence& e) {
  return has_more_products(e) && e.padding && *products(e) <= *e.padding * (1 + kExact);
}
bool winograd(const Evidence& e) {
  if (!has_fewer_products(e)) return false;
  if (any_name(e, {"winograd"})) return true;
  const double ratio = *products(e);
  return ratio >= kFewestOfWinograd * (1 - kExact) && ratio <= kMostOfWinograd * (1 + kExact) &&
         any_node(e, may_be_winograd) &&
         !any_node(e, [](const EstimateNode& row) { return has_product(row) && !may_be_winograd(row); });
}
bool fewer_operations(const Evidence& e) { return has_fewer_products(e) && !winograd(e); }
bool sparsity(const Evidence& e) { return e.is_sparse; }
bool tf32(const Evidence& e) {
  return is_other_format(e) && format_of(e) == "tf32" &&
         any_node(e, [](const EstimateNode& row) { return has_product(row) && row.precision == ElementType::Float32; });
}
bool other_precision(const Evidence& e) { return is_other_format(e) && !tf32(e); }
// Named so by cuBLAS, CUTLASS and Triton; a kernel or atomics add the partial results.
bool split_k(const Evidence& e) {
  return has_more(e) && any_name(e, {"splitk", "split_k", "split-k", "streamk", "stream_k"});
}
// Detected by a kernel's name, or by a node of the group that widens weights. It adds scales and offsets on vector
// units, or widened weights in memory.
bool dequantisation(const Evidence& e) {
  return has_more(e) && (any_name(e, {"dequant", "awq", "gptq"}) || any_node(e, [](const EstimateNode& row) {
                           return row.op_type == "DequantizeLinear" || row.op_type == "MatMulNBits" ||
                                  row.dequantized_from != ElementType::Undefined;
                         }));
}
// Kernels that only move elements, by their names in cuDNN, cuBLAS and TensorRT, in a group with a product.
bool layout_change(const Evidence& e) {
  return has_more_traffic(e) &&
         any_name(
             e, {"nchwtonhwc", "nhwctonchw", "nchw2nhwc", "nhwc2nchw", "transpose", "permute", "reformat", "im2col"}) &&
         any_node(e, has_product);
}
bool extra_work(const Evidence& e) { return has_more_products(e) && !padding(e) && !dequantisation(e); }
bool scaled_addition(const Evidence& e) {
  return std::abs(e.group.flops.ratio().value_or(0) - 2) <= 2 * kExact &&
         !any_node(e, [](const EstimateNode& row) { return row.op_type != "Add" && row.op_type != "Sub"; });
}
bool specials(const Evidence& e) {
  const auto& [counted, expected] = e.group.flops;
  if (!counted || !expected || *counted == *expected) return false;
  double special = 0;
  for (const std::size_t node : e.group.nodes)
    if (!e.estimate.nodes[node].runs_nothing()) special += uncounted(e.estimate.nodes[node]);
  return special > 0 && special >= kSpecialShare * (*expected + special);
}
bool cache_resident(const Evidence& e) { return traffic(e).value_or(1) < kResident; }
bool extra_traffic(const Evidence& e) {
  return has_more_traffic(e) && !split_k(e) && !dequantisation(e) && !layout_change(e);
}

struct Rule {
  CountFlag cause;
  bool (*holds)(const Evidence&);
};
// clang-format off
constexpr std::array<Rule, 16> kRules = {{
    {CountFlag::Fused,           fused},
    {CountFlag::Incomplete,      incomplete},
    {CountFlag::Padding,         padding},
    {CountFlag::ExtraWork,       extra_work},
    {CountFlag::FewerOperations, fewer_operations},
    {CountFlag::Winograd,        winograd},
    {CountFlag::Tf32,            tf32},
    {CountFlag::OtherPrecision,  other_precision},
    {CountFlag::Sparsity,        sparsity},
    {CountFlag::SplitK,          split_k},
    {CountFlag::Dequantisation,  dequantisation},
    {CountFlag::LayoutChange,    layout_change},
    {CountFlag::ScaledAddition,  scaled_addition},
    {CountFlag::Specials,        specials},
    {CountFlag::CacheResident,   cache_resident},
    {CountFlag::ExtraTraffic,    extra_traffic},
}};
// clang-format on

}  // namespace

std::vector<CountFlag> causes_of(const Evidence& evidence) {
  std::vector<CountFlag> causes;
  for (const Rule& rule : kRules)
    if (rule.holds(evidence)) causes.push_back(rule.cause);
  return causes;
}

}  // namespace pagoda::measured
