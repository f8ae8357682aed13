"""Gateway, engine and runners: tokens from model packages to users."""
