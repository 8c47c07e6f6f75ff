// Fills a skeleton with random weights: determines the use of each weight, then streams skeleton and numbers into a
// file.
#include "skeleton/fill.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "onnx/file_kind.h"
#include "onnx/small_float.h"
#include "onnx/stored_tensor.h"
#include "onnx/write.h"
#include "pagoda/base/cat.h"
#include "skeleton/strip.h"

namespace pagoda::inline core {
namespace wire {
namespace {

// Protobuf rejects messages of 2 GB and more; the margin leaves room for other tools to extend the graph.
constexpr std::uint64_t kMostInlineBytes = (std::uint64_t{1} << 31) - (std::uint64_t{1} << 20);
// A petabyte: larger than any model, and small enough that sums of sizes do not overflow.
constexpr std::uint64_t kMostWeightBytes = std::uint64_t{1} << 50;
// Alignment of tensors in the data file, so that it can be mapped.
constexpr std::uint64_t kAlignment = 64;

// Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014): the finaliser of SplitMix64.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// About normal with mean 0 and deviation 1, in [-3.5, 3.5]: the sum of four uniform 16-bit numbers has the variance
// 4 · 65536² / 12.
double normal(std::uint64_t random) {
  std::int64_t sum = -2 * std::int64_t{65535};
  for (int i = 0; i < 4; ++i) sum += static_cast<std::int64_t>(random >> (16 * i) & 0xffff);
  return static_cast<double>(sum) * (1.7320508075688772 / 65536);
}

double uniform(std::uint64_t random) { return static_cast<double>(random >> 11) * 0x1p-53; }

double real_element(const WeightUse& use, std::uint64_t random) {
  switch (use.use) {
    case Use::Weight:
    case Use::Unknown:
      return normal(random) * use.deviation;
    case Use::Embedding:
      return normal(random) * 0.1;
    case Use::Additive:
      return normal(random) * 0.02;
    case Use::Factor:
      return 1 + normal(random) * 0.02;
    case Use::Positive:
      return 0.5 + uniform(random);
    case Use::QuantScale:
      return (0.9 + 0.2 * uniform(random)) * use.deviation;
    case Use::ZeroPoint:
      return 0;
  }
  return 0;
}

std::uint64_t code_of(ElementType type, const WeightUse& use, std::uint64_t index, std::uint64_t random) {
  using enum ElementType;
  const int width = bits(type);
  if (type == Bool) return index & 1;  // both values in every row of a mask
  if (type == Int32 || type == Int64 || type == Uint32 || type == Uint64) return 0;  // indices and biases
  if (is_integer(type)) {
    const bool is_unsigned = type == Uint8 || type == Uint16 || type == Uint4 || type == Uint2;
    // The middle of the range; MatMulNBits packs two 4-bit zero points into a byte.
    if (use.use == Use::ZeroPoint) return !is_unsigned ? 0 : width == 8 ? 0x80 : std::uint64_t{1} << (width - 1);
    if (width == 16)
      return (static_cast<std::uint64_t>(static_cast<std::int64_t>(random >> 56) - 128) & 0xffff) ^
             (is_unsigned ? 0x8000 : 0);
    return random >> (64 - width);
  }
  const double value = real_element(use, random);
  if (type == Float32 || type == Complex64) return same_bits<std::uint32_t>(static_cast<float>(value));
  if (type == Float64 || type == Complex128) return same_bits<std::uint64_t>(value);
  if (type == Float8e8m0)
    return static_cast<std::uint64_t>(std::clamp(std::ilogb(std::abs(value) + 0x1p-20), -100, 100) + 127);
  if (const SmallFloat* format = small_float(type)) return encode(*format, value);
  return 0;
}

// Numbers written per element: two for a complex one.
std::uint64_t parts(ElementType type) {
  return type == ElementType::Complex64 || type == ElementType::Complex128 ? 2 : 1;
}

}  // namespace

std::uint64_t Filling::bytes() const {
  // Strings are empty: a tag and a length of 0.
  return element == ElementType::String ? elements * 2 : raw_bytes(element, elements).value_or(0);
}

std::string Filling::piece(std::uint64_t begin, std::uint64_t end) const {
  std::string out;
  if (element == ElementType::String) {
    for (std::uint64_t i = begin; i < end; ++i) append_bytes_field(out, kStringData, "");
    return out;
  }
  const int width = bits(element) / static_cast<int>(parts(element));
  if (width >= 8) {
    out.resize((end - begin) * parts(element) * static_cast<std::uint64_t>(width / 8));
    char* at = out.data();
    for (std::uint64_t i = begin * parts(element); i < end * parts(element); ++i) {
      std::uint64_t code = code_of(element, use, i, mixed(seed + i));
      for (int byte = 0; byte < width / 8; ++byte, code >>= 8) *at++ = static_cast<char>(code & 0xff);
    }
    return out;
  }
  const auto in_a_byte = static_cast<std::uint64_t>(8 / width);
  for (std::uint64_t i = begin; i < end; i += in_a_byte) {
    std::uint64_t byte = 0;
    for (std::uint64_t k = 0; k < in_a_byte && i + k < end; ++k)
      byte |= code_of(element, use, i + k, mixed(seed + i + k)) << (static_cast<int>(k) * width);
    out.push_back(static_cast<char>(byte));
  }
  return out;
}

void Filling::write(const Write& out) const {
  for (std::uint64_t i = 0; i < elements; i += kPiece) out(piece(i, std::min(i + kPiece, elements)));
}

namespace {

// Writes the filled model in one way: all data inside, or large tensors in a data file beside it.
class Filler {
 public:
  Filler(std::string_view skeleton, const std::map<WeightPlace, WeightUse>& uses, std::uint64_t seed,
         std::string data_location)
      : bytes_(std::as_bytes(std::span(skeleton.data(), skeleton.size()))),
        uses_(uses),
        seed_(seed),
        data_location_(std::move(data_location)) {
    RewritePolicy policy;
    policy.tensor = [&](const StoredTensor& tensor) { return fill(tensor); };
    edits_ = plan_rewrite(bytes_, policy);
  }

  std::uint64_t model_bytes() const { return rewritten_size(bytes_, edits_); }
  std::uint64_t data_bytes() const { return data_bytes_; }

  void write_model(OutputFile& output) const { write_rewritten(bytes_, edits_, output.writer()); }

  void write_data(OutputFile& output) const {
    for (const auto& [offset, filling] : external_) {
      output.write(std::string(offset - output.size(), '\0'));
      filling.write(output.writer());
    }
  }

 private:
  std::optional<NewData> fill(const StoredTensor& tensor) {
    if (!tensor.is_external) return std::nullopt;
    const bool is_string = tensor.element == ElementType::String;
    if (!is_string && bits(tensor.element) == 0)
      throw Error(cat("tensor ", quoted_name(tensor.name),
                      " has an element type that this version does not know, expected a known one"));
    const std::string location(tensor.external.location == kInModel ? "" : tensor.external.location);
    const WeightPlace place{location, tensor.external.offset};
    Filling filling{.element = tensor.element, .elements = tensor.elements, .use = {}, .seed = seed_of(place)};
    if (const auto use = uses_.find(place); use != uses_.end()) filling.use = use->second;
    const std::uint64_t bytes = filling.bytes();
    if (bytes > kMostWeightBytes || (weight_bytes_ += bytes) > kMostWeightBytes)
      throw Error(cat("tensor ", quoted_name(tensor.name), " brings its weights to more than ", kMostWeightBytes,
                      " bytes, expected at most that many"));
    if (!is_string && !data_location_.empty()) {
      const std::uint64_t offset = (data_bytes_ + kAlignment - 1) / kAlignment * kAlignment;
      external_.emplace_back(offset, filling);
      data_bytes_ = offset + bytes;
      return NewData{.text = external_reference(data_location_, offset, bytes)};
    }
    NewData data{.generated_bytes = bytes, .generate = [filling](const Write& write) { filling.write(write); }};
    if (!is_string) {
      append_varint(data.text, bytes_tag(kRawData));
      append_varint(data.text, bytes);
    }
    return data;
  }

  std::uint64_t seed_of(const WeightPlace& place) const {
    std::uint64_t seed = mixed(seed_);
    for (const char c : place.first) seed = mixed(seed ^ static_cast<unsigned char>(c));
    return mixed(seed ^ place.second);
  }

  std::span<const std::byte> bytes_;
  const std::map<WeightPlace, WeightUse>& uses_;
  std::uint64_t seed_;
  std::string data_location_;                                // empty: all in the model
  std::vector<std::pair<std::uint64_t, Filling>> external_;  // by offset in the data file
  std::uint64_t data_bytes_ = 0;
  std::uint64_t weight_bytes_ = 0;
  std::vector<Edit> edits_;
};

void require_space(const std::string& path, std::uint64_t bytes) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const std::filesystem::space_info space = std::filesystem::space(folder.empty() ? "." : folder, error);
  if (!error && space.available < bytes)
    throw Error(cat(path, ": needs ", bytes, " bytes, found ", std::uint64_t{space.available},
                    " free; free some space or write elsewhere"));
}

}  // namespace
}  // namespace wire

void write_filled(const std::string& model_path, const std::string& output_path, std::uint64_t seed,
                  const SkeletonOptions& options) {
  const MappedFile file(model_path);
  const Model model = load_model(model_path);
  const wire::ExternalData external(wire::data_folders(model_path, options));
  const std::string skeleton = wire::about(model_path, wire::as_text(file.bytes()), [&] {
    return wire::rewrite(file.bytes(), wire::Stripper(model, file.bytes(), options, external).policy());
  });
  const auto uses =
      wire::weight_uses(parse_model(std::as_bytes(std::span(skeleton.data(), skeleton.size())), model_path));
  const auto filler = [&](const std::string& data_location) {
    return wire::about(model_path, wire::as_text(file.bytes()),
                       [&] { return wire::Filler(skeleton, uses, seed, data_location); });
  };
  wire::OutputFile output(output_path, model_path);
  const wire::Filler whole = filler("");
  if (whole.model_bytes() <= wire::kMostInlineBytes) {
    wire::require_space(output_path, whole.model_bytes());
    whole.write_model(output);
    return output.commit();
  }
  const std::string data_path = output_path + ".data";
  wire::OutputFile data(data_path, model_path);
  const wire::Filler split = filler(base::file_name_of(data_path));
  wire::require_space(data_path, split.data_bytes() + split.model_bytes());
  split.write_data(data);
  split.write_model(output);
  data.commit();
  output.commit();
}

}  // namespace pagoda::inline core
