// SPDX-License-Identifier: MIT
// The device side of Launch::overlapped() (PTX ISA, "griddepcontrol"; sm_90, nothing elsewhere).
#pragma once

namespace weft::kernels::device {

// Waits until the kernels before this one on the stream are complete and what they wrote is
// visible. Returns at once in a kernel that did not start early.
//
// The assembler may move loads of what it takes for constant (__ldg(), const T* __restrict__) in
// front of this wait, and then they read what was there before. So the first loads behind it go
// through plain pointers. tests/machine_code.py finds loads that have moved.
__device__ __forceinline__ void overlap_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next kernel start once all blocks have said so, or are done.
__device__ __forceinline__ void overlap_allow() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace weft::kernels::device
