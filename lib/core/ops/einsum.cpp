// Einsum: any number of operands, repeated labels (diagonals), ellipses. The work is that of the cheapest order of
// pairwise contractions, which an implementation can reach; onnxruntime contracts from left to right.
#include <array>
#include <bit>
#include <limits>
#include <string>

#include "ops/rule_parts.h"

namespace pagoda::inline core::ops {
namespace {

// Labels by number: a-z, A-Z, then the axes of the ellipsis, counted from the last.
using Labels = std::vector<int>;
constexpr int kEllipsisBase = 52;
constexpr int kMaxLabels = 64;

struct Equation {
  std::vector<Labels> operands;
  Labels output;
};

int label_of(const OpContext& op, char c) {
  if (c >= 'a' && c <= 'z') return c - 'a';
  if (c >= 'A' && c <= 'Z') return c - 'A' + 26;
  op.fail(cat("the equation holds the character '", c, "'"));
}

Labels ellipsis_labels(const OpContext& op, int axes) {
  if (axes < 0 || axes > kMaxLabels - kEllipsisBase) op.fail(cat("the ellipsis stands for ", axes, " axes"));
  Labels labels;
  for (int i = axes; i-- > 0;) labels.push_back(kEllipsisBase + i);
  return labels;
}

// Parses one term; `ellipsis_axes` < 0 means as many axes as the operand's rank leaves.
Labels parse_term(const OpContext& op, std::string_view term, int rank, int ellipsis_axes) {
  const std::size_t dots = term.find('.');
  if (dots != std::string_view::npos && (term.substr(dots, 3) != "..." || term.find('.', dots + 3) != term.npos))
    op.fail("an ellipsis is three dots, once in a term");
  const int letters = static_cast<int>(term.size()) - (dots == term.npos ? 0 : 3);
  Labels labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (const int label : ellipsis_labels(op, ellipsis_axes < 0 ? rank - letters : ellipsis_axes))
        labels.push_back(label);
      i += 2;
    } else {
      labels.push_back(label_of(op, term[i]));
    }
  }
  if (rank >= 0 && static_cast<int>(labels.size()) != rank)
    op.fail(cat("term '", term, "' does not describe an operand of rank ", rank));
  return labels;
}

// Without "->" the output holds the labels that occur once, in alphabetical order (capitals first), after the ellipsis.
Labels implicit_output(const OpContext& op, const std::vector<Labels>& operands, int ellipsis_axes) {
  std::array<int, kMaxLabels> uses{};
  for (const Labels& labels : operands)
    for (const int label : labels) ++uses[static_cast<std::size_t>(label)];
  Labels output = ellipsis_labels(op, ellipsis_axes);
  for (int i = 0; i < kEllipsisBase; ++i) {
    const int label = (i + 26) % kEllipsisBase;
    if (uses[static_cast<std::size_t>(label)] == 1) output.push_back(label);
  }
  return output;
}

Equation parse_equation(const OpContext& op) {
  if (!op.has_attribute("equation")) op.fail("attribute equation is missing");
  std::string text(op.attribute("equation", std::string_view()));
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  Equation equation;
  int ellipsis_axes = 0;
  for (int i = 0; i < op.input_count(); ++i) {
    const std::size_t comma = left.find(',');
    if ((comma == left.npos) != (i + 1 == op.input_count()))
      op.fail(cat("equation '", text, "' does not describe ", op.input_count(), " operands"));
    equation.operands.push_back(parse_term(op, left.substr(0, comma), op.rank(i), -1));
    for (const int label : equation.operands.back()) ellipsis_axes = std::max(ellipsis_axes, label - kEllipsisBase + 1);
    left.remove_prefix(comma == left.npos ? left.size() : comma + 1);
  }
  equation.output = arrow == text.npos ? implicit_output(op, equation.operands, ellipsis_axes)
                                       : parse_term(op, std::string_view(text).substr(arrow + 2), -1, ellipsis_axes);
  for (auto label = equation.output.begin(); label != equation.output.end(); ++label)
    if (std::find(equation.output.begin(), label, *label) != label)
      op.fail(cat("the output of equation '", text, "' repeats a label"));
  return equation;
}

void infer_einsum(OpContext& op) {
  for (int i = 0; i < op.input_count(); ++i)
    if (op.element(i) != ElementType::Undefined) op.set_output(0, {.element = op.element(i), .shape = std::nullopt});
  const Equation equation = parse_equation(op);
  std::array<std::optional<Dim>, kMaxLabels> sizes;
  for (int i = 0; i < op.input_count(); ++i) {
    const Labels& labels = equation.operands[static_cast<std::size_t>(i)];
    for (std::size_t axis = 0; axis < labels.size(); ++axis) {
      std::optional<Dim>& size = sizes[static_cast<std::size_t>(labels[axis])];
      size = size ? op.broadcast(*size, op.shape(i)[axis]) : op.shape(i)[axis];
    }
  }
  Shape shape;
  for (const int label : equation.output) {
    if (!sizes[static_cast<std::size_t>(label)]) op.fail("an output label of the equation is in no operand");
    shape.push_back(*sizes[static_cast<std::size_t>(label)]);
  }
  op.set_output(0, op.element(0), std::move(shape));
}

// --- the cheapest order of contractions ---

using Mask = std::uint64_t;  // a set of labels

struct Contraction {
  std::vector<Mask> operands;
  Mask output = 0;
  std::array<Dim, kMaxLabels> sizes;
  std::array<double, kMaxLabels> estimates{};  // the sizes as numbers, for comparing orders

  Dim volume(Mask labels) const { return product(labels, sizes); }
  double estimate(Mask labels) const { return product(labels, estimates); }

  template <typename Size>
  static Size product(Mask labels, const std::array<Size, kMaxLabels>& sizes_of) {
    Size result = 1;
    for (; labels != 0; labels &= labels - 1) result *= sizes_of[static_cast<std::size_t>(std::countr_zero(labels))];
    return result;
  }
};

// Free sizes are taken as 64 when orders are compared.
constexpr std::int64_t kFreeSize = 64;

Contraction contraction_of(const OpContext& op) {
  const Equation equation = parse_equation(op);
  Contraction result;
  std::array<bool, kMaxLabels> set{};
  const auto learn = [&](int label, const Dim& size) {
    const auto i = static_cast<std::size_t>(label);
    if (!set[i] || result.sizes[i] == Dim(1) || (size.is_constant() && size != Dim(1))) result.sizes[i] = size;
    set[i] = true;
  };
  for (int i = 0; i < op.input_count(); ++i) {
    Mask mask = 0;
    const Labels& labels = equation.operands[static_cast<std::size_t>(i)];
    for (std::size_t axis = 0; axis < labels.size(); ++axis) {
      learn(labels[axis], op.shape(i)[axis]);
      // An axis of size 1, which is broadcast, does not count among the labels of its operand.
      if (op.shape(i)[axis] != Dim(1)) mask |= Mask{1} << labels[axis];
    }
    result.operands.push_back(mask);
  }
  for (std::size_t axis = 0; axis < equation.output.size(); ++axis) {
    result.sizes[static_cast<std::size_t>(equation.output[axis])] = op.output_shape(0)[axis];
    result.output |= Mask{1} << equation.output[axis];
  }
  for (std::size_t i = 0; i < result.sizes.size(); ++i)
    result.estimates[i] = static_cast<double>(result.sizes[i].evaluate({}, kFreeSize));
  return result;
}

// Joining two operands takes a multiplication per combination of their labels. Where labels are summed away, each also
// takes an addition and is one multiply-accumulate.
struct Step {
  Mask joined = 0, kept = 0;
  bool contracts() const { return joined != kept; }
};

double estimate(const Contraction& contraction, const Step& step) {
  return (step.contracts() ? 2 : 1) * contraction.estimate(step.joined);
}

void charge(const Contraction& contraction, const Step& step, OpCost& cost) {
  (step.contracts() ? cost.macs : cost.arith) += contraction.volume(step.joined);
}

// The labels of the output and of all operands but `i` and `j`.
Mask needed_without(const Contraction& contraction, const std::vector<Mask>& operands, std::size_t i, std::size_t j) {
  Mask needed = contraction.output;
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (k != i && k != j) needed |= operands[k];
  return needed;
}

// Of three operands: the pair that is joined first is chosen by formulas of the sizes, so that the counts hold for all.
void charge_best_of_three(const Contraction& contraction, const std::vector<Mask>& operands, OpCost& cost) {
  OpCost best;
  Dim least;
  for (const std::size_t alone : {2, 1, 0}) {
    const Mask rest = operands[alone], a = operands[(alone + 1) % 3], b = operands[(alone + 2) % 3];
    const Mask joined = a | b, kept = joined & (contraction.output | rest);
    OpCost order;
    charge(contraction, {.joined = joined, .kept = kept}, order);
    charge(contraction, {.joined = kept | rest, .kept = contraction.output & (kept | rest)}, order);
    const Dim flops = 2 * order.macs + order.arith;
    if (alone == 2) {
      best = order;
      least = flops;
      continue;
    }
    const Dim is_less = min(max(least - flops, 0), 1);
    best.macs += is_less * (order.macs - best.macs);
    best.arith += is_less * (order.arith - best.arith);
    least = min(least, flops);
  }
  cost.macs += best.macs;
  cost.arith += best.arith;
}

// Tries all orders, by the cheapest way to make every subset: 3^n steps. If all steps are of one kind, and the operands
// few enough for a readable formula, the cost is a minimum valid for all sizes; so is that of three operands. Of more,
// estimated sizes pick the order.
void charge_best_order(const Contraction& contraction, const std::vector<Mask>& operands, OpCost& cost) {
  const std::size_t n = operands.size();
  const std::size_t subsets = std::size_t{1} << n;
  std::vector<Mask> labels(subsets, 0);  // of all operands in the subset
  for (std::size_t s = 1; s < subsets; ++s)
    labels[s] = labels[s & (s - 1)] | operands[static_cast<std::size_t>(std::countr_zero(s))];
  const auto kept = [&](std::size_t s) { return labels[s] & (contraction.output | labels[subsets - 1 - s]); };
  const auto step_of = [&](std::size_t s, std::size_t part) {
    return Step{.joined = kept(part) | kept(s ^ part), .kept = kept(s)};
  };
  const auto for_each_split = [&](std::size_t s, const auto& visit) {
    for (std::size_t part = (s - 1) & s; part > (s ^ part); part = (part - 1) & s) visit(part);
  };
  constexpr std::size_t kMaxFormula = 4;
  bool has_contraction = false, has_product = false;
  for (std::size_t s = 1; s < subsets; ++s)
    for_each_split(s, [&](std::size_t part) { (step_of(s, part).contracts() ? has_contraction : has_product) = true; });
  if (n <= kMaxFormula && has_contraction != has_product) {
    std::vector<Dim> least(subsets, 0);
    for (std::size_t s = 1; s < subsets; ++s) {
      std::optional<Dim> of_subset;
      for_each_split(s, [&](std::size_t part) {
        const Dim total = least[part] + least[s ^ part] + contraction.volume(step_of(s, part).joined);
        of_subset = of_subset ? min(*of_subset, total) : total;
      });
      if (of_subset) least[s] = *of_subset;
    }
    (has_contraction ? cost.macs : cost.arith) += least[subsets - 1];
    return;
  }
  if (n == 3) return charge_best_of_three(contraction, operands, cost);
  std::vector<double> best(subsets, 0);
  std::vector<std::size_t> split(subsets, 0);
  for (std::size_t s = 1; s < subsets; ++s) {
    if (std::has_single_bit(s)) continue;
    best[s] = std::numeric_limits<double>::infinity();
    for_each_split(s, [&](std::size_t part) {
      const double total = best[part] + best[s ^ part] + estimate(contraction, step_of(s, part));
      if (total < best[s]) best[s] = total, split[s] = part;
    });
  }
  std::vector<std::size_t> open = {subsets - 1};
  while (!open.empty()) {
    const std::size_t s = open.back();
    open.pop_back();
    if (std::has_single_bit(s)) continue;
    charge(contraction, step_of(s, split[s]), cost);
    open.push_back(split[s]);
    open.push_back(s ^ split[s]);
  }
}

// For more operands: always joins the cheapest next pair.
void charge_greedy_order(const Contraction& contraction, std::vector<Mask> operands, OpCost& cost) {
  while (operands.size() > 1) {
    Step best;
    std::size_t best_i = 0, best_j = 1;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < operands.size(); ++i)
      for (std::size_t j = i + 1; j < operands.size(); ++j) {
        const Mask joined = operands[i] | operands[j];
        const Step step{.joined = joined, .kept = joined & needed_without(contraction, operands, i, j)};
        if (const double total = estimate(contraction, step); total < least)
          least = total, best = step, best_i = i, best_j = j;
      }
    charge(contraction, best, cost);
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(best_j));
    operands[best_i] = best.kept;
  }
}

OpCost cost_einsum(const OpContext& op) {
  constexpr std::size_t kMaxExhaustive = 8;
  constexpr std::size_t kMaxOperands = 64;
  OpCost cost = op.streamed();
  const Contraction contraction = contraction_of(op);
  if (contraction.operands.size() > kMaxOperands) op.unknown("an equation of more than 64 operands");
  std::vector<Mask> operands;
  for (std::size_t i = 0; i < contraction.operands.size(); ++i) {
    const Mask all = contraction.operands[i], kept = all & needed_without(contraction, contraction.operands, i, i);
    if (kept != all) cost.arith += contraction.volume(all) - contraction.volume(kept);  // n − m additions
    operands.push_back(kept);
  }
  if (operands.size() <= kMaxExhaustive)
    charge_best_order(contraction, operands, cost);
  else
    charge_greedy_order(contraction, operands, cost);
  return cost;
}

// clang-format off
constexpr OpRule kEinsumRules[] = {
    // op       infer         cost         fold     cost in words
    {"Einsum",  infer_einsum, cost_einsum, nullptr, "cheapest order of pairwise contractions: product of the joined labels' sizes in macs, or in mul where nothing is summed", kMatrixProduct.with(ProductForm::Einsum)},
};
// clang-format on
static_assert(well_formed(kEinsumRules));

}  // namespace

std::span<const OpRule> einsum_rules() { return kEinsumRules; }

}  // namespace pagoda::inline core::ops
