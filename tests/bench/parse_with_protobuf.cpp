// The peer that onnx-estimate is compared with: protobuf's full parse of the same file, and nothing else.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <onnx/onnx_pb.h>

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <limits>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: parse_with_protobuf MODEL.onnx\n", stderr);
    return 2;
  }
  const int file = open(argv[1], O_RDONLY);
  if (file < 0) {
    std::perror(argv[1]);
    return 1;
  }
  google::protobuf::io::FileInputStream stream(file);
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  onnx::ModelProto model;
  const bool parsed = model.ParseFromCodedStream(&coded);
  std::printf("%d nodes\n", model.graph().node_size());
  close(file);
  return parsed ? 0 : 1;
}
