"""Run in vLLM's environment: a tiny random model samples freely, then with several stop tokens, from the same seeds.

As TRL asks it (`stop_token_ids`, log-probabilities of the sampled tokens). A completion has to end with the first stop
token that it samples, and keep it: a trainer tells by it that the completion was not cut off.
"""

from __future__ import annotations

import sys
from typing import Any


def main(folder: str) -> None:
    """Raises AssertionError; prints how long the completions are."""
    import torch
    import vllm
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 256, "intermediate_size": 256, "num_hidden_layers": 2}
    heads: dict[str, Any] = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256}
    config = Qwen2Config(
        vocab_size=300, eos_token_id=299, bos_token_id=None, tie_word_embeddings=True, **sizes, **heads
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)
    llm = vllm.LLM(folder, dtype="float32", skip_tokenizer_init=True, enforce_eager=True, max_model_len=64)

    def sample(**more: Any) -> list[Any]:
        common = {"temperature": 1.0, "max_tokens": 6, "logprobs": 0, "detokenize": False, **more}
        asked = [vllm.SamplingParams(seed=i, **common) for i in range(16)]
        prompts = [{"prompt_token_ids": [5, 6, i]} for i in range(16)]
        return [output.outputs[0] for output in llm.generate(prompts, asked, use_tqdm=False)]

    free = [list(one.token_ids) for one in sample()]
    stops = sorted({free[0][1], free[1][2], free[2][0], free[3][3]})
    held = sample(stop_token_ids=stops)
    for whole, one in zip(free, held, strict=True):
        end = next((i for i, token in enumerate(whole) if token in stops), 5)
        assert list(one.token_ids) == whole[: end + 1], (whole, one.token_ids, stops)
        assert one.finish_reason == ("stop" if whole[end] in stops else "length")
        assert len(one.logprobs) == len(one.token_ids)
    lengths = sorted({len(one.token_ids) for one in held})
    assert len(lengths) > 2, lengths
    print("stops", stops, "lengths", lengths)


if __name__ == "__main__":
    main(sys.argv[1])
