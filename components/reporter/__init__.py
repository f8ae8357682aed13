"""Reporter: what a run found and did, as one page for people and as JSON for machines."""
