// LSTM, GRU and RNN: outputs in every direction and layout, and work against cells that are run step by step.
#include <doctest/doctest.h>

#include <string>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr OpCase kLstm[] = {
    // graph, types, cost, why
    // Per step 2·4 cells, each with 5 activations and 4 others; 4·4·(3 + 4) macs per sequence.
    {"x:f32[5,2,3], w:f32[1,16,3], r:f32[1,16,4] -> y, h, c = LSTM(x, w, r) {hidden_size=4}",
     "y:f32[5,1,2,4], h:f32[1,2,4], c:f32[1,2,4]", "macs=1120 arith=160 special=200 comparisons=0 read=120+192+256 written=160+32+32", "the least there is"},
    {"x:f32[S,B,3], w:f32[2,16,3], r:f32[2,16,4], b:f32[2,32] -> y, h, c = LSTM(x, w, r, b) {hidden_size=4, direction='bidirectional'}",
     "y:f32[S,2,B,4], h:f32[2,B,4], c:f32[2,B,4]", "macs=224*S*B arith=64*S*B+32 special=40*S*B", "both directions, symbolic; biases of W and R summed once"},
    {"x:f32[2,5,3], w:f32[1,16,3], r:f32[1,16,4] -> y, h, c = LSTM(x, w, r) {hidden_size=4, layout=1, direction='reverse'}",
     "y:f32[2,5,1,4], h:f32[2,1,4], c:f32[2,1,4]", "macs=1120", "batch first"},
    {"x:f32[5,2,3], w:f32[1,16,3], r:f32[1,16,4], p:f32[1,12] -> , h = LSTM(x, w, r, , , , , p)", "h:f32[1,2,4]", "arith=400 written=32", "peepholes; the last state alone; hidden size from R"},
    {"x:f32[5,2,3], w:f32[1,16,3], r:f32[1,16,4], n:i32[2]=[5,3] -> y = LSTM(x, w, r, , n) {hidden_size=4}", "y:f32[5,1,2,4]", "macs=896 special=160", "8 steps, not 10"},
    {"x:f32[5,2,3], w:f32[1,16,3], r:f32[1,16,4], n:i32[2] -> y = LSTM(x, w, r, , n) {hidden_size=4}", "y:f32[5,1,2,4]", "macs=1120", "unknown lengths count in full"},
    {"x:f32[5,2,3], w:f32[1,16,3], r:f32[1,16,4] -> y = LSTM(x, w, r) {hidden_size=4, clip=1.0}", "y:f32[5,1,2,4]", "arith=560 comparisons=400", "every activation's input is clipped"},
    {"x:f32[5,2,3], w:f32[1,16,3], r:f32[1,16,4] -> y = LSTM(x, w, r) {hidden_size=4, input_forget=1}", "y:f32[5,1,2,4]", "macs=840 arith=200 special=160", "no forget gate of its own"},
    {"x:f32[5,2,3], w:f32[1,16,3], r:f32[1,16,4] -> y = LSTM(x, w, r) {hidden_size=4, activations=['HardSigmoid','relu','Softsign']}",
     "y:f32[5,1,2,4]", "arith=800 special=0 comparisons=320", "3·4 + 1 + 3 + 4 per cell"},
    {"opset=1: x:f32[5,2,3], w:f32[1,16,3], r:f32[1,16,4] -> y, h = LSTM(x, w, r) {hidden_size=4, output_sequence=1}", "y:f32[5,1,2,4], h:f32[1,2,4]", "", "opset 1"},
    {"x:f32[5,2,3], w:f32[1,16,4], r:f32[1,16,4] -> y = LSTM(x, w, r)", "error: input size", "", "3 is not 4"},
    {"x:f32[5,2,3], w:f32[1,12,3], r:f32[1,16,4] -> y = LSTM(x, w, r)", "error: hidden size of W", "", "four gates"},
    {"x:f32[5,2,3], w:f32[1,16,3], r:f32[1,16,4] -> y = LSTM(x, w, r) {direction='bidirectional'}", "error: directions", "", "weights of one direction"},
    {"x:f32[5,2,3], w:f32[1,16,3], r:f32[1,16,4], n:i32[2]=[5,-3] -> y = LSTM(x, w, r, , n)", "error: length -3", "", "a negative length"},
    {"x:f32[5,2,3], w:f32, r:f32 -> y = LSTM(x, w, r) {hidden_size=0}", "error: hidden_size", "", "no state"},
    {"x:f32[5,3], w:f32[1,16,3], r:f32[1,16,4] -> y = LSTM(x, w, r)", "error: rank 2", "", "no batch"},
    {"x:f32[5,2,3], w:f32[1,16,3], r:f32[1,16,4] -> y = LSTM(x, w, r) {activations=['Sigmoid']}", "error: 1 activations", "", "three are needed"},
    {"x:f32[5,2,3], w:f32[1,16,3], r:f32[1,16,4] -> y = LSTM(x, w, r) {activations=['Sigmoid','Tanh','Swish']}", "error: Swish", "", "not one of ONNX's"},
};

constexpr OpCase kGru[] = {
    {"x:f32[5,2,3], w:f32[1,12,3], r:f32[1,12,4] -> y, h = GRU(x, w, r) {hidden_size=4}", "y:f32[5,1,2,4], h:f32[1,2,4]", "macs=840 arith=200 special=120", "5 and 3 activations per cell"},
    {"x:f32[S,B,3], w:f32[1,12,3], r:f32[1,12,4], b:f32[1,24] -> y, h = GRU(x, w, r, b) {hidden_size=4}", "y:f32[S,1,B,4], h:f32[1,B,4]", "macs=84*S*B arith=32*S*B+12", "three biases"},
    {"x:f32[S,B,3], w:f32[2,12,3], r:f32[2,12,4], b:f32[2,24] -> y, h = GRU(x, w, r, b) {hidden_size=4, linear_before_reset=1, direction='bidirectional'}",
     "y:f32[S,2,B,4], h:f32[2,B,4]", "macs=168*S*B arith=80*S*B+16 special=24*S*B", "four biases and a sum of products"},
    {"x:f32[2,5,3], w:f32[1,12,3], r:f32[1,12,4] -> , h = GRU(x, w, r) {layout=1}", "h:f32[2,1,4]", "macs=840 written=32", "batch first, the last state alone"},
    {"opset=3: x:f32[5,2,3], w:f32[1,12,3], r:f32[1,12,4] -> y = GRU(x, w, r) {hidden_size=4, activations=['Affine','Elu'], activation_alpha=[0.5]}", "y:f32[5,1,2,4]", "arith=480 special=40", "other activations"},
    {"x:f32[5,2,3], w:f32[1,12,3], r:f32[1,16,4] -> y = GRU(x, w, r)", "error: hidden size of R", "", "three gates"},
};

constexpr OpCase kRnn[] = {
    {"x:f16[5,2,3], w:f16[1,4,3], r:f16[1,4,4], b:f16[1,8] -> y, h = RNN(x, w, r, b) {hidden_size=4}", "y:f16[5,1,2,4], h:f16[1,2,4]", "macs=280 arith=44 special=40 precision=float16", "a bias and a tanh per cell"},
    {"x:f32[S,B,I], w:f32[1,H,I], r:f32[1,H,H] -> y, h = RNN(x, w, r)", "y:f32[S,1,B,H], h:f32[1,B,H]", "macs=S*B*H*I+S*B*H*H arith=0 special=S*B*H", "all symbolic"},
    {"x:f32[5,2,3], w:f32[2,4,3], r:f32[2,4,4] -> y = RNN(x, w, r) {direction='bidirectional', activations=['Tanh','Relu']}", "y:f32[5,2,2,4]", "macs=560 arith=40 special=40", "an activation per direction"},
    {"x:f32[5,2,3], w:f32[1,4,3], r:f32[1,5,4] -> y = RNN(x, w, r)", "error: hidden size of R", "", "5 is not 4"},
};
// clang-format on

struct Counted {
  Int macs = 0, arith = 0, special = 0;
};

struct Cell {
  int steps, batch, inputs, hidden, directions;
  bool bias;
};

// One evaluation of an affine gate for every hidden element: both products, then the bias.
void count_gate(const Cell& cell, Counted& counted) {
  for (int element = 0; element < cell.hidden; ++element) {
    for (int i = 0; i < cell.inputs; ++i) ++counted.macs;
    for (int i = 0; i < cell.hidden; ++i) ++counted.macs;
    if (cell.bias) ++counted.arith;
  }
}

Counted count_lstm(const Cell& cell) {
  Counted counted;
  for (int direction = 0; direction < cell.directions; ++direction) {
    for (int gate = 0; cell.bias && gate < 4; ++gate) counted.arith += cell.hidden;  // Wb + Rb
    for (int step = 0; step < cell.steps; ++step)
      for (int sequence = 0; sequence < cell.batch; ++sequence) {
        for (int gate = 0; gate < 4; ++gate) count_gate(cell, counted);
        for (int element = 0; element < cell.hidden; ++element) {
          counted.special += 4;  // i, o, f, c
          counted.arith += 3;    // C = f·C + i·c
          counted.special += 1;  // h(C)
          counted.arith += 1;    // H = o·h(C)
        }
      }
  }
  return counted;
}

Counted count_gru(const Cell& cell) {
  Counted counted;
  for (int direction = 0; direction < cell.directions; ++direction) {
    for (int gate = 0; cell.bias && gate < 3; ++gate) counted.arith += cell.hidden;
    for (int step = 0; step < cell.steps; ++step)
      for (int sequence = 0; sequence < cell.batch; ++sequence) {
        for (int gate = 0; gate < 3; ++gate) count_gate(cell, counted);
        for (int element = 0; element < cell.hidden; ++element) {
          counted.special += 3;  // z, r, h
          counted.arith += 1;    // r·H
          counted.arith += 4;    // (1 − z)·h + z·H
        }
      }
  }
  return counted;
}

Counted count_rnn(const Cell& cell) {
  Counted counted;
  for (int direction = 0; direction < cell.directions; ++direction) {
    if (cell.bias) counted.arith += cell.hidden;
    for (int step = 0; step < cell.steps; ++step)
      for (int sequence = 0; sequence < cell.batch; ++sequence) {
        count_gate(cell, counted);
        counted.special += cell.hidden;
      }
  }
  return counted;
}

std::string cell_text(const char* op, int gates, const Cell& cell) {
  const auto dims = [](std::initializer_list<int> sizes) {
    std::string result;
    for (const int size : sizes) result += (result.empty() ? "" : ",") + std::to_string(size);
    return "f32[" + result + "]";
  };
  std::string text = "x:" + dims({cell.steps, cell.batch, cell.inputs}) +
                     ", w:" + dims({cell.directions, gates * cell.hidden, cell.inputs}) +
                     ", r:" + dims({cell.directions, gates * cell.hidden, cell.hidden});
  if (cell.bias) text += ", b:" + dims({cell.directions, 2 * gates * cell.hidden});
  return text + " -> y = " + op + "(x, w, r" + (cell.bias ? ", b" : "") + ") {direction='" +
         (cell.directions == 2 ? "bidirectional" : "forward") + "'}";
}

}  // namespace

TEST_CASE("LSTM") { check_cases(kLstm); }
TEST_CASE("GRU") { check_cases(kGru); }
TEST_CASE("RNN") { check_cases(kRnn); }

TEST_CASE("recurrent work equals that of the cells run step by step") {
  struct Kind {
    const char* op;
    int gates;
    Counted (*count)(const Cell&);
  };
  for (const Kind& kind : {Kind{"LSTM", 4, count_lstm}, Kind{"GRU", 3, count_gru}, Kind{"RNN", 1, count_rnn}})
    for (const int directions : {1, 2})
      for (const bool bias : {false, true}) {
        const Cell cell{.steps = 3, .batch = 2, .inputs = 5, .hidden = 4, .directions = directions, .bias = bias};
        const Counted counted = kind.count(cell);
        const std::string text = cell_text(kind.op, kind.gates, cell);
        const OpCost cost = analyze(graph(text)).totals.cost;
        CHECK_MESSAGE(cost.macs == Dim(counted.macs), text);
        CHECK_MESSAGE(cost.arith == Dim(counted.arith), text);
        CHECK_MESSAGE(cost.special == Dim(counted.special), text);
      }
}

}  // namespace pagoda::test
