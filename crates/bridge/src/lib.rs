//! The C ABI and the Python module.
//!
//! This library is what `import torch_neuronx` loads. It holds the core, the C++ shim that PyTorch's interfaces force
//! on us (`csrc/`), and between them the functions of `csrc/neuron.h`: plain data, no C++ exception comes in, no panic
//! goes out. It has never heard of libtorch's C++.
#![allow(non_snake_case, reason = "the library and its module carry Python's name")]
mod abi;
mod call;
mod error;
mod fallback;
mod graph;
mod memory;
mod python;
mod streams;
