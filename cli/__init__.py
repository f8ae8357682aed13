"""The command line, `tokenmill`: each command imports its room only when it is called."""
