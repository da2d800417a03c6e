import pytest
import torch
from torch import nn

from fedadp import Examples, Instructions, Model
from fedadp.engines import Threads
from fedadp.errors import ModelError, SettingError
from fedadp.flat import Flat
from fedadp.models import ChannelsLast, mlr

IMAGES = (1, 28, 28)


class Own(nn.Module):
    def __init__(self, hidden=3):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(784, hidden), nn.Linear(hidden, 10))
        self.layers[2].requires_grad_(False)

    def forward(self, x):
        return self.layers(x)


def broken():
    module = nn.Linear(2, 2)
    nn.init.constant_(module.bias, float("nan"))
    return module


def raises():
    return 1 / 0


not_a_model = {"a": 1}
ready = nn.Linear(2, 2)


@pytest.mark.parametrize(
    ("name", "size"), [("mlr", 7_850), ("cnn", 1_663_370), ("cnn-valid", 582_026)]
)
def test_the_papers_models_have_the_stated_numbers_of_parameters(name, size):
    module = Model(name).build(IMAGES, 10, seed=0)
    assert Flat(module).size == size
    assert module(torch.zeros(2, *IMAGES)).shape == (2, 10)


def test_the_cnn_is_the_paper_s_up_to_where_relu_stands():
    module = Model("cnn-valid").build(IMAGES, 10, seed=0)
    _, first, _, _, second, _, _, flatten, third, relu, last = module
    x = torch.randn(3, *IMAGES)
    pool = nn.MaxPool2d(2)
    plain = pool(relu(second(pool(relu(first(x))))))
    assert torch.allclose(module(x), last(relu(third(flatten(plain)))), atol=1e-6)


def test_the_initial_model_belongs_to_the_seed_alone():
    def start(seed):
        torch.rand(3)  # whatever else draws must not matter
        return Flat(Model("mlr").build(IMAGES, 10, seed)).read()

    torch.manual_seed(1)
    assert not torch.equal(Flat(mlr(IMAGES, 10)).read(), start(1))  # an address of its own
    assert torch.equal(start(1), start(1))
    assert not torch.equal(start(1), start(2))


def test_building_a_model_leaves_torch_s_generator_alone():
    before = torch.get_rng_state()
    Model("mlr").build(IMAGES, 10, seed=5)
    assert torch.equal(before, torch.get_rng_state())


def test_your_own_model_is_made_by_its_place(monkeypatch, pytestconfig):
    monkeypatch.syspath_prepend(pytestconfig.rootpath / "tests")
    model = Model("test_models:Own", {"hidden": 4})
    flat = Flat(model.build(IMAGES, 10, 0))
    assert flat.names == ["layers.1.weight", "layers.1.bias"]  # the rest is frozen
    assert flat.size == 784 * 4 + 4


@pytest.mark.parametrize(
    ("name", "args", "says"),
    [
        ("nowhere:Net", {}, "cannot be made"),
        ("test_models:Nothing", {}, "cannot be made"),
        ("test_models:Own", {"width": 3}, "unexpected keyword"),
        ("test_models:not_a_model", {}, "cannot be made"),
        ("test_models:ready", {}, "made already"),
        ("test_models:raises", {}, "division by zero"),
        ("builtins:int", {}, "not a torch.nn.Module"),
        ("test_models:broken", {}, "not all finite"),
    ],
)
def test_what_cannot_be_made_is_one_sentence(monkeypatch, pytestconfig, name, args, says):
    monkeypatch.syspath_prepend(pytestconfig.rootpath / "tests")
    with pytest.raises(ModelError, match=says):
        Model(name, args).build(IMAGES, 10, 0)


def test_an_unknown_name_gets_the_nearest_one():
    with pytest.raises(SettingError, match="did you mean 'cnn-valid'"):
        Model("cnn_valid")


def test_a_cnn_needs_images():
    with pytest.raises(ModelError, match="16 x 16"):
        Model("cnn").build((20,), 10, 0)


def test_a_model_with_nothing_to_learn_is_refused():
    with pytest.raises(ModelError, match="no trainable parameters"):
        Flat(nn.ReLU())
    with pytest.raises(ModelError, match=r"float32 and torch\.float64"):
        Flat(nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1).double()))


def test_buffers_are_read_and_written_exactly():
    one, two = Flat(nn.BatchNorm1d(3)), Flat(nn.BatchNorm1d(3))
    one.module(torch.randn(8, 3))
    one.module.num_batches_tracked.fill_(2**30 + 1)
    two.write_buffers(one.read_buffers())
    for name, value in one.module.named_buffers():
        assert torch.equal(value, dict(two.module.named_buffers())[name])


@pytest.mark.parametrize("channels", [1, 3])
def test_channels_last_changes_where_pixels_lie_and_not_what_they_are(channels):
    x = torch.randn(4, channels, 16, 17)
    y = ChannelsLast()(x)
    assert torch.equal(x, y)
    assert y.stride() == (272 * channels, 1, 17 * channels, channels)
    assert nn.Conv2d(channels, 8, 3)(y).stride()[1] == 1


def test_a_cnn_that_views_its_channels_as_one_row_trains():
    class Classic(nn.Module):
        def __init__(self):
            super().__init__()
            self.convolution, self.linear = nn.Conv2d(3, 4, 5), nn.Linear(64, 2)

        def forward(self, x):
            return self.linear(nn.functional.max_pool2d(self.convolution(x), 3).view(-1, 64))

    nodes = {0: Examples(torch.randn(6, 3, 16, 16), torch.tensor([0, 1] * 3))}
    flat = Flat(Classic())
    told = Instructions(round=1, batch_size=4)
    assert Threads(flat.module, nodes).train(flat.read(), torch.zeros(0), told, (0,)).nodes == (0,)
