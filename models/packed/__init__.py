"""Weights in the form that serving reads them: by layout, number format and kind of call."""
