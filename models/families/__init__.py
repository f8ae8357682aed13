"""Model families: what a checkpoint's config and weight names mean, per architecture."""
