"""Every program that PyTorch's own databases make the device compile, run again on XLA.

    python -m tests.xla [--kind op_db] [--only NAME] [--dtypes float32,int64] [--jobs N] [--slice]

| module | topic |
|---|---|
| `programs` | what `torch.neuron.dump_programs` writes, read back |
| `engine` | StableHLO modules on XLA's CPU client; `tests/hlo` uses it too |
| `check` | one case: what it compiles, and what XLA says of it |
| `statuses` | agrees, differs, custom call, type, nothing, refused |
| `tables` | what XLA does otherwise, each with its reason |
| `ledger` | the committed record |
| `slice` | the part that is run for each change |

The cases, their processes and the tolerances are those of `tests/coverage`.
"""
