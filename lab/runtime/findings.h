// SPDX-License-Identifier: MIT
// What a program of `weft lab run` does at a finding or note: by WEFT_LAB_STOP, first, kernel or
// never, WEFT_LAB_ALLOW, kinds with commas between, and WEFT_LAB_STRICT, set or not.
#pragma once

namespace weft::host_cuda::lab {

void begin_findings();
// When the program has ended by itself: tells how often findings were met again, and ends it with 1
// where there was one.
void end_findings();
// Where accesses are counted: ends the program with the code as soon as its record is written. Else
// it returns.
void leave_counting(int code);

}  // namespace weft::host_cuda::lab
