// One translation unit of everything about devices, so that PyTorch's headers are parsed once.
#include "allocator.cpp"
#include "error.cpp"
#include "generator.cpp"
#include "graph.cpp"
#include "guard.cpp"
#include "hooks.cpp"
#include "profiler.cpp"
