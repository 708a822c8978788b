# BoT-GRPO with everything set up: `make setup` as an ordinary user, in an image.
#
#   docker build -t bot-grpo --build-arg SETUP="TORCH_INDEX=<PyTorch's CPU wheel index>" .
#   docker run --rm -it --shm-size=1g --security-opt seccomp=unconfined -v "$PWD/runs:/home/bot/bot-grpo/runs" \
#       bot-grpo bot-grpo train --config react-smollm2-cpu
#
# For a GPU: --build-arg BASE=nvidia/cuda:13.0.1-base-ubuntu24.04 --build-arg SETUP="CUDA=1", and run with --gpus all.
# Any Debian or Ubuntu image that has, or can install, a Python 3.11 to 3.13 will do.
#
# Chromium runs as an ordinary user and keeps its own sandbox, which needs user namespaces: Docker's default seccomp
# profile forbids making them, hence the option above (stricter: a profile that adds clone, setns and unshare to the
# default one). The host must allow unprivileged user namespaces, too (sysctl kernel.unprivileged_userns_clone=1; on
# Ubuntu 23.10 and later kernel.apparmor_restrict_unprivileged_userns=0).
# Docker's 64 MB of /dev/shm crash Chromium on large pages: --shm-size=1g. `runs` must be writable for uid 1000.

ARG BASE=python:3.11-slim-bookworm
ARG NODE=node:20-bookworm-slim

FROM ${NODE} AS node

FROM ${BASE}
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]

# Debian 12 has Node 18, so Node comes from its own image. Linked against a glibc of Debian 12: a base image must not
# be older than that.
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /usr/local/lib/node_modules/npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm

# tini reaps the processes that a killed browser leaves behind. Chromium is Debian's; Ubuntu's package is only a pointer
# to a snap, so there Playwright downloads one below. Without fonts pages render as boxes. Versions are the base image's.
# hadolint ignore=DL3008
RUN export DEBIAN_FRONTEND=noninteractive \
    && apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git make tini fonts-liberation fonts-dejavu-core \
    && if ! compgen -c python3. | grep -qE '^python3\.1[123]$'; then \
         apt-get install -y --no-install-recommends python3 python3-venv; \
       elif [ -x /usr/bin/python3 ]; then \
         apt-get install -y --no-install-recommends python3-venv; \
       fi \
    && if grep -q '^ID=debian' /etc/os-release; then apt-get install -y --no-install-recommends chromium; fi \
    && rm -rf /var/lib/apt/lists/*

# Ubuntu's images have a user 1000 of their own.
RUN if id -u 1000 >/dev/null 2>&1; then userdel -r "$(id -un 1000)"; fi \
    && useradd --create-home --uid 1000 --user-group bot \
    && install -d -o bot -g bot /home/bot/bot-grpo
USER 1000
WORKDIR /home/bot/bot-grpo
COPY --chown=bot:bot . .

# Variables for `make setup`: TORCH_INDEX=<an index of CPU wheels>, or CUDA=1 (there is no GPU to be seen in a build).
ARG SETUP=""
RUN make setup ${SETUP} && mkdir -p runs && rm -rf ~/.cache/pip ~/.npm

# The libraries that Playwright's own Chromium needs, where that one was taken.
USER root
RUN if [ -d /home/bot/.cache/ms-playwright ]; then \
      .venv/bin/python -m playwright install-deps chromium && rm -rf /var/lib/apt/lists/*; \
    fi
USER 1000

ENV PATH=/home/bot/bot-grpo/.venv/bin:$PATH
ENTRYPOINT ["tini", "--"]
CMD ["bot-grpo", "--help"]
