"""The rows of the speed table, one family a file."""

from benches.cases import attention, compiled, convolution, dispatch, elementwise, fourier, gpt, losses, matmul, optimizer, rows

ALL = [
    *dispatch.CASES,
    *matmul.CASES,
    *elementwise.CASES,
    *rows.CASES,
    *attention.CASES,
    *losses.CASES,
    *convolution.CASES,
    *fourier.CASES,
    *optimizer.CASES,
    *gpt.CASES,
    *compiled.CASES,
]
