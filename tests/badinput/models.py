"""Models that cannot be made, or cannot learn."""

from .table import Bad, small


def own(name, model, value, way, place="model", **parts):
    return Bad(name, small(model=f'"bad_parts:{model}"', **parts), place, value, way)


ROWS = [
    Bad("no such model", small(model='"ccn"'), "model.name", "'ccn'", "'cnn'"),
    Bad(
        "settings that it has not", small(model='{name = "mlr", args = {width = 3}}'),
        "model.args", "'mlr'", "leave them out",
    ),
    Bad("a CNN for no images", small(model='"cnn"'), "model", "(4,)", "16 x 16"),
    Bad("no such module", small(model='"no_such:Net"'), "model.name", "'no_such:Net'", "module"),
    own("no such attribute", "Nte", "'bad_parts:Nte'", "module", "model.name"),
    own("a module that is none", "NotAModule", "3", "torch.nn.Module", "model.name"),
    own("a module made already", "MADE", "made already", "model.args", "model.name"),
    own("what raises when made", "Unmakeable", "no such luck", "model.args", "model.name"),
    own("what asks for settings", "Wide", "width", "model.args", "model.name"),
    own("no parameters", "Empty", "no trainable parameters", "one layer"),
    own("frozen parameters", "Frozen", "no trainable parameters", "requires_grad"),
    own("parameters of two types", "TwoTypes", "torch.float64", "one type"),
    own("complex parameters", "Complex", "torch.complex64", "float"),
    own("parameters that are no number", "Nan", "not all finite", "init"),
    own("too few outputs", "TwoOutputs", "labels go up to 2", "one output per class"),
    own("too few outputs, stacked", "TwoOutputs", "labels", "per class", engine='"batched"'),
    own("an output of no rows", "Flattened", "shape", "one output per class"),
    own("inputs of another size", "OtherInputs", "(4,)", "must fit the data"),
    own("an output that is no tensor", "Tupled", "tuple", "one output per class"),
    own("what raises as it learns", "Dropping", "it fell", "must fit the data"),
    Bad(
        "what exits when it is imported", small(model='"bad_exit:Net"'),
        "model.name", "SystemExit", "module",
    ),
    own("a loss without a slope", "Detached", "gradient", "must fit the data"),
]  # fmt: skip
