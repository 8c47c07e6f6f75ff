// Files on disk: models that cannot be opened, external data inside and outside of the model's folder, output files.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>

#include "onnx/sample_models.h"
#include "onnx/write.h"
#include "pagoda/base/files.h"
#include "pagoda/core/model.h"

namespace pagoda::test {
namespace {

namespace fs = std::filesystem;

struct Folder : base::TemporaryFolder {
  Folder() : TemporaryFolder("pagoda-onnx-test") {}
  std::string operator/(const std::string& name) const { return path(name); }
  std::string write(const std::string& name, const std::string& bytes) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    base::write_file(path(name), bytes);
    return path(name);
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path()), fs::directory_iterator()));
  }
};

std::string load_error(const std::string& path) {
  return error_of([&] { load_model(path); });
}

// A model with an int64 tensor of two elements in an external file.
std::string model_with_external(const std::string& location, const std::string& offset = "8",
                                const std::string& length = "16") {
  onnx::ModelProto proto = new_model();
  onnx::TensorProto& tensor = *proto.mutable_graph()->add_initializer();
  tensor.set_name("shape");
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(2);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair("location", location), {"offset", offset}, {"length", length}}) {
    if (value.empty()) continue;
    onnx::StringStringEntryProto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  return proto.SerializeAsString();
}

// Offset 8: the integers 5 and 6.
const std::string kData = std::string("skipped ") + std::string("\5\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0", 16);

TEST_CASE("a model loads from a file as from memory") {
  const Folder folder;
  const std::string path = folder.write("m.onnx", sample("everything"));
  const Model model = load_model(path);
  CHECK(model.path == path);
  CHECK(describe(model) == describe(parse_model(as_bytes(sample("everything")))));
}

TEST_CASE("what is not a regular file with a model in it is refused at once, with the path") {
  const Folder folder;
  const std::string fifo = folder / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  struct Row {
    std::string path;
    const char* message;
  };
  const Row rows[] = {
      {folder / "missing.onnx", "cannot be opened: No such file or directory"},
      {folder / "", "is a folder"},
      {fifo, "is a pipe or device"},
      {"/dev/null", "is a pipe or device"},
      {"/dev/zero", "is a pipe or device"},
      {folder.write("empty.onnx", ""), "is empty"},
      {folder.write("text.onnx", "hello"), "is text"},
      {folder.write("m.onnx", "x") + "/m.onnx", "cannot be opened: Not a directory"},
      {"", "cannot be opened"},
  };
  for (const Row& row : rows) {
    const std::string message = load_error(row.path);
    CAPTURE(message);
    CHECK(message.starts_with(row.path + ": "));
    CHECK(contains(message, row.message));
  }
}

TEST_CASE("small integers are read from external files below the model's folder") {
  const Folder folder;
  folder.write("model/data/w.bin", kData);
  folder.write("model/w.bin", kData);
  for (const char* location : {"w.bin", "data/w.bin", "./data/../w.bin"}) {
    CAPTURE(location);
    const Model model = load_model(folder.write("model/m.onnx", model_with_external(location)));
    const Tensor& shape = model.main().initializers[0];
    CHECK(shape.unread == "");
    REQUIRE(shape.value);
    CHECK(*shape.value == TensorValue{Dim(5), Dim(6)});
    CHECK(shape.extent.location == location);
  }
}

TEST_CASE("without a length the dims say how much to read") {
  const Folder folder;
  folder.write("w.bin", kData);
  const Model model = load_model(folder.write("m.onnx", model_with_external("w.bin", "8", "")));
  CHECK(model.main().initializers[0].value.has_value());
}

TEST_CASE("external data that cannot or must not be read are no error, and the tensor says why") {
  const Folder folder;
  folder.write("outside.bin", kData);
  folder.write("model/w.bin", kData);
  folder.write("model/inner/w.bin", kData);
  fs::create_symlink("../outside.bin", folder / "model/link.bin");
  fs::create_symlink("loop.bin", folder / "model/loop.bin");
  fs::create_directory_symlink("..", folder / "model/up");
  REQUIRE(::mkfifo((folder / "model/fifo").c_str(), 0600) == 0);
  fs::create_symlink("/dev/zero", folder / "model/device");
  struct Row {
    std::string location, offset, length;
    const char* reason;
  };
  const Row rows[] = {
      {"missing.bin", "8", "16", "cannot be opened: No such file or directory"},
      {"../outside.bin", "8", "16", "lies outside the model's folder"},
      {"inner/../../outside.bin", "8", "16", "lies outside the model's folder"},
      {"link.bin", "8", "16", "lies outside the model's folder"},
      {"up/outside.bin", "8", "16", "lies outside the model's folder"},
      {folder / "model/w.bin", "8", "16", "is not a path relative to the model's folder"},
      {"/dev/zero", "8", "16", "is not a path relative"},
      {"device", "8", "16", "lies outside the model's folder"},
      {"loop.bin", "8", "16", "cannot be opened"},
      {"fifo", "8", "16", "is not a regular file"},
      {"inner", "8", "16", "is not a regular file"},
      {"w.bin", "16", "16", "ends before the data"},
      {"w.bin", "18446744073709551615", "16", "ends before the data"},
      {"w.bin", "8", "17", "are said to have 17 bytes, its dims need 16"},
      {"w.bin", "-8", "16", "its external offset is \"-8\", expected a number of bytes"},
      {"w.bin", "8", "many", "its external length is \"many\""},
      {"w.bin", "99999999999999999999999", "16", "its external offset is"},
      {"", "8", "16", "name no file"},
      {"\x1b[2J", "8", "16", "\"\\x1b[2J\""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.location);
    const std::string path = folder.write("model/m.onnx", model_with_external(row.location, row.offset, row.length));
    const Model model = load_model(path);
    const Tensor& shape = model.main().initializers[0];
    CAPTURE(shape.unread);
    CHECK_FALSE(shape.value);
    CHECK(contains(shape.unread, row.reason));
  }
}

TEST_CASE("a model behind a symbolic link finds the data beside the link and beside the file") {
  const Folder folder;
  folder.write("blobs/w.bin", kData);
  folder.write("blobs/m", model_with_external("w.bin"));
  fs::create_directories(folder / "snapshot");
  fs::create_symlink("../blobs/m", folder / "snapshot/m.onnx");
  CHECK(load_model(folder / "snapshot/m.onnx").main().initializers[0].value.has_value());
  fs::create_symlink("../blobs/w.bin", folder / "snapshot/w.bin");
  CHECK(load_model(folder / "snapshot/m.onnx").main().initializers[0].value.has_value());
}

TEST_CASE("from memory, external data are looked for only where the caller says") {
  const Folder folder;
  folder.write("w.bin", kData);
  const std::string bytes = model_with_external("w.bin");
  CHECK(contains(parse_model(as_bytes(bytes)).main().initializers[0].unread, "folder is not known"));
  CHECK(parse_model(as_bytes(bytes), "m.onnx", folder / "").main().initializers[0].value.has_value());
}

TEST_CASE("small external tensors move into a skeleton, so that its analysis is the model's") {
  const Folder folder;
  folder.write("w.bin", kData);
  onnx::ModelProto proto;
  REQUIRE(proto.ParseFromString(model_with_external("w.bin")));
  onnx::NodeProto& reshape = *proto.mutable_graph()->add_node();  // whose output has these sizes
  reshape.set_op_type("Reshape");
  reshape.add_input("x");
  reshape.add_input("shape");
  reshape.add_output("y");
  onnx::ValueInfoProto& input = *proto.mutable_graph()->add_input();
  input.set_name("x");
  input.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  input.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(30);
  proto.mutable_graph()->add_output()->set_name("y");
  const std::string model = folder.write("m.onnx", proto.SerializeAsString());
  write_skeleton(model, folder / "s.onnx");
  fs::remove(folder / "w.bin");
  const Model small = load_model(folder / "s.onnx");
  REQUIRE(small.main().initializers[0].value);
  CHECK(*small.main().initializers[0].value == TensorValue{Dim(5), Dim(6)});
}

TEST_CASE("an output appears whole or not at all, and never over the input") {
  const Folder folder;
  const std::string model = folder.write("m.onnx", sample("convolution"));
  fs::create_symlink("m.onnx", folder / "link.onnx");
  fs::create_hard_link(model, folder / "hard.onnx");
  for (const std::string& output : {model, folder / "link.onnx", folder / "hard.onnx", folder / "./m.onnx"})
    CHECK(contains(error_of([&] { write_skeleton(model, output); }), "is the input itself"));
  CHECK(contains(error_of([&] { write_filled(model, model, 0); }), "is the input itself"));
  CHECK(contains(error_of([&] { write_skeleton(model, folder / ""); }), "is a folder"));
  CHECK(contains(error_of([&] { write_skeleton(model, "/dev/null"); }), "is a folder, pipe or device"));
  CHECK(contains(error_of([&] { write_skeleton(model, folder / "no/such/s.onnx"); }), "cannot be written"));
  const std::string broken = folder.write("broken.onnx", "hello");
  const std::string kept = folder.write("kept.onnx", "precious");
  CHECK_THROWS_AS(write_skeleton(broken, kept), Error);
  CHECK(read_file(kept) == "precious");
  CHECK(read_file(model) == sample("convolution"));
  CHECK(folder.files() == 5);
  write_skeleton(model, kept);
  CHECK(read_file(kept) == skeleton(as_bytes(sample("convolution"))));
  CHECK(folder.files() == 5);
}

TEST_CASE("an output that is not committed leaves nothing behind") {
  const Folder folder;
  {
    wire::OutputFile output(folder / "x", "");
    output.write(std::string(3'000'000, 'x'));
    CHECK(output.size() == 3'000'000);
  }
  CHECK(folder.files() == 0);
}

TEST_CASE("an output that is being written has no name that a killed process could leave behind") {
  const Folder folder;
  const int file = ::open((folder / ".").c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (file < 0) {
    MESSAGE("skipped: files without a name are not to be had here");
    return;
  }
  ::close(file);
  fs::create_directory(folder / "dir");
  wire::OutputFile output(folder / "dir/x", "");
  output.write(std::string(3'000'000, 'x'));
  CHECK(fs::is_empty(folder / "dir"));
  output.commit();
  CHECK(fs::file_size(folder / "dir/x") == 3'000'000);
  CHECK(std::distance(fs::directory_iterator(folder / "dir"), fs::directory_iterator()) == 1);
}

}  // namespace
}  // namespace pagoda::test
