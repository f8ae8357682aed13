"""Corpus ExampleGen: folders of text files to splits of examples."""
