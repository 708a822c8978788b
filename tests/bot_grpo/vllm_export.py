"""Run in vLLM's environment: an export is loaded by its folder alone, and answers as transformers does."""

from __future__ import annotations

import json
import sys


def main(folder: str, expected: str) -> None:
    """`expected`: JSON with a prompt's ids and the likeliest continuation. Raises AssertionError."""
    import vllm

    asked = json.loads(expected)
    llm = vllm.LLM(folder, dtype="float32", enforce_eager=True, max_model_len=128)
    defaults = llm.get_default_sampling_params()
    found = (defaults.temperature, defaults.top_p, defaults.top_k)
    assert found in {(0.8, 1.0, 0), (0.8, 1.0, -1)}, found
    greedy = vllm.SamplingParams(temperature=0.0, max_tokens=len(asked["answer"]), ignore_eos=True)
    output = llm.generate([{"prompt_token_ids": asked["prompt"]}], greedy, use_tqdm=False)[0].outputs[0]
    assert list(output.token_ids) == asked["answer"], (list(output.token_ids), asked["answer"])
    tokenizer = llm.get_tokenizer()
    chat = tokenizer.apply_chat_template(
        [{"role": "user", "content": "hi"}], tokenize=False, add_generation_prompt=True
    )
    assert chat == "[user] hi\nsay: ", chat
    print("the same", len(asked["answer"]), "tokens")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
