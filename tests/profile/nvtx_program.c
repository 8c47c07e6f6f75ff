/* A program as users have them: it knows NVTX and the driver, and nothing of Pagoda. It launches kernels where a driver
 * with fake launches is found, and ends as it is told.
 *   nvtx_program [LAUNCHES [exit CODE | signal NUMBER | fork | wait]] */
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

static void open_driver(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;
  if (init && init(0) == 0) launch = (void (*)(const char*))dlsym(driver, "fake_launch");
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
  if (strcmp(how, "signal") == 0) kill(getpid(), number);
  if (strcmp(how, "wait") == 0) sleep(10);
  return number;
}
