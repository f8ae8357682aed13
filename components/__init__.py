"""TFX components of the training plane."""
