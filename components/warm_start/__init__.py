"""Warm start: the model that training starts from, when that is not the pretrained one."""
