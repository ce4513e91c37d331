#pragma once

#define BLOCK 32

// Launches a kernel that squares n numbers of device memory.
void launch_squares(float* numbers, int n);
