from gem_eval.fake_model.background import FakeModelProcess as FakeModelProcess
from gem_eval.fake_model.background import FakeModelThread as FakeModelThread
from gem_eval.fake_model.latency import Latency as Latency
from gem_eval.fake_model.model_request import ModelAnswer as ModelAnswer
from gem_eval.fake_model.model_request import ModelRequest as ModelRequest
from gem_eval.fake_model.model_request import SampledCall as SampledCall
from gem_eval.fake_model.server import FakeModel as FakeModel
