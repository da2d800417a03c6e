from dataclasses import replace

import pytest

from fedadp import Experiment, FedAdp, FedAvg, Model, Momentum, Runtime, data, load
from fedadp.errors import SettingError
from fedadp.experiment import describe, parse, rivals


def one(text, tmp_path, *overrides):
    path = tmp_path / "trial.toml"
    path.write_text(text)
    return load(path, overrides)


def test_what_a_file_leaves_out_is_the_paper_s_experiment(tmp_path):
    (found,) = one("rounds = 300", tmp_path)
    assert found == Experiment()
    assert found.training.batch_size == 32
    assert found.training.learning_rate == 0.01
    assert found.training.decay == 0.995
    assert found.partition == data.ClassSkew(iid=5, skewed=5, classes=1, examples=600)
    assert found.strategy == FedAdp(alpha=5.0)


def test_every_part_of_a_file_reaches_the_experiment(tmp_path):
    (found,) = one(
        """
        rounds = 7
        target = 0.9
        seed = 3
        [data]
        name = "synthetic"
        shape = [1, 28, 28]
        [partition]
        name = "dirichlet"
        nodes = 4
        [model]
        name = "mlr"
        [training]
        steps = 3
        participation = 2
        [strategy]
        name = "momentum"
        beta = 0.5
        inner = { name = "fedadp", alpha = 3 }
        [engine]
        name = "threads"
        workers = 2
        """,
        tmp_path,
    )
    assert found.strategy == Momentum(FedAdp(alpha=3.0), beta=0.5)
    assert found.data == data.Synthetic(shape=(1, 28, 28))
    assert found.partition == data.Dirichlet(nodes=4)
    assert found.model == Model("mlr")
    assert (found.rounds, found.target, found.seed) == (7, 0.9, 3)
    assert (found.training.steps, found.training.participation) == (3, 2)
    assert found.engine == Runtime("threads", workers=2)


def test_an_experiment_written_as_toml_is_read_back_equal(tmp_path):
    there = Experiment(
        strategy=Momentum(FedAdp(alpha=2.0)), partition=data.ClassSkew(classes=[1, 1, 2, 2, 3])
    )
    (back,) = one(there.toml(), tmp_path)
    assert back == there
    assert back.digest == there.digest


def test_lists_of_strategies_and_seeds_are_a_sweep(tmp_path):
    found = one('seed = [4, 5]\nstrategy = ["fedavg", {name = "fedadp", alpha = 2}]', tmp_path)
    assert [e.label for e in found] == [
        "fedavg, seed 4",
        "fedadp(alpha=2.0), seed 4",
        "fedavg, seed 5",
        "fedadp(alpha=2.0), seed 5",
    ]
    assert len({e.slug for e in found}) == 4


def test_overrides_change_what_the_file_says(tmp_path):
    (found,) = one(
        'strategy = "fedadp"', tmp_path, "strategy.alpha=3", "model=mlr", "training.decay=1.0"
    )
    assert found.strategy == FedAdp(alpha=3.0)
    assert found.model == Model("mlr")
    assert found.training.decay == 1.0


WRONG = [
    (
        "strategy = {name = 'fedadp', alhpa = 3}",
        "trial.toml.strategy.alhpa: unknown setting; did you mean 'alpha'?",
    ),
    ("strategy = 'fedapd'", "unknown name 'fedapd'; did you mean 'fedadp'?"),
    ("strategy = {alpha = 3}", "it takes a name: fedadp, fedavg"),
    ("strategy = 3", "3 is not possible; it takes a name"),
    ("strategy = []", "an empty list"),
    ("strategy = ['fedavg', 'fedavg']", "'fedavg, seed 0' is there twice"),
    (
        "strategy = ['fedavg', {name = 'fedadp', alpha = 'x'}]",
        "strategy[1].alpha: 'x' is not possible; it takes a number",
    ),
    ("seed = [0, -1]", "trial.toml.seed[1]: -1 is not possible"),
    (
        "strategy = {name = 'fedadp', alpha = -1}",
        "strategy.alpha: -1.0 is not possible; it takes a number above 0",
    ),
    ("strategy = {name = 'fedadp', alpha = nan}", "strategy.alpha: nan is not possible"),
    (
        "strategy = {name = 'fedadp', alpha = true}",
        "strategy.alpha: True is not possible; it takes a number",
    ),
    ("strategy = {name = 'fedadp', smoothing = 'round'}", "'participations' or 'rounds'"),
    ("strategy = {name = 'no.such:Thing'}", "cannot be imported"),
    ("strategy = {name = 'fedadp.data:Mnist'}", "not a frozen dataclass based on Strategy"),
    ("strategy = {name = 'momentum', inner = 'fedapd'}", "strategy.inner: unknown name 'fedapd'"),
    ("round = 3", "trial.toml.round: unknown setting; did you mean 'rounds'?"),
    ("rounds = 0", "rounds: 0 is not possible; it takes 1 and more"),
    ("rounds = 1.5", "rounds: 1.5 is not possible; it takes a whole number"),
    ("rounds = '3'", "rounds: '3' is not possible; it takes a whole number"),
    ("target = 95", "target: 95.0 is not possible; it takes a number above 0, at most 1"),
    ("seed = -1", "seed: -1 is not possible"),
    ("seed = 'x'", "seed: 'x' is not possible"),
    ("model = 'ccn'", "model.name: unknown model 'ccn'; did you mean 'cnn'?"),
    ("model = {name = 'cnn', args = {width = 3}}", "model.args: 'cnn' takes none"),
    ("engine = 'thread'", "engine.name: unknown engine 'thread'; did you mean 'threads'?"),
    ("engine = {name = 'sequential', workers = 2}", "engine.workers"),
    ("engine = {name = 'threads', device = 'cuda'}", "engine.device: 'cuda' is not possible"),
    ("engine = {device = 'gpu'}", "PyTorch sees no such device here"),
    ("engine = {workers = 0}", "engine.workers: 0 is not possible"),
    ("data = 'minst'", "data: unknown name 'minst'; did you mean 'mnist'?"),
    ("data = {name = 'idx'}", "data.path: missing; it takes a text"),
    (
        "data = {name = 'synthetic', shape = 'x'}",
        "data.shape: 'x' is not possible; it takes a list",
    ),
    ("partition = {name = 'paper', iid = -1}", "partition.iid: -1 is not possible"),
    ("partition = {name = 'paper', classes = 'two'}", "it takes a whole number or a list"),
    (
        "training = {batchsize = 3}",
        "training.batchsize: unknown setting; did you mean 'batch_size'?",
    ),
    ("training = 3", "training: 3 is not possible; it takes a table"),
    ("training = {learning_rate = 1979-05-27}", "training.learning_rate"),
    ("training = {learning_rate = inf}", "training.learning_rate: inf is not possible"),
    ("rounds = ", "not TOML"),
    ("rounds = 1\nrounds = 2", "not TOML"),
    (
        "strategy = " + "{name = 'momentum', inner = " * 12 + "'fedavg'" + "}" * 12,
        "more than 8 strategies",
    ),
]


@pytest.mark.parametrize(("text", "says"), WRONG, ids=[text[:40] for text, _ in WRONG])
def test_a_mistake_is_one_sentence_with_place_value_and_way_out(text, says, tmp_path):
    with pytest.raises(SettingError) as caught:
        one(text, tmp_path)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "trial.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("strategy", "write it as strategy.alpha=3"),
        ("=3", "write it as strategy.alpha=3"),
        ("rounds.x=3", "rounds holds no settings"),
        ("strategy.alhpa=3", "did you mean 'alpha'"),
        ("seed.x=1", "seed is a list here"),
    ],
)
def test_a_mistaken_override_is_one_sentence(override, says, tmp_path):
    with pytest.raises(SettingError, match=says):
        one("rounds = 3\nseed = [0, 1]", tmp_path, override)


def test_an_override_of_a_part_that_the_file_leaves_out_changes_the_usual_one(tmp_path):
    (found,) = one("", tmp_path, "partition.iid=3", "strategy.alpha=2", "training.epochs=4")
    assert found.partition == data.ClassSkew(iid=3)
    assert found.strategy == FedAdp(alpha=2.0)
    assert found.training == replace(Experiment().training, epochs=4)


def test_files_that_are_no_experiments_are_refused(tmp_path):
    with pytest.raises(SettingError, match="No such file"):
        load(tmp_path / "none.toml")
    for no_file in (tmp_path, "a\0b", "a" * 5000):
        with pytest.raises(SettingError, match="cannot be read"):
            load(no_file)
    (tmp_path / "latin.toml").write_bytes("name = 'é'".encode("latin-1"))
    with pytest.raises(SettingError, match="UTF-8"):
        load(tmp_path / "latin.toml")
    (tmp_path / "huge.toml").write_bytes(b"#" * 100_001)
    with pytest.raises(SettingError, match="over 100 kB"):
        load(tmp_path / "huge.toml")


def test_strategies_are_described_by_what_is_unusual_about_them():
    assert describe(FedAdp()) == "fedadp"
    assert (
        describe(Momentum(FedAdp(alpha=2.0), beta=0.5)) == "momentum(fedadp(alpha=2.0), beta=0.5)"
    )


def test_a_comparison_has_fedavg_for_its_baseline():
    found = rivals(parse({"seed": [0, 1], "strategy": "fedadp"}), [])
    assert [e.label for e in found] == [
        "fedavg, seed 0",
        "fedadp, seed 0",
        "fedavg, seed 1",
        "fedadp, seed 1",
    ]
    table = {"strategy": {"name": "fedadp", "alpha": 2}}
    named = rivals(parse(table), ["fedavg", "momentum", "fedadp"])
    assert [e.strategy for e in named] == [FedAvg(), Momentum(), FedAdp(alpha=2.0)]


def test_runs_that_differ_never_share_a_folder():
    tables = [{"name": "fedadp", "alpha": alpha} for alpha in (1.0, 1.5, 15.0)]
    assert len({e.slug for e in parse({"strategy": [*tables, "fedadp"]})}) == 4


def test_when_to_stop_and_on_how_many_cores_is_not_part_of_what_a_run_is():
    one, two = Experiment(), Experiment(rounds=9, target=0.5, engine=Runtime("sequential"))
    assert one.digest == two.digest != Experiment(seed=1).digest
