// One file a process, appended line by line: whatever happens to the process, what was decoded before is whole.
//
//   pagoda.record  1
//   process  PID  COMMAND
//   device   CONTEXT  CHIP  NAME
//   group    CONTEXT  GROUP  METRIC…          what the next launches of the context hold
//   launch   CONTEXT  GROUP  ITERATION  LAUNCHES  KERNEL  NVTX  NODE  DETAIL  VALUE…   no values: not known
//   peak     CONTEXT  METRIC  VALUE            a constant of the context's device
//   lost     LAUNCHES  WHY
//   note     TEXT
//   range    DOMAIN@NAME  PATH              one that opened, where they are listed
//   energy   JOULES  SECONDS
//   end      LAUNCHES                          the process ended in order
#pragma once

#include <string>
#include <vector>

namespace pagoda::tools::profile {

class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void line(const std::vector<std::string>& words) = 0;
  virtual void flush() = 0;   // what was given so far survives the process
  virtual void forget() = 0;  // in a child after fork: neither written nor held open
};

class RecordFile : public RecordSink {
 public:
  explicit RecordFile(std::string folder) : folder_(std::move(folder)) {}
  ~RecordFile() override { flush(); }
  void line(const std::vector<std::string>& words) override;
  void flush() override;
  void forget() override;
  const std::string& path() const { return path_; }

 private:
  void open();
  std::string folder_, path_, buffer_;
  int descriptor_ = -1;
  bool failed_ = false;
};

}  // namespace pagoda::tools::profile
