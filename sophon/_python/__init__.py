"""Private: what Python does at import and this package at first use. It is below everything else of the package.

Each module stays because its absence is felt (`python -m tests.bench import_times`, with bytecode):

- `lazy_dataclass`: `dataclass` whose methods are compiled at first use, and `slotted_dataclass`. It buys 132 of 342 ms
  of the import of a chain, and 243 of 780 ms of that of a host.
- `lazy_pattern`: regular expressions that are compiled at first use. 41 ms of the import of a chain, 60 ms of a host.
- `lazy_names`: names of a package that are imported when they are asked for: `import sophon` takes 10 ms, and not
  150.
- `validation_without_pydantic`: acceptance of settings that are plainly valid. It buys the 180 ms in which pydantic
  builds its validator of all settings.
- `value_rules`: the limits of a value as an annotation, which both `validation_without_pydantic` and pydantic read.
- `task_groups`: a backport for Python before 3.13, where a handled failure in a task group would cancel the turn.
"""
