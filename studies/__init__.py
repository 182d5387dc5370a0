"""Questions that people ask, one YAML file each."""
