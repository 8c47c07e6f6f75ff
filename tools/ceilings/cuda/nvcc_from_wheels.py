#!/usr/bin/env python3
"""A compiler for the GPU kernels where no toolkit has them: NVIDIA's wheels have no nvcc, but its two halves.

    python3 -m venv cuda12
    cuda12/bin/pip install nvidia-cuda-nvrtc-cu12 nvidia-cuda-nvcc-cu12 nvidia-cuda-runtime-cu12
    cmake --preset release -D "PAGODA_NVCC_12=$PWD/cuda12/bin/python;$PWD/tools/ceilings/cuda/nvcc_from_wheels.py"

It takes what CMakeLists.txt beside this folder asks of nvcc, and nothing else:
    --list-gpu-code
    -std=c++17 -ptx -gencode arch=compute_70,code=compute_70 FILE.cu -o FILE.ptx       by libnvrtc
    -cubin -gencode arch=compute_70,code=sm_70 FILE.ptx -o FILE.cubin                  by ptxas
The kernels are the device's half of a file alone: no launches, no host functions.
"""
import ctypes
import os
import subprocess
import sys

# NVRTC has no C library; of its headers the kernels take the integer types.
STDINT = b"""#pragma once
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned long long uintptr_t;
"""


def stop(message):
    sys.exit("nvcc_from_wheels.py: " + message)


def find(package, path):
    """A file or folder of one of NVIDIA's wheels in this Python."""
    for folder in sys.path:
        found = os.path.join(folder, "nvidia", path)
        if os.path.exists(found):
            return found
    stop("%s has no nvidia/%s; run: %s -m pip install %s" % (sys.executable, path, sys.executable, package))


class Compiler:
    def __init__(self):
        self.nvrtc = ctypes.CDLL(find("nvidia-cuda-nvrtc-cu12", "cuda_nvrtc/lib/libnvrtc.so.12"))

    def check(self, name, *arguments):
        code = getattr(self.nvrtc, name)(*arguments)
        if code:
            self.nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
            return "%s: %s" % (name, self.nvrtc.nvrtcGetErrorString(code).decode())
        return None

    def text(self, program, name):
        """The log or the PTX of a program."""
        size = ctypes.c_size_t()
        problem = self.check("nvrtcGet%sSize" % name, program, ctypes.byref(size))
        if problem:
            stop(problem)
        buffer = ctypes.create_string_buffer(size.value)
        self.check("nvrtcGet%s" % name, program, buffer)
        return buffer.value

    def architectures(self):
        count = ctypes.c_int()
        self.check("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        numbers = (ctypes.c_int * count.value)()
        self.check("nvrtcGetSupportedArchs", numbers)
        return list(numbers)

    def ptx(self, source, options):
        program = ctypes.c_void_p()
        with open(source, "rb") as file:
            text = file.read()
        headers, names = (ctypes.c_char_p * 1)(STDINT), (ctypes.c_char_p * 1)(b"stdint.h")
        problem = self.check("nvrtcCreateProgram", ctypes.byref(program), text, source.encode(), 1, headers, names)
        if problem:
            stop("%s: %s" % (source, problem))
        given = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
        problem = self.check("nvrtcCompileProgram", program, len(options), given)
        if problem:
            stop("%s: %s\n%s" % (source, problem, self.text(program, "ProgramLog").decode()))
        return self.text(program, "PTX")


def main(arguments):
    if arguments == ["--list-gpu-code"]:
        print("\n".join("sm_%d" % number for number in Compiler().architectures()))
        return
    options, source, output, architecture, cubin = [], None, None, None, False
    rest = iter(arguments)
    for argument in rest:
        if argument == "-o":
            output = next(rest)
        elif argument == "-gencode":
            architecture = dict(part.split("=") for part in next(rest).split(","))
        elif argument in ("-ptx", "-cubin"):
            cubin = argument == "-cubin"
        elif argument.startswith("-"):
            options.append(argument)
        else:
            source = argument
    if not (source and output and architecture):
        stop("found %s, expected -ptx or -cubin, -gencode arch=…,code=…, a file and -o" % " ".join(arguments))
    if cubin:
        ptxas = find("nvidia-cuda-nvcc-cu12", "cuda_nvcc/bin/ptxas")
        sys.exit(subprocess.call([ptxas, "-arch", architecture["code"], source, "-o", output]))
    headers = find("nvidia-cuda-runtime-cu12", "cuda_runtime/include")
    options += ["--gpu-architecture=" + architecture["arch"], "-I" + os.path.dirname(os.path.abspath(source)), "-I" + headers]
    text = Compiler().ptx(source, options)
    with open(output, "wb") as file:
        file.write(text)


main(sys.argv[1:])
