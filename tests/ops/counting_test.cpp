// Operators with long formulas, against the loops that define them: each loop below only counts what a plain
// implementation would do, operation by operation.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/op_case.h"

namespace pagoda::test {
namespace {

struct Count {
  int macs = 0, arith = 0, special = 0, comparisons = 0;

  void add(int operations = 1) { arith += operations; }
  void compare(int operations = 1) { arith += operations, comparisons += operations; }
};

std::string dims(std::initializer_list<int> sizes, const char* element = "f32") {
  std::string result;
  for (const int size : sizes) result += (result.empty() ? "" : ",") + std::to_string(size);
  return std::string(element) + "[" + result + "]";
}

void check_counts(const std::string& text, const Count& counted) {
  CAPTURE(text);
  const Totals totals = analyze(graph(text)).totals;
  CHECK(totals.unmodelled_nodes == 0);
  CHECK(to_string(*totals.cost.macs.value()) == std::to_string(counted.macs));
  CHECK(to_string(*totals.cost.arith.value()) == std::to_string(counted.arith));
  CHECK(to_string(*totals.cost.special.value()) == std::to_string(counted.special));
  CHECK(to_string(*totals.cost.comparisons.value()) == std::to_string(counted.comparisons));
}

// --- sampling ---

// The fraction between two elements and its complement, along one axis.
void count_linear_weights(Count& count) {
  count.compare();  // floor
  count.add(2);     // x − floor, 1 − fraction
}

// Corner weights of a cell of n axes from those of n − 1 axes: each splits in two.
void count_corner_products(int axes, Count& count) {
  int corners = 2;
  for (int axis = 1; axis < axes; ++axis) {
    corners *= 2;
    count.add(corners);
  }
}

// Σ over the corners of weight · value.
void count_weighted_sum(int axes, Count& count) {
  for (int corner = 0; corner < (1 << axes); ++corner) {
    count.add();                  // times its weight
    if (corner > 0) count.add();  // onto the sum
  }
}

struct Deformed {
  int batch, channels, height, width, filters, group, offset_group, kernel;
  bool mask, bias;
};

Count count_deform_conv(const Deformed& d) {
  Count count;
  const int rows = d.height - d.kernel + 1, columns = d.width - d.kernel + 1;
  for (int image = 0; image < d.batch; ++image)
    for (int position = 0; position < rows * columns; ++position) {
      for (int tap = 0; tap < d.kernel * d.kernel; ++tap) {
        for (int offset = 0; offset < d.offset_group; ++offset) {
          for (int axis = 0; axis < 2; ++axis) {
            count.add();  // adds the offset to the position
            count_linear_weights(count);
          }
          count_corner_products(2, count);
        }
        for (int channel = 0; channel < d.channels; ++channel) {
          count_weighted_sum(2, count);
          if (d.mask) count.add();
        }
      }
      for (int filter = 0; filter < d.filters; ++filter) {
        for (int channel = 0; channel < d.channels / d.group; ++channel)
          for (int tap = 0; tap < d.kernel * d.kernel; ++tap) ++count.macs;
        if (d.bias) count.add();
      }
    }
  return count;
}

Count count_grid_sample(int batch, int channels, int places, int axes, bool linear, const std::string& padding) {
  Count count;
  for (int place = 0; place < batch * places; ++place) {
    for (int axis = 0; axis < axes; ++axis) {
      count.add(2);  // from [−1, 1] to pixels
      if (padding == "border") count.compare(2);
      if (padding == "reflection") count.add(5), count.compare();  // sub, div, floor, mul, sub, add
      if (linear)
        count_linear_weights(count);
      else
        count.compare();  // rounding
    }
    if (!linear) continue;
    count_corner_products(axes, count);
    for (int channel = 0; channel < channels; ++channel) count_weighted_sum(axes, count);
  }
  return count;
}

// Coordinates and weights depend on sizes only: computed once per axis. Their
// products are formed with the taps' values.
Count count_resize(int channels, const std::vector<int>& outputs) {
  Count count;
  int elements = channels;
  for (const int size : outputs) {
    elements *= size;
    for (int position = 0; position < size; ++position) {
      count.add(2);  // scale and shift
      count_linear_weights(count);
    }
  }
  for (int element = 0; element < elements; ++element) count_weighted_sum(static_cast<int>(outputs.size()), count);
  return count;
}

// --- pools ---

Count count_pool(int images, int height, int width, int kernel, int stride, bool maximum) {
  Count count;
  for (int image = 0; image < images; ++image)
    for (int row = 0; row + kernel <= height; row += stride)
      for (int column = 0; column + kernel <= width; column += stride) {
        for (int tap = 1; tap < kernel * kernel; ++tap) {
          if (maximum)
            count.compare();
          else
            count.add();
        }
        if (!maximum) count.add();  // the division
      }
  return count;
}

// --- transforms ---

// Radix 2 in place: log2 n stages of n/2 butterflies, each a complex product (6) and two complex sums (4).
int count_fourier(int length) {
  int operations = 0;
  for (int half = 1; half < length; half *= 2)
    for (int butterfly = 0; butterfly < length / 2; ++butterfly) operations += 6 + 2 + 2;
  return operations;
}

// --- experts, packed weights, linear attention ---

struct Mixture {
  int tokens, experts, chosen, hidden, inner;
};

Count count_experts(const Mixture& m) {
  Count count;
  for (int token = 0; token < m.tokens; ++token) {
    for (int expert = 0; expert < m.experts; ++expert) {
      count.compare();  // running maximum of the softmax
      count.add(3);     // minus it, onto the sum, by the sum
      ++count.special;  // exp
      count.compare();  // selection
    }
    for (int chosen = 0; chosen < m.chosen; ++chosen) {
      for (int unit = 0; unit < m.inner; ++unit) {
        for (int i = 0; i < m.hidden; ++i) ++count.macs;
        count.compare();  // relu
      }
      for (int i = 0; i < m.hidden; ++i) {
        for (int unit = 0; unit < m.inner; ++unit) ++count.macs;
        count.add();                  // times the expert's weight
        if (chosen > 0) count.add();  // onto the other experts'
      }
    }
  }
  return count;
}

Count count_packed_product(int rows, int inner, int columns, bool bias) {
  Count count;
  for (int weight = 0; weight < inner * columns; ++weight) count.add(2);  // minus the zero point, times the scale
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      for (int i = 0; i < inner; ++i) ++count.macs;
      if (bias) count.add();
    }
  return count;
}

struct Linear {
  int batch, tokens, query_heads, key_heads, key_size, value_size;
  bool gated, delta;
};

// S ← exp(g)·S; r = Sᵀk; S ← S + k ⊗ β(v − r), or k ⊗ v; y = qᵀS·scale.
Count count_linear_attention(const Linear& l) {
  Count count;
  for (int token = 0; token < l.batch * l.tokens; ++token) {
    for (int head = 0; head < l.key_heads; ++head) {
      if (l.gated) ++count.special;  // one decay per head
      for (int value = 0; value < l.value_size; ++value) {
        for (int key = 0; key < l.key_size; ++key) {
          if (l.gated) count.add();
          if (l.delta) ++count.macs;
          ++count.macs;
        }
        if (l.delta) count.add(2);  // v − r, times β
      }
    }
    for (int head = 0; head < l.query_heads; ++head)
      for (int value = 0; value < l.value_size; ++value) {
        for (int key = 0; key < l.key_size; ++key) ++count.macs;
        count.add();
      }
  }
  return count;
}

Count count_rotary(int batch, int heads, int tokens, int rotated) {
  Count count;
  for (int vector = 0; vector < batch * heads * tokens; ++vector)
    for (int pair = 0; pair < rotated / 2; ++pair) count.add(4 + 2);  // a rotation of the plane
  return count;
}

}  // namespace

TEST_CASE("deformable convolution costs the samples and products of its loops") {
  for (const Deformed& d :
       {Deformed{1, 2, 5, 6, 3, 1, 1, 2, false, false}, Deformed{2, 4, 4, 5, 6, 2, 2, 3, true, true}}) {
    const int rows = d.height - d.kernel + 1, columns = d.width - d.kernel + 1, taps = d.kernel * d.kernel;
    const std::string text =
        "x:" + dims({d.batch, d.channels, d.height, d.width}) +
        ", w:" + dims({d.filters, d.channels / d.group, d.kernel, d.kernel}) +
        ", o:" + dims({d.batch, d.offset_group * 2 * taps, rows, columns}) + ", b:" + dims({d.filters}) +
        ", m:" + dims({d.batch, d.offset_group * taps, rows, columns}) + " -> y = DeformConv(x, w, o" +
        (d.bias ? ", b" : ", ") + (d.mask ? ", m" : "") + ") {group=" + std::to_string(d.group) +
        ", offset_group=" + std::to_string(d.offset_group) + "}";
    check_counts(text, count_deform_conv(d));
  }
}

TEST_CASE("GridSample costs the samples of its loops in every mode") {
  for (const char* padding : {"zeros", "border", "reflection"})
    for (const bool linear : {false, true}) {
      const std::string attributes =
          std::string(") {mode='") + (linear ? "linear" : "nearest") + "', padding_mode='" + padding + "'}";
      check_counts("x:f32[2,3,5,6], g:f32[2,4,7,2] -> y = GridSample(x, g" + attributes,
                   count_grid_sample(2, 3, 28, 2, linear, padding));
      check_counts("x:f32[2,3,5,6,4], g:f32[2,4,7,2,3] -> y = GridSample(x, g" + attributes,
                   count_grid_sample(2, 3, 56, 3, linear, padding));
    }
}

TEST_CASE("Resize costs the weighted sums of its loops over one, two and three axes") {
  check_counts("x:f32[2,3,5], s:i64[3]=[2,3,8] -> y = Resize(x, , , s) {mode='linear'}", count_resize(6, {8}));
  check_counts("x:f32[2,3,5,6], s:i64[4]=[2,3,8,7] -> y = Resize(x, , , s) {mode='linear'}", count_resize(6, {8, 7}));
  check_counts("x:f32[1,3,5,6,4], s:i64[5]=[1,3,8,7,9] -> y = Resize(x, , , s) {mode='linear'}",
               count_resize(3, {8, 7, 9}));
}

TEST_CASE("pools cost the comparisons and sums of their windows") {
  for (const int kernel : {1, 2, 3})
    for (const int stride : {1, 2}) {
      const std::string attributes = "(x) {kernel_shape=[" + std::to_string(kernel) + "," + std::to_string(kernel) +
                                     "], strides=[" + std::to_string(stride) + "," + std::to_string(stride) + "]}";
      check_counts("x:f32[2,3,6,7] -> y = MaxPool" + attributes, count_pool(6, 6, 7, kernel, stride, true));
      check_counts("x:f32[2,3,6,7] -> y = AveragePool" + attributes, count_pool(6, 6, 7, kernel, stride, false));
    }
}

TEST_CASE("transforms cost the butterflies of radix 2, half of them for real data") {
  for (const int length : {2, 8, 64}) {
    const std::string n = std::to_string(length);
    Count complex, real, inverse, frames;
    complex.arith = 3 * count_fourier(length);
    real.arith = 3 * count_fourier(length) / 2;
    inverse.arith = 3 * (count_fourier(length) + 2 * length);  // divided by the length
    check_counts("x:f32[3," + n + ",2] -> y = DFT(x)", complex);
    check_counts("x:f32[3," + n + ",1] -> y = DFT(x)", real);
    check_counts("x:f32[3," + n + ",2] -> y = DFT(x) {inverse=1}", inverse);
    int count = 0;
    for (int begin = 0; begin + length <= 100; begin += 5) ++count;
    frames.arith = 3 * count * (length + count_fourier(length) / 2);  // the window, then a real transform
    check_counts("x:f32[3,100,1], s:i64=5, w:f32[" + n + "] -> y = STFT(x, s, w)", frames);
  }
}

TEST_CASE("a mixture of experts costs the experts that are chosen") {
  for (const Mixture& m : {Mixture{1, 8, 2, 6, 10}, Mixture{5, 4, 1, 3, 7}, Mixture{3, 4, 4, 6, 5}}) {
    const std::string text =
        "x:" + dims({m.tokens, m.hidden}) + ", r:" + dims({m.tokens, m.experts}) +
        ", u:" + dims({m.experts, m.inner, m.hidden}) + ", d:" + dims({m.experts, m.hidden, m.inner}) +
        " -> y = com.microsoft.MoE(x, r, u, , d) {k=" + std::to_string(m.chosen) + ", activation_type='relu'}";
    check_counts(text, count_experts(m));
  }
}

TEST_CASE("packed weights are unpacked once and multiplied once a row") {
  for (const int bits : {2, 4, 8})
    for (const bool bias : {false, true}) {
      const int inner = 48, columns = 5, rows = 3, block = 16;
      const std::string text = "a:" + dims({rows, inner}) +
                               ", b:" + dims({columns, inner / block, block * bits / 8}, "u8") +
                               ", s:" + dims({columns * inner / block}) + ", c:" + dims({columns}) +
                               " -> y = com.microsoft.MatMulNBits(a, b, s" + (bias ? ", , , c" : "") +
                               ") {K=48, N=5, block_size=16, bits=" + std::to_string(bits) + "}";
      check_counts(text, count_packed_product(rows, inner, columns, bias));
    }
}

TEST_CASE("linear attention costs its recurrence run token by token") {
  for (const bool gated : {false, true})
    for (const bool delta : {false, true}) {
      const Linear l{2, 3, 4, 2, 3, 5, gated, delta};
      const char* rule = gated ? (delta ? "gated_delta" : "gated") : (delta ? "delta" : "linear");
      const std::string text =
          "opset=27: q:f32[2,3,12], k:f32[2,3,6], v:f32[2,3,10], p:f32[2,2,3,5], g:f32[2,3,2], "
          "b:f32[2,3,2] -> y, s = LinearAttention(q, k, v, p" +
          std::string(gated   ? ", g"
                      : delta ? ", "
                              : "") +
          (delta ? ", b" : "") + ") {q_num_heads=4, kv_num_heads=2, update_rule='" + rule + "'}";
      check_counts(text, count_linear_attention(l));
    }
}

TEST_CASE("rotary embeddings cost a rotation for every pair of channels") {
  check_counts("opset=23: x:f32[2,3,5,8], c:f32[9,4], s:f32[9,4], p:i64[2,5] -> y = RotaryEmbedding(x, c, s, p)",
               count_rotary(2, 3, 5, 8));
  check_counts(
      "opset=23: x:f32[2,3,5,8], c:f32[9,2], s:f32[9,2], p:i64[2,5] -> y = RotaryEmbedding(x, c, s, p) "
      "{rotary_embedding_dim=4}",
      count_rotary(2, 3, 5, 4));
}

}  // namespace pagoda::test
