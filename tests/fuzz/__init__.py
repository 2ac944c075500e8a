"""Random calls of random operators on the device, with the CPU as the oracle.

    python -m tests.fuzz [--seconds 600] [--seed 0] [--only OP,...] [--wrong 0.5] [--one SEED]

A call starts from a sample of PyTorch's operator database and is changed: sizes (also 0, and up to 8 dims), strides, element
types, numbers, a missing or a superfluous argument. Both devices have to return the same, or raise the same type of exception.
Calls run in a process of their own, which is replaced when it dies or hangs; what a call is follows from its number alone,
so `--one NUMBER` repeats it.
"""
