// One TensorProto as stored in a file: its header and the location of its data, which is not read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/wire.h"
#include "pagoda/base/small_vector.h"
#include "pagoda/core/graph.h"

namespace pagoda::inline core::wire {

// Numbers of TensorProto's fields.
enum TensorField : std::uint32_t {
  kDims = 1,
  kDataType = 2,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kExternalData = 13,
  kDataLocation = 14,
};

struct StoredTensor {
  std::string_view name;  // in the file
  Range name_at;
  ElementType element = ElementType::Undefined;  // Undefined also for types this version does not know
  base::SmallVector<std::int64_t, 6> dims;
  std::uint64_t elements = 1;
  Range body;
  // Where the message of the node begins in whose attribute it lies, or its own; kNowhere for a part of a sparse
  // tensor.
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
  std::uint64_t holder_at = kNowhere;

  std::uint32_t data_field = 0;  // the field that holds the data; 0 when the tensor holds none
  Range data;                    // from its first byte to its last
  std::uint64_t data_bytes = 0;  // size of its payloads
  std::uint64_t all_bytes = 0;   // size of the payloads of all data fields, including unsuitable ones

  // It contains only the fields read here: no metadata, no typed data.
  bool is_plain = true;

  bool is_external = false;
  Extent external;               // of an external tensor
  std::string external_problem;  // why `external` cannot be used; empty otherwise
  bool names_more = false;       // than a file, an offset and a length: a folder, a checksum

  // Whether its value stays in a skeleton.
  bool is_small() const;
};

// Reads the tensor in `body`. Throws Error for impossible dims and for data whose length contradicts the dims; the
// message names the tensor.
StoredTensor read_stored_tensor(File& file, Range body, int depth);

// The product of dims, checked.
class ElementCounter {
 public:
  void add(std::int64_t dim);
  static constexpr std::uint64_t kMaxRank = 1024;  // engines stop at 8 to 64
  // Throws Error naming the tensor for negative dims and for more than 2^63 elements.
  std::uint64_t elements(std::string_view tensor_name) const;

 private:
  std::uint64_t rank_ = 0;
  std::uint64_t product_ = 1;  // of the dims that are not zero
  bool has_zero_ = false, overflows_ = false;
  std::optional<std::int64_t> negative_;
};

bool is_data_field(std::uint32_t number);
const char* data_field_name(std::uint32_t number);  // "raw_data"
// The field for typed data of an element type.
std::uint32_t typed_data_field(ElementType type);
// Values in the typed field for a number of elements: two for a complex one, half for a 4-bit one.
std::uint64_t typed_values(ElementType type, std::uint64_t elements);
// Bytes of raw data; empty for types without a fixed width.
std::optional<std::uint64_t> raw_bytes(ElementType type, std::uint64_t elements);
ElementType known_element(std::int64_t data_type);
// Whether a tensor with this number of elements keeps its value in a skeleton: see model.h for the bounds.
bool keeps_value(ElementType type, std::uint64_t elements);

// Reads the location of an external tensor from an entry of its external_data. `problem` receives the reason why it
// cannot be used.
void read_external_entry(std::string_view key, std::string_view value, Extent& extent, std::string& problem);

}  // namespace pagoda::inline core::wire
