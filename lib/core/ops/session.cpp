// Symbols of an analysis: those invented for data-dependent sizes, and the equalities found between sizes.
#include <algorithm>
#include <iterator>

#include "graph/dim_poly.h"
#include "ops/context.h"
#include "ops/fixed_sizes.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core {
namespace {

bool depends_on(const Dim& size, std::string_view symbol) {
  return any_symbol(size, [&](const std::string& name) { return name == symbol; });
}

}  // namespace

Dim Session::fresh(std::string_view hint, std::string node, std::string cause, std::optional<Dim> upper) {
  const std::string stem = Dim::identifier(hint);
  std::string name = stem;
  int& next = next_of_stem_.emplace(stem, 2).first->second;
  while (fresh_names_.contains(name) || input_dims.contains(name)) name = cat(stem, "_", next++);
  fresh_names_.insert(name);
  symbols.push_back({name, std::move(node), std::move(cause), std::move(upper)});
  return Dim::symbol(name);
}

void Session::forget(const Dim& symbol) {
  const std::string name = symbol.to_string();
  // The search begins with the latest symbols.
  const auto last =
      std::find_if(symbols.rbegin(), symbols.rend(), [&](const Symbol& known) { return known.name == name; });
  if (last != symbols.rend()) symbols.erase(std::next(last).base());
}

Session::Branch::~Branch() {
  --session_.undecided, --session_.branches_;
  for (const auto& [name, formula] : session_.equalities_)
    if (!outside_.contains(name) && session_.is_fresh(name)) session_.forget(Dim::symbol(name));
  session_.equalities_ = std::move(outside_);
}

Dim Session::resolve(const Dim& dim) const {
  return dim.is_constant() || equalities_.empty() ? dim : dim.substitute(equalities_);
}

void Session::one_or(const Dim& symbol, const Dim& constant, const Name& node) {
  if (symbol.is_symbol() && input_dims.contains(symbol.to_string()))
    ones_or_.emplace(symbol.to_string(), constant);
  else
    require(Requirement::Kind::Broadcast, constant, symbol, node);
}

void Session::require(Requirement::Kind kind, const Dim& size, const Dim& other, const Name& node) {
  constexpr std::size_t kMost = 256;
  // In a fixed export, every condition on a fixed size is recorded, to be checked with the requested sizes.
  if (undecided > 0 || (fixed ? !fixed->hold(size) && !fixed->hold(other) : requirements.size() >= kMost)) return;
  if (required_.insert(cat(static_cast<int>(kind), size.to_string(), " = ", other.to_string())).second)
    requirements.push_back({size, other, kind, node});
}

namespace {

// Diagnostics with the same key are one. A body of a loop is walked several times, and its nodes may lack another input
// each time.
std::string key_of(const std::string& node, const std::string& message, Cause cause) {
  return cause == Cause::UnknownInput ? node + '\n' : cat(node, "\n", message);
}

}  // namespace

void Session::note(Severity severity, std::string node, std::string message, Cause cause) {
  constexpr std::size_t kMaxDiagnostics = 10'000;
  if (diagnostics.size() < kMaxDiagnostics && noted_.insert(key_of(node, message, cause)).second)
    diagnostics.push_back({severity, std::move(node), std::move(message), cause});
}

std::vector<Diagnostic> Session::take_notes(std::size_t first) {
  const auto begin = diagnostics.begin() + first;
  std::vector<Diagnostic> taken(std::make_move_iterator(begin), std::make_move_iterator(diagnostics.end()));
  diagnostics.erase(begin, diagnostics.end());
  for (const Diagnostic& each : taken) noted_.erase(key_of(each.node, each.message, each.cause));
  return taken;
}

// Prefers constants, then expressions with fewer invented symbols, then those in the dims named first, then short ones.
bool Session::is_more_informative(const Dim& a, const Dim& b) const {
  if (a.is_constant() != b.is_constant()) return a.is_constant();
  const auto rank = [&](const Dim& dim) {
    int invented = 0;
    int latest = 0;
    for (const std::string& name : dim.symbols()) {
      invented += is_fresh(name) ? 1 : 0;
      if (const auto found = input_dims.find(name); found != input_dims.end()) latest = std::max(latest, found->second);
    }
    const std::string text = dim.to_string();
    return std::tuple(invented, latest, text.size(), text);
  };
  return rank(a) < rank(b);
}

void Session::set_equal(const std::string& symbol, const Dim& dim, const Name& node, Requirement::Kind kind) {
  for (auto& [name, replacement] : equalities_) replacement = replacement.substitute({{symbol, dim}});
  equalities_.emplace(symbol, dim);
  if (is_fresh(symbol) || branches_ > 0) return;
  // A dim that becomes a number is plain to see. One that follows another vanishes from what the caller can set.
  const bool is_choice = kind == Requirement::Kind::Broadcast;
  note(dim.is_constant() ? Severity::Info : Severity::Warning, node,
       cat("takes dim ", symbol, " to be ", dim.to_string(),
           is_choice ? ", which it broadcasts it with; set both to differ" : ", as the operator requires"));
}

std::optional<Dim> Session::unify(const Dim& raw_a, const Dim& raw_b, const Name& node, Requirement::Kind kind) {
  if (raw_a == raw_b) return raw_a;
  const Dim a = resolve(raw_a);
  const Dim b = resolve(raw_b);
  if (a == b) return a;
  if (a.is_constant() && b.is_constant()) return std::nullopt;
  if (fixed && (fixed->hold(a) || fixed->hold(b)) &&
      (a.is_constant() || b.is_constant() ||
       (fixed->as_exported(a).is_constant() && fixed->as_exported(b).is_constant())))
    return unify_fixed(a, b, node, kind);
  const Dim& kept = is_more_informative(a, b) ? a : b;
  const Dim& dropped = is_more_informative(a, b) ? b : a;
  // A size that the data decide may be the 1 that is broadcast: it stays open.
  if (kind == Requirement::Kind::Broadcast && dropped.is_symbol() && is_fresh(dropped.to_string()) &&
      !kept.is_constant()) {
    require(kind, kept, dropped, node);
    return kept;
  }
  if (dropped.is_symbol() && !depends_on(kept, dropped.to_string())) {
    // A node that may not run decides no size of an input.
    if (undecided == branches_ || is_fresh(dropped.to_string())) set_equal(dropped.to_string(), kept, node, kind);
    return kept;
  }
  if (!dropped.is_symbol() && kept.is_symbol() && !dropped.is_constant() && is_fresh(kept.to_string()) &&
      !depends_on(dropped, kept.to_string())) {
    set_equal(kept.to_string(), dropped, node, kind);
    return kept;
  }
  require(kind, kept, dropped, node);
  return kept;
}

// --- sizes that the file fixes ---

bool FixedSizes::hold(const Dim& size) const {
  return any_symbol(size, [&](const std::string& name) { return exported.contains(name); });
}

bool FixedSizes::hold_batch(const Dim& size) const { return !batch.empty() && depends_on(size, batch); }

bool FixedSizes::hold_other(const Dim& size) const {
  return any_symbol(size, [&](const std::string& name) { return name != batch && exported.contains(name); });
}

void Session::see(const Shape& shape) {
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!fixed->hold_other(shape[axis])) continue;
    const auto size = fixed->as_exported(shape[axis]).value64();
    if (!size) continue;
    std::vector<Seen>& known = seen_[*size];
    if (std::ranges::none_of(known, [&](const Seen& each) {
          return each.rank == shape.size() && each.axis == axis && each.size == shape[axis];
        }))
      known.push_back({shape[axis], shape.size(), axis});
  }
}

std::vector<Dim> Session::seen(std::int64_t exported,
                               std::optional<std::pair<std::size_t, std::size_t>> rank_and_axis) const {
  std::vector<Dim> sizes;
  const auto found = seen_.find(exported);
  if (found == seen_.end()) return sizes;
  for (const Seen& each : found->second) {
    if (rank_and_axis && *rank_and_axis != std::pair(each.rank, each.axis)) continue;
    Dim size = resolve(each.size);
    if (fixed->hold_other(size) && std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(std::move(size));
  }
  return sizes;
}

void Session::note_merged(const Dim& whole, Shape sizes) {
  const auto size = fixed->as_exported(whole).value64();
  if (!size || !fixed->hold_other(whole)) return;
  std::vector<Merged>& known = merged_[*size];
  if (std::ranges::none_of(known, [&](const Merged& each) { return each.whole == whole && each.sizes == sizes; }))
    known.push_back({whole, std::move(sizes)});
}

std::vector<Shape> Session::merged(const Dim& whole) const {
  std::vector<Shape> lists;
  const auto size = fixed->as_exported(whole).value64();
  const auto found = size ? merged_.find(*size) : merged_.end();
  if (found == merged_.end()) return lists;
  for (const Merged& each : found->second) {
    if (resolve(each.whole) != resolve(whole)) continue;
    Shape sizes;
    for (const Dim& part : each.sizes) sizes.push_back(resolve(part));
    if (std::ranges::find(lists, sizes) == lists.end()) lists.push_back(std::move(sizes));
  }
  return lists;
}

Dim Session::pending_size(std::int64_t exported, const Name& node, std::optional<Dim> otherwise) {
  const Dim symbol = fresh("size", node, "a size that the file fixes", std::nullopt);
  fixed->exported.emplace(symbol.to_string(), exported);
  pending_.emplace(symbol.to_string(), Pending{.node = node, .otherwise = std::move(otherwise)});
  return symbol;
}

std::pair<Dim, Dim> Session::pending_parts(const Dim& whole, std::int64_t outer, std::int64_t inner, const Name& node) {
  const Dim first = pending_size(outer, node);
  const Dim second = pending_size(inner, node);
  pending_.at(first.to_string()) = {node, whole, second.to_string(), true};
  pending_.at(second.to_string()) = {node, whole, first.to_string(), false};
  return {first, second};
}

void Session::settle(const std::string& symbol, const Dim& dim, const Name& node) {
  const Pending& pending = pending_.at(symbol);
  set_equal(symbol, dim, node, Requirement::Kind::Equal);
  if (!pending.whole || equalities_.contains(pending.other)) return;
  const Dim whole = resolve(*pending.whole);
  const auto exact = exact_div(whole, dim);
  const Dim other = exact ? *exact : floor_div(whole, dim);
  set_equal(pending.other, other, node, Requirement::Kind::Equal);
  require(Requirement::Kind::Equal, whole, dim * other, pending.node);
}

bool Session::keep(const Dim& formula, const Name& node) {
  const Dim open = resolve(formula);
  const auto is_known = [&](const std::string& name) { return !pending_.contains(name); };
  if (open.is_constant() || any_symbol(open, is_known)) return false;
  settle_as_exported(open, node);
  return true;
}

void Session::settle_as_exported(const Dim& formula, const Name& node) {
  for (const std::string& name : formula.symbols())
    if (!equalities_.contains(name)) settle(name, fixed->exported.at(name), node);
}

void Session::settle_rest() {
  for (const auto& [name, pending] : pending_)
    if (pending.otherwise && !equalities_.contains(name)) {
      const Dim formula = resolve(*pending.otherwise);
      if (!depends_on(formula, name)) settle(name, formula, pending.node);
    }
  // By exported size of a part, and whether it is the inner one: the sizes of the axes that it divides.
  std::map<std::pair<std::int64_t, bool>, std::set<std::int64_t>> axes;
  std::vector<std::pair<std::string, std::string>> pairs;  // outer and inner
  const auto exported = [&](const std::string& name) { return fixed->exported.at(name); };
  for (const auto& [outer, pending] : pending_) {
    if (!pending.whole || !pending.is_outer) continue;
    const auto decided = equalities_.find(outer);
    const std::int64_t whole = exported(outer) * exported(pending.other);
    if (decided == equalities_.end()) pairs.push_back({outer, pending.other});
    const bool stays = decided != equalities_.end() && decided->second.is_constant();
    if (decided == equalities_.end() || stays) axes[{exported(outer), false}].insert(whole);
    if (decided == equalities_.end() || !stays) axes[{exported(pending.other), true}].insert(whole);
  }
  for (const auto& [outer, inner] : pairs) {
    const bool is_outer_block = axes[{exported(outer), false}].size() > 1;
    const bool is_inner_block = axes[{exported(inner), true}].size() > 1;
    if (is_outer_block == is_inner_block || equalities_.contains(outer)) continue;
    const std::string& block = is_outer_block ? outer : inner;
    settle(block, exported(block), pending_.at(block).node);
  }
}

std::optional<std::pair<std::string, std::string>> Session::unsettled() const {
  for (const auto& [name, pending] : pending_) {
    const auto found = equalities_.find(name);
    const std::int64_t exported = fixed->exported.at(name);
    if (found == equalities_.end())
      return std::pair(pending.node,
                       cat("the file leaves open whether its size ", exported, " stays or follows the input"));
    // Frameworks omit the shift and the masks of windows if one window covers the axis.
    const Dim asked = fixed->as_asked(found->second);
    if (pending.whole && asked.is_constant() && (asked == Dim(1)) != (exported == 1))
      return std::pair(pending.node,
                       cat(exported, " windows become ", asked.to_string(), "; the graph of a single window differs"));
  }
  return std::nullopt;
}

std::optional<Dim> Session::unify_fixed(const Dim& a, const Dim& b, const Name& node, Requirement::Kind kind) {
  if (a.is_constant() || b.is_constant()) {
    const Dim& constant = a.is_constant() ? a : b;
    const Dim& formula = a.is_constant() ? b : a;
    if (fixed->as_exported(formula) != constant) return std::nullopt;
    // A formula made only of pending sizes keeps the exported sizes if they are window parts or meet stored weights.
    const auto is_no_part = [&](const std::string& name) {
      const auto found = pending_.find(name);
      return found == pending_.end() || (!found->second.whole && !has_weights);
    };
    if (!any_symbol(formula, is_no_part)) {
      settle_as_exported(formula, node);
      return constant;
    }
    if (ops::changes(*fixed, formula) || fixed->hold_batch(formula)) yielded.push_back({constant, formula});
    note(Severity::Info, node,
         "size " + constant.to_string() + " fixed at export read as " + ops::as_read(*fixed, formula));
    return formula;
  }
  if (fixed->as_exported(a) != fixed->as_exported(b)) return std::nullopt;
  for (const auto& [pending, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (!is_pending(*pending) || depends_on(*other, pending->to_string())) continue;
    settle(pending->to_string(), *other, node);
    return *other;
  }
  const bool a_first = is_more_informative(a, b);
  require(kind, a_first ? a : b, a_first ? b : a, node);
  return a_first ? a : b;
}

}  // namespace pagoda::inline core
