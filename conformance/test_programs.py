"""The suite: every program is one test. `conformance.plugin` collects them in place of this module.

An ID stands in the name of its test: `test_program[MAX-01.1]`.
"""
