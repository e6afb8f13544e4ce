"""The faults of model servers, each by a name: what :class:`~gem_eval.fake_model.FakeModel` can play."""
