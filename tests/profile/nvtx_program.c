/* A program as users have them: it knows NVTX and the driver, and nothing of Pagoda. It launches kernels where a driver
 * with fake launches is found, and ends as it is told.
 *   nvtx_program [LAUNCHES [exit CODE | signal NUMBER | fork | wait | calls | capture | runs]] */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void (*launch)(const char*);
static void (*launch_by)(const char* call, const char* symbol, int on_captured_stream);
static int (*capture_step)(int begins);

static void open_driver(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;
  if (!init || init(0) != 0) return;
  launch = (void (*)(const char*))dlsym(driver, "fake_launch");
  launch_by = (void (*)(const char*, const char*, int))dlsym(driver, "fake_launch_by");
  capture_step = (int (*)(int))dlsym(driver, "fake_capture");
}

/* A capture that something broke is this program's failure, as of any that checks what CUDA returns. */
static void capture(int begins) {
  if (capture_step(begins) == 0) return;
  printf("the capture is broken\n");
  exit(9);
}

static void node(nvtxDomainHandle_t domain, nvtxStringHandle_t registered, const char* name, int launches) {
  nvtxEventAttributes_t event = {0};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = registered ? NVTX_MESSAGE_TYPE_REGISTERED : NVTX_MESSAGE_TYPE_ASCII;
  if (registered)
    event.message.registered = registered;
  else
    event.message.ascii = name;
  nvtxDomainRangePushEx(domain, &event);
  for (int i = 0; i < launches && launch; ++i) launch("_Z4gemmILi128EEvPfi");
  nvtxDomainRangePop(domain);
}

static void* other_thread(void* unused) {
  nvtxRangePushW(L"\u00fcber");
  nvtxRangePop();
  return unused;
}

/* Three launches by each of the driver's calls, in a range of the call's name; a graph has two kernels. */
static void by_each_call(void) {
  static const char* const calls[] = {
      "cuLaunchKernel",        "cuLaunchKernel_ptsz",       "cuLaunchKernelEx",
      "cuLaunchKernelEx_ptsz", "cuLaunchCooperativeKernel", "cuLaunchCooperativeKernel_ptsz",
      "cuGraphLaunch",         "cuGraphLaunch_ptsz"};
  capture(1);
  launch_by("cuLaunchKernel", "_Z4gemmILi128EEvPfi", 1);
  launch_by("cuLaunchKernelEx_ptsz", "_Z4reluPf", 1);
  capture(0);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    nvtxRangePushA(calls[i]);
    for (int k = 0; k < 3; ++k) launch_by(calls[i], "_Z4gemmILi128EEvPfi", 0);
    nvtxRangePop();
  }
}

/* Kernels into a graph, with one that runs on another stream meanwhile; a graph of the graph; then both. */
static void with_capture(void) {
  nvtxRangePushA("before");
  launch("_Z4gemmILi128EEvPfi");
  nvtxRangePop();
  nvtxRangePushA("capture");
  launch("_Z4gemmILi128EEvPfi"); /* counted before the capture */
  capture(1);
  nvtxRangePushA("turn 1"); /* an iteration, where they are called so */
  launch_by("cuLaunchKernel", "_Z4gemmILi128EEvPfi", 1);
  launch_by("cuLaunchKernel", "_Z5otherPf", 0);
  launch_by("cuLaunchCooperativeKernel", "_Z4reluPf", 1);
  launch_by("cuLaunchKernel_ptsz", "_Z4reluPf", 0); /* the thread's own stream, captured too */
  launch_by("cuGraphLaunch", "_Z4reluPf", 1);       /* three more */
  nvtxRangePop();
  capture(0);
  nvtxRangePop();
  nvtxRangePushA("replay");
  for (int i = 0; i < 2; ++i) launch_by("cuGraphLaunch", "_Z4gemmILi128EEvPfi", 1);
  nvtxRangePop();
  launch("_Z4gemmILi128EEvPfi");
}

/* A launch to warm up, then two runs in the default domain, as torch.cuda.nvtx opens ranges. */
static void with_runs(void) {
  launch("_Z4gemmILi128EEvPfi");
  for (int i = 0; i < 2; ++i) {
    nvtxRangePushA(i == 0 ? "run 0" : "run 1");
    launch("_Z4reluPf");
    nvtxRangePop();
  }
}

int main(int argc, char** argv) {
  const int launches = argc > 1 ? atoi(argv[1]) : 0;
  const char* how = argc > 2 ? argv[2] : "exit";
  const int number = argc > 3 ? atoi(argv[3]) : 0;
  open_driver();
  nvtxDomainHandle_t domain = nvtxDomainCreateA("pagoda");
  nvtxStringHandle_t registered = nvtxDomainRegisterStringA(domain, "conv1");
  nvtxRangePushA("model");
  const nvtxRangeId_t process_wide = nvtxRangeStartA("epoch");
  node(domain, registered, NULL, launches);
  node(domain, NULL, "relu2", launches);
  nvtxRangeEnd(process_wide);
  nvtxRangePop();
  pthread_t thread;
  pthread_create(&thread, NULL, other_thread, NULL);
  pthread_join(thread, NULL);
  if (strcmp(how, "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      node(domain, NULL, "in the child", 1);
      exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }
  printf("ready\n");
  fflush(stdout);
  if (strcmp(how, "calls") == 0 && launch_by) by_each_call();
  if (strcmp(how, "capture") == 0 && launch_by) with_capture();
  if (strcmp(how, "runs") == 0 && launch) with_runs();
  if (strcmp(how, "signal") == 0) kill(getpid(), number);
  if (strcmp(how, "wait") == 0) sleep(10);
  return number;
}
