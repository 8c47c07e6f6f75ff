// load_model: opens a regular file with care and maps it → walk → graphs.
#include "onnx/load.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "onnx/file_kind.h"
#include "onnx/write.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/decoded.h"
#include "pagoda/base/open_file.h"
#include "pagoda/core/model.h"

namespace pagoda::inline core {
namespace wire {
namespace {

// Reads the file as a ModelProto.
Model build_model(File& file, const ExternalData& external) {
  Loader loader(file, external);
  Model& model = loader.model;
  std::optional<Range> graph;
  std::vector<Range> functions;
  const auto import = [&](const Field& field) {
    if (model.opsets.size() == Loader::kMostOpsets)
      throw Error(cat("more than ", Loader::kMostOpsets, " opset imports, expected at most that many"));
    Opset opset = read_opset(file, field.payload, 1);
    std::int64_t& version = model.opsets[std::move(opset.domain)];
    version = std::max(version, opset.version);
  };
  const auto function = [&](const Field& field) {
    expect_few_graphs(functions.size());
    functions.push_back(field.payload);
  };
  for_each_field(
      file, Message::Model, {0, file.size()}, 0,
      on(varint_tag(1), [&](const Field& field) { model.ir_version = static_cast<std::int64_t>(field.varint); }),
      on(bytes_tag(2), [&](const Field& field) { model.producer = name_in(file, field); }),
      on(bytes_tag(3), [&](const Field& field) { model.producer_version = name_in(file, field); }),
      on(bytes_tag(7), [&](const Field& field) { take_once(graph, field); }), on(bytes_tag(8), import),
      on(bytes_tag(25), function));
  if (!graph)
    throw Error(
        "there is no graph in it, expected an ONNX model with one; a model of another framework has to be exported "
        "to ONNX");
  build_graph(loader, *graph, 1);
  model.graph_name = model.main().name;
  std::set<std::tuple<std::string, std::string, std::string>> names;
  for (const Range body : functions) {
    build_function(loader, body, 1);
    const Function& built = model.functions.back();
    if (!names.emplace(built.domain, built.name, built.overload).second)
      throw Error(cat("function ", quoted_name(built.name), " of domain ", quoted_name(built.domain),
                      " is defined twice, expected once; the file is damaged, export it again"));
  }
  model.renamed_dims = loader.dims.renamed();
  return std::move(model);
}

Model load(File file, const std::string& path, const ExternalData& external) {
  const std::string_view head = file.window({0, file.size()});
  Model model = about(path, head, [&] { return build_model(file, external); });
  model.path = path;
  model.file_bytes = file.size();
  return model;
}

}  // namespace

void expect_few_graphs(std::size_t graphs) {
  if (graphs >= Loader::kMostGraphs)
    throw Error(cat("more than ", Loader::kMostGraphs, " graphs of bodies and functions, expected at most that many"));
}

Opset read_opset(File& file, Range body, int depth) {
  Opset opset;
  for_each_field(file, Message::Opset, body, depth, [&](const Field& field) {
    if (field.tag() == bytes_tag(1)) opset.domain = plain_domain(name_in(file, field));
    if (field.tag() == varint_tag(2)) opset.version = static_cast<std::int64_t>(field.varint);
    return true;
  });
  return opset;
}

}  // namespace wire

namespace {

using base::error_text;
using base::fail;

// A regular file, open for reading.
class RegularFile {
 public:
  // Throws Error unless it is a readable regular file.
  explicit RegularFile(const std::string& path) : path_(path) {
    const auto found = base::file_state(path);
    if (!found) fail(path, base::why_not_opened(path, errno) + "; expected an ONNX model");
    // Before opening: opening a pipe or device may block or have side effects.
    require_regular(found->kind);
    file_ = base::OpenFile::regular(path);
    if (!file_) fail(path, "cannot be opened: " + error_text() + "; check its permissions");
    const auto opened = file_.state();
    if (!opened) fail(path, "cannot be read: " + error_text());
    require_regular(opened->kind);
    size_ = opened->bytes;
  }

  std::uint64_t size() const { return size_; }
  // False where the system cannot map files, as in a browser.
  bool can_be_mapped() const {
    if (size_ == 0) return true;
    const std::byte* first = map(1);
    if (first != nullptr) base::unmap(first, 1);
    return first != nullptr;
  }
  // Its pages, read-only; null where they cannot be mapped, with errno set. It outlives the object.
  const std::byte* map(std::size_t bytes) const { return file_.map(bytes); }
  // Fills `bytes`, starting at `offset`. Throws Error when it cannot, or when the file has become shorter.
  void read(std::uint64_t offset, std::span<char> bytes) const {
    while (!bytes.empty()) {
      const auto got = file_.read_at(offset, bytes);
      if (!got) fail(path_, "cannot be read: " + error_text());
      if (*got == 0) fail(path_, "has become shorter while it was read");
      offset += *got;
      bytes = bytes.subspan(*got);
    }
  }

 private:
  void require_regular(base::FileKind kind) const {
    if (kind == base::FileKind::Folder)
      fail(path_, base::is_folder(path_, base::Reads::Model) + "; expected an ONNX file");
    if (kind == base::FileKind::Other)
      fail(path_, "is a pipe or device, expected an ONNX file; save it to a regular file first");
  }

  std::string path_;
  base::OpenFile file_;
  std::uint64_t size_ = 0;
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const RegularFile file(path);
  size_ = static_cast<std::size_t>(file.size());
  if (size_ == 0) return;
  data_ = file.map(size_);
  if (data_ == nullptr) fail(path, "cannot be mapped: " + error_text());
  // The walk jumps from header to header: read-ahead would fetch weights.
  base::expect_order(bytes(), base::PageOrder::Random);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) base::unmap(data_, size_);
}

void MappedFile::release(std::size_t begin, std::size_t end) const {
  end = std::min(end, size_);
  if (begin < end) base::release_pages(data_ + begin, data_ + end);
}

Model parse_model(std::span<const std::byte> bytes, const std::string& path, const std::string& directory) {
  return wire::load(wire::File(bytes), path, wire::ExternalData({directory}));
}

Model parse_model(std::span<const FileSlice> slices, std::uint64_t file_bytes, const std::string& path,
                  const std::string& directory) {
  return wire::load(wire::File(slices, file_bytes), path, wire::ExternalData({directory}));
}

Model parse_model(const ReadBytes& read, std::uint64_t file_bytes, const std::string& path,
                  const std::string& directory) {
  return wire::load(wire::File(read, file_bytes), path, wire::ExternalData({directory}));
}

Model load_model(const std::string& path) {
  const wire::ExternalData external(wire::folders_of(path));
  const RegularFile regular(path);
  if (!regular.can_be_mapped())
    return wire::load(
        wire::File([&](std::uint64_t offset, std::span<char> bytes) { regular.read(offset, bytes); }, regular.size()),
        path, external);
  const MappedFile file(path);
  if (const std::optional<std::string> model = base::decompressed(wire::as_text(file.bytes()), path))
    return wire::load(wire::File(std::as_bytes(std::span(*model))), path, external);
  return wire::load(wire::File(file.bytes(), wire::release_of(file)), path, external);
}

}  // namespace pagoda::inline core
