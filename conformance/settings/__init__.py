"""The options of commands, and the settings that are read from them."""
