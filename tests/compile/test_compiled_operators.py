"""PyTorch's operator database, one operator at a time: compiled as in eager, results and gradients.

    python -m pytest tests/compile/test_compiled_operators.py            # a slice: every operator, one sample
    python -m tests.compile.operators                           # `make coverage-compile`: all dtypes, and the total
"""

import pytest
from torch.testing._internal.common_methods_invocations import op_db

from tests.compile.operators import check, dtypes, full_name

# The slice: every so many-th operator.
EVERY = 5


@pytest.mark.parametrize("info", [i for i in op_db[::EVERY] if dtypes(i)], ids=full_name)
def test_operator(info):
    outcome, why = check(info, dtypes(info)[0])
    if outcome == "absent":
        pytest.skip(why)
    assert outcome == "agrees", why
