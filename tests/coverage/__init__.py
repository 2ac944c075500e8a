"""What of PyTorch's own databases runs natively on the neuron device, measured against the CPU.

    python -m tests.coverage [--kind op_db] [--only NAME] [--dtypes float32,int64] [--jobs N] [--quick] [--slice]

| module | topic |
|---|---|
| `tables` | exceptions, each with its reason |
| `tolerance` | PyTorch's tolerances by dtype and operator |
| `moving` | arguments on the device, as views with gaps, in higher precision |
| `compare` | equality of results and of exceptions |
| `outcome` | what a case found: native, fallback, fails, not in PyTorch |
| `operators`, `foreach`, `modules`, `optimizers`, `gradients` | the checks of one database each |
| `databases` | name of a database to its cases |
| `worker`, `pool`, `results` | processes that survive crashes and hangs; an interrupted run goes on |
| `ledger`, `gaps` | the committed record; what is missing, by ATen operator |
| `slice` | the part that is run for each change, against the record |
"""
