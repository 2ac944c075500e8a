// Quantized tensors.
#include "layouts.h"

namespace neuron {

void register_quantized(torch::Library&, torch::Library&) {}

} // namespace neuron
