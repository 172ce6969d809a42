"""The conformance suite: programs in, verdicts out.

Its packages, each of which imports only those above it:

    base            levels, tolerances, schemas, versions: no program yet
    program         programs, their given tensors and their normative comments
    observe         the table of fields, the observer that reads them, traces
    neutral         the neutral form of programs, for ports in any language
    samples         tables of operators, and the programs made of them
    backends        the implementations that programs run on (a module)
    execution       a program on a backend, in a recording or in the history: a trace
    sweep           every sample of torch's database of operators, in bulk
    suite           chapters, whole programs, conventions, laws: all programs, and selections
    compare         two traces into a verdict; known divergences
    isolation       backends in child processes, and ports
    run_files       run files: written, read, merged, compared, resumed
    settings        the options of commands, and the settings read from them
    output          observations, failures and runs as text
    history         the history of torch: recorded, read for changes, held against the chapters
    run             one pass of the suite: plan, judge, collector, ending
    fuzz            random programs
    commands        the subcommands of `conform`
    cli, plugin     the command line, and the pytest plugin (modules)
"""
