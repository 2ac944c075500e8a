"""Benchmarks: the neuron device against PyTorch's CPU backend, interleaved in one process."""
