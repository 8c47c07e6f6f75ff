// A worker without a framework: does what the option "behave" names, so that the runner's tests need nothing installed.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

namespace {

using nlohmann::json;

void answer(const json& event) { std::cout << event.dump() << std::endl; }

void pause_seconds(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

[[noreturn]] void hang() {
  while (true) pause_seconds(1);
}

[[noreturn]] void eat_memory() {
  std::vector<char*> blocks;
  while (true) {
    const std::size_t size = std::size_t{8} << 20;
    blocks.push_back(static_cast<char*>(std::malloc(size)));
    std::memset(blocks.back(), 1, size);
    pause_seconds(0.005);
  }
}

// Starts a process that leaves the process group, as careless frameworks do.
void leave_stray(const std::string& pid_file) {
  if (::fork() != 0) {
    pause_seconds(0.05);
    return;
  }
  ::setsid();
  std::ofstream(pid_file) << ::getpid() << std::endl;
  hang();
}

void write_outputs(const json& config, const std::string& path) {
  std::vector<float> values = {1, 2, 3, 4};
  for (float& value : values) value *= config.value("output_scale", 1.0f);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  file.close();
  answer({{"event", "outputs"},
          {"path", path},
          {"tensors", {{{"name", "y"}, {"type", "float32"}, {"shape", {2, 2}}, {"offset", 0}, {"bytes", 16}}}}});
}

}  // namespace

int main() {
  json config;
  std::string behave;
  std::int64_t runs = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const json request = json::parse(line);
    const std::string op = request.at("op");
    if (op == "prepare") {
      config = request.at("config");
      behave = config.value("behave", "well");
      if (config.contains("pid_file"))
        std::ofstream(config["pid_file"].get<std::string>(), std::ios::app) << ::getpid() << std::endl;
      if (behave == "unavailable") {
        answer({{"event", "unavailable"}, {"message", "not available: install fake"}});
        return 0;
      }
      if (behave == "exit") {
        std::cerr << "about to exit\n";
        return 3;
      }
      if (behave == "no_memory_said") {
        answer({{"event", "error"}, {"kind", "out_of_memory"}, {"message", "cudaErrorMemoryAllocation"}});
        return 1;
      }
      if (behave == "chatter") std::cout << "Loading weights…\n{not json}\n[1]\n{\"no\":\"event\"}\n";
      if (behave == "stray") leave_stray(config.at("stray_file"));
      if (config.contains("stage")) answer({{"event", "progress"}, {"message", config.at("stage")}});
      pause_seconds(config.value("prepare_seconds", 0.0));
      answer({{"event", "ready"},
              {"items", config.value("batch", 1)},
              {"load_seconds", 0.5},
              {"versions", {{"fake", "1.2"}}}});
    } else if (op == "run") {
      ++runs;
      if (behave == "crash" && runs == 2) {
        // No core file: the crash is intended.
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_CORE, &none);
        std::cerr << std::string(10000, 'x') << "\nlast words\n" << std::flush;
        ::signal(SIGSEGV, SIG_DFL);
        ::raise(SIGSEGV);
      }
      if (behave == "hang" && runs == 2) hang();
      if (behave == "eat" && runs == 2) eat_memory();
      if (behave == "killed" && runs == 2) ::raise(SIGKILL);
      const auto n = request.at("iterations").get<std::size_t>();
      const double seconds = config.value("latency", 0.01);
      if (config.value("really", false)) pause_seconds(seconds * static_cast<double>(n));
      answer({{"event", "times"},
              {"seconds", std::vector<double>(behave == "lazy" ? 0 : n, seconds)},
              {"clock", "made up"}});
    } else if (op == "layers") {
      answer({{"event", "layers"},
              {"layers",
               {{{"name", "a"}, {"op_type", "Conv"}, {"seconds", 0.004}, {"facts", {{"channels", 3}}}},
                {{"name", "b"}, {"seconds", nullptr}, {"note", "refused"}}}}});
    } else if (op == "outputs") {
      write_outputs(config, request.at("path"));
    } else if (op == "memory") {
      answer({{"event", "memory"}, {"device_peak_bytes", 4096}});
    } else if (op == "quit") {
      return 0;
    } else {
      answer({{"event", "unsupported"}, {"message", op}});
    }
  }
  return 0;
}
