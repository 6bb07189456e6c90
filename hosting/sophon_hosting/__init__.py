"""The process around the framework: settings become services, and people reach them from the command line."""
