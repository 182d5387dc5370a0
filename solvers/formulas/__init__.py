"""Formulas: pure functions over floats or arrays, one family a file. They read no catalogue and know no names."""
