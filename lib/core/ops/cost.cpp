// Sums, multiples and conventions of costs.
#include "pagoda/core/cost.h"

#include "pagoda/base/enum_names.h"

namespace pagoda::inline core {
namespace {

constexpr base::EnumNames<Convention::Pagoda> kConventions("flops", "macs", "contraction", "hardware", "pagoda");
constexpr base::EnumNames<Mark::Unmodelled> kMarks("compute", "view", "host", "folded", "unmodelled");

Dim listed(const std::vector<PartMoved>& parts, bool is_output, int place) {
  Dim bytes = 0;
  for (const PartMoved& part : parts)
    if (part.is_output == is_output && part.place == place) bytes += part.bytes;
  return bytes;
}

void forget_tensors(OpCost& cost) {
  cost.whole_inputs = cost.whole_outputs = 0;
  cost.parts.clear();
}

}  // namespace

std::string_view to_string(Mark mark) { return kMarks[mark]; }
std::optional<Convention> convention(std::string_view name) { return kConventions.value(name); }
std::vector<std::string_view> convention_names() { return kConventions.all(); }
std::string_view to_string(Convention convention) { return kConventions[convention]; }

void OpCost::read(int input, const Dim& bytes) {
  if (bytes == Dim(0)) return;
  bytes_read += bytes;
  parts.push_back({.is_output = false, .place = input, .bytes = bytes});
}

void OpCost::write(int output, const Dim& bytes) {
  if (bytes == Dim(0)) return;
  bytes_written += bytes;
  parts.push_back({.is_output = true, .place = output, .bytes = bytes});
}

Dim OpCost::part_read(int input) const { return listed(parts, false, input); }
Dim OpCost::part_written(int output) const { return listed(parts, true, output); }

OpCost& OpCost::operator+=(const OpCost& other) {
  for (const auto count : kCostCounts) this->*count += other.*count;
  forget_tensors(*this);
  return *this;
}

OpCost OpCost::scaled(const Dim& times) const {
  OpCost result = *this;
  for (const auto count : kCostCounts) result.*count *= times;
  forget_tensors(result);
  return result;
}

OpCost OpCost::bind(const Bindings& bindings) const {
  OpCost result = *this;
  for (const auto count : kCostCounts) result.*count = (result.*count).bind(bindings);
  for (PartMoved& part : result.parts) part.bytes = part.bytes.bind(bindings);
  return result;
}

Dim flops(const OpCost& cost, Convention convention) {
  switch (convention) {
    case Convention::Macs:
      return cost.macs;
    case Convention::Contraction:
      return 2 * cost.macs;
    case Convention::Hardware:
      return 2 * cost.macs + cost.arith - cost.comparisons;
    case Convention::Flops:
    case Convention::Pagoda:
      break;
  }
  return 2 * cost.macs + cost.arith + cost.special;
}

}  // namespace pagoda::inline core
