"""Pusher: a blessed package becomes a version of the push directory, whole or not at all."""
