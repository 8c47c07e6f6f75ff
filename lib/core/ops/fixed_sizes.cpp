// Finds which number of a constant target shape corresponds to which size of the input.
//
// A size covers an interval of the element order: from the product of the sizes before it to that product times itself.
//
// The batch at export is often 1, which covers an empty interval. The input size that holds the batch covers some
// interval; the target size that holds it must touch that interval.
//   [b,197,768]   → [1,197,768]    the 1 at the same place
//   [b,8,8,7,7,96] → [64,49,96]    64 = 1·8·8
//   [64·b,49,96]  → [1,8,8,7,7,96] the 1 within 64
//   [197,b,768]   → [197,12,64]    197 and 12 touch the batch: 12 begins where the batch begins
//   [197,12·b,64] → [197,768]      197 and 768 touch it: the last size holds features, so 197
//
// All other sizes: both shapes are cut where their intervals end at the same place. The sizes between two cuts have the
// same product on both sides.
//   [1,C,h/8,w/8] → [1,C,6400]     6400 is h/8·w/8
//   [h·w/256,768] → [14,14,768]    14 and 14 are sizes seen before whose product is h·w/256
//   [h/4,96] → [8,7,96]            either may be fixed: they are pending until one meets a known size
#include "ops/fixed_sizes.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "ops/context.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core::ops {

bool changes(const FixedSizes& fixed, const Dim& size) {
  return fixed.hold_other(size) && fixed.as_asked(size) != fixed.as_exported(size);
}

std::string as_read(const FixedSizes& fixed, const Dim& formula) {
  return (fixed.hold_other(formula) ? fixed.as_asked(formula) : formula).to_string();
}

std::optional<std::size_t> batch_position(const Shape& input, const Shape& target, const FixedSizes& fixed) {
  const Dim from = fixed.exported.at(fixed.batch);
  Dim begin = 1, end = 1;  // the interval of the input size that holds the batch
  std::size_t carriers = 0;
  Dim before = 1;
  for (const Dim& dim : input) {
    const Dim exported = fixed.as_exported(dim);
    if (fixed.hold_batch(dim)) {
      ++carriers;
      begin = before;
      end = before * exported;
    }
    before *= exported;
  }
  if (carriers != 1) return std::nullopt;

  // Of those that touch, prefer the batch itself, then a size that is not the last, then one starting where it starts.
  std::optional<std::size_t> best;
  std::tuple<bool, bool, bool> best_rank;
  Dim first = 1;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const Dim to = first * target[i];
    const bool touches = greater_equal(end, first) == true && greater_equal(to, begin) == true;
    const bool holds =
        exact_div(target[i], from).has_value() && greater_equal(min(end, to), max(begin, first) * from) == true;
    if (touches && holds) {
      const std::tuple rank{target[i] == from, i + 1 < target.size() || target.size() == 1, first == begin};
      if (!best || rank > best_rank) best = i, best_rank = rank;
    }
    first = to;
  }
  return best;
}

Dim solved_size(const OpContext& op, const Shape& dividend, const Shape& divisor) {
  Shape rest = dividend;
  Dim below = 1;
  for (const Dim& size : divisor) {
    const auto same = std::find(rest.begin(), rest.end(), size);
    if (same != rest.end()) {
      rest.erase(same);
    } else {
      below *= size;
    }
  }
  const Dim above = element_count(rest);
  if (below == Dim(0)) op.fail("a size of -1 beside a size of 0 cannot be solved for");
  if (auto exact = exact_div(above, below)) return *std::move(exact);
  if (above.is_constant() && below.is_constant())
    op.fail(element_count(dividend).to_string() + " elements do not divide by " + element_count(divisor).to_string());
  return floor_div(above, below);
}

void require_same_count(const OpContext& op, const Shape& input, const Shape& output) {
  if (equal(element_count(input), element_count(output)) == false)
    op.fail(element_count(input).to_string() + " elements cannot be reshaped to " + element_count(output).to_string());
}

namespace {

constexpr std::size_t kMostAnswers = 16;

Shape as_asked(const FixedSizes& fixed, const Shape& sizes) {
  Shape asked;
  for (const Dim& size : sizes) asked.push_back(fixed.as_asked(size));
  return asked;
}

using Integers = std::vector<std::int64_t>;

// The sizes at export; empty if one is not known.
std::optional<Integers> numbers_of(const FixedSizes& fixed, const Shape& sizes) {
  Integers numbers;
  for (const Dim& size : sizes) {
    const auto number = fixed.as_exported(size).value64();
    if (!number || *number < 1) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

// True if all sizes are one size in the requested run.
bool agree(const FixedSizes& fixed, const std::vector<Dim>& sizes) {
  return std::all_of(sizes.begin(), sizes.end(),
                     [&](const Dim& each) { return fixed.as_asked(each) == fixed.as_asked(sizes.front()); });
}

// Splits sizes of a reshape's input into the parts that its target is made of. What an earlier reshape merged is taken
// apart the same way; failing that, parts are sizes seen before; failing that, two parts are pending.
class Splitter {
 public:
  explicit Splitter(const OpContext& op)
      : op_(op), session_(OpContext::State::of(op).session), fixed_(*op.fixed_sizes()) {}

  // The formulas of a target with these exported sizes, all above 1, for a run of input sizes with the same product:
  //   [64, h] → [1024, 2] with h = 32 at export: 64·p and q, where p·q = h
  // Empty where a cut of one list lies within no single size of the other, as in [6, 4] → [4, 6].
  std::optional<Shape> target(const Shape& input, const Integers& exported, const Integers& target) {
    return refined(input, exported, target,
                   [this](const Dim& size, const Integers& pieces) { return std::optional(parts(size, pieces)); });
  }

  Shape parts(const Dim& whole, const Integers& sizes) {
    if (auto answer = known(whole, sizes)) return *std::move(answer);
    for (const Shape& merged : session_.merged(whole))
      if (const auto numbers = numbers_of(fixed_, merged))
        if (auto answer = target(merged, *numbers, sizes)) return *std::move(answer);
    if (sizes.size() % 2 == 0) {  // an axis divided into windows
      Integers axes;
      for (std::size_t i = 0; i < sizes.size(); i += 2) axes.push_back(sizes[i] * sizes[i + 1]);
      auto wholes = axes.size() == 1 ? std::optional(Shape{whole}) : product_of_seen(whole, axes, false);
      if (!wholes) wholes = product_of_seen(whole, axes, true);
      if (wholes) {
        Shape pairs;
        for (std::size_t i = 0; i < axes.size(); ++i) {
          const auto [outer, inner] = (*wholes)[i].is_constant()
                                          ? std::pair(Dim(sizes[2 * i]), Dim(sizes[2 * i + 1]))
                                          : op_.pending_parts((*wholes)[i], sizes[2 * i], sizes[2 * i + 1]);
          pairs.push_back(outer);
          pairs.push_back(inner);
        }
        return pairs;
      }
    }
    if (auto factors = product_of_seen(whole, sizes, true)) return *std::move(factors);
    op_.unknown("its target shape is fixed, and what becomes of its size " + fixed_.as_exported(whole).to_string() +
                " in it is unknown");
  }

 private:
  // Both lists cut where either ends. `split` gives the parts of an input size with several pieces.
  template <typename Split>
  std::optional<Shape> refined(const Shape& input, const Integers& exported, const Integers& target,
                               const Split& split) {
    struct Piece {
      std::size_t of, in;  // positions in input and target
      std::int64_t size;
    };
    std::vector<Piece> pieces;
    std::int64_t in = 1, out = 1;  // what is left of the current sizes
    std::size_t i = 0, j = 0;
    while (true) {
      while (in == 1 && i < input.size()) in = exported[i++];  // sizes of 1 are no pieces
      while (out == 1 && j < target.size()) out = target[j++];
      if (in == 1 && out == 1) break;
      const std::int64_t least = std::min(in, out);
      if (least == 1 || in % least != 0 || out % least != 0) return std::nullopt;
      pieces.push_back({i - 1, j - 1, least});
      in /= least, out /= least;
    }
    Shape result(target.size(), Dim(1));
    std::vector<Shape> made_of(target.size());
    for (std::size_t first = 0; first < pieces.size();) {
      std::size_t last = first;
      Integers sizes;
      while (last < pieces.size() && pieces[last].of == pieces[first].of) sizes.push_back(pieces[last++].size);
      const Dim& size = input[pieces[first].of];
      std::optional<Shape> formulas;
      if (sizes.size() == 1) {
        formulas = Shape{size};
      } else if (size.is_constant()) {
        formulas = Shape(sizes.begin(), sizes.end());
      } else {
        formulas = split(size, sizes);
      }
      if (!formulas) return std::nullopt;
      for (std::size_t k = 0; k < formulas->size(); ++k) {
        result[pieces[first + k].in] *= (*formulas)[k];
        made_of[pieces[first + k].in].push_back((*formulas)[k]);
      }
      first = last;
    }
    for (std::size_t k = 0; k < result.size(); ++k)
      if (made_of[k].size() > 1) session_.note_merged(result[k], std::move(made_of[k]));
    return result;
  }

  // The parts, where no new symbol is needed.
  std::optional<Shape> known(const Dim& whole, const Integers& sizes) {
    constexpr int kMostTries = 4096;  // of merged sizes made of merged sizes
    if (++tries_ > kMostTries) refuse_several(whole);
    std::optional<Shape> answer;
    for (const Shape& merged : session_.merged(whole)) {
      const auto numbers = numbers_of(fixed_, merged);
      if (!numbers) continue;
      const auto split = [this](const Dim& size, const Integers& pieces) { return known(size, pieces); };
      const auto found = refined(merged, *numbers, sizes, split);
      if (found && answer && as_asked(fixed_, *found) != as_asked(fixed_, *answer)) refuse_several(whole);
      if (found && !answer) answer = found;
    }
    return answer ? answer : product_of_seen(whole, sizes, false);
  }

  [[noreturn]] void refuse_several(const Dim& whole) const {
    op_.unknown("its target shape is fixed, and its size " + fixed_.as_exported(whole).to_string() +
                " can be made of other sizes in several ways");
  }

  // Factors of `whole` with these exported sizes, in their order: sizes seen on earlier tensors. With `guesses`, also
  // numbers, and a last factor that was not seen. Rows come before columns where both had the same size.
  std::optional<Shape> product_of_seen(const Dim& whole, const Integers& sizes, bool guesses) const {
    std::vector<Shape> answers;
    Shape factors;
    extend(whole, sizes, guesses, factors, answers);
    for (const Shape& other : answers)
      if (!std::is_permutation(other.begin(), other.end(), answers.front().begin(), answers.front().end()) &&
          as_asked(fixed_, other) != as_asked(fixed_, answers.front()))
        refuse_several(whole);
    if (answers.empty()) return std::nullopt;
    return answers.front();
  }

  void extend(const Dim& rest, const Integers& sizes, bool guesses, Shape& factors, std::vector<Shape>& found) const {
    if (found.size() == kMostAnswers) return;
    const std::int64_t size = sizes[factors.size()];
    std::vector<Dim> candidates = op_.seen_sizes(size);
    if (factors.size() + 1 == sizes.size()) {
      if (fixed_.as_exported(rest) != Dim(size)) return;
      if (!guesses && std::find(candidates.begin(), candidates.end(), rest) == candidates.end()) return;
      found.push_back(factors);
      found.back().push_back(rest);
      return;
    }
    if (guesses) candidates.emplace_back(size);
    for (const Dim& candidate : candidates)
      if (const auto quotient = exact_div(rest, candidate)) {
        factors.push_back(candidate);
        extend(*quotient, sizes, guesses, factors, found);
        factors.pop_back();
      }
  }

  const OpContext& op_;
  Session& session_;
  const FixedSizes& fixed_;
  int tries_ = 0;
};

// The reshape with the batch divided out of its sizes; batch_position() finds it in the target.
struct Unbatched {
  Shape input, target;  // target: as the file states it, or a formula computed from other shapes
  std::vector<std::int64_t> exported_input, exported_target;
};

Integers as_numbers(const OpContext& op, const Shape& sizes) {
  auto numbers = numbers_of(*op.fixed_sizes(), sizes);
  if (!numbers) op.unknown("its target shape is fixed, and a size of its input is not known at export");
  return *std::move(numbers);
}

// A size of 1 at export does not cut the element order. It keeps its place if the target has as many ones there.
void follow_ones(const OpContext& op, Unbatched& reshape, std::vector<std::optional<Dim>>& followed) {
  const auto ones_by_place = [](const Integers& sizes) {
    std::map<Int, std::vector<std::size_t>> ones;
    Int before = 1;
    for (std::size_t i = 0; i < sizes.size(); before *= sizes[i++])
      if (sizes[i] == 1) ones[before].push_back(i);
    return ones;
  };
  const auto in_target = ones_by_place(reshape.exported_target);
  for (const auto& [place, ones] : ones_by_place(reshape.exported_input)) {
    const auto there = in_target.find(place);
    if (there == in_target.end() || there->second.size() != ones.size()) continue;
    for (std::size_t k = 0; k < ones.size(); ++k)
      if (op.fixed_sizes()->hold_other(reshape.input[ones[k]])) {
        followed[there->second[k]] = reshape.input[ones[k]];
        reshape.input[ones[k]] = 1;
      }
  }
}

// Sets `followed`, by index, to the formulas of the target sizes that the file states or solves for, group by group.
void follow_groups(const OpContext& op, const Unbatched& reshape, const std::vector<bool>& is_stated,
                   std::vector<std::optional<Dim>>& followed) {
  const FixedSizes& fixed = *op.fixed_sizes();
  const std::size_t inputs = reshape.input.size(), targets = reshape.target.size();
  std::size_t i = 0, j = 0;
  while (i < inputs || j < targets) {
    Dim whole = 1;
    Int in = 1, out = 1;
    const std::size_t first_input = i, first = j;
    const auto take_input = [&] { in *= reshape.exported_input[i], whole *= reshape.input[i], ++i; };
    const auto take_target = [&] { out *= reshape.exported_target[j], ++j; };
    if (i < inputs) take_input();
    // A size of 1 at export is grouped with the next size if that follows the input, too.
    while (in == 1 && fixed.hold_other(whole) && i < inputs && fixed.hold_other(reshape.input[i])) take_input();
    if (j < targets && in != 1) take_target();
    while (in != out && (in < out ? i < inputs : j < targets)) in < out ? take_input() : take_target();
    if (i == inputs)
      while (j < targets) take_target();  // sizes of 1 at the end
    if (!fixed.hold_other(whole)) continue;
    if (in == 1) {
      if (changes(fixed, whole)) op.unknown("an axis of size 1 at export is reshaped");
      continue;
    }
    std::vector<std::size_t> places;
    std::vector<std::int64_t> sizes;
    bool is_divided = true;
    for (std::size_t k = first; k < j && is_divided; ++k) {
      if (!is_stated[k]) {
        const auto rest = exact_div(whole, reshape.target[k]);
        is_divided = rest.has_value();
        if (rest) whole = *rest;
      } else if (reshape.exported_target[k] != 1) {
        places.push_back(k);
        sizes.push_back(reshape.exported_target[k]);
      }
    }
    // Next to a size that the file computes, such as ⌊h / 7⌋, a number is the divisor and stays.
    if (!is_divided || places.empty() || !fixed.hold_other(whole)) continue;
    const auto is_plain = [&](std::size_t k) {  // a size of 1 at export has no place in the element order
      return reshape.exported_input[k] != 1 || reshape.input[k].is_constant();
    };
    std::optional<Shape> formulas;
    bool all_plain = std::all_of(is_stated.begin() + first, is_stated.begin() + j, [](bool stated) { return stated; });
    for (std::size_t k = first_input; k < i; ++k) all_plain = all_plain && is_plain(k);
    if (places.size() > 1 && all_plain) {
      const auto of = [&](const auto& list) {
        return std::decay_t<decltype(list)>(list.begin() + first_input, list.begin() + i);
      };
      formulas = Splitter(op).target(of(reshape.input), of(reshape.exported_input), sizes);
    }
    if (!formulas) formulas = places.size() == 1 ? Shape{whole} : Splitter(op).parts(whole, sizes);
    for (std::size_t k = 0; k < places.size(); ++k)
      if (!(*formulas)[k].is_constant()) followed[places[k]] = (*formulas)[k];
  }
}

// [h/32, w/32] → [1, 7, 1, 7]: one window covers each axis. A larger input has several windows, which a framework then
// shifts and masks, or it makes the window larger.
void refuse_single_windows(const OpContext& op, const Unbatched& reshape,
                           const std::vector<std::optional<Dim>>& followed) {
  if (reshape.target.size() < reshape.input.size() + 2) return;
  for (std::size_t k = 1; k + 1 < followed.size(); ++k)
    if (reshape.exported_target[k] == 1 && !followed[k] && followed[k - 1] && followed[k + 1] &&
        (changes(*op.fixed_sizes(), *followed[k - 1]) || changes(*op.fixed_sizes(), *followed[k + 1])))
      op.unknown(cat("one window covers the axis of size ", reshape.exported_target[k + 1]));
}

}  // namespace

void follow_target(OpContext& op, const Shape& input, TensorValue& target, std::optional<std::size_t>& open) {
  const FixedSizes& fixed = *op.fixed_sizes();
  const auto any = [](const Shape& shape, const auto& holds) { return std::any_of(shape.begin(), shape.end(), holds); };
  if (!any(input, [&](const Dim& dim) { return fixed.hold(dim); })) return;
  Shape stated, exported, exported_input, others;
  for (const Dim& dim : input) exported_input.push_back(fixed.as_exported(dim));
  for (std::size_t i = 0; i < target.size(); ++i) {
    const auto size = i == open                      ? Dim(1)
                      : std::get_if<Dim>(&target[i]) ? std::get<Dim>(target[i])
                                                     : std::optional<Dim>();
    if (!size) return;
    stated.push_back(*size);
    exported.push_back(fixed.as_exported(*size));
    if (i != open) others.push_back(exported.back());
  }
  if (open) stated[*open] = exported[*open] = solved_size(op, exported_input, others);

  const auto with_batch = [&](const Dim& dim) { return fixed.hold_batch(dim); };
  const bool is_batch_placed = any(stated, with_batch);
  std::optional<std::size_t> position;
  if (any(input, with_batch) && !is_batch_placed) {
    require_same_count(op, exported_input, exported);
    position = batch_position(input, exported, fixed);
    if (!position)
      op.unknown("the target shape is fixed at the exported batch, and the place of the batch in it is unknown");
  }
  const auto note = [&](std::size_t i, const Dim& formula) {
    op.note(cat("target size ", exported[i].to_string(), " at axis ", i, ", fixed at export, read as ",
                as_read(fixed, formula)));
  };
  std::vector<std::optional<Dim>> followed(target.size());
  if (any(input, [&](const Dim& dim) { return fixed.hold_other(dim); })) {
    Unbatched reshape{input, stated, as_numbers(op, input), as_numbers(op, stated)};
    require_same_count(op, exported_input, exported);
    const auto divide = [&](Dim& dim, std::int64_t& number) {
      const auto quotient = exact_div(dim, Dim::symbol(fixed.batch));
      if (!quotient) op.unknown("the batch does not divide " + dim.to_string());
      dim = *quotient;
      number /= fixed.exported.at(fixed.batch);
    };
    for (std::size_t i = 0; i < input.size(); ++i)
      if (with_batch(input[i])) divide(reshape.input[i], reshape.exported_input[i]);
    std::vector<bool> is_stated;
    for (std::size_t i = 0; i < stated.size(); ++i) {
      is_stated.push_back(stated[i].is_constant());
      if (with_batch(stated[i])) divide(reshape.target[i], reshape.exported_target[i]);
    }
    if (position) reshape.exported_target[*position] /= fixed.exported.at(fixed.batch);
    follow_ones(op, reshape, followed);
    follow_groups(op, reshape, is_stated, followed);
    refuse_single_windows(op, reshape, followed);
  }
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (!followed[i] && (i != position || i == open)) continue;
    Dim formula = followed[i]     ? *followed[i]
                  : i == position ? *exact_div(exported[i], fixed.exported.at(fixed.batch))
                                  : exported[i];
    if (i == position) formula *= Dim::symbol(fixed.batch);
    if (i == open) {
      open.reset();
    } else {
      note(i, formula);
    }
    target[i] = std::move(formula);
  }
}

void note_merges(const OpContext& op, const Shape& input, const Shape& output) {
  auto from = input.begin();
  for (const Dim& size : output) {
    Dim product = 1;
    Shape made_of;
    while (from != input.end() && product != size) {
      if (*from != Dim(1)) made_of.push_back(*from);
      product *= *from++;
    }
    if (product != size) return;
    if (made_of.size() > 1) OpContext::State::of(op).session.note_merged(size, std::move(made_of));
  }
}

// 100 may be 10 · 10 pixels, or 100 queries.
Dim size_of_similar_tensors(const OpContext& op, std::size_t rank, std::size_t axis, const Dim& size) {
  const FixedSizes& fixed = *op.fixed_sizes();
  const auto number = size.value64();
  if (!number || op.seen_sizes(*number).empty()) return size;
  const std::vector<Dim> seen = op.seen_sizes(*number, rank, axis);
  const std::optional<Dim> otherwise =
      !agree(fixed, seen) ? std::nullopt : std::optional(seen.empty() ? size : seen.front());
  OpContext::State& state = OpContext::State::of(op);
  return state.session.pending_size(*number, state.display_name, otherwise);
}

Dim stated_size(const OpContext& op, std::size_t rank, std::size_t axis, const Dim& own, const Dim& size) {
  const FixedSizes* fixed = op.fixed_sizes();
  const auto number = size.value64();
  if (fixed == nullptr || !number || own == size) return size;
  const bool is_own = fixed->hold(own) && fixed->as_exported(own) == size;
  if (is_own && !fixed->hold_other(own)) return own;
  std::vector<Dim> candidates = op.seen_sizes(*number, rank, axis);
  // An axis that follows rows does not become rows · columns.
  const auto is_other_kind = [&](const Dim& each) { return each.symbols() != own.symbols(); };
  if (fixed->hold_other(own) && !std::all_of(candidates.begin(), candidates.end(), is_other_kind))
    std::erase_if(candidates, is_other_kind);
  // A map brought back to the size of the image: 65 → 520, where 8 times the 98 of 780 would be 784.
  const std::vector<Dim>& image = OpContext::State::of(op).session.input_sizes;
  for (const Dim& each : candidates)
    if (std::find(image.begin(), image.end(), each) != image.end()) return each;
  const Dim exported = fixed->as_exported(own);
  const bool is_multiple = exported.is_constant() && exported != Dim(0) && size != Dim(0) &&
                           (exact_div(size, exported) || exact_div(exported, size));
  if (fixed->hold_other(own) && is_multiple)
    if (auto ratio = exact_div(own * size, exported)) candidates.push_back(*std::move(ratio));
  if (candidates.empty()) return fixed->hold_other(own) ? op.pending_size(*number) : size;
  return agree(*fixed, candidates) ? candidates.front() : op.pending_size(*number);
}

}  // namespace pagoda::inline core::ops
