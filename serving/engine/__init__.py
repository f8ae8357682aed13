"""The pure engine: scheduling, KV block accounting, detokenization. Imports the contract only."""
