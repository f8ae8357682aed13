"""Model runners: what executes a SchedulerOutput on a loaded package."""
