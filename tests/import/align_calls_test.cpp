// The alignment of PyTorch's calls with nodes: cases with a reason, and all alignments of small sequences.
#include "join/align_calls.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "pagoda/base/text.h"

namespace pagoda::measured {
namespace {

using Places = std::vector<std::vector<std::size_t>>;  // by call

// Every alignment of the best score: 4 a node, 1 a view, as much for the call.
struct AllAlignments {
  const std::vector<std::string_view>& calls;
  const std::vector<TypedNode>& nodes;
  int best = -1;
  std::vector<Places> all = {};
  Places now = Places(calls.size());

  void walk(std::size_t call, std::size_t begin, int score) {
    if (call == calls.size()) {
      if (score > best) all.clear();
      if (score >= best) all.push_back(now);
      best = std::max(best, score);
      return;
    }
    walk(call + 1, begin, score);
    const PytorchCall* row = pytorch_call(calls[call]);
    if (row == nullptr) return;
    for (std::size_t first = begin; first < nodes.size(); ++first)
      for (const std::string_view sequence : row->onnx) {
        const std::vector<std::size_t> places = places_of(sequence, nodes, first);
        if (places.empty()) continue;
        int more = 0;
        bool is_view = true;
        for (const std::size_t place : places) {
          more += nodes[place].is_view ? 1 : 4;
          is_view = is_view && nodes[place].is_view;
        }
        now[call] = places;
        walk(call + 1, places.back() + 1, score + more + (is_view ? 1 : 4));
        now[call].clear();
      }
  }
};

}  // namespace

TEST_CASE("calls and nodes align in order, and only as far as it is certain") {
  struct Case {
    const char *reason, *calls, *nodes;
    const char* places;  // of each call; '-': none
  };
  const Case cases[] = {
      {"a bias belongs to its product", "linear add", "MatMul Add Add", "0,1 2"},
      {"a sum of its own is no bias", "linear add", "MatMul Add", "0 1"},
      {"two calls and one node: which one is not known", "add add", "Add", "- -"},
      {"what stands between tells them apart", "add relu add", "Relu Add", "- 0 1"},
      {"a call that was folded is left out", "conv2d batch_norm relu", "Conv Relu", "0 - 1"},
      {"an operator in several nodes", "gelu linear", "Div Erf Add Mul Mul MatMul", "0,1,2,3,4 5"},
      {"the same nodes in another order are no such operator", "gelu", "Erf Div Add Mul Mul", "-"},
      {"parts, with views between them", "unbind transpose", "Slice Squeeze Slice Squeeze Transpose", "0,2 4"},
      {"optional nodes", "scaled_dot_product_attention", "Mul Mul MatMul Softmax MatMul", "0,1,2,3,4"},
      {"an in-place call", "relu_ add_", "Relu Add", "0 1"},
      {"a call of no known nodes stands in the way of none", "conv2d nonesuch relu", "Conv Relu", "0 - 1"},
      {"no nodes", "add", "", "-"},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.reason));
    std::vector<std::string> names, types;
    for (const std::string& call : base::split(c.calls, " ")) names.push_back("aten::" + call);
    for (const std::string& type : base::split(c.nodes, " "))
      if (!type.empty()) types.push_back(type);
    std::vector<TypedNode> nodes;
    for (const std::string& type : types) nodes.push_back({type, type == "Squeeze"});
    std::string text;
    for (const std::vector<std::size_t>& places : align_calls({names.begin(), names.end()}, nodes)) {
      text += text.empty() ? "" : " ";
      if (places.empty()) text += "-";
      for (std::size_t i = 0; i < places.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(places[i]);
    }
    CHECK(text == c.places);
  }
}

TEST_CASE("an alignment is the best one, and a call has only what all best ones give it") {
  constexpr const char* kOps[] = {"aten::linear",  "aten::add",  "aten::relu",    "aten::mul",
                                  "aten::reshape", "aten::gelu", "aten::nonesuch"};
  constexpr const char* kTypes[] = {"MatMul", "Add", "Relu", "Mul", "Reshape", "Gelu", "Erf", "Div"};
  std::mt19937 random(1);  // NOLINT: the same cases each time
  for (int i = 0; i < 1000; ++i) {
    std::vector<std::string_view> calls(1 + random() % 4);
    std::vector<TypedNode> nodes(random() % 7);
    for (std::string_view& call : calls) call = kOps[random() % std::size(kOps)];
    for (TypedNode& node : nodes) {
      node.type = kTypes[random() % std::size(kTypes)];
      node.is_view = node.type == "Reshape";
    }
    AllAlignments slow{calls, nodes};
    slow.walk(0, 0, 0);
    Places expected = slow.all.front();
    for (const Places& other : slow.all)
      for (std::size_t call = 0; call < calls.size(); ++call)
        if (other[call] != slow.all.front()[call]) expected[call].clear();
    CAPTURE(i);
    CHECK(align_calls(calls, nodes) == expected);
  }
}

}  // namespace pagoda::measured
