#include "join/align_calls.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace pagoda::measured {
namespace {

constexpr std::size_t kMostCells = std::size_t{1} << 25;  // 128 MiB of scores
// A call counts as much as a node, so that "MatMul Add" is a product and a sum rather than a product with a bias. Views
// count little: many of them are calls of no name, or nodes of no call.
constexpr int kPerCall = 4, kPerNode = 4, kPerView = 1;

// Nodes that a call may have become.
struct Option {
  std::vector<std::size_t> places;
  int score = 0;

  std::size_t end() const { return places.back() + 1; }
};

// By the first node.
std::vector<std::vector<Option>> options_of(const PytorchCall* call, const std::vector<TypedNode>& nodes) {
  std::vector<std::vector<Option>> options(nodes.size());
  if (call == nullptr) return options;
  for (std::size_t first = 0; first < nodes.size(); ++first)
    for (const std::string_view sequence : call->onnx) {
      if (sequence.empty()) continue;
      Option option{places_of(sequence, nodes, first)};
      if (option.places.empty()) continue;
      bool is_view = true;
      for (const std::size_t at : option.places) {
        option.score += nodes[at].is_view ? kPerView : kPerNode;
        is_view = is_view && nodes[at].is_view;
      }
      option.score += is_view ? kPerView : kPerCall;
      options[first].push_back(std::move(option));
    }
  return options;
}

}  // namespace

std::vector<std::vector<std::size_t>> align_calls(const std::vector<std::string_view>& calls,
                                                  const std::vector<TypedNode>& nodes) {
  std::vector<std::vector<std::size_t>> aligned(calls.size());
  const std::size_t width = nodes.size() + 1;
  if (nodes.empty() || calls.size() + 1 > kMostCells / width) return aligned;
  std::map<const PytorchCall*, std::vector<std::vector<Option>>> by_call;
  std::vector<const std::vector<std::vector<Option>>*> options;
  for (const std::string_view name : calls) {
    const PytorchCall* call = pytorch_call(name);
    const auto [found, is_new] = by_call.try_emplace(call);
    if (is_new) found->second = options_of(call, nodes);
    options.push_back(&found->second);
  }

  // Best scores of the calls and nodes before each pair of places.
  std::vector<std::int32_t> before((calls.size() + 1) * width, 0);
  for (std::size_t call = 0; call <= calls.size(); ++call) {
    std::int32_t* now = before.data() + call * width;
    for (std::size_t node = 0; node < width; ++node) {
      if (node > 0) now[node] = std::max(now[node], now[node - 1]);
      if (call == calls.size()) continue;
      std::int32_t* next = now + width;
      next[node] = std::max(next[node], now[node]);
      if (node == nodes.size()) continue;
      for (const Option& option : (*options[call])[node])
        next[option.end()] = std::max(next[option.end()], now[node] + option.score);
    }
  }
  const std::int32_t best = before.back();

  // Best scores of the calls and nodes behind, from the last call to the first.
  std::vector<std::int32_t> behind(width, 0), next(width, 0);
  for (std::size_t call = calls.size(); call-- > 0;) {
    std::swap(behind, next);
    const std::int32_t* now = before.data() + call * width;
    bool is_certain = true;
    const Option* only = nullptr;
    for (std::size_t node = width; node-- > 0;) {
      behind[node] = next[node];
      if (node < nodes.size()) behind[node] = std::max(behind[node], behind[node + 1]);
      if (now[node] + next[node] == best) is_certain = false;  // it may be left out
      if (node == nodes.size()) continue;
      for (const Option& option : (*options[call])[node]) {
        const std::int32_t score = option.score + next[option.end()];
        behind[node] = std::max(behind[node], score);
        if (now[node] + score != best) continue;
        if (only != nullptr && only->places != option.places) is_certain = false;
        only = &option;
      }
    }
    if (is_certain && only != nullptr) aligned[call] = only->places;
  }
  return aligned;
}

}  // namespace pagoda::measured
