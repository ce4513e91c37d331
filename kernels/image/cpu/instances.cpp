// SPDX-License-Identifier: MIT
#include "kernels/image/cpu/templates.h"

#include "kernels/image/cpu/table.h"

namespace weft::kernels::WEFT_ISA {

extern const ImageCpu image_cpu = {
    cpu::rgb_to_grey,
    cpu::box_blur_naive,
    cpu::box_blur_running_sums,
};

}  // namespace weft::kernels::WEFT_ISA
