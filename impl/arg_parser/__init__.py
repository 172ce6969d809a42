"""PyTorch's PythonArgParser: how the public functions and methods read their arguments.

`signatures.txt` holds torch's signatures, `parameter` one parameter of such a signature,
`accepted_values` the values that each kind of parameter accepts, `conversions` their conversion,
`signature` the match of one signature, `parser` the choice among the overloads, `messages` the
texts of errors, and `publish` puts a parser before each public function.
"""
