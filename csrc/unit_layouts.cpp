// One translation unit of everything about sparse, nested and quantized tensors, so that PyTorch's headers are parsed once.
#include "fake_quantize.cpp"
#include "layouts.cpp"
#include "nested.cpp"
#include "quantized.cpp"
#include "sparse_compressed.cpp"
#include "sparse_coo.cpp"
#include "sparse_products.cpp"
