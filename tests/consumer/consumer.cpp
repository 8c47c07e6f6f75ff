#include <pagoda/pagoda.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const pagoda::Analysis analysis = pagoda::analyze(pagoda::load_model(argv[1]));
  std::printf("%s\n", analysis.totals.cost.macs.to_string().c_str());
  return analysis.partial ? 1 : 0;
}
