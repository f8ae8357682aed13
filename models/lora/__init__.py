"""Low-rank adapters beside a frozen decoder: where they sit, what they add, how they are stored."""
