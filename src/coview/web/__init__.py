"""The explorer page and the web service: one set of answers, over HTTP, from a model that is only ever read."""
