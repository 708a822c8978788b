"""How each public process reward model is fed, where its scores sit, and how they become probabilities: `ADAPTERS`.

Inputs are built from pieces, so the position of every score is known where it is made, and is never looked for among
the ids: separators occur in problems too, and merge with their neighbours. Whatever a solution says, it gets as many
scores as it has steps.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForTokenClassification, PretrainedConfig
from transformers import PreTrainedModel as HfModel

from reward_models.errors import RewardError
from reward_models.pretrained import Encoding, as_text, render, single_id

SYSTEM = "Please reason step by step, and put your final answer within \\boxed{}."


@dataclass(frozen=True)
class Encoded:
    """Token ids of a problem with steps of its solution, and the position of each step's score, in their order."""

    ids: tuple[int, ...]
    at: tuple[int, ...]


Encode = Callable[[str, Sequence[str], int], Encoded]
"""(problem, texts of steps, number of the first one from 1) -> Encoded."""

Mask = Tensor | None
"""None where nothing is padding."""

Labels = tuple[int, int]
"""The ids of a right and a wrong label, where scores are read from the vocabulary."""

Score = Callable[[Any, Tensor, Mask, Tensor, Tensor, Labels], Tensor]
"""(model, ids_BT, mask_BT, rows_N, at_N, labels) -> the probability, in [0, 1], that step n is right: (N,) float32.

Softmax and sigmoid are taken in float32: in float16 a gap of 20 between two logits is already a 0 and a 1.
"""


@dataclass(frozen=True)
class Adapter:
    """One kind of process reward model.

    `like`: public ones of this kind. `architectures`: how their configs name it, where they do. `split`: what their
    steps were split by. `cls`: what loads them. `encode`, `labels`: given the tokenizer, what builds inputs, and the
    label tokens. `score`: how a position becomes a probability.
    """

    like: str
    split: str
    cls: Any
    encode: Callable[[Any], Encode]
    score: Score
    labels: Callable[[Any], Labels] = lambda tokenizer: (0, 0)
    architectures: tuple[str, ...] = ()


# -- models whose code lies on the hub: the same weights under the same names, without running it ----------------------


class StepModel(HfModel):
    """A causal language model without its vocabulary, and a head on its hidden states.

    Remote code of these models breaks with transformers 5, and not loudly: RoPE buffers load as zeros, and every step
    then scores 0.5 (its_hub#215).
    """

    config_class = PretrainedConfig
    base_model_prefix = "model"
    _supports_sdpa = _supports_flash_attn = True

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.model = AutoModel.from_config(config)
        self.add_head(config.hidden_size)
        self.post_init()

    def add_head(self, width: int) -> None:
        raise NotImplementedError

    def head(self, hidden_NH: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, ids_BT: Tensor, mask_BT: Mask, rows_N: Tensor, at_N: Tensor) -> Tensor:
        hidden = self.model(input_ids=ids_BT, attention_mask=mask_BT, use_cache=False).last_hidden_state
        return self.head(hidden[rows_N, at_N])


class TwoClassModel(StepModel):
    """Qwen2ForProcessRewardModel: two layers to a wrong and a right logit."""

    def add_head(self, width: int) -> None:
        self.score = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2))

    def head(self, hidden_NH: Tensor) -> Tensor:
        return self.score(hidden_NH)


class ValueHeadModel(StepModel):
    """Skywork's PRM: one number from a linear value head (its dropout is for training)."""

    def add_head(self, width: int) -> None:
        self.v_head = nn.ModuleDict({"summary": nn.Linear(width, 1)})

    def head(self, hidden_NH: Tensor) -> Tensor:
        return self.v_head["summary"](hidden_NH)


# -- how scores are read -----------------------------------------------------------------------------------------------


def _two_classes(model: Any, ids_BT: Tensor, mask_BT: Mask, rows_N: Tensor, at_N: Tensor, labels: Labels) -> Tensor:
    return model(ids_BT, mask_BT, rows_N, at_N).float().softmax(-1)[:, 1]


def _value(model: Any, ids_BT: Tensor, mask_BT: Mask, rows_N: Tensor, at_N: Tensor, labels: Labels) -> Tensor:
    return model(ids_BT, mask_BT, rows_N, at_N).float().sigmoid()[:, 0]


def _token_class(model: Any, ids_BT: Tensor, mask_BT: Mask, rows_N: Tensor, at_N: Tensor, labels: Labels) -> Tensor:
    logits_BTC = model(input_ids=ids_BT, attention_mask=mask_BT).logits
    if logits_BTC.size(-1) != 2:
        raise RewardError(f"the model has {logits_BTC.size(-1)} classes; a process reward model has 2, wrong and right")
    return logits_BTC[rows_N, at_N].float().softmax(-1)[:, 1]


def _label_tokens(model: Any, ids_BT: Tensor, mask_BT: Mask, rows_N: Tensor, at_N: Tensor, labels: Labels) -> Tensor:
    """One token of the vocabulary against another. Only positions where some row has a score are projected onto it."""
    places, index_N = at_N.unique(return_inverse=True)
    output = model(input_ids=ids_BT, attention_mask=mask_BT, use_cache=False, logits_to_keep=places)
    pair = torch.tensor(labels, device=ids_BT.device)
    return output.logits[rows_N, index_N][:, pair].float().softmax(-1)[:, 0]


# -- how inputs are built ----------------------------------------------------------------------------------------------


def _qwen(tokenizer: Any) -> Encode:
    """system, problem and an assistant's turn of steps, a tag after each; the score sits on the tag."""
    tag, tag_id = "<extra_0>", single_id(tokenizer, "<extra_0>")
    turns = render(tokenizer, [("system", ""), ("user", ""), ("assistant", "")], answer=False)

    def encode(problem: str, steps: Sequence[str], first: int) -> Encoded:
        encoding = Encoding(tokenizer)
        for (template, _), content in zip(turns[:3], (SYSTEM, _defused(problem, tag), ""), strict=True):
            encoding.template(template)
            encoding.text(content)
        at = []
        for step in steps:
            encoding.text(_defused(step, tag))
            encoding.id(tag_id)
            at.append(encoding.here())
        return _checked(encoding.ids, at, steps, tag_id)

    return encode


def _token_classifier(tokenizer: Any) -> Encode:
    """Problem, then each step and a separator, each piece encoded alone; the score sits on the separator's last id."""
    return _pieces(tokenizer, "", as_text(tokenizer, "\n")["input_ids"])


def _skywork(tokenizer: Any) -> Encode:
    """The same with a line break after the problem; a line break is one token, and the score sits on it."""
    return _pieces(tokenizer, "\n", as_text(tokenizer, "\n")["input_ids"][-1:])


def _pieces(tokenizer: Any, after_problem: str, separator: Sequence[int]) -> Encode:
    if not separator:
        raise RewardError("the tokenizer has no token for a line break, after which this reward model scores a step")

    def encode(problem: str, steps: Sequence[str], first: int) -> Encoded:
        encoding = Encoding(tokenizer)
        if tokenizer.bos_token_id is not None:
            encoding.id(tokenizer.bos_token_id)
        encoding.piece(problem + after_problem)
        at = []
        for step in steps:
            encoding.piece(step)
            for token_id in separator:
                encoding.id(token_id)
            at.append(encoding.here())
        return _checked(encoding.ids, at, steps)

    return encode


def _math_shepherd(tokenizer: Any) -> Encode:
    """One string, `Step k: ... ки` a line, encoded whole; the score is what the logits at the tag say of + and -."""
    tag = "ки"
    tag_id = _tag_at(tokenizer, f"a {tag}\nb", [3])[1][0]

    def encode(problem: str, steps: Sequence[str], first: int) -> Encoded:
        text, ends = f"{_defused(problem, tag)} ", []
        for n, step in enumerate(steps, first):
            name = "" if _NAMED_STEP.match(step) else f"Step {n}: "
            text += f"{'' if n == first else chr(10)}{name}{_defused(step, tag)} {tag}"
            ends.append(len(text) - 1)
        ids, _, at = _tag_at(tokenizer, text, ends)
        return _checked(ids, at, steps, tag_id)

    return encode


_NAMED_STEP = re.compile(r"step[ \t]+[0-9]+", re.IGNORECASE)


def _tag_at(tokenizer: Any, text: str, ends: Sequence[int]) -> tuple[tuple[int, ...], list[int], list[int]]:
    """All ids of `text`, and the ids and positions of the tokens that hold the characters `ends`."""
    found = as_text(tokenizer, text, special=True, offsets=True)
    last = list(accumulate((end for _, end in found["offset_mapping"]), max))  # an EOS has (0, 0)
    at = [bisect_right(last, end) for end in ends]
    return tuple(found["input_ids"]), [found["input_ids"][i] for i in at], at


def _rlhflow(tokenizer: Any) -> Encode:
    """A chat: the problem with the first step, then a step a turn; the assistant answers "+" to each.

    The score is what predicts that "+", from the end of what stands before it.
    """
    right, _ = _signs_alone(tokenizer)

    def encode(problem: str, steps: Sequence[str], first: int) -> Encoded:
        encoding, at = Encoding(tokenizer), []
        asked = [f"{problem} {steps[0]}", *steps[1:]]
        for template, n in render(tokenizer, [("user", ""), ("assistant", "")] * len(steps), answer=False):
            if n < 0:
                break
            encoding.template(template)
            encoding.text("+" if n % 2 else asked[n // 2])
            if n % 2:
                at.append(encoding.here() - 1)
        if any(encoding.ids[i + 1] != right for i in at):
            raise ValueError("the tokenizer joins the answer + with the template before it")
        return _checked(encoding.ids, at, steps)

    return encode


def _signs_in_line(tokenizer: Any) -> Labels:
    """+ and - as they are encoded within a line."""
    found = as_text(tokenizer, "+ -")["input_ids"]
    if len(found) != 2:
        raise RewardError("the tokenizer does not cut '+ -' into two tokens: is it the reward model's own?")
    return found[0], found[1]


def _signs_alone(tokenizer: Any) -> Labels:
    """+ and - as turns of their own."""
    return as_text(tokenizer, "+")["input_ids"][-1], as_text(tokenizer, "-")["input_ids"][-1]


def _defused(text: str, tag: str) -> str:
    """`text` in which no tag stands: a policy that writes one asks for a score of its own, or breaks up a step."""
    return text.replace(tag, f"{tag[0]} {tag[1:]}")


def _checked(ids: tuple[int, ...], at: Sequence[int], steps: Sequence[str], tag_id: int | None = None) -> Encoded:
    """Raises ValueError unless there is exactly one score a step, and no tag besides."""
    tags = len(at) if tag_id is None else ids.count(tag_id)
    in_place = tag_id is None or all(ids[i] == tag_id for i in at)
    if not (len(at) == len(set(at)) == len(steps) == tags and in_place):
        raise ValueError(f"{len(steps)} steps got {len(set(at))} places for scores and {tags} tags")
    return Encoded(ids, tuple(at))


ADAPTERS = {
    "qwen": Adapter(
        like="Qwen2.5-Math-PRM-7B and -72B, Qwen2.5-Math-7B-PRM800K, Universal-PRM-7B",
        architectures=("Qwen2ForProcessRewardModel",),
        split="\n\n",
        cls=TwoClassModel,
        encode=_qwen,
        score=_two_classes,
    ),
    "token_classifier": Adapter(
        like="PURE-PRM-7B, and what TRL's PRMTrainer made",
        architectures=("ForTokenClassification",),
        split="\n\n",
        cls=AutoModelForTokenClassification,
        encode=_token_classifier,
        score=_token_class,
    ),
    "skywork": Adapter(
        like="Skywork-o1-Open-PRM-Qwen-2.5-1.5B and -7B",
        architectures=("Qwen2ForPrmModel",),
        split="\n",
        cls=ValueHeadModel,
        encode=_skywork,
        score=_value,
    ),
    "math_shepherd": Adapter(
        like="math-shepherd-mistral-7b-prm",
        split="\n",
        cls=AutoModelForCausalLM,
        encode=_math_shepherd,
        score=_label_tokens,
        labels=_signs_in_line,
    ),
    "rlhflow": Adapter(
        like="Llama3.1-8B-PRM-Deepseek-Data and -Mistral-Data",
        split="\n\n",
        cls=AutoModelForCausalLM,
        encode=_rlhflow,
        score=_label_tokens,
        labels=_signs_alone,
    ),
}
"""By the name that the setting `adapter` has."""


def adapter_name(config: Any) -> str:
    """The adapter for a model's config. Raises RewardError where it doesn't say: a causal language model may be any."""
    architectures = [str(a) for a in getattr(config, "architectures", None) or []]
    for name, adapter in ADAPTERS.items():
        if any(a.endswith(adapter.architectures) for a in architectures if adapter.architectures):
            return name
    raise RewardError(
        f"a config with {', '.join(architectures) or 'no architecture'} does not say how the model is fed; "
        f"name its adapter: {', '.join(ADAPTERS)}"
    )
