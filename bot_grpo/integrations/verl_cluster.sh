#!/usr/bin/env bash
# React components or AIME with verl on a Ray cluster of several nodes.
#
#   on the first node     bash verl_cluster.sh head
#   on every other node   bash verl_cluster.sh join HEAD_ADDRESS
#   on the first node     bash verl_cluster.sh train react|aime [overrides of verl's config ...]
#   at the end, on each   bash verl_cluster.sh stop
#
# Every node needs the same Python environment (pip install 'bot-grpo[verl]' and a sampler of verl's: vLLM or SGLang),
# and the folder OUT, which is on a shared file system. For React every node also needs Node and a Chromium: scoring
# runs on all of them, a browser for each of verl's reward workers (about 0.5 GB of RAM and a core each).
#
# Variables: OUT (data and checkpoints; ./verl-runs), NODES (2), GPUS on each node (8), MODEL (qwen2.5-3b; smollm3-3b,
# phi4-mini-reasoning, ...: the part of a recipe's name), DATA (settings of the data set, as --prompts FILE).
set -euo pipefail

OUT=${OUT:-verl-runs}
NODES=${NODES:-2}
GPUS=${GPUS:-8}
MODEL=${MODEL:-qwen2.5-3b}
MODULE=bot_grpo.integrations.verl
# Where Ray's workers run, verl must find the algorithms and the reward manager: a worker has the environment of the
# `ray start` of its node, and what the driver hands on.
export VERL_USE_EXTERNAL_MODULES=$MODULE TOKENIZERS_PARALLELISM=false

case ${1:-} in
  head)
    exec ray start --head --port 6379 --num-gpus "$GPUS"
    ;;
  join)
    exec ray start --address "${2:?say the address of the first node}:6379" --num-gpus "$GPUS"
    ;;
  stop)
    exec ray stop
    ;;
  train)
    task=${2:?react or aime}
    shift 2
    ;;
  *)
    sed -n '2,16s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

# The recipe's data as parquet, and its settings (algorithm, clip, reward, K, lengths, learning rate) as overrides.
# shellcheck disable=SC2086  # DATA is a list of words
python -m bot_grpo.integrations.verl_data "$OUT/$task" --config "$task-$MODEL-80gb" ${DATA:-} >&2
mapfile -t recipe < "$OUT/$task/overrides.txt"

# What is of the cluster. 64 rollouts a step are few for 16 GPUs: raise data.train_batch_size and ppo_mini_batch_size
# together, so that a generation batch stays one optimizer step.
exec python -m verl.trainer.main_ppo \
  "${recipe[@]}" \
  data.max_prompt_length=1024 \
  data.filter_overlong_prompts=True \
  actor_rollout_ref.actor.use_dynamic_bsz=True \
  actor_rollout_ref.actor.ppo_max_token_len_per_gpu=16384 \
  actor_rollout_ref.actor.fsdp_config.param_offload=False \
  actor_rollout_ref.rollout.name=vllm \
  actor_rollout_ref.rollout.tensor_model_parallel_size=1 \
  actor_rollout_ref.rollout.gpu_memory_utilization=0.5 \
  reward.num_workers=$((NODES * 8)) \
  reward.reward_model.rollout.name=vllm \
  trainer.nnodes="$NODES" \
  trainer.n_gpus_per_node="$GPUS" \
  trainer.project_name=bot_grpo \
  trainer.experiment_name="$task-$MODEL" \
  trainer.default_local_dir="$OUT/$task/checkpoints" \
  trainer.logger=console \
  trainer.test_freq=10 \
  trainer.save_freq=25 \
  +ray_kwargs.ray_init.address=auto \
  +ray_kwargs.ray_init.runtime_env.env_vars.VERL_USE_EXTERNAL_MODULES=$MODULE \
  "$@"
