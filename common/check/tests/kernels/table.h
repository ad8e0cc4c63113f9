#define WIDTH 4
__device__ int table(int value) { return value % WIDTH; }
