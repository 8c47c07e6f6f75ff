// ModelProto → slices of the file it would serialise to → Model. The file reader builds all graphs; the raw data of
// weights stay in place, as slices that the reader skips.
#include "pagoda/onnx/to_model.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <string_view>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/core/model.h"

namespace pagoda {
namespace {

// Receives protobuf's output: keeps long byte strings by reference, and everything else in one text.
class SliceStream final : public google::protobuf::io::ZeroCopyOutputStream {
 public:
  bool Next(void** data, int* size) override { return text_stream_.Next(data, size); }
  void BackUp(int count) override { text_stream_.BackUp(count); }
  int64_t ByteCount() const override { return static_cast<int64_t>(text_.size() + referred_); }
  bool AllowsAliasing() const override { return true; }
  bool WriteAliasedRaw(const void* data, int size) override {
    references_.push_back(
        {.at = text_.size(), .bytes = {static_cast<const char*>(data), static_cast<std::size_t>(size)}});
    referred_ += static_cast<std::size_t>(size);
    return true;
  }

  std::vector<FileSlice> slices() const {
    std::vector<FileSlice> result;
    std::uint64_t offset = 0;
    const auto add = [&](std::string_view bytes) {
      if (!bytes.empty()) result.push_back({.offset = offset, .bytes = bytes});
      offset += bytes.size();
    };
    std::size_t begin = 0;
    for (const Reference& reference : references_) {
      add(std::string_view(text_).substr(begin, reference.at - begin));
      add(reference.bytes);
      begin = reference.at;
    }
    add(std::string_view(text_).substr(begin));
    return result;
  }

 private:
  struct Reference {
    std::size_t at;  // in the text
    std::string_view bytes;
  };

  std::string text_;
  google::protobuf::io::StringOutputStream text_stream_{&text_};
  std::vector<Reference> references_;
  std::size_t referred_ = 0;  // bytes
};

}  // namespace

Model to_model(const ::onnx::ModelProto& proto, const std::string& directory) {
  SliceStream stream;
  bool written = false;
  {
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.EnableAliasing(true);
    written = proto.ByteSizeLong() <= INT32_MAX && proto.SerializeToCodedStream(&coded);
  }
  if (!written)
    throw Error("the model: has " + std::to_string(proto.ByteSizeLong()) +
                " bytes, expected at most 2 GB as in a file; keep its weights in external data");
  return parse_model(stream.slices(), static_cast<std::uint64_t>(stream.ByteCount()), "", directory);
}

}  // namespace pagoda
