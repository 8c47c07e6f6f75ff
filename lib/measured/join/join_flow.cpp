// Assigns rows that no kernel names by data flow. A fusing engine names a kernel after one of its nodes; the others lie
// between that kernel and its neighbours, and nothing else can have executed them. If two kernels could have executed a
// row, it stays unassigned.
#include <algorithm>
#include <array>
#include <limits>

#include "import/engine_names.h"
#include "join/join_state.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/core/operators.h"

namespace pagoda::measured {
namespace {

constexpr std::size_t kNoKernel = std::numeric_limits<std::size_t>::max();

class Absorber {
 public:
  explicit Absorber(JoinState& state) : state_(state) {}

  void run() {
    for (std::size_t kernel = 0; kernel < state_.measured.kernels.size(); ++kernel) complete(kernel);
    fill_holes();
    find_fed();
    // Each round extends every chain by at least one row; chains are short.
    for (int round = 0; round < 64 && spread(); ++round) {
    }
  }

 private:
  bool is_silent(std::size_t row) const { return state_.is_silent(row); }
  // Executes nothing itself: data passes through.
  bool is_transparent(std::size_t row) const { return !state_.is_work(row) && !state_.is_taken(row); }

  // Rows before or after `row`, skipping transparent ones.
  std::vector<std::size_t> neighbours(std::size_t row, bool is_before) const {
    std::vector<std::size_t> result, work = {row}, seen;
    while (!work.empty()) {
      const std::size_t now = work.back();
      work.pop_back();
      for (const std::size_t next : is_before ? state_.before(now) : state_.after(now)) {
        if (std::ranges::find(seen, next) != seen.end()) continue;
        seen.push_back(next);
        if (seen.size() > kMostSeen) return result;
        (is_transparent(next) ? work : result).push_back(next);
      }
    }
    return result;
  }

  // The last, or first, kernel that executed one of the rows.
  std::size_t kernel_at(const std::vector<std::size_t>& rows, bool is_last) const {
    std::size_t found = kNoKernel;
    for (const std::size_t row : rows)
      for (const std::size_t kernel : state_.kernels_of[row])
        if (found == kNoKernel || (is_last ? kernel > found : kernel < found)) found = kernel;
    return found;
  }

  bool has_row_of_its_type(std::size_t index) const {
    const documents::MeasuredKernel& kernel = state_.kernel(index);
    return std::ranges::any_of(kernel.joined->nodes,
                               [&](std::size_t row) { return state_.row(row).op_type == kernel.op_type; });
  }

  // A kernel named after the last of its rows also executes the chain that leads there from a row of its own type, such
  // as a Conv named after the Relu behind it. Some operators are known to be made of certain others.
  void complete(std::size_t index) {
    const documents::MeasuredKernel& kernel = state_.kernel(index);
    if (!kernel.joined || kernel.op_type.empty() || kernel.joined->nodes.size() != 1 || has_row_of_its_type(index))
      return;
    std::vector<std::size_t> chain;
    std::size_t row = kernel.joined->nodes.front();
    if (kernel.op_type == "Split") return absorb_siblings(index, row);
    for (const Fusion& fusion : kFusions)
      if (fusion.op == kernel.op_type) return absorb_parts(index, row, fusion);
    for (int steps = 0; steps < 8; ++steps) {
      std::vector<std::size_t> silent = neighbours(row, true);
      std::erase_if(silent, [&](std::size_t r) { return !is_silent(r); });
      if (silent.size() != 1) return;
      row = silent.front();
      chain.push_back(row);
      if (state_.row(row).op_type != kernel.op_type) continue;
      state_.absorb(index, chain);
      return;
    }
  }

  // ONNX Runtime turns all Slices or Gathers of one value into a Split, which has the name of one of them.
  void absorb_siblings(std::size_t index, std::size_t row) {
    if (state_.row(row).inputs.empty()) return;
    for (const std::size_t sibling : state_.reading(state_.row(row).inputs[0]))
      if (is_silent(sibling) && state_.row(sibling).op_type == state_.row(row).op_type) state_.absorb(index, {sibling});
  }

  // Operators of ONNX Runtime that are named after one of the nodes they replace, and the types of further ones. An Add
  // is one of them only if it adds a stored tensor to the result: other Adds have kernels of their own.
  struct Fusion {
    std::string_view op;
    std::array<std::string_view, 4> parts;
  };
  // clang-format off
  static constexpr std::array<Fusion, 4> kFusions = {{
      {"DynamicQuantizeMatMul", {"Add", "Cast", "DynamicQuantizeLinear", "Mul"}},
      {"Gemm",                  {"Add"}},
      {"LayerNormalization",    {"Add"}},
      {"MatMulIntegerToFloat",  {"Add", "Cast", "Mul"}},
  }};
  // clang-format on

  void absorb_parts(std::size_t index, std::size_t named, const Fusion& fusion) {
    const auto is_sum = [&](std::size_t row) { return state_.row(row).op_type == "Add"; };
    const auto is_part = [&](std::size_t row) {
      const base::Name& type = state_.row(row).op_type;
      return is_silent(row) && std::ranges::find(fusion.parts, type.view()) != fusion.parts.end();
    };
    const auto step = [&](std::size_t row) {
      std::vector<std::size_t> next = neighbours(row, false);
      // A value with other readers must be written to memory anyway.
      if (!std::ranges::all_of(next, [&](std::size_t r) { return is_silent(r) || r == named; })) next.clear();
      std::erase_if(next, [&](std::size_t r) { return is_sum(r) && neighbours(r, true).size() != 1; });
      for (const std::size_t before : neighbours(row, true))
        if (!is_sum(before)) next.push_back(before);
      std::erase_if(next, [&](std::size_t r) { return !is_part(r); });
      return next;
    };
    for (const std::size_t row : reachable({named}, step))
      if (row != named) state_.absorb(index, {row});
  }

  // Whether the engine changed the node that the kernel is named after, so that the kernel may execute more than that
  // node. PyTorch fuses no calls.
  bool is_fused(std::size_t kernel) const {
    const documents::MeasuredKernel& k = state_.kernel(kernel);
    return k.joined && !k.op_type.starts_with("aten::") &&
           (k.joined->rule != "name" || (!k.op_type.empty() && !has_row_of_its_type(kernel)));
  }

  // Kernels for which engines are known to fuse an epilogue.
  bool has_epilogue(std::size_t kernel) const {
    return is_fused(kernel) && import::has_any(state_.kernel(kernel).op_type, {"Conv", "conv", "Gemm", "MatMul"});
  }

  // The shape of its first output, as engines print it: "[1,64,56,56]"; empty if not known.
  static std::string shape_text(const documents::EstimateNode& row, bool has_channels_last = false) {
    auto shape = row.outputs.empty() ? std::nullopt : documents::sizes(row.outputs.front().type);
    if (!shape) return "";
    if (has_channels_last && shape->size() > 2) std::rotate(shape->begin() + 1, shape->begin() + 2, shape->end());
    return cat("[", base::joined(*shape, ",", [](Int size) { return to_string(size); }), "]");
  }

  // Assigns silent rows to the fused kernel before them, else to the one after them. Returns whether any row was
  // assigned.
  bool spread() {
    bool has_assigned = false;
    const std::vector<Window> when = windows(state_);
    for (std::size_t row = 0; row < state_.estimate.nodes.size(); ++row) {
      if (!is_silent(row) || may_be_of_unplaced(row, when[row])) continue;
      std::size_t kernel = host_before(row);
      if (kernel == kNoKernel) kernel = host_behind(row);
      if (kernel == kNoKernel) continue;
      state_.absorb(kernel, {row});
      has_assigned = true;
    }
    return has_assigned;
  }

  // Whether a kernel that joined nothing may have run the row. A kernel of an unknown operator may run any.
  bool may_be_of_unplaced(std::size_t row, const Window& window) const {
    const bool moves = only_moves(state_.row(row).op_type);
    for (std::size_t i = window.begin; i <= window.end && i < state_.measured.kernels.size(); ++i)
      if (const std::string& op = state_.kernel(i).op_type;
          state_.is_unplaced(i) && (op.empty() || only_moves(op) == moves))
        return true;
    return false;
  }

  // All operands must be available: of the kernels before a row, only the last one can execute it.
  std::size_t host_before(std::size_t row) const {
    if (state_.row(row).op_type == "DequantizeLinear") return kNoKernel;  // it belongs to its reader
    const std::vector<std::size_t> before = neighbours(row, true);
    if (std::ranges::any_of(before, [&](std::size_t r) { return is_silent(r); })) return kNoKernel;
    const std::size_t last = kernel_at(before, true);
    if (last == kNoKernel || !has_epilogue(last)) return kNoKernel;
    const std::string shape = shape_text(state_.row(row));
    const bool follows = !shape.empty() && std::ranges::any_of(before, [&](std::size_t r) {
      return is_in(r, last) && shape_text(state_.row(r)) == shape && is_read_by(r, row);
    });
    return follows ? last : kNoKernel;
  }

  // The kernel after a row, if its operator differs from its node's and it is the only reader of the row. Rows that no
  // kernel feeds were computed from constants before the first run.
  std::size_t host_behind(std::size_t row) const {
    if (!fed_.contains(row)) return kNoKernel;
    const std::vector<std::size_t> after = neighbours(row, false);
    const std::size_t first = kernel_at(after, false);
    if (first == kNoKernel || !is_fused(first) || has_row_of_its_type(first)) return kNoKernel;
    return std::ranges::all_of(after, [&](std::size_t r) { return is_in(r, first); }) ? first : kNoKernel;
  }

  bool is_in(std::size_t row, std::size_t kernel) const {
    const auto& kernels = state_.kernels_of[row];
    return std::ranges::find(kernels, kernel) != kernels.end();
  }

  // Finds the rows that kernels executed and all rows downstream of them in the data flow.
  void find_fed() {
    std::vector<std::size_t> taken;
    for (std::size_t row = 0; row < state_.estimate.nodes.size(); ++row)
      if (state_.is_taken(row)) taken.push_back(row);
    fed_ = reachable(taken, [&](std::size_t row) { return state_.after(row); });
  }

  // Whether only the kernel of `row` would read the output of `before`: otherwise it must be written to memory anyway.
  bool is_read_by(std::size_t before, std::size_t row) const {
    const std::vector<std::size_t> readers = neighbours(before, false);
    return std::ranges::all_of(readers, [&](std::size_t reader) { return reader == row || is_silent(reader); });
  }

  // Connected silent rows, and when they can have run.
  struct Hole {
    std::vector<std::size_t> rows;
    Window when;
    std::vector<std::string> shapes;           // shapes of the values that leave it, in both layouts
    std::vector<std::size_t> within, fitting;  // kernels that may have filled it; those with a matching shape
  };

  // Rows belong to one hole only if one kernel may have run both. A residual connection joins all normalizations of a
  // model, which kernels of their own ran.
  bool may_share(const Window& a, const Window& b) const {
    for (std::size_t i = std::max(a.begin, b.begin); i <= std::min(a.end, b.end) && i < state_.measured.kernels.size();
         ++i)
      if (state_.is_unplaced(i)) return true;
    return false;
  }

  Hole hole_from(std::size_t row, const std::vector<Window>& when, std::vector<bool>& seen) const {
    Hole hole{.rows = {}, .when = when[row], .shapes = {}, .within = {}, .fitting = {}};
    std::vector<std::size_t> work = {row};
    seen[row] = true;
    while (!work.empty()) {
      const std::size_t now = work.back();
      work.pop_back();
      hole.rows.push_back(now);
      for (const bool is_before : {true, false})
        for (const std::size_t next : neighbours(now, is_before))
          if (is_silent(next) && !seen[next] && may_share(when[now], when[next])) {
            seen[next] = true;
            work.push_back(next);
          }
      hole.when.begin = std::max(hole.when.begin, when[now].begin);
      hole.when.end = std::min(hole.when.end, when[now].end);
    }
    std::ranges::sort(hole.rows);
    for (const std::size_t each : hole.rows) {
      const std::vector<std::size_t> after = neighbours(each, false);
      const auto is_inside = [&](std::size_t reader) { return std::ranges::binary_search(hole.rows, reader); };
      if (!after.empty() && std::ranges::all_of(after, is_inside)) continue;
      for (const bool has_channels_last : {false, true})
        hole.shapes.push_back(shape_text(state_.row(each), has_channels_last));
    }
    return hole;
  }

  // Unjoined kernels that can have run a hole's rows filled it: all of them together if none may be of another hole, or
  // the only one if it fits no other. The last one's output has the shape of a value that leaves the hole.
  void fill_holes() {
    std::vector<Hole> holes;
    std::vector<bool> seen(state_.estimate.nodes.size(), false);
    const std::vector<Window> when = windows(state_);
    for (std::size_t row = 0; row < seen.size(); ++row)
      if (!seen[row] && is_silent(row)) holes.push_back(hole_from(row, when, seen));
    const std::size_t count = state_.measured.kernels.size();
    std::vector<std::size_t> near(count, 0), fitted(count, 0);  // number of holes that a kernel may fill
    for (Hole& hole : holes) {
      if (hole.when.begin == 0 && hole.when.end == count) continue;
      const std::size_t end = std::min(hole.when.end + 1, count);
      for (std::size_t kernel = hole.when.begin; kernel < end && hole.within.size() < kMostWithin; ++kernel) {
        if (!state_.is_unplaced(kernel) || !state_.causes[kernel].empty() || !may_fill(state_.kernel(kernel), hole))
          continue;
        hole.within.push_back(kernel);
        if (!fits(state_.kernel(kernel), hole)) continue;
        hole.fitting.push_back(kernel);
        ++fitted[kernel];
      }
      // No kernel gets a hole that none fits, such as weights that the engine converted before the first run.
      if (!hole.fitting.empty())
        for (const std::size_t kernel : hole.within) ++near[kernel];
    }
    for (const Hole& hole : holes) {
      const auto alone = [&](std::size_t kernel) { return near[kernel] == 1; };
      if (!hole.within.empty() && hole.within.size() < kMostWithin && !hole.fitting.empty() &&
          hole.fitting.back() == hole.within.back() && std::ranges::all_of(hole.within, alone)) {
        for (const std::size_t kernel : hole.within) state_.take(kernel, hole.rows, "order");
      } else if (hole.within.size() == 1 && hole.fitting.size() == 1 && fitted[hole.fitting[0]] == 1) {
        state_.take(hole.fitting[0], hole.rows, "order");
      }
    }
  }

  static bool only_moves(const std::string& op) {
    const OpKind kind = operator_facts("", op).kind;
    return kind == OpKind::View || kind == OpKind::Transpose || op == "Cast";
  }

  // Engines add data movement around fused kernels: it does not fill holes in arithmetic, nor arithmetic holes in
  // movement.
  bool may_fill(const documents::MeasuredKernel& kernel, const Hole& hole) const {
    const bool hole_moves =
        std::ranges::all_of(hole.rows, [&](std::size_t row) { return only_moves(state_.row(row).op_type); });
    return hole_moves == only_moves(kernel.op_type);
  }

  // ONNX Runtime prints types and shapes: "float[1,64,56,56],… -> float[1,64,56,56]".
  static bool fits(const documents::MeasuredKernel& kernel, const Hole& hole) {
    const std::size_t arrow = kernel.detail.find(" -> ");
    if (arrow == std::string::npos) return false;
    const std::string outputs = kernel.detail.substr(arrow + 4);
    return std::ranges::any_of(hole.shapes, [&](const std::string& shape) {
      return !shape.empty() && outputs.find(shape) != std::string::npos;
    });
  }

  static constexpr std::size_t kMostSeen = 4096, kMostWithin = 64;

  JoinState& state_;
  std::set<std::size_t> fed_;
};

}  // namespace

void absorb(JoinState& state) { Absorber(state).run(); }

}  // namespace pagoda::measured
