"""The sweep: every sample of every operator in torch's own database, as programs run in bulk.

A sample is a program like any other (`Sample.program`), of which the statements are

    y = torch.mul(x, a)                                       forward
    g = torch.autograd.grad([y], [x, a], [v], ...)            backward
    h = torch.autograd.grad([g[0], g[1]], [x, a, v], [...])   double backward

There are tens of thousands, so they are not traced: oracle and backend execute the same
statements in one process, and the values that each statement binds are compared as arrays.
"""
