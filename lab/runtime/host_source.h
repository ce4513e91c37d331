// SPDX-License-Identifier: MIT
// What a C++ source sees behind lab.h in a course's own build, where host compilers compile it: its
// headers hide from them what only nvcc takes.
#undef __CUDACC__
#undef __NVCC__
#undef __CUDA_ARCH__
