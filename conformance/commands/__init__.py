"""The subcommands of `conform`."""
