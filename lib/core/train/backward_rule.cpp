// The parts that backward rules share, and how a rule is found.
#include "train/backward_rule.h"

#include <algorithm>

#include "ops/op_rule.h"

namespace pagoda::inline core::train_rules {

// Compares axis by axis, from the last. A constant 1 against a larger constant is broadcast for all sizes; against a
// formula d it is broadcast if d > 1, which min(1, d − 1) expresses.
Dim is_broadcast(const OpContext& op, int input) {
  const Shape& operand = op.shape(input);
  const Shape& output = op.output_shape(0);
  Dim extra = 1;  // product of the output's sizes along axes that the operand lacks
  for (std::size_t i = 0; i < output.size(); ++i) {
    const Dim& size = output[output.size() - 1 - i];
    const bool lacks = i >= operand.size() || (operand[operand.size() - 1 - i] == Dim(1) && size != Dim(1));
    if (!lacks) continue;
    if (size.is_constant() && size != Dim(1)) return 1;
    extra *= size;
  }
  return extra == Dim(1) ? Dim(0) : min(Dim(1), extra - 1);
}

Dim summed(const OpContext& op, int input) { return op.output_elements(0) - op.elements(input); }

Gradient& each(Backward& b, int input, const Work& each, std::vector<Read> reads) {
  if (!b.wants(input)) return b.add(input);
  const bool is_passed_on = each.arith == Dim(0) && each.special == Dim(0) && reads.empty();
  Gradient& gradient = b.add(input, std::move(reads), each * b.op.output_elements(0));
  gradient.work.arith += summed(b.op, input);
  if (is_passed_on && !b.is_parameter(input)) {
    gradient.is_passed_on = true;
    gradient.moved = is_broadcast(b.op, input);
    gradient.is_renamed = gradient.moved == Dim(0);
  }
  return gradient;
}

Read indices(Backward& b) {
  if (b.op.has_output(1)) return {Source::Output, 1};
  return b.keep("indices", byte_size(b.op.output_elements(0), ElementType::Int64));
}

namespace {

constexpr BackwardRule kNone{"", nullptr, 0, 0, "no gradient, by nature"};
constexpr BackwardRule kUnmodelled{"", nullptr, kAll, kAll, "not modelled"};

}  // namespace

const BackwardRule& backward_rule(std::string_view domain, std::string_view op_type) {
  const OpRule* forward = ops::find_rule(domain, op_type);
  if (forward == nullptr) return kUnmodelled;
  if (forward->facts.gradient != pagoda::Gradient::Rule)
    return has_gradient(forward->facts.gradient) ? kUnmodelled : kNone;
  const std::span<const BackwardRule> rules = domain.empty() ? default_rules() : microsoft_rules();
  const auto found = std::lower_bound(rules.begin(), rules.end(), op_type,
                                      [](const BackwardRule& rule, std::string_view key) { return rule.name < key; });
  return found != rules.end() && found->name == op_type ? *found : kUnmodelled;
}

const BackwardRule& unmodelled_backward() { return kUnmodelled; }

}  // namespace pagoda::inline core::train_rules
