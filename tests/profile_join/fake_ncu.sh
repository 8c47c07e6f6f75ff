#!/bin/sh
# Stands in for Nsight Compute: records its arguments, runs the program, and writes a table or one of ncu's failures.
# FAKE_NCU_FOLDER receives "arguments"; FAKE_NCU_SAYS selects what is written to --log-file.
printf '%s\n' "$@" > "$FAKE_NCU_FOLDER/arguments"
log= metrics=
while [ $# -gt 0 ]; do
  case "$1" in
    --csv|--nvtx) shift ;;
    --log-file) log=$2; shift 2 ;;
    --metrics) metrics=$2; shift 2 ;;
    --*) shift 2 ;;
    *) break ;;
  esac
done
case "$FAKE_NCU_SAYS" in
  table)
    "$@"
    code=$?
    {
      echo "==PROF== Connected to process 7"
      echo '"ID","Process ID","Kernel Name","Grid Size","Block Size","Stream","device__attribute_display_name","dram__bytes_read.sum","gpu__time_duration.sum","sm__ops_path_tensor_src_fp16_dst_fp32.sum"'
      echo '"","","","","","","","byte","ns",""'
      echo '"0","7","void gemm<(int)128>(float *)","(8, 1, 1)","(128, 1, 1)","7","NVIDIA H200","1000000","2000","4096"'
      echo '"1","7","void gemm<(int)128>(float *)","(8, 1, 1)","(128, 1, 1)","7","NVIDIA H200","1000000","2000","4096"'
    } > "$log"
    exit $code ;;
  permission)
    echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters" > "$log"
    exit 1 ;;
  busy)
    echo "==ERROR== Profiling failed because a driver resource was unavailable." > "$log"
    exit 9 ;;
  metric)
    echo "==ERROR== Failed to find metric ${metrics%%,*}" > "$log"
    exit 1 ;;
  nothing)
    echo "==WARNING== No kernels were profiled." > "$log"
    exit 0 ;;
  strange)
    echo "==ERROR== Something new went wrong" > "$log"
    exit 3 ;;
  killed) kill -9 $$ ;;
esac
