"""The commands, a line each; a command's module is imported when it is asked for."""

COMMANDS = {
    "run": ("run", "Run a study: a YAML file, or the name of a shipped one."),
    "report": ("report", "Print a run's summary again, or write its page."),
    "pareto": ("pareto", "Another front from trials that exist, without running anything."),
    "explain": ("explain", "Where the time, memory and money of one plan go, and what would change it."),
    "solve": ("solve", "One solver, one answer, with units."),
    "catalog": ("catalog", "Models, hardware, fleets, prices, ...: each figure with its source."),
    "import-model": ("import_model", "Turn a Hugging Face config.json into a model for studies."),
    "validate": ("validate", "Compare predictions with measurements in a CSV file."),
    "schema": ("schema", "Print the JSON Schema of the study file, for editors."),
    "studies": ("studies", "List the shipped studies."),
}
"""Command name: (module in this package whose `command` it is, what it does)."""
